//! Stop rules that the environment asks for, behind whatever door: a tool's own files have no word for them. Whether one fires is
//! `analysis::stop`'s.

use plan::{Plan, Problem, StopRule, criteria::parse_stop};

/// Rules, separated by semicolons or lines.
pub const ENVIRONMENT: &str = "LOADLINE_STOP";

/// The environment's rules.
///
/// # Errors
/// A line for each that is none.
pub fn asked() -> Result<Vec<StopRule>, Vec<Problem>> {
    read(&std::env::var(ENVIRONMENT).unwrap_or_default())
}

/// Adds the environment's rules to a plan's own.
///
/// # Errors
/// A line for each that is none; and that rules need a process that sees the whole run.
pub(crate) fn ask(plan: &mut Plan, is_divided: bool) -> Result<(), Vec<Problem>> {
    plan.stop.extend(asked()?);
    if is_divided && !plan.stop.is_empty() {
        return Err(vec![Problem::anywhere(
            "stop rules look at a whole run, and of one with several processes nobody sees that before its end: use one process, or leave the rules out",
        )]);
    }
    Ok(())
}

fn read(text: &str) -> Result<Vec<StopRule>, Vec<Problem>> {
    let (mut read, mut problems) = (Vec::new(), Vec::new());
    let rules = text.split([';', '\n']).map(str::trim);
    for rule in rules.filter(|rule| !rule.is_empty()) {
        match parse_stop(rule) {
            Ok(rule) => read.push(rule),
            Err(error) => problems.push(Problem::anywhere(error.told(ENVIRONMENT, rule))),
        }
    }
    if problems.is_empty() {
        Ok(read)
    } else {
        Err(problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Result<Vec<String>, Vec<String>> {
        let texts = |rules: Vec<StopRule>| rules.into_iter().map(|rule| rule.when.text).collect();
        let lines = |all: Vec<Problem>| all.into_iter().map(|one| one.message).collect();
        read(text).map(texts).map_err(lines)
    }

    #[test]
    fn rules_are_separated_by_semicolons_or_lines_and_placed() {
        assert_eq!(texts(" ; \n"), Ok(vec![]));
        let two = texts("errors > 5% for 5s;\n p95 > 2s for 10s: stop pass");
        assert_eq!(two, Ok(vec!["errors > 5%".into(), "p95 > 2s".into()]));
        let wrong = texts("errors > 5% for 5s; p95 > 2s").unwrap_err();
        assert!(
            wrong[0].starts_with("LOADLINE_STOP 'p95 > 2s', column 9: a stop rule says"),
            "{wrong:?}"
        );
    }
}
