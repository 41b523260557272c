//! CPU use: as a share, as used and available cores, or as throttled time.

use super::{Limited, watched::WatchedMetric};
use measure::TimeSpan;

pub(crate) const CPU: &str = "CPU";
pub(crate) const QUOTA: &str = "CPU quota";

const FULL: f64 = 0.95;
const THROTTLED: f64 = 0.1;
const HELD_BACK: &str = "container_cpu_cfs_throttled_seconds_total";
/// Last words in the names of metrics that are a share of all cores.
const RATIOS: [&str; 4] = [
    "cpu_ratio",
    "system_cpu_usage",
    "process_cpu_usage",
    "cpu_utilization",
];
const SECONDS: [&str; 2] = ["process_cpu_seconds_total", "process_cpu_seconds"];
const CORES: [&str; 3] = ["instance_cores", "system_cpu_count", "machine_cpu_cores"];

struct ProcessorSource<'a> {
    by: &'a WatchedMetric,
    /// Number of cores. `None` if the values are already shares.
    cores: Option<f64>,
    /// Value that corresponds to all cores, for example 100 for percentages.
    scale: f64,
}

impl ProcessorSource<'_> {
    fn share(&self, value: f64) -> f64 {
        value / self.scale / self.cores.unwrap_or(1.0)
    }
}

pub(super) fn limits(all: &[WatchedMetric], cores: Option<f64>) -> Vec<Limited> {
    let reported = sources(all, cores).into_iter().map(|reported| {
        let size = reported.cores.unwrap_or(1.0);
        Limited {
            pool: None,
            resource: CPU,
            source: reported.by.source.clone(),
            metric: reported.by.metric.clone(),
            limit: match reported.cores {
                Some(cores) => {
                    format!("{cores} cores, at least {:.0} % of them busy", FULL * 100.0)
                }
                None => format!("{:.0} % and more busy", FULL * 100.0),
            },
            size,
            stretch: reported
                .by
                .lasting(|_, value| reported.share(value) >= FULL),
        }
    });
    let throttled = all
        .iter()
        .filter(|one| one.metric == "throttled" || one.before(HELD_BACK).is_some())
        .map(|one| Limited {
            pool: None,
            resource: QUOTA,
            source: one.source.clone(),
            metric: one.metric.clone(),
            limit: "throttled by the control group's quota".to_owned(),
            size: 1.0,
            stretch: one.lasting(|_, value| value >= THROTTLED),
        });
    reported.chain(throttled).collect()
}

/// Returns the periods in which the CPU of this machine was fully used.
pub(super) fn full(all: &[WatchedMetric]) -> Vec<TimeSpan> {
    let of_machine = sources(all, None).into_iter();
    let full = of_machine.map(|reported| {
        reported
            .by
            .all_lasting(|_, value| reported.share(value) >= FULL)
    });
    full.flatten().collect()
}

pub(super) fn share(all: &[WatchedMetric], cores: Option<f64>, stretch: TimeSpan) -> Option<f64> {
    let shares = sources(all, cores)
        .into_iter()
        .filter_map(|reported| Some(reported.share(reported.by.mean(stretch)?)));
    shares.fold(None, |most: Option<f64>, share| {
        Some(most.map_or(share, |most| most.max(share)))
    })
}

pub(super) fn cores_in_use(
    all: &[WatchedMetric],
    cores: Option<f64>,
    stretch: TimeSpan,
) -> Option<f64> {
    let mut in_use = None;
    for reported in sources(all, cores) {
        if reported.cores.is_some() {
            let here = reported.by.mean(stretch)?;
            in_use = Some(in_use.unwrap_or(0.0) + here);
        }
    }
    in_use
}

fn sources(all: &[WatchedMetric], cores: Option<f64>) -> Vec<ProcessorSource<'_>> {
    let is_cpu = |one: &WatchedMetric| one.metric == "cpu";
    let of_process = |one: &WatchedMetric| {
        let sibling = |name: &str| {
            all.iter()
                .any(|other| other.source == one.source && other.metric == name)
        };
        sibling("context-switches") || sibling("throttled")
    };
    all.iter()
        .filter_map(|one| {
            if one.unit == "%" && one.before("cpu").is_some() {
                return Some(ProcessorSource {
                    by: one,
                    cores: None,
                    scale: 100.0,
                });
            }
            if is_cpu(one) && of_process(one) {
                return Some(ProcessorSource {
                    by: one,
                    cores: Some(cores?),
                    scale: 1.0,
                });
            }
            if SECONDS.iter().any(|last| one.before(last).is_some()) {
                let there_are = CORES
                    .iter()
                    .find_map(|last| cores_of_instance(one, all, last))?;
                return Some(ProcessorSource {
                    by: one,
                    cores: Some(there_are),
                    scale: 1.0,
                });
            }
            let is_ratio = RATIOS.iter().any(|last| one.before(last).is_some());
            is_ratio.then_some(ProcessorSource {
                by: one,
                cores: None,
                scale: 1.0,
            })
        })
        .collect()
}

fn cores_of_instance(one: &WatchedMetric, all: &[WatchedMetric], last: &str) -> Option<f64> {
    let limits = all.iter().find(|other| {
        other.source == one.source && other.of == one.of && other.before(last).is_some()
    })?;
    let (_, cores) = limits.looks.last()?;
    (*cores > 0.0).then_some(*cores)
}
