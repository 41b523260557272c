//! Exit codes of the native commands. Behind another tool's door that tool's codes hold.

/// Passed, or nothing to judge.
pub const PASS: u8 = 0;
/// A criterion failed.
pub const FAIL: u8 = 1;
/// The input is wrong.
pub const BAD_INPUT: u8 = 2;
/// The run could not be carried out.
pub const COULD_NOT_RUN: u8 = 3;

/// The measurement is invalid.
pub const INVALID: u8 = 4;

/// The code of a process that a signal asked to end: 128 and its number.
#[must_use]
pub fn of_signal(number: u8) -> u8 {
    128 + number
}
