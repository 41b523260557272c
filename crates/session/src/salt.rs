//! The salt of a run's redactions.

/// A new one for each run: the standard library draws its hashers' keys from the system's randomness.
pub(crate) fn random_salt() -> [u8; 16] {
    use std::hash::{BuildHasher, Hasher};
    let random = || {
        std::collections::hash_map::RandomState::new()
            .build_hasher()
            .finish()
    };
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random().to_ne_bytes());
    bytes[8..].copy_from_slice(&random().to_ne_bytes());
    bytes
}
