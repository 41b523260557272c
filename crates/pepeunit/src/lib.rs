//! Pepeunit's MQTT load test: creates units, publishes, reads results back and compares them. It
//! uses the clients and the report of `loadline mqtt`.

#![forbid(unsafe_code)]

mod fixture;
mod md5;
mod pipes;
mod probe;
mod read_back;
mod rest;
mod settings;
mod verdict;
mod verify;
mod watch;

use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use engine::EngineOptions;
use mqtt_driver::PerClient;
use plan::{
    Note, Plan, Rate, Shape, criteria,
    mqtt::{
        Arrival, Clients, Groups, Mqtt, Own, Payload, PayloadKind, Publishing, SETTLE_NS, Version,
    },
    units::SECOND,
};
use session::{Hosts, Job, SharedMessageSink, exit, inputs, sampling};
use worker::stop::{Cause, StopHandle};

use fixture::TestFixture;
use frontend_mqtt::{RunPrinter, named_phase, open_load, plan_for};
use pipes::Pipe;
use settings::{Flags, PepeunitConfig, Topics, Variables};
use verdict::BackendVerdict;
use watch::BrokerWatch;

#[must_use]
pub fn command(arguments: &[String], sink: &SharedMessageSink) -> u8 {
    let line = std::iter::once("loadline mqtt").chain(arguments.iter().map(String::as_str));
    let flags = match Flags::try_parse_from(line) {
        Ok(flags) => flags,
        Err(error) => return frontend_mqtt::not_a_command(&error, "loadline mqtt --help", sink),
    };
    let settings = match PepeunitConfig::from_flags(flags, &Variables::here()) {
        Ok(settings) => settings,
        Err(line) => return refused(&line, exit::BAD_INPUT, sink),
    };
    let pipe = Pipe::from_policy(settings.policy);
    let mut notes = notes(&settings, &pipe);
    let workers = workers(&settings, &mut notes);
    if let Err(line) = criteria_of(&settings) {
        return refused(&line, exit::BAD_INPUT, sink);
    }
    let fixture = match TestFixture::lay(&settings, sink) {
        Ok(fixture) => fixture,
        Err(line) => {
            let is_ours = line.starts_with("set-up: ");
            let code = if is_ours {
                exit::COULD_NOT_RUN
            } else {
                exit::BAD_INPUT
            };
            return refused(&line, code, sink);
        }
    };
    conduct(&settings, &pipe, fixture, workers, notes, sink)
}

fn refused(line: &str, code: u8, sink: &SharedMessageSink) -> u8 {
    sink.error(&line);
    code
}

fn notes(settings: &PepeunitConfig, pipe: &Pipe) -> Vec<String> {
    let mut notes = Vec::new();
    if settings.flags.topics == Topics::System {
        notes.push(
            "system topics: pipes do not store messages, so results are not read back".to_owned(),
        );
    } else if settings.flags.no_setup || settings.flags.units.is_some() {
        notes.push(
            "publishing only: results are not read back, and the backend is not monitored"
                .to_owned(),
        );
    } else if !pipe.takes(settings.value) {
        notes.push(format!(
"the {} pipe accepts only numbers, but the messages are text: it stores none of them, as intended",
settings.policy.name()
));
    } else if settings.value == PayloadKind::Text && settings.letters as usize > pipes::MAX_SIZE {
        notes.push(format!(
            "messages of {} letters: pipes discard messages longer than {}, as intended",
            settings.letters,
            pipes::MAX_SIZE
        ));
    }
    notes
}

fn workers(settings: &PepeunitConfig, notes: &mut Vec<String>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let workers = settings.workers.min(cores).min(settings.units as usize);
    if workers < settings.workers {
        notes.push(format!(
"{} workers requested, {workers} used: workers are threads, and more than one per core or unit does not help",
settings.workers
));
    }
    workers.max(1)
}

fn criteria_of(settings: &PepeunitConfig) -> Result<Vec<plan::criteria::Criterion>, String> {
    let read = |text: &String| {
        criteria::parse_criterion(text).map_err(|e| format!("--check '{text}': {e}"))
    };
    settings.flags.check.iter().map(read).collect()
}

fn groups(settings: &PepeunitConfig) -> Groups {
    Groups {
        value: settings.value,
        letters: settings.letters,
        copies: settings.copies,
    }
}

