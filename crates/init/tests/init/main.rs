#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod curl;
mod har;
mod jmeter;
mod mutations;
mod openapi;
mod postman;
mod support;
mod url;
