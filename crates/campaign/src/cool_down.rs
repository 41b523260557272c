//! Probes the service after a stage with few iterations, until a stop rule finds that the service
//! has recovered.

use analysis::{page::Page, summary::Summary};
use decisions::campaign::CoolDown;
use formats::native::campaign;
use record::{Run, units};

use crate::process::StageEnv;

const AS_BEFORE: f64 = 1.5;
const MORE_ERRORS: f64 = 0.01;
const SHORTEST_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Before {
    bound_ns: u64,
    error_bound: f64,
}

impl Before {
    /// Derives the limits below which the service counts as recovered. Returns `None` if the baseline
    /// has no latencies.
    #[must_use]
    pub fn from_baseline(baseline: &Summary) -> Option<Before> {
        let stats = baseline.headline_stats()?;
        let p95 = Some(&stats.p95).filter(|figure| !figure.too_few);
        // With few requests, the maximum is the best approximation of the p95.
        let ns = p95.and_then(|figure| figure.ns).or(stats.max.ns)?;
        Some(Before {
            bound_ns: (ns as f64 * AS_BEFORE) as u64,
            error_bound: (baseline.all.error_share.unwrap_or(0.0) + MORE_ERRORS).min(1.0),
        })
    }
}

pub struct Looked {
    pub cool_down: CoolDown,
    pub signal: Option<u8>,
}

impl Looked {
    pub fn nothing(config: &campaign::CoolDown, before: Before) -> Looked {
        Looked {
            cool_down: CoolDown {
                recovered_ns: None,
                first_probe_ns: 0,
                probed_until_ns: 0,
                bound_ns: before.bound_ns,
                error_bound: before.error_bound,
                settled_ns: config.settled_ns,
                runs: Vec::new(),
                unmeasured: None,
            },
            signal: None,
        }
    }
}

pub fn look(
    env: &StageEnv<'_>,
    config: &campaign::CoolDown,
    baseline: &str,
    before: Before,
    name: &str,
    load_end_wall_ns: u64,
) -> Result<Looked, String> {
    let mut cool_down = Looked::nothing(config, before).cool_down;
    let mut is_measured = false;
    let condition = format!(
        "p95 < {}us for {}ms",
        before.bound_ns.div_ceil(1_000),
        config.settled_ns / 1_000_000
    );
    while cool_down.probed_until_ns + config.settled_ns.max(SHORTEST_NS) <= config.at_most_ns {
        let flags = flags(config, cool_down.probed_until_ns, &condition);
        let run_name = format!("{name}-{}", cool_down.runs.len() + 1);
        let ran = env.native(baseline, &run_name, &flags)?;
        let Some(page) = ran
            .record
            .as_deref()
            .and_then(|dir| Run::open(dir).ok())
            .map(|run| audit::page(&run))
        else {
            let cause = ran
                .messages
                .last()
                .cloned()
                .unwrap_or_else(|| format!("exit code {}", ran.code));
            return Err(format!("the service cannot be probed: {cause}"));
        };
        let from_ns = page
            .summary
            .run
            .started_wall_ns
            .saturating_sub(load_end_wall_ns);
        if cool_down.runs.is_empty() {
            cool_down.first_probe_ns = from_ns;
        }
        if let Some(record) = ran.record.as_deref().and_then(|dir| dir.file_name()) {
            cool_down
                .runs
                .push(format!("{run_name}/{}", record.to_string_lossy()));
        }
        let observed_ns = looked(&page);
        cool_down.probed_until_ns = from_ns + observed_ns;
        if ran.signal.is_some() {
            return Ok(Looked {
                cool_down,
                signal: ran.signal,
            });
        }
        // Faults of the load generator do not show the state of the service.
        if let Some(reason) = invalid(&page) {
            if !is_measured {
                cool_down.unmeasured = Some(reason);
            }
            if observed_ns < SHORTEST_NS {
                break;
            }
            continue;
        }
        is_measured = true;
        cool_down.unmeasured = None;
        cool_down.recovered_ns =
            settled(&page, before, config.settled_ns, &condition).map(|ns| from_ns + ns);
        if cool_down.recovered_ns.is_some() || observed_ns < SHORTEST_NS {
            break;
        }
    }
    Ok(Looked {
        cool_down,
        signal: None,
    })
}

fn flags(config: &campaign::CoolDown, after_ns: u64, condition: &str) -> [String; 6] {
    let left_ns = config.at_most_ns - after_ns;
    [
        "--rate".to_owned(),
        format!("{}/s", config.rate.as_f64()),
        "--duration".to_owned(),
        format!("{}ms", left_ns / 1_000_000),
        "--stop".to_owned(),
        format!("{condition}: stop pass"),
    ]
}

fn invalid(page: &Page) -> Option<String> {
    let measurement = page.summary.measurement.as_ref()?;
    let reason = measurement.reasons.first().cloned().unwrap_or_default();
    (measurement.verdict == "INVALID").then_some(reason)
}

fn looked(page: &Page) -> u64 {
    let run = &page.summary.run;
    run.stopped
        .as_ref()
        .map_or(run.elapsed_ns, |stopped| stopped.at_ns)
}

/// Returns when the recovery began, which is the start of the window in which the rule fired.
fn settled(page: &Page, before: Before, settled_ns: u64, condition: &str) -> Option<u64> {
    let stopped = page.summary.run.stopped.as_ref()?;
    let is_ours = stopped.text.contains(condition.split(" for ").next()?);
    let from_ns = stopped.at_ns.saturating_sub(settled_ns);
    let points = &page.series.points;
    let (mut ended, mut failed) = (0, 0);
    for (i, (begins_ns, ends_ns)) in points.from_ns.iter().zip(&points.to_ns).enumerate() {
        // Requests that finish later are outside the window.
        if *ends_ns > from_ns && *begins_ns < stopped.at_ns {
            let bad = points.failed[i] + points.unanswered[i];
            ended += points.ok[i] + bad;
            failed += bad;
        }
    }
    let too_many = failed as f64 > before.error_bound * ended as f64;
    let from_ns = if from_ns <= SHORTEST_NS { 0 } else { from_ns };
    (is_ours && !too_many).then_some(from_ns)
}

#[must_use]
pub fn load_end_wall_ns(summary: &Summary) -> u64 {
    let run = &summary.run;
    let planned = summary
        .phases
        .last()
        .map_or(run.elapsed_ns, |phase| phase.end_ns);
    let end_ns = run
        .stopped
        .as_ref()
        .map_or(planned, |stopped| stopped.at_ns);
    run.started_wall_ns + end_ns.min(run.elapsed_ns.max(planned))
}

#[must_use]
pub fn describe(cool_down: &CoolDown) -> String {
    match decisions::campaign::recovered(cool_down) {
        Some(text) => format!("the service recovered {text}"),
        None if cool_down.unmeasured.is_some() => format!(
            "it is unknown whether the service recovered, because the measurement was INVALID: {}",
            cool_down.unmeasured.as_deref().unwrap_or_default()
        ),
        None => format!(
            "the service did not recover within {} (p95 at most {}, errors at most {})",
            units::time(cool_down.probed_until_ns),
            units::time(cool_down.bound_ns),
            units::share(cool_down.error_bound)
        ),
    }
}
