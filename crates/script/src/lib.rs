//! User scripts: wrk's Lua scripts, as sources for the batch driver.

#![deny(unsafe_code)]

pub mod lua;
