//! What the machine did to us while a test ran: time that the hypervisor took, time for which the control group kept us from
//! running. Read once per interval; where the machine does not say, nothing is claimed.

use std::fs;

use engine::clock;
use record::HostSample;

/// Kernel ticks are hundredths of a second to user space on every Linux.
const TICK_NS: u64 = 10_000_000;

/// Differences of the machine's own counters.
#[derive(Debug, Default)]
pub(crate) struct HostMonitor {
    looked_ns: u64,
    steal_ns: Option<u64>,
    throttled_ns: Option<u64>,
}

impl HostMonitor {
    /// A watch that begins now.
    #[must_use]
    pub fn begin() -> HostMonitor {
        HostMonitor {
            looked_ns: clock::monotonic_ns(),
            steal_ns: steal_ns(),
            throttled_ns: throttled_ns(),
        }
    }

    /// What happened since the last look, for so many workers.
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
        let looked = std::mem::replace(&mut self.looked_ns, now);
        HostSample {
            // The kernel counts steal by CPU, and workers move between them: each is told the mean of all.
            steal_ns: steal.map_or_else(Vec::new, |ns| vec![ns; workers]),
            throttled_ns: since(&mut self.throttled_ns, throttled_ns()).unwrap_or(0),
            host_ns: now.saturating_sub(looked),
        }
    }
}

/// Steal of a CPU, the mean over all: the eighth figure of /proc/stat's first line.
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

/// Throttled time of the control group we run in: version 2 says microseconds, version 1 nanoseconds.
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

/// The path of our own version-2 control group below its mount.
fn own_group() -> Option<String> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(path.trim_end_matches('/').to_owned())
}
