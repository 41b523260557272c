//! A request step: builds and sends the request, evaluates the response, and records one sample.

use std::borrow::Cow;

use measure::{Failure, Fault, accumulator::Event, outcome::ProtocolFault, sample::Intended};
use plan::{dialect::UnsendableReason, rng::Rng, template::Template};

use super::{
    IterationAbort, User,
    hook::RequestContext,
    judge::{StepResponse, report_response},
    ongoing::Ongoing,
    operation::Operation,
    publish,
    script::ScriptCall,
    vars::Vars,
};
use crate::program::{Program, RequestChange, RequestStep};
use codec::Response;
use worker::{
    Worker,
    client::{
        Agent, BuildError, Built, Call, CallError, Caller, Exchange, Moments, Override, Redirects,
        StreamedResponse,
    },
};

impl User<'_> {
    pub(super) async fn request(&mut self, index: usize) -> Result<(), IterationAbort> {
        let worker = self.worker;
        let step = &self.program.requests[index];
        let goes_ahead = self.goes_ahead(step);
        if let Ok(Some(reason)) = goes_ahead {
            if worker.common.walks {
                self.tell_left_out(step, reason);
            }
            return Ok(());
        }
        let mut change = None;
        if !step.spec.before.is_empty() && goes_ahead.is_ok() {
            let base = &self.program.target;
            let call = ScriptCall::Before { step, base };
            change = self.call_script(call).await?.change;
        }
        let operation = self.begin(step.label)?;
        let stamp = self.stamp(step.publishes, operation);
        let Operation {
            intended,
            started_ns: started,
            ..
        } = operation;
        let timeouts = &self.program.http.timeouts;
        let mut ongoing = Ongoing {
            step,
            change,
            exchange: Exchange::begun(intended, started, timeouts, &worker.memory),
            asked: None,
            called: None,
            unexpected: None,
            stranded: false,
        };
        if let Some(rules) = &step.stream {
            let streamed = StreamedResponse::new(worker, rules, step.label, intended);
            ongoing.exchange.read_as_stream(streamed);
        }
        ongoing.exchange.limits.arm(worker, &self.io.limit);
        let result = match goes_ahead {
            Ok(_) => self.execute(&mut ongoing).await,
            Err(end) => Err(end),
        };
        let moments = &mut ongoing.exchange.moments;
        if moments.done == 0 {
            moments.done = worker.clock.now();
        }
        let done = moments.done;
        self.end(operation, done);
        let witness = worker.common.walks.then(|| {
            let url = ongoing.asked.as_ref().map(|asked| {
                let target = &asked.target;
                format!("{}{}", target.origin.text(), target.path)
            });
            (self.clone(), url)
        });
        let drawn_from = self.rng.clone();
        let early = match &result {
            Ok(()) if !step.spec.after.is_empty() => self.answer_script(&mut ongoing).await,
            _ => None,
        };
        let (ended, result) = self.judge(&mut ongoing, result, early);
        self.book(&ongoing, ended, &result, drawn_from);
        if let Some(stamp) = stamp {
            let outcome = publish::outcome_of_request(&ongoing.exchange, ended);
            self.note_publication(stamp, operation, outcome);
        }
        if let Some((mut witness, url)) = witness {
            witness.record(&ongoing, url, ended, &result);
        }
        worker.run_due(done);
        result
    }

    /// Returns why the step's probability or condition skips it. `None` if the step runs. Fails if
    /// the condition cannot be evaluated.
    fn goes_ahead(&mut self, step: &RequestStep) -> Result<Option<&'static str>, IterationAbort> {
        let chance = step.spec.probability;
        if chance.is_some_and(|percent| self.rng.unit() * 100.0 >= percent) {
            return Ok(Some("skipped at random, according to its probability"));
        }
        let decided = step.spec.run_if.as_ref().and_then(|call| self.decide(call));
        if let Some(is_true) = decided {
            return Ok((!is_true?).then_some("its condition is not true"));
        }
        let Some(condition) = &step.spec.condition else {
            return Ok(None);
        };
        let is_true = self.condition(condition)?;
        Ok((!is_true).then_some("its condition is not true"))
    }

    async fn execute(&mut self, ongoing: &mut Ongoing<'_>) -> Result<(), IterationAbort> {
        let step = ongoing.step;
        let fails_with = match &ongoing.change {
            Some(change) => &change.fails_with,
            None => &step.spec.fails_with,
        };
        if let Some(error) = fails_with {
            let name = error.name.clone();
            return Err(if error.is_of_client {
                IterationAbort::NamedInStep(name, Fault::Declared, step.index)
            } else {
                IterationAbort::Named(name, Fault::Declared)
            });
        }
        let drawn_from = self.rng.clone();
        let request = step
            .make(
                &self.program.target,
                &self.vars,
                &mut self.rng,
                ongoing.change.as_deref(),
            )
            .map_err(|error| self.build_end(step, error));
        if let Some(name) = self.vars.take_thrown() {
            return Err(IterationAbort::Named(name, Fault::Declared));
        }
        let request = request?;
        if let Cow::Owned(made) = &request
            && (!step.goes_to_target || ongoing.change.is_some())
        {
            self.goes_to(&made.target.origin.host, ongoing)?;
        }
        ongoing.called = self.called(step, &request);
        if step.looks.sent || !step.spec.after.is_empty() || self.worker.common.walks {
            ongoing.asked = Some(request.clone().into_owned());
        }
        self.set_cookies_of_step(step, &request, ongoing.change.as_deref())?;
        // Box the futures, because they would enlarge every user.
        let sent = match (&step.spec.websocket, &step.spec.socketio) {
            (None, None) => self.send(&request, drawn_from, ongoing).await,
            (Some(connect), _) => {
                Box::pin(self.connect(connect, &request, drawn_from, ongoing)).await
            }
            (_, Some(connect)) => {
                Box::pin(self.connect_session(connect, &request, drawn_from, ongoing)).await
            }
        };
        if let Cow::Owned(made) = request {
            step.take_back(made);
        }
        sent
    }

    async fn send(
        &mut self,
        request: &Built,
        drawn_from: Rng,
        ongoing: &mut Ongoing<'_>,
    ) -> Result<(), IterationAbort> {
        let step = ongoing.step;
        let change = ongoing.change.as_deref();
        let follows = change.and_then(|change| change.follow_redirects);
        let most = step.spec.max_redirects;
        let redirects = Redirects {
            most: most.unwrap_or(self.program.http.max_redirects),
            keep_method: step.spec.redirects_keep_method,
        };
        let call = Call {
            label: step.label,
            method: change
                .and_then(|change| change.method.as_deref())
                .unwrap_or(&step.spec.method),
            request: Cow::Borrowed(request),
            want: step.want,
            charset: step.charset,
            sets_cookies: !cookies(step, change).is_empty(),
            redirects: follows
                .unwrap_or(step.spec.follow_redirects)
                .then_some(redirects),
        };
        let client = self.client;
        let called = ongoing.called.as_deref();
        let (mut agent, mut teller) = self.caller(step, called, change, drawn_from);
        let exchange = &mut ongoing.exchange;
        let sent = client.send(&mut agent, &call, &mut teller, exchange);
        match sent.await {
            Ok(()) => Ok(()),
            Err(CallError::Fault(fault)) => Err(IterationAbort::Fault(fault, Some(step.index))),
            Err(CallError::TooManyRedirects(most)) => {
                ongoing.unexpected = Some(format!("{most} followed"));
                let fault = Fault::TooManyRedirects;
                Err(IterationAbort::Answered(
                    Failure::RedirectLimit,
                    fault,
                    step.index,
                ))
            }
            Err(CallError::Location) => {
                // The server caused this error, unlike an invalid URL in the test.
                let fault = Fault::Protocol(ProtocolFault::Header);
                Err(IterationAbort::Named(
                    "Invalid URL - Location".to_owned(),
                    fault,
                ))
            }
            Err(CallError::Stranded(host)) => {
                ongoing.unexpected = Some(format!("redirect to `{host}` not followed"));
                ongoing.stranded = true;
                Ok(())
            }
            Err(CallError::Build(error)) => Err(self.build_end(step, error)),
        }
    }

    /// Returns an adapter through which the client calls back to the user.
    pub(super) fn caller<'c>(
        &'c mut self,
        step: &'c RequestStep,
        called: Option<&'c str>,
        change: Option<&'c RequestChange>,
        drawn_from: Rng,
    ) -> (Agent<'c>, Teller<'c>) {
        let agent = Agent {
            pool: &self.io.pool,
            limit: &self.io.limit,
            jar: &mut self.jar,
        };
        let teller = Teller {
            worker: self.worker,
            program: self.program,
            vars: &self.vars,
            step,
            called,
            change,
            drawn_from,
        };
        (agent, teller)
    }

    fn goes_to(&self, host: &str, ongoing: &mut Ongoing<'_>) -> Result<(), IterationAbort> {
        if self
            .client
            .may_go_to(host, "values from the run determined the URL")
        {
            return Ok(());
        }
        ongoing.unexpected = Some(format!("the test does not contain `{host}`"));
        Err(IterationAbort::Fault(
            Fault::HostNotAllowed,
            Some(ongoing.step.index),
        ))
    }

    fn build_end(&self, step: &RequestStep, error: BuildError) -> IterationAbort {
        let named = |reason| self.program.http.dialect.error_name(reason);
        let unsendable =
            |reason, fault| IterationAbort::NamedInStep(named(reason), fault, step.index);
        match error {
            BuildError::Url(url) if !url.starts_with("http") => {
                IterationAbort::Named(format!("Invalid URL - {}", self.hidden(url)), Fault::BadUrl)
            }
            BuildError::Url(url) if !url.starts_with("http:") && !url.starts_with("https:") => {
                unsendable(UnsendableReason::Scheme, Fault::BadUrl)
            }
            BuildError::Url(_) => unsendable(UnsendableReason::Url, Fault::BadUrl),
            BuildError::Header(_) => {
                IterationAbort::Named(named(UnsendableReason::Header), Fault::Declared)
            }
            BuildError::File(kind) => unsendable(UnsendableReason::File(kind), Fault::Declared),
        }
    }

    /// Hides the user's secrets in a string. The record writer cannot do this, because it does not
    /// have the captured values.
    pub(super) fn hidden(&self, text: String) -> String {
        let hide = |text: String, secret: &String| text.replace(secret.as_str(), "‹redacted›");
        self.secrets().iter().fold(text, hide)
    }

    fn called(&mut self, step: &RequestStep, request: &Built) -> Option<String> {
        let hook = self.hook.as_ref().filter(|_| step.looks.calls)?;
        let name = hook.borrow_mut().call(&mut RequestContext {
            step,
            base: &self.program.target,
            request,
            vars: &self.vars,
            rng: &mut self.rng,
        })?;
        Some(self.hidden(name))
    }

    fn set_cookies_of_step(
        &mut self,
        step: &RequestStep,
        request: &Built,
        change: Option<&RequestChange>,
    ) -> Result<(), IterationAbort> {
        for (name, value) in cookies(step, change) {
            let value = value.to_text(&self.vars, &mut self.rng);
            // A line break would start another header. Headers are limited to Latin-1.
            if value.contains(|c: char| c.is_control() || c > '\u{ff}') {
                return Err(self.build_end(step, BuildError::Header(name.clone())));
            }
            self.jar
                .put(name, &value, &request.target.origin, &request.target.path);
        }
        Ok(())
    }
}

