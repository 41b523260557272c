//! Tests the front end through its public API: scripts become plans or problems, and figures become
//! reports.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod detect;
#[allow(dead_code, reason = "shared with other crates' tests")]
#[path = "../../../../report/tests/report/support.rs"]
mod made;
mod print;
mod read;
#[allow(dead_code, reason = "shared with other crates' tests")]
#[path = "../../../../formats/tests/formats/support.rs"]
mod support;
