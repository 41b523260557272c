//! The load of a draft, and how it is written.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    draft::{Draft, DraftRequest},
    yaml,
};

#[derive(Debug, Default)]
pub enum DraftLoad {
    /// One iteration per second.
    #[default]
    Iterations,
    /// One request per second on average, regardless of how many requests an iteration sends.
    Requests,
    /// The load of the source, with comments.
    Phases {
        comments: Vec<String>,
        phases: Vec<Value>,
    },
}

/// Maximum length in seconds of a load with less than one iteration per second.
const LONGEST: usize = 600;
const SHORTEST: usize = 30;

impl Draft {
    pub fn load_text(&self) -> String {
        let mut out = String::from("\n");
        match &self.load {
            DraftLoad::Phases { comments, phases } => {
                super::write::comments(comments, 0, &mut out);
                match phases.as_slice() {
                    [phase] => {
                        let _ = writeln!(out, "load: {}", yaml::flow(phase));
                    }
                    phases => {
                        out.push_str("load:\n");
                        for phase in phases {
                            let _ = writeln!(out, "  - {}", yaml::flow(phase));
                        }
                    }
                }
            }
            DraftLoad::Requests if self.active() > 1 => {
                let active = self.active();
                // At least two iterations start, even if this takes long.
                let duration = (3 * active).clamp(SHORTEST, LONGEST).max(2 * active);
                let _ = writeln!(
                    out,
                    "# The load: one request each second on average, because an iteration sends \
                     {active}.\n# Raise it once a single iteration works.\n\
                     load: {{ rate: {}, duration: {duration}s }}",
                    iteration_rate(active)
                );
            }
            DraftLoad::Iterations | DraftLoad::Requests => out.push_str(
                "# The load: one iteration starts each second. Raise it once a single iteration works.\n\
                 load: { rate: 1/s, duration: 30s }\n",
            ),
        }
        out
    }

    fn active(&self) -> usize {
        let is_sent = |request: &&&DraftRequest| !request.off;
        self.requests().iter().filter(is_sent).count()
    }
}

/// Returns an iteration rate for at most one request per second, given the number of requests per
/// iteration.
fn iteration_rate(requests: usize) -> String {
    let requests = requests.max(1);
    [(60, "m"), (3600, "h"), (86_400, "d")]
        .into_iter()
        .find(|(seconds, _)| seconds % requests == 0)
        .map_or_else(
            || format!("{}/d", (86_400 / requests).max(1)),
            |(seconds, unit)| format!("{}/{unit}", seconds / requests),
        )
}

#[cfg(test)]
mod tests {
    use super::iteration_rate;

    #[test]
    fn iterations_send_one_request_per_second_together() {
        for (requests, rate) in [(2, "30/m"), (7, "12342/d"), (40, "90/h"), (100_000, "1/d")] {
            assert_eq!(iteration_rate(requests), rate);
        }
    }
}
