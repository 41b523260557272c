//! Step trace for `--once`. Captures and checks are evaluated again on a clone with the same random
//! state, so that tracing cannot change the result.

use measure::{Failure, sample::RequestOutcome};
use plan::{
    scenario::{CaptureSource, ResponseCheck},
    template::Template,
};
use serde_json::Value;

use super::{IterationAbort, User, capture::Inspection, ongoing::Ongoing};
use crate::program::{Capturing, Checking, RequestStep};
use worker::{
    OutputLine,
    step_trace::{CheckResult, RequestTrace, StepTrace},
};

const EXCERPT: usize = 2048;
const HIDDEN: &str = "‹redacted›";

impl User<'_> {
    /// Traces a request after its evaluation. `self` is the user before the evaluation.
    pub(super) fn record(
        &mut self,
        ongoing: &Ongoing<'_>,
        url: Option<String>,
        ended: RequestOutcome,
        result: &Result<(), IterationAbort>,
    ) {
        let step = ongoing.step;
        let exchange = &ongoing.exchange;
        let moments = &exchange.moments;
        let mut inspection = Inspection::new(
            &exchange.answer,
            self.worker.memory.left(),
            self.program.unpacking,
        );
        let has_answer =
            exchange.answer.status > 0 && !matches!(ended, RequestOutcome::Unanswered(_));
        let found = if has_answer {
            self.findings(step, &mut inspection)
        } else {
            Vec::new()
        };
        let is_told = found.iter().any(|found| !found.holds);
        let failed = match (ended, result) {
            (_, Err(IterationAbort::Named(name, _) | IterationAbort::NamedInStep(name, ..))) => {
                Some(name.clone())
            }
            (RequestOutcome::Unanswered(fault), _) => Some(match &ongoing.unexpected {
                Some(what) => format!("{}: {what}", fault.text()),
                None => fault.text().to_owned(),
            }),
            // The actual value is more informative than the name of the failure.
            (RequestOutcome::Failed(Failure::Capture | Failure::Check(_)), _)
                if is_told && ongoing.unexpected.is_none() =>
            {
                None
            }
            (RequestOutcome::Failed(Failure::Status(_)), _) if checks_status(step) => None,
            (RequestOutcome::Failed(failure), _) => Some(match &ongoing.unexpected {
                Some(what) => format!("{failure}: {what}"),
                None => failure.to_string(),
            }),
            (RequestOutcome::Ok, _) => None,
        };
        let body = (failed.is_some() || is_told)
            .then(|| {
                let text = inspection.text()?;
                Some(excerpt(&self.hidden(text.to_owned()), EXCERPT, 0))
            })
            .flatten()
            .filter(|text| !text.is_empty());
        let asked = RequestTrace {
            name: step.spec.name.clone(),
            method: step.spec.verb().to_owned(),
            url: self.hidden(url.unwrap_or_else(|| step.spec.url_text.expose().clone())),
            status: Some(exchange.answer.status).filter(|status| *status > 0),
            took_ns: moments.done.saturating_sub(moments.started),
            found,
            failed: failed.map(|reason| self.hidden(reason)),
            body,
        };
        let asked = StepTrace::Request(Box::new(asked));
        self.worker.emit(OutputLine::Step(asked));
    }

    pub(super) fn tell_left_out(&self, step: &RequestStep, reason: &'static str) {
        let what = format!("{} {}", step.spec.verb(), step.spec.url_text.expose());
        self.worker
            .emit(OutputLine::Step(StepTrace::LeftOut(what, reason)));
    }

    /// Evaluates captures and checks for a user in the state before the evaluation, and returns the
    /// results.
    pub(super) fn findings(
        &mut self,
        step: &RequestStep,
        inspection: &mut Inspection<'_>,
    ) -> Vec<CheckResult> {
        let mut all = Vec::new();
        for (capture, spec) in step.content.captures.iter().zip(&step.spec.captures) {
            let source = self.source(&spec.from);
            all.push(self.captured(capture, spec.store.as_deref(), &source, inspection));
        }
        for (check, spec) in step.content.checks.iter().zip(&step.spec.checks) {
            all.push(self.checked(check, spec, inspection));
        }
        for found in &mut all {
            found.text = self.hidden(std::mem::take(&mut found.text));
        }
        all
    }

    fn captured(
        &mut self,
        capture: &Capturing,
        name: Option<&str>,
        source: &str,
        inspection: &mut Inspection<'_>,
    ) -> CheckResult {
        let value = self
            .find(&capture.from, inspection)
            .filter(|value| *value != Value::String(String::new()));
        let gave_up = inspection.take_gave_up();
        let wanted = capture
            .equals
            .as_ref()
            .map(|wanted| wanted.eval(&self.vars, &mut self.rng));
        let what = name.map_or_else(|| source.to_owned(), |name| format!("{name}: {source}"));
        let is_secret = capture
            .store
            .as_ref()
            .is_some_and(|path| self.program.is_secret(path.root()));
        let text = match &value {
            Some(_) if is_secret => HIDDEN.to_owned(),
            value => value.as_ref().map_or_else(String::new, Value::to_string),
        };
        // From here on, the captured value is known, so that it is hidden in the body.
        if let (Some(path), Some(value)) = (&capture.store, &value) {
            self.vars.store(path, value.clone());
        }
        let (holds, text) = match (value, wanted) {
            _ if gave_up.is_some() => (false, gave_up.unwrap_or_default()),
            (None, _) => (!capture.strict, format!("{what} finds nothing")),
            (Some(value), Some(wanted)) if Some(&value) != wanted.as_ref() => {
                let wanted = wanted.map_or("nothing".to_owned(), |wanted| wanted.to_string());
                (
                    !capture.strict,
                    format!("{what} is {text}, expected {wanted}"),
                )
            }
            (Some(_), _) => {
                let text = name.map_or_else(
                    || format!("{source} is {text}"),
                    |name| format!("{name} = {text}"),
                );
                (true, text)
            }
        };
        CheckResult { holds, text }
    }

    fn checked(
        &mut self,
        check: &Checking,
        spec: &ResponseCheck,
        inspection: &mut Inspection<'_>,
    ) -> CheckResult {
        let holds = self.passes(check, inspection);
        let text = match (check, spec) {
            (Checking::Plain(ResponseCheck::Status(codes)), _) => {
                let status = inspection.answer().status;
                let codes: Vec<String> = codes.iter().map(ToString::to_string).collect();
                differs(holds, "status", &status.to_string(), &codes.join(" or "))
            }
            (Checking::Plain(ResponseCheck::Header(name, wanted)), _) => {
                let dialect = &self.program.http.dialect;
                let is = dialect.header_text(&inspection.answer.headers, name);
                let is = is.map_or("missing".to_owned(), |is| format!("{is:?}"));
                let wanted = format!("{:?}", self.text_of(wanted));
                differs(holds, &format!("header {name}"), &is, &wanted)
            }
            (Checking::Plain(ResponseCheck::BodyContains(wanted)), _) => {
                let wanted = self.text_of(wanted);
                let verb = if holds { "holds" } else { "does not hold" };
                format!("body {verb} {wanted:?}")
            }
            (
                Checking::Json(path, wanted),
                ResponseCheck::JsonEquals(source, _) | ResponseCheck::JsonExists(source),
            ) => {
                let source = self.text_of(source);
                let found = self.path(path).zip(inspection.json());
                let found: Vec<String> = found
                    .map(|(path, document)| {
                        let all = path.find(document);
                        all.iter().map(ToString::to_string).collect()
                    })
                    .unwrap_or_default();
                let is = if found.is_empty() {
                    "nothing".to_owned()
                } else {
                    found.join(", ")
                };
                match wanted {
                    None if holds => format!("{source} is {is}"),
                    None => format!("{source} finds nothing"),
                    Some(wanted) => {
                        let wanted = wanted.eval(&self.vars, &mut self.rng);
                        let wanted = wanted.map_or("nothing".to_owned(), |value| value.to_string());
                        differs(holds, &source, &is, &wanted)
                    }
                }
            }
            (Checking::Regexp(_), ResponseCheck::BodyMatches { pattern, flags }) => {
                let verb = if holds { "matches" } else { "does not match" };
                format!("body {verb} /{pattern}/{flags}")
            }
            (_, spec) => format!("check {}", spec.kind()),
        };
        CheckResult { holds, text }
    }

    fn text_of(&mut self, template: &Template) -> String {
        template.to_text(&self.vars, &mut self.rng)
    }

    fn source(&mut self, source: &CaptureSource) -> String {
        match source {
            CaptureSource::Json { path, .. } | CaptureSource::XPath { path, .. } => {
                self.text_of(path)
            }
            CaptureSource::Header(name) => format!("header {}", self.text_of(name)),
            CaptureSource::StreamText => "the text of the stream".to_owned(),
            CaptureSource::StreamEvent(path) => format!("{path} in the events of the stream"),
            CaptureSource::Selector { selector, .. } => {
                format!("selector {}", self.text_of(selector))
            }
            CaptureSource::Regexp { pattern, flags, .. } => format!("/{pattern}/{flags}"),
        }
    }
}

