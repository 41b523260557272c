//! The codec and the session beside two independent implementations: what we write they read, what they write we read, in any split; and
//! whole flows of QoS 0, 1 and 2 with somebody else's server at the other end.
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
