//! Writes an hour of 500 requests/s on 50 endpoints, to measure how long reports take.

use std::{error::Error, path::PathBuf};

use measure::{
    Intended, Interval, Labels, Recorder, Sample, Status, cuts::Cuts, label::LabelGroup,
    sample::RequestOutcome,
};
use plan::{FirstArrival, Format, Load, Phase, Plan, Rate, Shape};
use record::{
    HostSample, Manifest, RunContext, RunEnd, RunLocation, RunState, Writer,
    redact::{Redactor, Salt},
};

const SECOND: u64 = 1_000_000_000;
const ENDPOINTS: u64 = 50;
const RATE: u64 = 500;
const WALL: u64 = 1_795_180_500_300_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: hour FOLDER [SECONDS]")?);
    let seconds: u64 = arguments.next().map_or(Ok(3600), |text| text.parse())?;
    let load = Load::Open {
        phases: vec![Phase::new(
            seconds * SECOND,
            Shape::Rate(Rate::per_second(RATE)),
        )],
        first: FirstArrival::AtStart,
    };
    let target = "http://127.0.0.1:8080".to_owned();
    let plan = Plan::new("hour.yml".into(), Format::NATIVE, target, load, Vec::new());
    let mut labels = Labels::default();
    for endpoint in 0..ENDPOINTS {
        labels.id(LabelGroup::Request, "GET", &format!("/endpoint/{endpoint}"));
    }
    let started = RunContext {
        version: env!("CARGO_PKG_VERSION").into(),
        command: vec!["loadline".into()],
        frontend: "run".into(),
        workers: 1,
        seed: 1,
        wall_ns: WALL,
        monotonic_ns: 0,
        ..RunContext::default()
    };
    let manifest = Manifest::new(&plan, started);
    let place = RunLocation::new(Some(folder), 1);
    let mut writer = Writer::create(
        &place,
        &manifest,
        &plan,
        labels.all(),
        Redactor::new(&plan, &[], Salt::default()),
    )?;
    let cuts = Cuts::new(WALL, &[seconds * SECOND]);
    let mut recorder = Recorder::new(0, cuts, labels.all().len(), None);
    for k in 0..seconds * RATE {
        let sample = sample(k);
        recorder.advance(sample.intended.ns());
        recorder.run.due += 1;
        recorder.run.started += 1;
        recorder.run.in_flight.sample(k % 7);
        recorder.issued(sample.intended.ns(), sample.label, sample.intended);
        recorder.sample(&sample);
        keep(&mut writer, &mut recorder)?;
    }
    recorder.finish(seconds * SECOND);
    keep(&mut writer, &mut recorder)?;
    let end = RunEnd {
        ns: seconds * SECOND,
        reason: None,
        cause: None,
        record_ends_ns: None,
        recorded_to_ns: None,
        lines: None,
    };
    writer.finish(RunState::Complete, end);
    Ok(())
}

/// Most durations are near 20 ms, and some are ten times as long.
fn sample(k: u64) -> Sample {
    let intended = k * SECOND / RATE;
    let noise = k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let tail = if noise.is_multiple_of(50) { 10 } else { 1 };
    let service_ns = (5_000_000 + noise * 2) * tail;
    Sample {
        label: 2 + (k % ENDPOINTS) as u16,
        intended: Intended::scheduled(intended),
        started_ns: intended + 2_000,
        first_write_ns: Some(intended + 30_000),
        first_read_ns: Some(intended + 30_000 + service_ns / 2),
        done_ns: intended + 30_000 + service_ns,
        ended: RequestOutcome::Ok,
        status: Some(Status::Http(200)),
        bytes_out: 120,
        bytes_in: 900,
        trace: None,
    }
}

fn keep(writer: &mut Writer, recorder: &mut Recorder) -> Result<(), Box<dyn Error>> {
    for snapshot in recorder.take_full() {
        let interval = Interval::merge(vec![snapshot], 1, |id| id > 1);
        if let Some(error) = writer.interval(&interval, &HostSample::default()) {
            return Err(error.into());
        }
    }
    Ok(())
}
