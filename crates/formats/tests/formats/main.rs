//! The crate from outside: test files in, plans or problems out.

mod campaign;
mod detect;
mod mocks;
mod mqtt;
mod native;
mod support;
mod url;
