//! Runs `setup` and `teardown` with the same engine as the load, but without recording them.

use engine::{EngineOptions, Prepared, Sink, driver::setup::SetupOutcome};
use measure::Interval;
use plan::{Load, Plan, Raw, Scenario};
use record::redact::{Redactor, Salt};
use serde_json::{Map, Value};
use worker::{OutputLine, clock::Zero, step_trace::StepTrace, stop::StopHandle};

use crate::{
    Observer,
    exit::After,
    finished::{FinishContext, StartError},
    messages::SharedMessageSink,
    prepare::Ready,
    recording::without_secrets,
    salt::random_salt,
    signals,
};

const LEAD_NS: u64 = 5_000_000;

/// Runs `setup` and returns its variables.
pub(crate) fn before(
    ready: &Ready,
    observer: Option<&mut dyn Observer>,
) -> Result<Map<String, Value>, StartError> {
    let Some(scenario) = ready.job.plan.setup.clone() else {
        return Ok(Map::new());
    };
    let own = Own {
        plan: &ready.job.plan,
        options: &ready.job.options,
        secrets: &ready.job.secrets,
        sink: &ready.sink,
        stop: StopHandle::default(),
    };
    let name = scenario.name.clone().unwrap_or_default();
    let outcome = own.run(scenario, observer);
    if let Some(signal) = own.stop.signal() {
        // A stop during `setup` also cancels the load.
        return Err(StartError::Before {
            reason: format!("the run ended during `{name}`, before the load started"),
            signal: Some(signal),
        });
    }
    outcome.map_err(|reason| StartError::Before {
        reason,
        signal: None,
    })
}

pub(crate) fn after(rest: &FinishContext, observer: Option<&mut dyn Observer>) -> After {
    let Some(scenario) = rest.plan.teardown.clone() else {
        return After::Done;
    };
    let own = Own {
        plan: &rest.plan,
        options: &rest.options,
        secrets: &rest.secrets,
        sink: &rest.sink,
        stop: StopHandle::default(),
    };
    let outcome = own.run(scenario, observer);
    if let Err(reason) = &outcome {
        rest.sink.error(reason);
    }
    match own.stop.signal() {
        Some(signal) => After::Signal(signal),
        None if outcome.is_err() => After::Failed,
        None => After::Done,
    }
}

struct Own<'a> {
    plan: &'a Plan,
    options: &'a EngineOptions,
    secrets: &'a [String],
    sink: &'a SharedMessageSink,
    stop: StopHandle,
}

impl Own<'_> {
    fn run(&self, scenario: Scenario, observer: Option<&mut dyn Observer>) -> SetupOutcome {
        let name = scenario.name.clone().unwrap_or_default();
        let mut alone = self.plan.clone();
        alone.work = vec![scenario].into();
        alone.load = Load::Once;
        alone.background = None;
        alone.listen = None;
        let handler = signals::hear(&self.stop, "nothing was measured".into(), self.sink);
        if let Err(error) = &handler {
            self.sink.warning(&format_args!(
                "cannot handle signals ({error}): `{name}` cannot be stopped early"
            ));
        }
        let options = EngineOptions {
            seed: self.options.seed,
            workers: Some(1),
            stop: self.stop.clone(),
            hosts: self.options.hosts.clone(),
            // Keep the hooks, because unreadable responses are errors here too.
            hooks: self.options.hooks.clone(),
            memory: self.options.memory,
            walks: self.options.walks,
            ..EngineOptions::default()
        };
        let mut lines = RedactedLines {
            redactor: Redactor::new(self.plan, self.secrets, Salt::new(random_salt())),
            sink: self.sink,
            observer,
        };
        let prepared = Prepared::new(&alone, options).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            lines.join("; ")
        })?;
        let (prepared, result) = prepared.once();
        let reported = self.options.walks;
        let tell = |lines: &mut RedactedLines<'_, '_>, how: &str| {
            if reported {
                let step = StepTrace::Goes(name.clone(), how.to_owned());
                lines.line(Raw::new(OutputLine::Step(step)));
            }
        };
        tell(&mut lines, "runs once and is not measured");
        prepared
            .run(Zero::in_ns(LEAD_NS), &mut lines)
            .map_err(|error| error.to_string())?;
        tell(&mut lines, "finished");
        let outcome = result
            .take()
            .unwrap_or_else(|| Err("it did not finish".into()));
        let is_native = self.plan.provenance.format == plan::Format::NATIVE;
        let more = if is_native && !self.options.walks {
            " (--once shows its steps)"
        } else {
            ""
        };
        outcome.map_err(|reason| format!("`{name}` failed: {reason}{more}"))
    }
}

struct RedactedLines<'a, 'o> {
    redactor: Redactor,
    sink: &'a SharedMessageSink,
    observer: Option<&'a mut (dyn Observer + 'o)>,
}

impl Sink for RedactedLines<'_, '_> {
    fn interval(&mut self, _: Interval) {}

    fn line(&mut self, line: Raw<OutputLine>) {
        match without_secrets(&mut self.redactor, line) {
            Some(OutputLine::Log { text, .. }) => self.sink.out(&format!("{text}\n")),
            Some(OutputLine::Text(text)) => self.sink.out(&text),
            Some(OutputLine::ErrorText(text)) => self.sink.say(&text),
            Some(OutputLine::Remark(text)) => self.sink.warning(&text),
            Some(step @ OutputLine::Step(_)) => {
                if let Some(observer) = &mut self.observer {
                    observer.line(&step);
                }
            }
            _ => {}
        }
    }
}
