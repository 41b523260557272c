//! What a run is given by where it is started: environment variables, and a seed. Flags are `args`'.

/// The environment, for `{{ $env.NAME }}`; names and values that are not text cannot be written in a test file.
#[must_use]
pub fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The seed behind another tool's door: `LOADLINE_SEED`, or a random one.
///
/// # Errors
/// One line, when it is no number.
pub fn seed_beside_a_door() -> Result<u64, &'static str> {
    match std::env::var("LOADLINE_SEED").map(|text| text.parse()) {
        Err(_) => Ok(random_seed()),
        Ok(Ok(seed)) => Ok(seed),
        Ok(Err(_)) => Err("LOADLINE_SEED is not a whole number"),
    }
}

/// A new seed for each run: the process and the clock are as random as a load test needs.
#[must_use]
pub fn random_seed() -> u64 {
    // JavaScript's JSON readers hold 53 bits; a seed that cannot be copied from a report would be useless.
    let now = engine::clock::wall_ns();
    now.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(17)
        .wrapping_add(u64::from(std::process::id()))
        >> 11
}

/// Nanoseconds since 1970.
#[must_use]
pub fn now_wall_ns() -> u64 {
    engine::clock::wall_ns()
}
