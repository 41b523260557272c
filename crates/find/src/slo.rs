//! Restriction of criteria to the phase of a probe.

use crate::PHASE;

pub fn of_phase(text: &str) -> String {
    let mut quoted = false;
    let op = text.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        !quoted && matches!(c, '<' | '>')
    });
    match op {
        Some((at, _)) => format!("{} in \"{PHASE}\" {}", text[..at].trim_end(), &text[at..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use plan::criteria::parse_criterion;

    use super::*;

    #[test]
    fn phase_precedes_the_comparison() {
        for (text, of_it) in [
            ("p99 < 200ms", "p99 in \"probe\" < 200ms"),
            ("errors<=0.1%", "errors in \"probe\" <=0.1%"),
            (
                "p95 of \"GET /a<b\" < 1s",
                "p95 of \"GET /a<b\" in \"probe\" < 1s",
            ),
        ] {
            assert_eq!(of_phase(text), of_it);
            assert_eq!(
                parse_criterion(of_it).unwrap().phase.as_deref(),
                Some(PHASE)
            );
        }
    }
}
