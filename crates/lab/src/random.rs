//! Pseudorandom numbers that depend only on the seed and k, so that a lab's behaviour can be
//! reproduced.

use std::hash::{BuildHasher, RandomState};

/// Returns the seed, or a new one if the seed is 0. A new seed is below 2^53, so that every JSON
/// reader preserves it.
pub fn seed_or_fresh(seed: u64) -> u64 {
    if seed != 0 {
        return seed;
    }
    (RandomState::new().hash_one("lab") >> 11).max(1)
}

/// Applies one step of `SplitMix64`. Neighbouring inputs give unrelated outputs.
pub fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
