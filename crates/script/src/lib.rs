//! LET USERS CODE: scripts behind the hooks of the engine's drivers. Today Lua, as wrk has it; nothing here reads a clock, starts
//! a thread, or writes anything but what a script prints.

#![deny(unsafe_code)]

pub mod lua;
