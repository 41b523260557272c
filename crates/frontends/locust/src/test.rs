//! What is known of a test before it starts, and the plan that it is. Plain data: of a test that several processes carry out all of
//! them make their plan of the same.

use std::path::Path;

use crate::arrivals;
use plan::{FirstArrival, Format, Load, Plan, Problem, Work, units::DAY, work::External};
use serde::{Deserialize, Serialize};
use session::rules;

/// Who decides.
pub(crate) const LOCUST: &str = "locust";

/// What is known of a test before it starts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LocustTest {
    /// The base host, as the first user class has it.
    pub target: Option<String>,
    /// So many users at most, as far as anybody knows.
    pub users: u32,
    /// For so long, if somebody said so.
    pub duration_ns: Option<u64>,
    /// The test's files.
    pub files: Vec<String>,
    /// User classes with their weights, and whatever else tells this test from another.
    pub settings: Vec<(String, String)>,
    /// At which rate tasks are to be started, where they do not follow each other.
    #[serde(default)]
    pub arrivals: Option<String>,
    /// What must hold at its end, as the environment has it.
    pub checks: String,
}

impl LocustTest {
    /// With what the environment asks for.
    #[must_use]
    pub fn with_environment(self) -> LocustTest {
        LocustTest {
            checks: rules::checks(),
            ..self
        }
    }

    /// The plan that it is.
    ///
    /// # Errors
    /// What is wrong with what was asked for, a line each.
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
        // Time-outs are each request's own.
        plan.http.timeouts.total_ns = None;
        plan.http.cookie_jar = false;
        let settings = self.settings.iter();
        plan.door_settings = settings
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let lines = |problems: Vec<Problem>| {
            problems
                .into_iter()
                .map(|one| one.message)
                .collect::<Vec<_>>()
        };
        plan.criteria = rules::criteria(&self.checks).map_err(lines)?;
        Ok(plan)
    }
}

/// Whether what the environment asks for can be read: criteria, stop rules, and arrivals.
///
/// # Errors
/// What is wrong with the first that cannot.
pub fn check_wishes() -> Result<(), String> {
    let first = |problems: Vec<Problem>| problems[0].message.clone();
    rules::criteria(&rules::checks()).map_err(first)?;
    rules::stop().map_err(first)?;
    match std::env::var(arrivals::NAME) {
        Ok(text) if !text.trim().is_empty() => arrivals::parse(text.trim(), DAY).map(|_| ()),
        _ => Ok(()),
    }
}
