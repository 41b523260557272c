#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod any_text;
mod artillery;
mod artillery_print;
mod change;
mod golden;
mod locust;
mod locust_history;
mod locust_print;
mod others;
mod own;
mod published;
mod random;
#[path = "../../../report/tests/report/support.rs"]
#[allow(dead_code, reason = "the tests of the reports use the rest")]
mod support;
mod wrk;
mod wrk_print;
