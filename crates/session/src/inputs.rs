//! Inputs of a run from its environment: variables and the seed.

/// Returns the environment variables for `{{ $env.NAME }}`, except those that are not UTF-8.
#[must_use]
pub fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Returns the seed for front ends: `LOADLINE_SEED`, or a random one.
///
/// # Errors
///
/// Fails if the variable is not a number.
pub fn seed_from_env() -> Result<u64, &'static str> {
    match std::env::var("LOADLINE_SEED").map(|text| text.parse()) {
        Err(_) => Ok(random_seed()),
        Ok(Ok(seed)) => Ok(seed),
        Ok(Err(_)) => Err("LOADLINE_SEED is not a whole number"),
    }
}

/// Derives a random seed from the clock and the process ID.
#[must_use]
pub fn random_seed() -> u64 {
    // A seed must survive being copied from a report, and JavaScript's numbers are exact only up to
    // 53 bits.
    let now = worker::clock::wall_ns();
    now.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(17)
        .wrapping_add(u64::from(std::process::id()))
        >> 11
}

/// Returns the current time in nanoseconds since 1970.
#[must_use]
pub fn now_wall_ns() -> u64 {
    worker::clock::wall_ns()
}
