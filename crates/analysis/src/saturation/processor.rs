//! The processor: as a share, as cores in use beside cores that there are, as time for which a control group was held back.

use super::{
    Limited,
    watched::{TimeSpan, WatchedMetric},
};

/// Busy cores.
pub(super) const CPU: &str = "CPU";
/// What a control group may use.
pub(super) const QUOTA: &str = "CPU quota";

/// From this share on it is at its limit.
const FULL: f64 = 0.95;
/// A control group that is held back for this much of the time is at its quota, in cores.
const THROTTLED: f64 = 0.1;
/// Seconds for which a container's group was held back, as cAdvisor tells them.
const HELD_BACK: &str = "container_cpu_cfs_throttled_seconds_total";
/// Last words of metrics that are shares of all cores, from 0 to 1.
const RATIOS: [&str; 4] = [
    "cpu_ratio",
    "system_cpu_usage",
    "process_cpu_usage",
    "cpu_utilization",
];
/// Last words of metrics that count seconds of processor time, and of those that say how many cores there are.
const SECONDS: [&str; 2] = ["process_cpu_seconds_total", "process_cpu_seconds"];
const CORES: [&str; 3] = ["instance_cores", "system_cpu_count", "machine_cpu_cores"];

/// How the processor of one instance is told of.
struct ProcessorSource<'a> {
    by: &'a WatchedMetric,
    /// What is full; none: it is told as a share already.
    cores: Option<f64>,
    /// What 1 is of its values, where it is a share: 100 of per cents.
    scale: f64,
}

impl ProcessorSource<'_> {
    fn share(&self, value: f64) -> f64 {
        value / self.scale / self.cores.unwrap_or(1.0)
    }
}

/// Every processor that tells of itself.
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
                    format!("{cores} cores, {:.0} % of them and more busy", FULL * 100.0)
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
            limit: "held back by the control group's quota".to_owned(),
            size: 1.0,
            stretch: one.lasting(|_, value| value >= THROTTLED),
        });
    reported.chain(throttled).collect()
}

/// The busiest processor of a service in a stretch of time, as a share; none where nobody tells.
pub(super) fn share(all: &[WatchedMetric], cores: Option<f64>, stretch: TimeSpan) -> Option<f64> {
    let shares = sources(all, cores)
        .into_iter()
        .filter_map(|reported| Some(reported.share(reported.by.mean(stretch)?)));
    shares.fold(None, |most: Option<f64>, share| {
        Some(most.map_or(share, |most| most.max(share)))
    })
}

/// Cores in use in a stretch of time, all instances together; none where nobody tells.
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
                // A process of this machine.
                return Some(ProcessorSource {
                    by: one,
                    cores: Some(cores?),
                    scale: 1.0,
                });
            }
            if SECONDS.iter().any(|last| one.before(last).is_some()) {
                let there_are = CORES.iter().find_map(|last| cores_beside(one, all, last))?;
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

fn cores_beside(one: &WatchedMetric, all: &[WatchedMetric], last: &str) -> Option<f64> {
    let background = all.iter().find(|other| {
        other.source == one.source && other.of == one.of && other.before(last).is_some()
    })?;
    let (_, cores) = background.looks.last()?;
    (*cores > 0.0).then_some(*cores)
}
