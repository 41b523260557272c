//! Compares the times of streamed responses with the log of the model API that sent them.

use std::process::{Command, Stdio};

use record::Run;
use serde_json::Value;
use session::LabProcess;

use super::super::{
    Assertion, Depth,
    experiment::Folder,
    machine::{OnCore, Witness, WitnessLateness},
    truth::quantile,
};

const USERS: &str = "50";

/// Times that the model API logged for complete responses, in nanoseconds.
#[derive(Default)]
struct StreamTruth {
    first_tokens: Vec<u64>,
    gaps: Vec<u64>,
    tokens: u64,
    responses: u64,
}

impl StreamTruth {
    fn read(text: &str) -> Result<StreamTruth, String> {
        let mut truth = StreamTruth::default();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
            if entry["end"] != "complete" {
                continue;
            }
            let times = entry["token_ns"].as_array().into_iter().flatten();
            let times: Vec<u64> = times.filter_map(Value::as_u64).collect();
            let arrival = entry["arrival_ns"].as_u64().unwrap_or(0);
            let first = times.first().map(|first| first.saturating_sub(arrival));
            truth.first_tokens.extend(first);
            let gap = |pair: &[u64]| pair[1].saturating_sub(pair[0]);
            truth.gaps.extend(times.windows(2).map(gap));
            truth.tokens += times.len() as u64;
            truth.responses += 1;
        }
        truth.first_tokens.sort_unstable();
        truth.gaps.sort_unstable();
        Ok(truth)
    }
}

pub fn streams(depth: Depth) -> Result<Vec<Assertion>, String> {
    let folder = Folder::new()?;
    let log = folder.at("truth.jsonl");
    let lab = {
        let _core = OnCore::number(0);
        let options = "ttft=100ms&gap=20ms&tokens=50&spread=exponential";
        LabProcess::start(&format!("llm?{options}&log={}", log.display()))?
    };
    let witness = Witness::on_core(1);
    let seconds = format!("{}s", depth.seconds);
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    {
        let _core = OnCore::number(1);
        let flags = ["--users", USERS, "--duration", &seconds, "--runs"];
        Command::new(program)
            .args(["run", lab.url(), "--stream", "openai"])
            .args(flags)
            .arg(folder.at("runs"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|e| format!("cannot start the generator: {e}"))?;
    }
    let seen = witness.end();
    // Dropping the server makes it flush its log.
    drop(lab);
    let truth = std::fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let truth = StreamTruth::read(&truth)?;
    let run = Run::find(&folder.at("runs"), "last").map_err(|e| e.to_string())?;
    let summary = analysis::summarise(&run);
    let Some(stream) = &summary.all.stream else {
        return Err("the run has no streamed responses".to_owned());
    };
    let slack_ms = seen
        .worst_ms()
        .max(if depth.microseconds { 1.0 } else { 20.0 });
    let mut assertions = vec![
        Assertion::same("complete responses", truth.responses, stream.complete),
        Assertion::same("tokens", truth.tokens, stream.tokens),
    ];
    let times = [
        ("first token", &stream.ttft_service, &truth.first_tokens),
        ("gap", &stream.gap, &truth.gaps),
    ];
    for (name, stats, logged) in times {
        let figures = stats
            .as_ref()
            .map(|stats| [(0.5, stats.p50), (0.99, stats.p99)]);
        for (q, figure) in figures.into_iter().flatten() {
            let known = figure.ns.or(figure.thin.and_then(|thin| thin.ns));
            let measured = known.map_or(f64::NAN, |ns| ns as f64 / 1e6);
            let wanted = quantile(logged, q) as f64 / 1e6;
            let what = format!("{name} p{}", q * 100.0);
            let near = Assertion::near(what, wanted, measured, 0.02, slack_ms);
            assertions.push(near.excused(WitnessLateness::was_late(&seen)));
        }
    }
    Ok(assertions)
}
