//! Stop rules that the environment asks for, behind whatever door: a tool's own files have no word for them. Whether one fires is
//! `analysis::stop`'s.

use plan::{Plan, Problem, criteria::parse_stop};

/// Rules, separated by semicolons or lines.
pub const ENVIRONMENT: &str = "LOADLINE_STOP";

/// Adds the environment's rules to a plan's own.
///
/// # Errors
/// A line for each that is none; and that rules need a process that sees the whole run.
pub fn ask(plan: &mut Plan, is_divided: bool) -> Result<(), Vec<Problem>> {
    let text = std::env::var(ENVIRONMENT).unwrap_or_default();
    add(plan, &text, is_divided)
}

fn add(plan: &mut Plan, text: &str, is_divided: bool) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    for (at, rule) in rules(text) {
        match parse_stop(rule) {
            Ok(rule) => plan.stop.push(rule),
            Err(error) => {
                let column = text[..at + error.offset.min(rule.len())].chars().count() + 1;
                let what = format!("{ENVIRONMENT}, column {column}: {}", error.message);
                problems.push(Problem::anywhere(what));
            }
        }
    }
    if is_divided && !plan.stop.is_empty() {
        problems.push(Problem::anywhere(
            "stop rules look at a whole run, and of one with several processes nobody sees that before its end: use one process, or leave the rules out",
        ));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

/// The rules with the places at which they begin.
fn rules(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let pieces = text.split([';', '\n']).scan(0, |at, piece| {
        let begin = *at;
        *at += piece.len() + 1;
        Some((begin, piece))
    });
    pieces.filter_map(|(begin, piece)| {
        let rule = piece.trim_start();
        let at = begin + piece.len() - rule.len();
        (!rule.trim().is_empty()).then(|| (at, rule.trim_end()))
    })
}

#[cfg(test)]
mod tests {
    use plan::{Format, Load};

    use super::*;

    fn asked(text: &str, is_divided: bool) -> Result<Vec<String>, Vec<String>> {
        let nothing = Load::Once;
        let mut plan = Plan::new(
            String::new(),
            Format::NATIVE,
            "http://x".into(),
            nothing,
            vec![],
        );
        add(&mut plan, text, is_divided)
            .map(|()| {
                plan.stop
                    .iter()
                    .map(|rule| rule.when.text.clone())
                    .collect()
            })
            .map_err(|problems| problems.into_iter().map(|one| one.message).collect())
    }

    #[test]
    fn rules_are_separated_by_semicolons_or_lines_and_placed() {
        assert_eq!(asked(" ; \n", false), Ok(vec![]));
        let two = asked("errors > 5% for 5s;\n p95 > 2s for 10s: stop pass", false);
        assert_eq!(two, Ok(vec!["errors > 5%".into(), "p95 > 2s".into()]));
        let wrong = asked("errors > 5% for 5s; p95 > 2s", false).unwrap_err();
        assert!(
            wrong[0].starts_with("LOADLINE_STOP, column 29: a stop rule says"),
            "{wrong:?}"
        );
        assert!(asked("errors > 5% for 5s", true).is_err());
        assert_eq!(asked("", true), Ok(vec![]));
    }
}
