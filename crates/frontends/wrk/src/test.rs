//! A wrk command that is ready to run: Lua states, addresses, and a driver for each thread.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use codec::Origin;
use engine::{
    driver::{
        Driver,
        batch::{BatchDriver, BatchPace, Drawn, Turns},
    },
    run::DriverMaker,
};
use measure::label::LabelGroup;
use plan::{ArrivalProcess, Load, Plan, Schedule, Shape};
use script::lua::{Script, ScriptContext, ScriptError, Summary};
use worker::{stop::StopHandle, watchdog::Doing};

use session::SharedMessageSink;

use crate::{figures, print::WrkReport, read::WrkCommand};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// wrk's rules: broken scripts are skipped, and late responses are accepted.
    AsWrk,
    /// Loadline's rules: broken scripts are refused, and the time limit ends requests.
    Native,
}

pub struct WrkTest {
    script: Script,
    origin: Origin,
    threads: usize,
    connections: u64,
    until_ns: u64,
    as_wrk: bool,
}

impl WrkTest {
    pub fn ready(
        command: &WrkCommand,
        strictness: Strictness,
        stop: &StopHandle,
        sink: &SharedMessageSink,
    ) -> Result<WrkTest, ScriptError> {
        let mut test = WrkTest::load(command, strictness, stop, sink)?;
        test.script.resolve()?;
        test.script.prepare(&mut |line| sink.say(&line))?;
        Ok(test)
    }

    fn load(
        command: &WrkCommand,
        strictness: Strictness,
        stop: &StopHandle,
        sink: &SharedMessageSink,
    ) -> Result<WrkTest, ScriptError> {
        let parts = &command.parts;
        let threads = usize::try_from(command.threads).unwrap_or(usize::MAX);
        let given = ScriptContext {
            scheme: parts.scheme.clone(),
            host: parts.host.clone(),
            port: parts.port.clone(),
            path: parts.path.clone(),
            headers: command.headers.clone(),
            arguments: command.arguments.clone(),
            script: command.script.clone(),
            must_load: strictness == Strictness::Native,
            threads,
        };
        Ok(WrkTest {
            script: Script::load(given, stop.clone(), &mut |line| sink.say(&line))?,
            origin: Origin {
                tls: parts.tls(),
                host: parts.host.clone(),
                port: 0,
            },
            threads,
            connections: command
                .connections_per_thread()
                .saturating_mul(command.threads),
            until_ns: command.duration_ns,
            as_wrk: strictness == Strictness::AsWrk,
        })
    }

    pub fn threads(&self) -> usize {
        self.threads
    }

    pub fn driver(&self, plan: &Plan, seed: u64) -> DriverMaker {
        let (sources, origin) = (self.script.sources(), self.origin.clone());
        let (all, until_ns) = (self.connections, self.until_ns);
        let (turns, patient) = (turns_of(plan, seed), self.as_wrk);
        Arc::new(move |given| -> Box<dyn Driver> {
            let thread = given.worker;
            let of = |group| {
                let label = given.labels.all().iter().skip(2).find(|l| l.group == group);
                label.map_or(measure::label::OTHER, |label| label.id)
            };
            let (label, iteration) = (of(LabelGroup::Request), of(LabelGroup::Iteration));
            let connections = given.share.of_first(all);
            let pace = turns.as_ref().map(|turns| BatchPace {
                turns: turns(),
                share: given.share,
                connections,
            });
            Box::new(BatchDriver {
                settings: given.client,
                origin: origin.clone(),
                connections: usize::try_from(connections).unwrap_or(usize::MAX),
                until_ns,
                patient,
                label,
                pace: pace.map(|pace| (pace, iteration)),
                source: Rc::new(RefCell::new(sources.for_thread(thread))),
            })
        })
    }

    pub fn doing(&self) -> Doing {
        let sources = self.script.sources();
        Arc::new(move |thread| {
            let hook = sources.hook(thread)?;
            Some(format!("the script's `{hook}`"))
        })
    }

    pub fn failure(&self) -> Option<ScriptError> {
        self.script.failure()
    }

    pub fn done(&self, report: &WrkReport) -> Result<(), ScriptError> {
        let errors = &report.errors;
        let summary = Summary {
            duration_us: report.runtime_us,
            requests: report.requests,
            bytes: report.bytes,
            connect: errors.connect,
            read: errors.read,
            write: errors.write,
            status: errors.status,
            timeout: errors.timeout,
        };
        let (latency, requests) = figures::from_report(report);
        self.script.done(&summary, latency, requests)
    }
}

fn turns_of(plan: &Plan, seed: u64) -> Option<impl Fn() -> Turns + Clone + Send + Sync + use<>> {
    let Load::Open { phases, .. } = &plan.load else {
        return None;
    };
    let first = phases.first()?;
    let Shape::Rate(rate) = first.shape else {
        return None;
    };
    // Drop the fraction of the last arrival.
    let in_all = u128::from(rate.count) * u128::from(first.duration_ns);
    let is_whole = in_all.is_multiple_of(rate.per_ns.max(1).into());
    let drawn = (first.arrivals == ArrivalProcess::Poisson || !is_whole).then(|| plan.load.clone());
    Some(move || match &drawn {
        None => Turns::Even(rate),
        Some(load) => Drawn::turns(Schedule::new(load, seed)),
    })
}
