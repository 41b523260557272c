//! Salts for redaction.

use record::redact::{Redactor, Salt};

/// Creates a redactor without a plan. It finds secrets only by their names.
#[must_use]
pub fn redactor(names: &[String]) -> Redactor {
    Redactor::of_names(names, Salt::new(random_salt()))
}

/// Returns a random salt. The keys of the standard hasher come from the system's random source.
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
