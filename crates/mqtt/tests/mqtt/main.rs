#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests, outside of their functions"
)]

mod flows;
mod read;
mod split;
mod vectors;
mod written;
