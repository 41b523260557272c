//! Details of the first failure for each reason: expected and actual values, and an excerpt of the
//! response. The values of variables are replaced by their names, because the values may be secret.

use measure::{Failure, interval::FailureDetail, sample::RequestOutcome};
use plan::rng::Rng;

use super::{
    IterationAbort, User, capture::Inspection, ongoing::Ongoing, step_trace::excerpt, vars::Vars,
};
use worker::client::EXCERPT;

/// Maximum number of bytes to show of an actual value.
const FINDING: usize = 256;
/// Maximum number of bytes to search for values of variables.
const LOOKED_AT: usize = 64 << 10;
const MOST_VALUES: usize = 1_000;

impl User<'_> {
    /// Creates the details of a failure. Evaluates the response again on a clone of the user with
    /// the same random state.
    pub(super) fn sample(
        &self,
        ongoing: &Ongoing<'_>,
        ended: RequestOutcome,
        result: &Result<(), IterationAbort>,
        drawn_from: Rng,
    ) -> FailureDetail {
        if self.program.without_excerpts {
            return without_excerpts(ongoing, ended);
        }
        let step = ongoing.step;
        let answer = &ongoing.exchange.answer;
        let has_answer = answer.status > 0 && !matches!(ended, RequestOutcome::Unanswered(_));
        let mut witness = self.clone();
        witness.rng = drawn_from;
        let mut inspection =
            Inspection::new(answer, self.worker.memory.left(), self.program.unpacking);
        let findings = if has_answer {
            witness.findings(step, &mut inspection)
        } else {
            Vec::new()
        };
        // All captured values are known only at this point.
        let values = Values::from_vars(&witness.vars);
        let render = |text: &str, most, beyond| {
            let values = values.as_ref()?;
            values.render(text, |text| witness.hidden(text), most, beyond)
        };
        let findings = findings.iter().filter(|found| !found.holds);
        let found: Vec<String> = findings
            .filter_map(|found| render(&found.text, FINDING, 0))
            .collect();
        let beyond = answer.body_bytes.saturating_sub(answer.body.len() as u64);
        let text = has_answer.then(|| inspection.text()).flatten();
        let body = text
            .and_then(|text| render(text, EXCERPT, beyond))
            .filter(|text| !text.is_empty());
        let spec = &step.spec;
        let more = match (result, &ongoing.unexpected) {
            (Err(IterationAbort::Named(name, _) | IterationAbort::NamedInStep(name, ..)), _) => {
                format!(": {name}")
            }
            (_, Some(what)) => format!(": {what}"),
            _ if !found.is_empty()
                && !matches!(ended, RequestOutcome::Failed(Failure::Status(_))) =>
            {
                format!(": {}", found.join("; "))
            }
            _ if answer.status > 0 => format!(": status {}", answer.status),
            _ => String::new(),
        };
        FailureDetail {
            detail: format!("{} {}{more}", spec.verb(), spec.url_text.expose()),
            found,
            body,
        }
    }
}

impl User<'_> {
    /// Creates the details of a failed WebSocket step, with the beginning of the last message.
    pub(super) fn message_detail(&self, detail: String, last: &[u8]) -> FailureDetail {
        let values = Values::from_vars(&self.vars);
        let values = values.filter(|_| !self.program.without_excerpts && !last.is_empty());
        let body = values.and_then(|values| {
            let text = String::from_utf8_lossy(last);
            values.render(&text, |text| self.hidden(text), EXCERPT, 0)
        });
        FailureDetail {
            detail,
            found: Vec::new(),
            body,
        }
    }
}

/// Returns details without excerpts, because excerpts may contain captured values.
fn without_excerpts(ongoing: &Ongoing<'_>, ended: RequestOutcome) -> FailureDetail {
    let spec = &ongoing.step.spec;
    let more = match (ended, ongoing.exchange.answer.status) {
        (RequestOutcome::Unanswered(fault), 0) => format!(": {}", fault.text()),
        (_, 0) => String::new(),
        (_, status) => format!(": status {status}"),
    };
    FailureDetail {
        detail: format!("{} {}{more}", spec.verb(), spec.url_text.expose()),
        found: Vec::new(),
        body: None,
    }
}

/// The values of the user's variables, longest first, with the names of the variables.
struct Values(Vec<(String, String)>);

impl Values {
    /// Collects the values of all variables. Returns `None` if there are too many.
    fn from_vars(vars: &Vars<'_>) -> Option<Values> {
        let mut all = Vec::new();
        for (name, value) in vars.own() {
            for leaf in plan::secret::leaves(value) {
                let rendered = format!("‹{name}›");
                let quoted = serde_json::Value::from(leaf.as_str()).to_string();
                let inner = quoted[1..quoted.len() - 1].to_owned();
                if inner != leaf {
                    all.push((inner, rendered.clone()));
                }
                all.push((leaf, rendered));
                if all.len() > MOST_VALUES {
                    return None;
                }
            }
        }
        all.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        Some(Values(all))
    }

    /// Returns the beginning of a string, with values replaced by the names of variables. `None` if
    /// a value might remain.
    fn render(
        &self,
        text: &str,
        hidden: impl Fn(String) -> String,
        most: usize,
        beyond: u64,
    ) -> Option<String> {
        let mut cut = LOOKED_AT.min(text.len());
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let mut rendered = hidden(text[..cut].to_owned());
        for (value, name) in &self.0 {
            if rendered.contains(value.as_str()) {
                rendered = rendered.replace(value.as_str(), name);
            }
        }
        let rest = text.len() - cut;
        // Values are replaced before the text is cut, so that a value at the cut is found.
        if rest > 0 && rendered.len() < 2 * most {
            return None;
        }
        Some(excerpt(&rendered, most, beyond + rest as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(all: &[(&str, &str)]) -> Values {
        let owned = |(value, name): &(&str, &str)| ((*value).to_owned(), format!("‹{name}›"));
        Values(all.iter().map(owned).collect())
    }

    #[test]
    fn values_are_replaced_by_variable_names() {
        let known = values(&[("hello world", "found"), ("hello", "word")]);
        let render = |text: &str| known.render(text, |text| text, 40, 0);
        assert_eq!(
            render("he said hello world, hello").as_deref(),
            Some("he said ‹found›, ‹word›")
        );
        let long = "x".repeat(100);
        let known = values(&[(&long, "token")]);
        let text = format!("the token is {long} and it is long");
        let rendered = known.render(&text, |text| text, 26, 0);
        assert_eq!(
            rendered.as_deref(),
            Some("the token is ‹token› … 14 more bytes")
        );
        let known = values(&[("aaaa", "a")]);
        let text = "a".repeat(LOOKED_AT) + "b";
        assert_eq!(known.render(&text, |text| text, LOOKED_AT, 0), None);
        assert!(known.render(&text, |text| text, 100, 0).is_some());
    }
}
