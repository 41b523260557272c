//! Parser for arrival rates from the environment: `50/s`, or `10/s for 30s, 10/s to 50/s over 1m,
//! pause for 5s, 50/s`.

use plan::{
    Phase, Shape,
    units::{SECOND, parse_duration, parse_rate},
};

pub(crate) const NAME: &str = "LOADLINE_ARRIVAL_RATE";
const GRAMMAR: &str = "use 50/s, or phases separated by commas: 10/s for 30s, 10/s to 50/s over 1m, pause for 5s, 50/s";

/// Parses an arrival rate or a list of phases. Only the last phase may omit its length.
pub fn parse(text: &str, duration_ns: u64) -> Result<Vec<Phase>, String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let mut phases = Vec::new();
    let mut before_ns = 0u64;
    for (number, part) in parts.iter().enumerate() {
        let refused = |reason: String| format!("{NAME}: `{part}`: {reason}; {GRAMMAR}");
        let (shape, length) = shape(part).map_err(refused)?;
        let length_ns = match length {
            Some(length) => parse_duration(length).map_err(|error| refused(error.message))?,
            None if matches!(shape, Shape::Staircase { .. }) => {
                return Err(refused("a ramp needs a duration".to_owned()));
            }
            None if number + 1 < parts.len() => {
                return Err(refused(
                    "only the last phase may omit its duration".to_owned(),
                ));
            }
            // The test ends before this phase starts.
            None => duration_ns.saturating_sub(before_ns).max(SECOND),
        };
        before_ns = before_ns.saturating_add(length_ns);
        phases.push(Phase {
            duration_text: length.unwrap_or_default().to_owned(),
            ..Phase::new(length_ns, shape)
        });
    }
    let has_arrivals = |phase: &Phase| match phase.shape {
        Shape::Rate(rate) => !rate.is_zero(),
        Shape::Staircase { from, to } => !(from.is_zero() && to.is_zero()),
        Shape::Count(_) | Shape::Pause => false,
    };
    if phases.iter().any(has_arrivals) {
        Ok(phases)
    } else {
        Err(format!("{NAME}: there are no arrivals; {GRAMMAR}"))
    }
}

fn shape(part: &str) -> Result<(Shape, Option<&str>), String> {
    let rate = |text: &str| parse_rate(text).map_err(|error| error.message);
    if let Some((ramp, length)) = part.split_once(" over ") {
        let (from, to) = ramp
            .split_once(" to ")
            .ok_or("a ramp needs two rates, for example 10/s to 50/s over 1m")?;
        let shape = Shape::Staircase {
            from: rate(from)?,
            to: rate(to)?,
        };
        return Ok((shape, Some(length.trim())));
    }
    if let Some((from, to)) = part.split_once(" to ") {
        let (from, to) = (rate(from)?, rate(to)?);
        return Ok((Shape::Staircase { from, to }, None));
    }
    let (what, length) = match part.split_once(" for ") {
        Some((what, length)) => (what.trim(), Some(length.trim())),
        None => (part, None),
    };
    if what == "pause" {
        let length = length.ok_or("a pause needs a duration")?;
        return Ok((Shape::Pause, Some(length)));
    }
    Ok((Shape::Rate(rate(what)?), length))
}

#[cfg(test)]
mod tests {
    use plan::{FirstArrival, Load, Schedule, units::MINUTE};

    use super::*;

    fn total(text: &str, duration_ns: u64) -> u64 {
        let phases = parse(text, duration_ns).expect(text);
        let first = FirstArrival::AtStart;
        Schedule::new(&Load::Open { phases, first }, 1).total()
    }

    #[test]
    fn one_rate_goes_on_until_the_end() {
        assert_eq!(total("50/s", MINUTE), 3000);
        assert_eq!(total("90/m", MINUTE), 90);
    }

    #[test]
    fn phases_follow_each_other() {
        let text = "10/s for 30s, 10/s to 50/s over 1m, pause for 5s, 20/s";
        assert_eq!(total(text, 100 * SECOND), 300 + 1800 + 5 * 20);
        assert_eq!(total("10/s for 30s", 10 * SECOND), 300);
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        for (text, says) in [
            ("", "``"),
            ("fast", "`fast`"),
            ("-1/s", "negative"),
            ("0/s", "there are no arrivals"),
            ("10/s, 20/s", "only the last phase"),
            ("10/s to 20/s", "a ramp needs a duration"),
            ("10/s over 5s", "a ramp needs two rates"),
            ("10/s for soon", "soon"),
            ("pause", "a pause needs a duration"),
            ("pause for 5s", "there are no arrivals"),
        ] {
            let line = parse(text, MINUTE).expect_err(text);
            assert!(line.contains(says) && !line.contains('\n'), "{line}");
        }
    }
}
