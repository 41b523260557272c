//! Criteria, stop rules and the setting for excerpts from environment variables, for all front
//! ends.

use plan::{
    Criterion, Note, Plan, Problem, StopRule,
    criteria::{parse_criterion, parse_stop},
};

/// Environment variable with stop rules, separated by semicolons or line breaks.
pub const STOP: &str = "LOADLINE_STOP";
/// Environment variable with criteria, separated by semicolons or line breaks.
pub const CHECK: &str = "LOADLINE_CHECK";
/// Environment variable that omits excerpts of responses from the record if its value is `off`.
const EXCERPTS: &str = "LOADLINE_EXCERPTS";

/// Parses the stop rules in the environment.
///
/// # Errors
///
/// Fails with a line for each invalid rule.
pub fn stop() -> Result<Vec<StopRule>, Vec<Problem>> {
    read(&variable(STOP), |rule| {
        parse_stop(rule).map_err(|error| error.describe(STOP, rule))
    })
}

/// Parses the criteria in a variable.
///
/// # Errors
///
/// Fails with a line for each invalid criterion.
pub fn criteria(text: &str) -> Result<Vec<Criterion>, Vec<Problem>> {
    read(text, |text| {
        parse_criterion(text).map_err(|error| error.describe(CHECK, text))
    })
}

/// Returns the criteria in the environment as text.
#[must_use]
pub fn checks() -> String {
    variable(CHECK)
}

/// Adds the stop rules in the environment to the plan.
pub(crate) fn apply_env_stop(plan: &mut Plan, is_divided: bool) -> Result<(), Vec<Problem>> {
    plan.policy.stop.extend(stop()?);
    if is_divided && !plan.policy.stop.is_empty() {
        return Err(vec![Problem::anywhere(
            "stop rules need the whole run and are not available with several processes: use one process, or remove the rules",
        )]);
    }
    Ok(())
}

/// Adds the criteria in the environment to the plan, without duplicates.
pub(crate) fn apply_env_check(plan: &mut Plan) -> Result<(), Vec<Problem>> {
    for criterion in criteria(&checks())? {
        if !plan
            .policy
            .criteria
            .iter()
            .any(|known| known.text == criterion.text)
        {
            plan.policy.criteria.push(criterion);
        }
    }
    Ok(())
}

/// Omits excerpts of responses from the record if the environment requests it, and adds a note to
/// the record.
pub(crate) fn apply_env_excerpts(plan: &mut Plan) -> Result<(), Vec<Problem>> {
    plan.policy.omit_excerpts |=
        is_off(&variable(EXCERPTS)).map_err(|reason| vec![Problem::anywhere(reason)])?;
    if plan.policy.omit_excerpts {
        plan.provenance.notes.push(Note {
            at: None,
            text: "excerpts of responses are not stored in the record, as requested".to_owned(),
        });
    }
    Ok(())
}

fn is_off(text: &str) -> Result<bool, String> {
    match text.trim() {
        "" | "on" => Ok(false),
        "off" => Ok(true),
        other => Err(format!("{EXCERPTS} must be `on` or `off`, not `{other}`")),
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn read<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, Vec<Problem>> {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    let texts = text.split([';', '\n']).map(str::trim);
    for text in texts.filter(|text| !text.is_empty()) {
        match read(text) {
            Ok(one) => all.push(one),
            Err(line) => problems.push(Problem::anywhere(line)),
        }
    }
    if problems.is_empty() {
        Ok(all)
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
        let read = read(text, |rule| {
            parse_stop(rule).map_err(|error| error.describe(STOP, rule))
        });
        read.map(texts).map_err(lines)
    }

    #[test]
    fn only_off_switches_excerpts_off() {
        let all = ["", "on", " off "].map(is_off);
        assert_eq!(all, [Ok(false), Ok(false), Ok(true)]);
        let reported = "LOADLINE_EXCERPTS must be `on` or `off`, not `no`".to_owned();
        assert_eq!(is_off("no"), Err(reported));
    }

    #[test]
    fn rules_are_separated_by_semicolons_or_lines_and_placed() {
        assert_eq!(texts(" ; \n"), Ok(vec![]));
        let two = texts("errors > 5% for 5s;\n p95 > 2s for 10s: stop pass");
        assert_eq!(two, Ok(vec!["errors > 5%".into(), "p95 > 2s".into()]));
        let wrong = texts("errors > 5% for 5s; p95 > 2s").unwrap_err();
        assert!(
            wrong[0]
                .starts_with("LOADLINE_STOP 'p95 > 2s', column 9: a stop rule needs a duration"),
            "{wrong:?}"
        );
    }
}
