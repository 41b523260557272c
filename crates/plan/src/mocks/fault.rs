//! Faults of a mock, written one per line, such as `at 2m for 30s: latency x5`. Times are on the
//! load's timeline.

use crate::units::{GrammarError, parse_duration};

/// A fault and the period in which it is active.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Start on the load's timeline.
    pub from_ns: u64,
    /// Duration in nanoseconds.
    pub for_ns: u64,
    /// Effect of the fault.
    pub kind: FaultKind,
}

/// Effect of a fault.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultKind {
    /// Multiplies all latencies by this factor.
    Latency(f64),
    /// Responds with this status to this share of the requests, after the usual latency.
    Errors(f64, u16),
    /// Resets this share of the connections, after the usual latency.
    Resets(f64),
    /// Does not respond.
    Silence,
}

const FORM: &str = "use, for example, `at 2m for 30s: latency x5`, or after the colon `errors 20%`, `errors 20% 503`, `resets 5%`, `silence`";

impl Fault {
    /// Returns whether the fault is active at the given time of the load's timeline.
    #[must_use]
    pub fn holds(&self, at_ns: u64) -> bool {
        at_ns >= self.from_ns && at_ns - self.from_ns < self.for_ns
    }
}

/// Parses a fault. On failure, the error contains the offset of the problem.
pub fn parse_fault(text: &str) -> Result<Fault, GrammarError> {
    let wrong = |offset: usize, message: String| GrammarError { offset, message };
    let (when, what) = text
        .split_once(':')
        .ok_or_else(|| wrong(0, format!("`{text}` is not a fault: {FORM}")))?;
    let words: Vec<&str> = when.split_whitespace().collect();
    let &["at", at, "for", length] = words.as_slice() else {
        return Err(wrong(
            0,
            format!("`{when}` is not a valid time for a fault: {FORM}"),
        ));
    };
    let duration = |word: &str| {
        let offset = word.as_ptr() as usize - text.as_ptr() as usize;
        match word {
            "0" | "0s" => Ok(0),
            word => parse_duration(word).map_err(|error| wrong(offset, error.message)),
        }
    };
    let (from_ns, for_ns) = (duration(at)?, duration(length)?);
    let offset = when.len() + 1 + (what.len() - what.trim_start().len());
    let kind = kind(what.trim()).ok_or_else(|| {
        let what = what.trim();
        wrong(offset, format!("`{what}` is not a fault: {FORM}"))
    })?;
    Ok(Fault {
        from_ns,
        for_ns,
        kind,
    })
}

fn kind(text: &str) -> Option<FaultKind> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["silence"] => Some(FaultKind::Silence),
        ["latency", times] => {
            let times: f64 = times.strip_prefix('x')?.parse().ok()?;
            (times.is_finite() && (0.0..=10_000.0).contains(&times))
                .then_some(FaultKind::Latency(times))
        }
        ["errors", share] => Some(FaultKind::Errors(self::share(share)?, 503)),
        ["errors", share, code] => {
            let code = code
                .parse()
                .ok()
                .filter(|code| (400..=599).contains(code))?;
            Some(FaultKind::Errors(self::share(share)?, code))
        }
        ["resets", share] => Some(FaultKind::Resets(self::share(share)?)),
        _ => None,
    }
}

fn share(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_parsed_and_active_in_their_period() {
        let read = |text| parse_fault(text).unwrap();
        let slow = read("at 2m for 30s: latency x5");
        assert_eq!(slow.kind, FaultKind::Latency(5.0));
        let second = 1_000_000_000;
        assert!(!slow.holds(120 * second - 1) && slow.holds(120 * second));
        assert!(slow.holds(150 * second - 1) && !slow.holds(150 * second));
        assert_eq!(
            read("at 0s for 1s: errors 20% 500").kind,
            FaultKind::Errors(0.2, 500)
        );
        assert_eq!(
            read("at 1s for 1s:errors 2.5%").kind,
            FaultKind::Errors(0.025, 503)
        );
        assert_eq!(
            read("at 1s for 1s: resets 5%").kind,
            FaultKind::Resets(0.05)
        );
        assert_eq!(read("at 1s for 1s: silence").kind, FaultKind::Silence);
    }

    #[test]
    fn invalid_faults_are_rejected_with_position() {
        for (text, offset) in [
            ("", 0),
            ("latency x5", 0),
            ("in 2m for 3s: silence", 0),
            ("at 2 for 3s: silence", 3),
            ("at 2m for soon: silence", 10),
            ("at 2m for 3s: noise", 14),
            ("at 2m for 3s: latency 5", 14),
            ("at 2m for 3s: errors 120%", 14),
            ("at 2m for 3s: errors 20% 200", 14),
            ("at 2m for 3s: resets", 14),
        ] {
            let error = parse_fault(text).unwrap_err();
            assert_eq!(error.offset, offset, "{text}: {}", error.message);
        }
    }
}
