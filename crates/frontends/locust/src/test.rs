//! The settings of a test and its plan. All processes compute the same plan.

use std::path::Path;

use crate::arrivals;
use plan::{FirstArrival, Format, Load, Plan, Problem, Work, units::DAY, work::External};
use serde::{Deserialize, Serialize};
use session::rules;

pub(crate) const LOCUST: &str = "locust";

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LocustTest {
    pub target: Option<String>,
    pub users: u32,
    pub duration_ns: Option<u64>,
    pub files: Vec<String>,
    pub settings: Vec<(String, String)>,
    #[serde(default)]
    pub arrivals: Option<String>,
    pub checks: String,
}

impl LocustTest {
    #[must_use]
    pub fn with_environment(self) -> LocustTest {
        LocustTest {
            checks: rules::checks(),
            ..self
        }
    }

    pub fn plan(&self) -> Result<Plan, Vec<String>> {
        let duration_ns = self.duration_ns.unwrap_or(DAY).min(99 * DAY);
        let users = self.users.max(1);
        let load = match &self.arrivals {
            None => Load::users(users, duration_ns),
            Some(text) => Load::Open {
                phases: arrivals::parse(text, duration_ns).map_err(|line| vec![line])?,
                first: FirstArrival::AtStart,
            },
        };
        let work = Work::External(External { by: LOCUST.into() });
        let name = self.files.first().map_or(LOCUST, String::as_str);
        let name = Path::new(name)
            .file_stem()
            .map_or(name.into(), |stem| stem.to_string_lossy().into_owned());
        let target = self.target.clone().unwrap_or_default();
        let mut plan = Plan::new(name, Format(LOCUST), target, load, work);
        plan.http.timeouts.total_ns = None;
        plan.http.cookie_jar = false;
        let settings = self.settings.iter();
        plan.provenance.frontend_settings = settings
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let lines = |problems: Vec<Problem>| {
            problems
                .into_iter()
                .map(|one| one.message)
                .collect::<Vec<_>>()
        };
        plan.policy.criteria = rules::criteria(&self.checks).map_err(lines)?;
        Ok(plan)
    }
}

/// Validates the criteria, stop rules and arrivals in environment variables.
pub fn check_wishes() -> Result<(), String> {
    let first = |problems: Vec<Problem>| problems[0].message.clone();
    rules::criteria(&rules::checks()).map_err(first)?;
    rules::stop().map_err(first)?;
    match std::env::var(arrivals::NAME) {
        Ok(text) if !text.trim().is_empty() => arrivals::parse(text.trim(), DAY).map(|_| ()),
        _ => Ok(()),
    }
}
