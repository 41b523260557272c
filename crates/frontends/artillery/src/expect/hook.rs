//! The hook for responses. Evaluates `expect` and names endpoints for `metrics-by-endpoint`.

use std::sync::Arc;

use engine::{
    HookInterest, Interest,
    hook::{AnswerHook, Hooks, RequestContext, ResponseContext, Unexpected},
    program::RequestStep,
    script::Scripts,
};
use plan::{Plan, Request, ScriptFile, Template, Variable};
use query::value::string_of;
use script::js::{JavaScript, Settings, writable_folder};
use serde_json::Value;
use worker::client::Built;

use super::{
    Expect, Expectation, OnFailure, Print,
    checks::{self, ExpectBody, body_of},
    expectations,
    results::{Exchange, ExpectedAnswer, ExpectedCheck},
};
use crate::{endpoints::Endpoints, plugins::Plugins, print::judged_text};

/// Artillery version that a processor receives.
const ARTILLERY: &str = "2.0.21";
const KIND: &str = "expect";
const SHOWN: usize = 512;
const BUILT_IN: [&str; 5] = [
    "target",
    "$environment",
    "$testId",
    "$dirname",
    "$scenarioFile",
];

pub fn hooks(plan: &Plan) -> Result<Option<Arc<dyn Hooks>>, String> {
    let plugins = Plugins::from_settings(&plan.provenance.frontend_settings)?;
    let hook = Hook {
        expect: plugins.expect,
        endpoints: plugins.endpoints,
        script: plan
            .script
            .as_ref()
            .map(|file| script(plan, file))
            .transpose()?,
    };
    let looks = hook.expect.is_some() || hook.endpoints.is_some() || hook.script.is_some();
    Ok(looks.then(|| Arc::new(hook) as Arc<dyn Hooks>))
}

/// Loads the processor with the environment of the test.
fn script(plan: &Plan, file: &ScriptFile) -> Result<Arc<JavaScript>, String> {
    let variable = |wanted: &str| {
        let found = plan.variables.iter().find(|(name, _)| name == wanted)?;
        match &found.1 {
            Variable::Constant(value) => Some(value),
            Variable::OneOf(_) => None,
        }
    };
    let environment = match variable("$processEnvironment").and_then(Value::as_object) {
        Some(known) => known
            .iter()
            .map(|(name, value)| (name.clone(), string_of(Some(value))))
            .collect(),
        None => std::env::vars().collect(),
    };
    let settings = Settings {
        file: file.path.clone(),
        writes: writable_folder(file),
        environment,
        test_id: string_of(variable("$testId")),
        version: ARTILLERY.to_owned(),
        is_artillery: true,
    };
    let script = JavaScript::load(settings);
    let at = |reason: String| match &file.at {
        Some(at) => format!("{at}: the processor cannot be loaded: {reason}"),
        None => reason,
    };
    script.map(Arc::new).map_err(at)
}

#[derive(Clone)]
struct Hook {
    expect: Option<Expect>,
    endpoints: Option<Endpoints>,
    script: Option<Arc<JavaScript>>,
}

impl HookInterest for Hook {
    fn looks(&self, request: &Request) -> Interest {
        let expectations = expectations(request);
        let expects = !expectations.is_empty();
        let is = |options: fn(&Expect) -> bool| self.expect.as_ref().is_some_and(options);
        // JSON output contains a line for each response. Otherwise, only steps with expectations
        // are relevant.
        let script = script::js::interest(request);
        let answers = is(|e| e.print == Some(Print::Json)) || expects && self.expect.is_some();
        Interest {
            headers: expects || script.headers,
            body: script.body
                || expects && is(Expect::prints_exchange)
                || expectations.iter().any(Expectation::reads_body),
            timing: self.endpoints.is_some(),
            sent: script.sent || answers && is(|e| e.print.is_some()),
            calls: self.endpoints.as_ref().is_some_and(|e| !e.group_dynamic),
            answers,
        }
    }

    fn reads_all_variables(&self) -> bool {
        self.script.is_some() || self.expect.is_some_and(|expect| expect.prints_exchange())
    }

    fn tells_errors(&self) -> bool {
        self.expect.is_some_and(|expect| expect.print.is_some())
    }
}

impl Hooks for Hook {
    fn hook(&self) -> Option<Box<dyn AnswerHook>> {
        let looks = self.expect.is_some() || self.endpoints.is_some();
        looks.then(|| Box::new(self.clone()) as Box<dyn AnswerHook>)
    }

    fn scripts(&self) -> Option<&dyn Scripts> {
        self.script.as_deref().map(|script| script as &dyn Scripts)
    }
}

impl AnswerHook for Hook {
    /// Returns the name of the endpoint if it depends on the actual URL.
    fn call(&mut self, options: &mut RequestContext<'_>) -> Option<String> {
        let naming = self.endpoints.as_ref()?;
        let step = options.step;
        if step.fixed.is_some() && step.name.as_ref().is_none_or(|n| n.as_literal().is_some()) {
            return None;
        }
        let name = step.name.as_ref();
        let name = name.map(|name| name.to_text(options.vars, options.rng));
        naming.name(options.base, &options.request.url(), name.as_deref())
    }

