//! Sources of server metrics from an environment variable, for all front ends.

use plan::{Plan, Problem, server};

use crate::lab_process;

/// Environment variable with sources as `NAME=PLACE`, separated by semicolons or line breaks.
const ENVIRONMENT: &str = "LOADLINE_SERVER";

/// Adds the sources in the environment to the plan, and marks their passwords as secret.
pub(crate) fn apply_env_server(plan: &mut Plan) -> Result<(), Vec<Problem>> {
    let text = std::env::var(ENVIRONMENT).unwrap_or_default();
    let mut problems = Vec::new();
    for one in text
        .split([';', '\n'])
        .map(str::trim)
        .filter(|one| !one.is_empty())
    {
        match server::parse(one) {
            Ok(source) => plan.policy.server.push(source),
            Err(reason) => problems.push(Problem::anywhere(format!("{ENVIRONMENT}: {reason}"))),
        }
    }
    // The parent process runs the embedded target and has passed on its listeners.
    if let Some(listeners) = lab_process::lent()
        && let Err(unresolved) = lab_process::resolve(plan, &listeners)
    {
        problems.extend(unresolved);
    }
    let secrets: Vec<String> = plan
        .policy
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
