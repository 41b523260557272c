//! Tests of the codec's API.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests, outside of their functions"
)]

mod h2_peer;
mod websocket_peer;