fn checks_status(step: &RequestStep) -> bool {
    let is_of_status =
        |check: &Checking| matches!(check, Checking::Plain(ResponseCheck::Status(_)));
    step.content.checks.iter().any(is_of_status)
}

fn differs(holds: bool, what: &str, is: &str, wanted: &str) -> String {
    if holds {
        format!("{what} is {is}")
    } else {
        format!("{what} is {is}, expected {wanted}")
    }
}

/// Returns the beginning of a string, at most `most` bytes, up to the end of a word. `beyond` is
/// the number of additional bytes that were not kept.
pub(super) fn excerpt(text: &str, most: usize, beyond: u64) -> String {
    if text.len() <= most && beyond == 0 {
        return text.trim().to_owned();
    }
    let mut cut = most.min(text.len());
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    let whole = text[..cut].trim_end_matches(|c: char| !is_between_words(c));
    let more = beyond + (text.len() - whole.len()) as u64;
    let begins = whole.trim();
    let space = if begins.is_empty() { "" } else { " " };
    format!("{begins}{space}… {more} more bytes")
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace() || "\"'<>{}[](),;&".contains(c)
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn excerpt_ends_with_a_whole_word() {
        assert_eq!(excerpt(" short ", 10, 0), "short");
        assert_eq!(excerpt("one two three", 9, 0), "one two … 5 more bytes");
        assert_eq!(excerpt("one two", 9, 4), "one … 7 more bytes");
        assert_eq!(
            excerpt("{\"token\":\"s3cr3t\"}", 14, 0),
            "{\"token\":\" … 8 more bytes"
        );
        assert_eq!(excerpt("s3cr3ts3cr3t", 6, 0), "… 12 more bytes");
        assert_eq!(excerpt("ää ää", 4, 0), "… 9 more bytes");
    }
}
