//! The command `loadline selftest`, which compares reports with the reference server's log or with
//! a closed form, on this machine.

mod cases;
mod experiment;
mod machine;
mod truth;

use std::fmt::Write;

use session::exit;

use crate::{args, log};

pub struct Assertion {
    pub what: String,
    pub expected: String,
    pub measured: String,
    pub holds: bool,
}

impl Assertion {
    #[must_use]
    pub fn near(
        what: impl Into<String>,
        wanted_ms: f64,
        measured_ms: f64,
        share: f64,
        slack_ms: f64,
    ) -> Assertion {
        Assertion {
            what: what.into(),
            expected: format!(
                "{} ± {}",
                ms(wanted_ms),
                ms((wanted_ms * share).max(slack_ms))
            ),
            measured: ms(measured_ms),
            holds: (measured_ms - wanted_ms).abs() <= (wanted_ms * share).max(slack_ms),
        }
    }

    #[must_use]
    pub fn between(
        what: impl Into<String>,
        low_ms: f64,
        high_ms: f64,
        measured_ms: f64,
    ) -> Assertion {
        Assertion {
            what: what.into(),
            expected: format!("{} to {}", ms(low_ms), ms(high_ms)),
            measured: ms(measured_ms),
            holds: (low_ms..=high_ms).contains(&measured_ms),
        }
    }

    #[must_use]
    pub fn at_most(what: impl Into<String>, bound_ms: f64, measured_ms: f64) -> Assertion {
        Assertion {
            what: what.into(),
            expected: format!("≤ {}", ms(bound_ms)),
            measured: ms(measured_ms),
            holds: measured_ms <= bound_ms,
        }
    }

    #[must_use]
    pub fn excused(mut self, machine_was_late: bool) -> Assertion {
        if machine_was_late && !self.holds {
            self.measured.push_str(" (the machine itself was late)");
            self.holds = true;
        }
        self
    }

    #[must_use]
    pub fn same(
        what: impl Into<String>,
        expected: impl std::fmt::Display,
        measured: impl std::fmt::Display,
    ) -> Assertion {
        let (expected, measured) = (expected.to_string(), measured.to_string());
        Assertion {
            what: what.into(),
            holds: expected == measured,
            expected,
            measured,
        }
    }
}

fn ms(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        m if m >= 100.0 => format!("{value:.0} ms"),
        m if m >= 1.0 => format!("{value:.2} ms"),
        _ => format!("{:.1} µs", value * 1000.0),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    pub seconds: u64,
    pub microseconds: bool,
    /// Numbers of runs used to check for false alarms: healthy, starved, stalled.
    pub runs: (usize, usize, usize),
    /// Number of closed-loop runs: healthy, starved, with a busy neighbour.
    pub closed: (usize, usize, usize),
    pub searches: u64,
}

pub struct Case {
    pub id: &'static str,
    pub title: &'static str,
    pub timing: bool,
    pub run: fn(Depth) -> Result<Vec<Assertion>, String>,
}

pub fn command(args: &args::Selftest) -> u8 {
    let depth = match (args.short, args.full) {
        (true, _) => Depth {
            seconds: 5,
            microseconds: false,
            runs: (3, 2, 2),
            closed: (2, 1, 1),
            searches: 25,
        },
        (_, true) => Depth {
            seconds: 60,
            microseconds: true,
            runs: (20, 10, 10),
            closed: (10, 5, 5),
            searches: 1_000,
        },
        _ => Depth {
            seconds: 20,
            microseconds: true,
            runs: (20, 10, 10),
            closed: (10, 5, 5),
            searches: 100,
        },
    };
    let wanted = |case: &&Case| {
        args.case.is_empty() || args.case.iter().any(|id| id.eq_ignore_ascii_case(case.id))
    };
    let chosen: Vec<&Case> = cases::ALL.iter().filter(wanted).collect();
    if chosen.is_empty() {
        let ids: Vec<&str> = cases::ALL.iter().map(|case| case.id).collect();
        log::error(format_args!(
            "no such case: the cases are {}",
            ids.join(", ")
        ));
        return exit::BAD_INPUT;
    }
    let mut failed = 0;
    for case in &chosen {
        failed += usize::from(!run_case(case, depth, args.once));
    }
    log::out(&format!(
        "\n{} passed, {failed} failed\n",
        chosen.len() - failed
    ));
    if failed == 0 { exit::PASS } else { exit::FAIL }
}

/// Runs a case. If a case that depends on timing fails, it is repeated, and both results are shown.
fn run_case(case: &Case, depth: Depth, once: bool) -> bool {
    let attempts = if case.timing && !once { 2 } else { 1 };
    for attempt in 1..=attempts {
        let (holds, text) = match (case.run)(depth) {
            Ok(findings) => (findings.iter().all(|f| f.holds), table(&findings)),
            Err(reason) => (false, format!("    could not run: {reason}\n")),
        };
        let word = if holds { "pass" } else { "FAIL" };
        let again = if attempt > 1 { " (second attempt)" } else { "" };
        log::out(&format!(
            "{word}  {:<4} {}{again}\n{text}",
            case.id, case.title
        ));
        if holds {
            return true;
        }
    }
    false
}

fn table(findings: &[Assertion]) -> String {
    let width = |of: fn(&Assertion) -> &str| {
        findings
            .iter()
            .map(|f| of(f).chars().count())
            .max()
            .unwrap_or(0)
    };
    let (what, expected) = (width(|f| &f.what), width(|f| &f.expected));
    let mut out = String::new();
    for finding in findings {
        let mark = if finding.holds { ' ' } else { '!' };
        let _ = writeln!(
            out,
            "    {mark} {:what$}  expected {:expected$}  measured {}",
            finding.what, finding.expected, finding.measured
        );
    }
    out
}