fn plan_of(
    settings: &PepeunitConfig,
    fixture: &TestFixture,
    notes: Vec<String>,
) -> Result<Plan, String> {
    let own = |unit: &rest::RestUnit| Own {
        username: unit.token.clone(),
        topic: unit.topic.clone(),
    };
    let count = fixture.units.len() as u32;
    let clients = Clients {
        credentials: Vec::new(),
        count,
        first: 0,
        client_id: format!("loadline-{}-unit-%i", std::process::id()),
        username: None,
        password: fixture
            .units
            .iter()
            .any(|unit| unit.token.is_some())
            .then(String::new),
        keep_alive_s: 60,
        clean: true,
        session_expiry_s: 0,
        will: None,
        publish: Some(Publishing {
            topic: String::new(),
            qos: 0,
            retain: false,
            payload: Payload::Groups(groups(settings)),
            inflight: 1,
            properties: plan::mqtt::Properties::default(),
            pace: None,
        }),
        subscribe: Vec::new(),
        each: fixture.units.iter().map(own).collect(),
    };
    let every_ns = SECOND / u64::from(settings.flags.connect_rate);
    let work = Mqtt {
        host: fixture.host.clone(),
        more_hosts: Vec::new(),
        port: fixture.port,
        tls: false,
        version: Version::V311,
        arrivals: Arrival::Message,
        connect_every_ns: every_ns,
        groups: vec![clients],
    };
    let rate = Shape::Rate(Rate {
        count: u64::from(count) * u64::from(settings.per_second),
        per_ns: SECOND,
    });
    let before_ns = every_ns * u64::from(count) + SETTLE_NS;
    let load = open_load(vec![
        named_phase("connect", before_ns, Shape::Pause),
        named_phase("publish", u64::from(settings.duration_s) * SECOND, rate),
    ]);
    let mut plan = plan_for(load, work);
    plan.secrets
        .extend(settings.broker.iter().map(|login| login.password.clone()));
    plan.policy.criteria = criteria_of(settings)?;
    plan.provenance
        .notes
        .extend(notes.into_iter().map(|text| Note { at: None, text }));
    Ok(plan)
}

fn conduct(
    settings: &PepeunitConfig,
    pipe: &Pipe,
    mut fixture: TestFixture,
    workers: usize,
    notes: Vec<String>,
    sink: &SharedMessageSink,
) -> u8 {
    let clients: PerClient = Arc::new(Mutex::default());
    let stop = StopHandle::default();
    let dropped = |fixture: &mut TestFixture| {
        fixture
            .broker
            .as_mut()
            .and_then(|broker| broker.look().ok()?.dropped)
    };
    let before = dropped(&mut fixture);
    let job = plan_of(settings, &fixture, notes)
        .and_then(|plan| job(settings, plan, &fixture, workers, &clients, &stop));
    let job = match job {
        Ok(job) => job,
        Err(line) => return refused(&line, exit::BAD_INPUT, sink),
    };
    let mut frontend = RunPrinter::new(settings.flags.json.clone(), sink);
    let ready = match frontend_mqtt::ready(job, sink) {
        Ok(ready) => ready,
        Err(reason) => return session::RunObserver::not_run(&mut frontend, &reason),
    };
    let mut ended = match ready.run(session::RunObserver::observer(&mut frontend)) {
        Ok(ended) => ended,
        Err(reason) => return session::RunObserver::not_run(&mut frontend, &reason),
    };
    let sums = clients
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let is_asked_to_end = matches!(ended.cause, Some(Cause::Signal(_) | Cause::Page));
    let seconds = f64::from(settings.duration_s);
    let mut verdict = BackendVerdict::new(
        &frontend_mqtt::driver_counts(&ended.run),
        seconds,
        ended.cause.as_ref(),
    );
    if let Some(rest) = fixture.rest.as_ref().filter(|_| !is_asked_to_end) {
        sink.say(&format_args!("loadline: reading back the stored messages"));
        let patience_ns = settings.settle_ns.unwrap_or(pipe.patience_s() * SECOND);
        let read = read_back::all(
            rest,
            &fixture.units,
            pipe,
            groups(settings),
            &sums,
            patience_ns,
        );
        verdict.read_back(pipe, read);
    }
    let after = dropped(&mut fixture);
    verdict.broker_dropped(before.zip(after).map(|(before, after)| after - before));
    if let Err(reason) = ended
        .run
        .write_findings(&verdict.findings(), &verdict.to_json())
    {
        sink.warning(&format_args!(
            "the record does not contain the results read back: {reason}"
        ));
    }
    frontend.judge(verdict.last() + "\n", !verdict.is_good());
    ended.finish(&mut frontend)
}

fn job(
    settings: &PepeunitConfig,
    plan: Plan,
    fixture: &TestFixture,
    workers: usize,
    clients: &PerClient,
    stop: &StopHandle,
) -> Result<Job, String> {
    let seed = inputs::random_seed();
    let plan::Work::Mqtt(work) = &plan.work else {
        return Err("no MQTT".to_owned());
    };
    let driver = mqtt_driver::maker(mqtt_driver::DriverConfig {
        work: Arc::new(work.clone()),
        flat_out: false,
        own: Vec::new(),
        seed,
        run: (seed >> 8) as u32,
        limit: None,
        clients: Some(Arc::clone(clients)),
    });
    let options = EngineOptions {
        workers: Some(workers),
        seed,
        drain_ns: Some(settings.drain_ns),
        frontend: Some(Arc::new(|| {
            Box::new(measure::accumulator::NamedCounts::default())
        })),
        driver: Some(driver),
        stop: stop.clone(),
        ..EngineOptions::default()
    };
    let mut samplers = sampling::usual();
    if let Some(broker) = &fixture.broker {
        samplers.push(Box::new(BrokerWatch {
            broker: broker.clone(),
            stop: stop.clone(),
        }));
    }
    Ok(Job {
        hosts: Hosts::Native(Vec::new()),
        runs: settings.flags.runs.clone(),
        samplers,
        ..Job::new("mqtt", plan, options)
    })
}
