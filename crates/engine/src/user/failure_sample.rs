//! Details of the first failure of each kind, for the record: expected and found values, and an
//! excerpt of the response. Values of variables are replaced by the variables' names, because they
//! may be secret.

use measure::{Failure, interval::FailureDetail, sample::RequestOutcome};
use plan::rng::Rng;

use super::{
    IterationAbort, User, capture::Inspection, ongoing::Ongoing, step_trace::excerpt, vars::Vars,
};
use crate::client::EXCERPT;

const FINDING: usize = 256;
/// Maximum bytes of a text that is searched for values.
const LOOKED_AT: usize = 64 << 10;
const MOST_VALUES: usize = 1_000;

impl User<'_> {
    /// Details of a failure. Uses a clone of the user with the same RNG state to inspect the
    /// response again.
    pub(super) fn sample(
        &self,
        ongoing: &Ongoing<'_>,
        (ended, result): (RequestOutcome, &Result<(), IterationAbort>),
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
        let mut seen = Inspection::new(answer, self.worker.memory.left(), self.program.unpacking);
        let findings = if has_answer {
            witness.findings(step, &mut seen)
        } else {
            Vec::new()
        };
        let values = Values::from_vars(&witness.vars);
        let shown = |text: &str, most, beyond| {
            let values = values.as_ref()?;
            values.shown(text, |text| witness.hidden(text), most, beyond)
        };
        let findings = findings.iter().filter(|found| !found.holds);
        let found: Vec<String> = findings
            .filter_map(|found| shown(&found.text, FINDING, 0))
            .collect();
        let beyond = answer.body_bytes.saturating_sub(answer.body.len() as u64);
        let text = has_answer.then(|| seen.text()).flatten();
        let body = text
            .and_then(|text| shown(text, EXCERPT, beyond))
            .filter(|text| !text.is_empty());
        let spec = &step.spec;
        let more = match (result, &ongoing.unexpected) {
            (Err(IterationAbort::Named(name, _) | IterationAbort::Unsendable(name, ..)), _) => {
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
            detail: format!("{} {}{more}", spec.method, spec.url_text),
            found,
            body,
        }
    }
}

/// Details without excerpts: only the counted name, because texts may contain captured values.
fn without_excerpts(ongoing: &Ongoing<'_>, ended: RequestOutcome) -> FailureDetail {
    let spec = &ongoing.step.spec;
    let more = match (ended, ongoing.exchange.answer.status) {
        (RequestOutcome::Unanswered(fault), 0) => format!(": {}", fault.text()),
        (_, 0) => String::new(),
        (_, status) => format!(": status {status}"),
    };
    FailureDetail {
        detail: format!("{} {}{more}", spec.method, spec.url_text),
        found: Vec::new(),
        body: None,
    }
}

/// Values of a user's own variables, longest first, plain and as JSON, with their names.
struct Values(Vec<(String, String)>);

impl Values {
    /// `None` if there are too many.
    fn from_vars(vars: &Vars<'_>) -> Option<Values> {
        let mut all = Vec::new();
        for (name, value) in vars.own() {
            for leaf in plan::secret::leaves(value) {
                let shown = format!("‹{name}›");
                let quoted = serde_json::Value::from(leaf.as_str()).to_string();
                let inner = quoted[1..quoted.len() - 1].to_owned();
                if inner != leaf {
                    all.push((inner, shown.clone()));
                }
                all.push((leaf, shown));
                if all.len() > MOST_VALUES {
                    return None;
                }
            }
        }
        all.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        Some(Values(all))
    }

    /// The beginning of a text with values replaced. `None` if that cannot be guaranteed.
    fn shown(
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
        let mut shown = hidden(text[..cut].to_owned());
        for (value, name) in &self.0 {
            if shown.contains(value.as_str()) {
                shown = shown.replace(value.as_str(), name);
            }
        }
        let rest = text.len() - cut;
        // Replaced before cutting, so that a value at the cut is recognised.
        if rest > 0 && shown.len() < 2 * most {
            return None;
        }
        Some(excerpt(&shown, most, beyond + rest as u64))
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
        let shown = |text: &str| known.shown(text, |text| text, 40, 0);
        assert_eq!(
            shown("he said hello world, hello").as_deref(),
            Some("he said ‹found›, ‹word›")
        );
        let long = "x".repeat(100);
        let known = values(&[(&long, "token")]);
        let text = format!("the token is {long} and it is long");
        let shown = known.shown(&text, |text| text, 26, 0);
        assert_eq!(
            shown.as_deref(),
            Some("the token is ‹token› … 14 bytes more")
        );
        let known = values(&[("aaaa", "a")]);
        let text = "a".repeat(LOOKED_AT) + "b";
        assert_eq!(known.shown(&text, |text| text, LOOKED_AT, 0), None);
        assert!(known.shown(&text, |text| text, 100, 0).is_some());
    }
}
