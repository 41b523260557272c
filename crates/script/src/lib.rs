//! Scripts of tests: wrk's Lua as request sources of the batch driver, and JavaScript whose
//! functions virtual users call.

#![deny(unsafe_code)]

pub mod js;
pub mod k6;
pub mod lua;
