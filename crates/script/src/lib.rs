//! User scripts: wrk's Lua scripts as request sources of the batch driver.

#![deny(unsafe_code)]

pub mod lua;
