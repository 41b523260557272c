//! What an answer was expected to be, and what was found: the checks of Artillery's plugin `expect`, in its words. Counting is
//! the door's business, printing a renderer's.

use measure::{
    Failure,
    accumulator::Event,
    expectation::{Exchange, ExpectedAnswer, ExpectedCheck},
};
use plan::{
    expect::Expectation,
    plugins::{Expect, OnFailure},
    template::Template,
};
use query::value::string_of;

mod checks;

use checks::{Body, body_of};

use super::{End, User, capture::Inspection};
use crate::{client::Built, program::RequestStep, worker::Line};

/// So much of a body is shown.
const SHOWN: usize = 512;
/// Variables that every virtual user has in Artillery, in its order.
const BUILT_IN: [&str; 5] = [
    "target",
    "$environment",
    "$testId",
    "$dirname",
    "$scenarioFile",
];

impl User<'_> {
    /// Checks an answer, and counts and prints what came of it. An error if that fails the request.
    pub(super) fn expect(
        &mut self,
        step: &RequestStep,
        sent: Option<&Built>,
        seen: &mut Inspection<'_>,
        now_ns: u64,
    ) -> Result<(), Unexpected> {
        let Some(expect) = &step.expect else {
            return Ok(());
        };
        let reads = step.spec.expectations.iter().any(Expectation::reads_body);
        let body = if reads { body_of(seen) } else { Body::Text };
        let mut findings = Vec::with_capacity(step.spec.expectations.len());
        let mut unsupported = Vec::new();
        for expectation in &step.spec.expectations {
            match expectation {
                Expectation::Unsupported(name) => unsupported.push(name.clone()),
                known => findings.push(self.finding(known, &body, seen)),
            }
        }
        let mut recorder = self.worker.recorder.borrow_mut();
        for finding in &findings {
            let event = Event::Expected {
                kind: &finding.kind,
                ok: finding.ok,
            };
            recorder.door(now_ns, &event);
        }
        drop(recorder);
        let failed = findings.iter().any(|finding| !finding.ok);
        let first_failed = findings.iter().find(|finding| !finding.ok).map(told);
        let printed = expect.prints(findings.len(), failed) || !unsupported.is_empty();
        if let Some(sent) = sent.filter(|_| printed && expect.print.is_some()) {
            let exchange = (failed && expect.prints_exchange())
                .then(|| Box::new(self.exchange(step, sent, seen)));
            let name = step
                .name
                .as_ref()
                .map(|name| name.to_text(&self.vars, &mut self.rng));
            self.worker.emit(Line::Expectation(Box::new(ExpectedAnswer {
                method: step.spec.method.clone(),
                path: sent.target.path.clone(),
                name,
                unsupported,
                findings,
                exchange,
            })));
        }
        match first_failed {
            None => Ok(()),
            Some(what) => self.unexpected(step, expect, what),
        }
    }

    fn unexpected(
        &self,
        step: &RequestStep,
        expect: &Expect,
        what: String,
    ) -> Result<(), Unexpected> {
        match expect.on_failure {
            OnFailure::Counted => Ok(()),
            OnFailure::FailsRequest => Err(Unexpected { what, end: None }),
            OnFailure::FailsUser => {
                let name = step.spec.name.as_deref();
                let named = name.filter(|_| expect.names_only);
                let url = &step.spec.url_text;
                // As the file has it: what the templates made of it would be a name of its own for each user.
                let shown = match named {
                    Some(name) => name.to_owned(),
                    None if url.starts_with('/') => {
                        format!("{}{url}", self.program.target)
                    }
                    None => url.clone(),
                };
                let error = format!("Failed expectations for request {shown}");
                Err(Unexpected {
                    what,
                    end: Some(End::Unexpected(error)),
                })
            }
        }
    }

    fn finding(
        &mut self,
        expectation: &Expectation,
        body: &Body,
        seen: &mut Inspection<'_>,
    ) -> ExpectedCheck {
        let mut eval = |template: &Template| template.eval(&self.vars, &mut self.rng);
        match expectation {
            Expectation::StatusCode(wanted) => {
                checks::status(true, eval(wanted), seen.answer.status)
            }
            Expectation::NotStatusCode(wanted) => {
                checks::status(false, eval(wanted), seen.answer.status)
            }
            Expectation::ContentType(wanted) => checks::content_type(eval(wanted), body, seen),
            Expectation::HasProperty(path) => {
                checks::property("hasProperty", true, eval(path), body)
            }
            Expectation::NotHasProperty(path) => {
                checks::property("notHasProperty", false, eval(path), body)
            }
            Expectation::HasHeader(name) => checks::has_header(eval(name), seen),
            Expectation::HeaderEquals(name, wanted) => {
                let (name, wanted) = (string_of(eval(name).as_ref()), eval(wanted));
                checks::header_equals(&name, wanted, seen)
            }
            Expectation::Equals(items) => {
                let texts = items.iter().map(|item| string_of(eval(item).as_ref()));
                checks::equals(&texts.collect::<Vec<_>>())
            }
            Expectation::MatchesRegexp(pattern) => {
                checks::matches_regexp(&string_of(eval(pattern).as_ref()), seen)
            }
            Expectation::CdnHit(hit) => checks::cdn(*hit, seen),
            Expectation::JmesPath {
                word,
                path,
                description,
            } => checks::jmespath(*word, path, description.as_deref(), body),
            Expectation::Unsupported(name) => checks::finding(name, false, None, None),
        }
    }

    fn exchange(&self, step: &RequestStep, sent: &Built, seen: &mut Inspection<'_>) -> Exchange {
        let is_json = matches!(step.spec.body, plan::scenario::Body::Json(_));
        let sent_body = sent.bytes.get(sent.cookie_at + 2..).unwrap_or_default();
        let json = is_json
            .then(|| serde_json::from_slice(sent_body).ok())
            .flatten();
        let body = seen.text().unwrap_or_default();
        Exchange {
            url: format!("{}{}", sent.target.origin.text(), sent.target.path),
            json,
            body: body.chars().take(SHOWN).collect(),
            headers: checks::node_headers(&seen.answer.headers),
            variables: self
                .vars
                .all(&BUILT_IN)
                .into_iter()
                .filter(|(name, _)| !matches!(*name, "$env" | "$processEnvironment"))
                .map(|(name, value)| (name.to_owned(), value.cloned()))
                .collect(),
        }
    }
}

/// A request that is not as expected, and fails for it.
pub struct Unexpected {
    /// What was expected and found, for the record.
    pub what: String,
    /// What it does to the virtual user.
    pub end: Option<End>,
}

impl Unexpected {
    /// The kind of failure that the ledger counts.
    pub const FAILURE: Failure = Failure::Check("expect");
}

/// What the record keeps of a check that failed. Values stay out of it where they may be anything that a variable or an answer
/// holds: nobody can tell which of them are secret.
fn told(finding: &ExpectedCheck) -> String {
    let anything = ["equals", "matchesRegexp"].contains(&finding.kind.as_str())
        || finding.kind.starts_with("header ");
    if let (true, Some(serde_json::Value::String(why))) =
        (finding.kind == "matchesRegexp", &finding.got)
        && !why.starts_with("SyntaxError")
    {
        return format!("{}: {why}", finding.kind);
    }
    if anything {
        return format!("{}: not as expected", finding.kind);
    }
    format!(
        "{}: expected {}, got {}",
        finding.kind,
        string_of(finding.expected.as_ref()),
        string_of(finding.got.as_ref())
    )
}
