//! The flag `--pacing-slack`, and the environment variable for front ends that have only the flags
//! of the original tool.

use plan::units::{self, MILLISECOND};

const ENVIRONMENT: &str = "LOADLINE_PACING_SLACK";
/// Maximum slack. A lateness of a millisecond or more makes a measurement INVALID.
const MOST_NS: u64 = MILLISECOND;

/// Parses the value of `--pacing-slack`, in nanoseconds.
///
/// # Errors
///
/// Fails with a one-line error that names the flag if the value is invalid.
pub fn from_flag(text: Option<&str>) -> Result<Option<u64>, String> {
    text.map(|text| parse(text).map_err(|reason| format!("--pacing-slack '{text}': {reason}")))
        .transpose()
}

/// Reads the environment variable, in nanoseconds. Returns `None` if it is not set.
pub(crate) fn from_environment() -> Result<Option<u64>, String> {
    let text = std::env::var(ENVIRONMENT).ok();
    let text = text.filter(|text| !text.is_empty());
    text.map(|text| parse(&text).map_err(|reason| format!("{ENVIRONMENT} '{text}': {reason}")))
        .transpose()
}

fn parse(text: &str) -> Result<u64, String> {
    // `parse_duration` rejects zero, which is valid here.
    if matches!(text, "0" | "0s" | "0ms" | "0us") {
        return Ok(0);
    }
    let ns = units::parse_duration(text).map_err(|error| error.to_string())?;
    if ns > MOST_NS {
        return Err("use at most 1ms: more lateness would make the measurement INVALID".to_owned());
    }
    Ok(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slack_is_a_short_time_or_none() {
        assert_eq!(from_flag(None), Ok(None));
        assert_eq!(from_flag(Some("0")), Ok(Some(0)));
        assert_eq!(from_flag(Some("50us")), Ok(Some(50_000)));
        assert_eq!(from_flag(Some("1ms")), Ok(Some(MOST_NS)));
        let refused = from_flag(Some("2ms")).unwrap_err();
        assert!(
            refused.starts_with("--pacing-slack '2ms': use at most 1ms"),
            "{refused}"
        );
        let refused = from_flag(Some("5")).unwrap_err();
        assert!(refused.starts_with("--pacing-slack '5': "), "{refused}");
    }
}