/// Returns the call of a request that opens a connection or a session.
pub(super) fn opening_call<'c>(step: &'c RequestStep, request: &'c Built) -> Call<'c> {
    Call {
        label: step.label,
        method: &step.spec.method,
        request: Cow::Borrowed(request),
        want: step.want,
        charset: step.charset,
        sets_cookies: !step.spec.cookies.is_empty(),
        redirects: None,
    }
}

pub(super) struct Teller<'u> {
    pub(super) worker: &'u Worker,
    pub(super) program: &'u Program,
    pub(super) vars: &'u Vars<'u>,
    pub(super) step: &'u RequestStep,
    pub(super) called: Option<&'u str>,
    pub(super) change: Option<&'u RequestChange>,
    pub(super) drawn_from: Rng,
}

fn cookies<'s>(
    step: &'s RequestStep,
    change: Option<&'s RequestChange>,
) -> &'s [(String, Template)] {
    let changed = change.and_then(|change| change.cookies.as_deref());
    changed.unwrap_or(&step.spec.cookies)
}

impl Caller for Teller<'_> {
    fn sending(&mut self, now_ns: u64) {
        if self.step.spec.opens_connection() {
            return;
        }
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.frontend(now_ns, &Event::RequestSent);
    }

    fn redirected(&mut self, intended: Intended, moments: &Moments, answer: &Response) {
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.redirected(moments.head, self.step.label, intended);
        let response = StepResponse {
            step: self.step.index,
            called: self.called,
            moments,
            answer,
        };
        report_response(&mut recorder, self.worker, response, false);
    }

    fn remake(&mut self, change: Override<'_>) -> Result<Built, BuildError> {
        let mut rng = self.drawn_from.clone();
        let base = &self.program.target;
        self.step
            .build(base, self.vars, &mut rng, self.change, Some(change))
    }

    fn odd_cookie(&mut self, now_ns: u64) {
        let remark = Event::Remark {
            name: "cookie_parse_error_invalid_cookie",
        };
        self.worker
            .recorder
            .borrow_mut()
            .accumulate(now_ns, &remark);
    }
}
