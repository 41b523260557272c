//! Samples the CPU time that the run loses because the hypervisor steals it or the control group
//! throttles the process.

use std::fs;

use record::HostSample;
use worker::clock;

/// Duration of a kernel tick, which Linux always reports as 1/100 s in user space.
const TICK_NS: u64 = 10_000_000;

#[derive(Debug, Default)]
pub(crate) struct HostMonitor {
    observed_ns: u64,
    steal_ns: Option<u64>,
    throttled_ns: Option<u64>,
}

impl HostMonitor {
    #[must_use]
    pub fn begin() -> HostMonitor {
        HostMonitor {
            observed_ns: clock::monotonic_ns(),
            steal_ns: steal_ns(),
            throttled_ns: throttled_ns(),
        }
    }

    pub fn look(&mut self, workers: usize) -> HostSample {
        let since = |known: &mut Option<u64>, now: Option<u64>| {
            let passed = now
                .zip(*known)
                .map(|(now, before)| now.saturating_sub(before));
            *known = now;
            passed
        };
        let steal = since(&mut self.steal_ns, steal_ns());
        let now = clock::monotonic_ns();
        let looked = std::mem::replace(&mut self.observed_ns, now);
        HostSample {
            // Steal time is counted per CPU, and workers move between CPUs, so assign the mean to
            // each worker.
            steal_ns: steal.map_or_else(Vec::new, |ns| vec![ns; workers]),
            throttled_ns: since(&mut self.throttled_ns, throttled_ns()).unwrap_or(0),
            host_ns: now.saturating_sub(looked),
        }
    }
}

/// Returns the mean steal time per CPU, from the eighth value in the first line of /proc/stat.
fn steal_ns() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = stat
        .lines()
        .next()?
        .split_whitespace()
        .nth(8)?
        .parse()
        .ok()?;
    let cpus = stat
        .lines()
        .filter(|line| line.starts_with("cpu"))
        .count()
        .saturating_sub(1)
        .max(1);
    Some(ticks * TICK_NS / cpus as u64)
}

/// Returns the throttled time of this process's control group. The kernel's unit is microseconds in
/// version 2 and nanoseconds in version 1.
fn throttled_ns() -> Option<u64> {
    let field = |path: &str, name: &str| -> Option<u64> {
        let text = fs::read_to_string(path).ok()?;
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    let own = own_group().unwrap_or_default();
    field(&format!("/sys/fs/cgroup{own}/cpu.stat"), "throttled_usec")
        .map(|us| us * 1_000)
        .or_else(|| field("/sys/fs/cgroup/cpu/cpu.stat", "throttled_time"))
}

/// Returns the path of this process's version-2 control group below the mount point.
fn own_group() -> Option<String> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(path.trim_end_matches('/').to_owned())
}
