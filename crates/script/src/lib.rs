//! User scripts: wrk's Lua, as a source of the batch driver.

#![deny(unsafe_code)]

pub mod lua;
