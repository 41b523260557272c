//! Sources of server metrics that the environment names, behind whatever door. Who looks at them is `sampling`'s.

use plan::{Plan, Problem, server};

use crate::lab_process;

/// `NAME=PLACE`, separated by semicolons or lines.
const ENVIRONMENT: &str = "LOADLINE_SERVER";

/// Adds the environment's sources to a plan's own, and has passwords in any of them kept secret.
///
/// # Errors
/// A line for each that is none.
pub(crate) fn apply_env_server(plan: &mut Plan) -> Result<(), Vec<Problem>> {
    let text = std::env::var(ENVIRONMENT).unwrap_or_default();
    let mut problems = Vec::new();
    for one in text
        .split([';', '\n'])
        .map(str::trim)
        .filter(|one| !one.is_empty())
    {
        match server::parse(one) {
            Ok(source) => plan.server.push(source),
            Err(why) => problems.push(Problem::anywhere(format!("{ENVIRONMENT}: {why}"))),
        }
    }
    // Whoever runs a lab for this process has said where it listens.
    if let Some(listeners) = lab_process::lent()
        && let Err(unused) = lab_process::resolve(plan, &listeners)
    {
        problems.extend(unused);
    }
    let secrets: Vec<String> = plan
        .server
        .iter()
        .flat_map(server::MetricSource::secrets)
        .collect();
    plan.secrets.extend(secrets);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}