    fn answered(&mut self, answered: &mut ResponseContext<'_, '_>) -> Result<(), Unexpected> {
        let Some(expect) = &self.expect else {
            return Ok(());
        };
        let step = answered.step;
        let expectations = expectations(&step.spec);
        let reads = expectations.iter().any(Expectation::reads_body);
        let body = if reads {
            body_of(answered.answer)
        } else {
            ExpectBody::Text
        };
        let mut findings = Vec::with_capacity(expectations.len());
        let mut unsupported = Vec::new();
        for expectation in expectations {
            match expectation {
                Expectation::Unsupported(name) => unsupported.push(name.clone()),
                known => findings.push(finding(known, &body, answered)),
            }
        }
        for finding in &findings {
            answered.emit(&finding.kind, u64::from(finding.ok));
        }
        let failed = findings.iter().any(|finding| !finding.ok);
        let first_failed = findings.iter().find(|finding| !finding.ok).map(describe);
        let printed = expect.prints(findings.len(), failed) || !unsupported.is_empty();
        if let (true, Some(print), Some(sent)) = (printed, expect.print, answered.sent) {
            let shows = failed && expect.prints_exchange();
            let exchange = shows.then(|| Box::new(exchange(sent, answered)));
            let name = step.name.as_ref();
            let judged = ExpectedAnswer {
                method: step.spec.method.clone(),
                path: sent.target.path.clone(),
                name: name.map(|name| name.to_text(answered.vars, answered.rng)),
                unsupported,
                findings,
                exchange,
            };
            answered.print(judged_text(&judged, print));
        }
        match first_failed {
            None => Ok(()),
            Some(what) => unexpected(step, answered.base, expect, what),
        }
    }
}

fn unexpected(
    step: &RequestStep,
    base: &str,
    expect: &Expect,
    what: String,
) -> Result<(), Unexpected> {
    let ends_user = match expect.on_failure {
        OnFailure::Counted => return Ok(()),
        OnFailure::FailsRequest => None,
        OnFailure::FailsUser => {
            let name = step.spec.name.as_deref();
            let named = name.filter(|_| expect.names_only);
            let url = step.spec.url_text.expose();
            // Use the text in the file, because expanded templates would give a separate name to
            // each user.
            let name = match named {
                Some(name) => name.to_owned(),
                None if url.starts_with('/') => format!("{base}{url}"),
                None => url.clone(),
            };
            Some(format!("Failed expectations for request {name}"))
        }
    };
    Err(Unexpected {
        kind: KIND,
        what,
        ends_user,
    })
}

fn finding(
    expectation: &Expectation,
    body: &ExpectBody,
    answered: &mut ResponseContext<'_, '_>,
) -> ExpectedCheck {
    let (vars, rng) = (answered.vars, &mut *answered.rng);
    let mut eval = |template: &Template| template.eval(vars, rng);
    let inspection = &mut *answered.answer;
    match expectation {
        Expectation::StatusCode(wanted) => {
            checks::status(true, eval(wanted), inspection.answer().status)
        }
        Expectation::NotStatusCode(wanted) => {
            checks::status(false, eval(wanted), inspection.answer().status)
        }
        Expectation::ContentType(wanted) => checks::content_type(eval(wanted), body, inspection),
        Expectation::HasProperty(path) => checks::property("hasProperty", true, eval(path), body),
        Expectation::NotHasProperty(path) => {
            checks::property("notHasProperty", false, eval(path), body)
        }
        Expectation::HasHeader(name) => checks::has_header(eval(name), inspection),
        Expectation::HeaderEquals(name, wanted) => {
            let (name, wanted) = (string_of(eval(name).as_ref()), eval(wanted));
            checks::header_equals(&name, wanted, inspection)
        }
        Expectation::Equals(items) => {
            let texts = items.iter().map(|item| string_of(eval(item).as_ref()));
            checks::equals(&texts.collect::<Vec<_>>())
        }
        Expectation::MatchesRegexp(pattern) => {
            checks::matches_regexp(&string_of(eval(pattern).as_ref()), inspection)
        }
        Expectation::CdnHit(hit) => checks::cdn(*hit, inspection),
        Expectation::JmesPath {
            word,
            path,
            description,
        } => checks::jmespath(*word, path, description.as_deref(), body),
        Expectation::Unsupported(name) => checks::finding(name, false, None, None),
    }
}

fn exchange(sent: &Built, answered: &mut ResponseContext<'_, '_>) -> Exchange {
    let is_json = matches!(
        answered.step.spec.body,
        plan::scenario::RequestBody::Json(_)
    );
    let json = is_json
        .then(|| serde_json::from_slice(sent.body()).ok())
        .flatten();
    let body = answered.answer.text().unwrap_or_default();
    Exchange {
        url: sent.url(),
        json,
        body: body.chars().take(SHOWN).collect(),
        headers: checks::node_headers(&answered.answer.answer().headers),
        variables: answered
            .vars
            .all(&BUILT_IN)
            .into_iter()
            .filter(|(name, _)| !matches!(*name, "$env" | "$processEnvironment"))
            .map(|(name, value)| (name.to_owned(), value.cloned()))
            .collect(),
    }
}

fn describe(finding: &ExpectedCheck) -> String {
    let anything = ["equals", "matchesRegexp"].contains(&finding.kind.as_str())
        || finding.kind.starts_with("header ");
    if let (true, Some(serde_json::Value::String(reason))) =
        (finding.kind == "matchesRegexp", &finding.actual)
        && !reason.starts_with("SyntaxError")
    {
        return format!("{}: {reason}", finding.kind);
    }
    if anything {
        return format!("{}: not as expected", finding.kind);
    }
    format!(
        "{}: expected {}, got {}",
        finding.kind,
        string_of(finding.expected.as_ref()),
        string_of(finding.actual.as_ref())
    )
}
