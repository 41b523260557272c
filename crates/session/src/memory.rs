//! The memory limit of a run: `--memory`, or a quarter of the memory of this machine or container.

use plan::{Load, Plan, Problem, Share, Work, Workload};
use rustix::process::{Resource, getrlimit};

/// Returns the limit in bytes.
///
/// # Errors
///
/// Fails with a one-line error if the flag is not a valid size.
pub fn budget(flag: Option<&str>) -> Result<u64, String> {
    match flag {
        Some(text) => size(text).ok_or_else(|| {
            format!("--memory '{text}': use a size of at least 1MB, for example 512MB or 2GB")
        }),
        None => Ok(quarter()),
    }
}

/// Returns a problem if the users of a closed load alone exceed the limit.
#[must_use]
pub fn enough(plan: &Plan, share: Share, budget: u64) -> Option<Problem> {
    let users = match &plan.load {
        Load::Closed { users, .. } => *users,
        Load::Several { workloads } if matches!(plan.work, Work::Scenarios(_)) => {
            let users = workloads.iter().map(Workload::users);
            users.fold(0, u32::saturating_add)
        }
        _ => return None,
    };
    let users = share.of_first(u64::from(users));
    let needs = users * worker::memory::USER;
    (needs > budget).then(|| {
        Problem::anywhere(format!(
            "{users} users need about {} MB of memory, but the limit is {} MB: increase --memory, or use fewer users",
            needs >> 20,
            budget >> 20
        ))
    })
}

/// Address space of a process, and of each of its workers, in bytes. Measured with 1 to 16 workers
/// and rounded up. Allocators reserve much more than they use.
const PROCESS_SPACE: u64 = 256 << 20;
const WORKER_SPACE: u64 = 8 << 20;

/// Returns a problem if the limit on the address space (`ulimit -v`) is too low for the workers.
/// Otherwise, a failed allocation would end the process without a report.
#[must_use]
pub fn address_space(workers: u64) -> Option<Problem> {
    let limit = getrlimit(Resource::As).current?;
    let needs = PROCESS_SPACE + workers * WORKER_SPACE;
    (limit < needs).then(|| {
        Problem::anywhere(format!(
            "the address space is limited to {} MB (`ulimit -v`), but a run with --workers {workers} needs {} MB: increase the limit, or use fewer workers",
            limit >> 20,
            needs >> 20
        ))
    })
}

fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = text[digits.len()..].trim();
    let shift = match unit.strip_suffix('B').unwrap_or(unit).trim_end_matches('I') {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    let bytes = digits.parse::<f64>().ok()? * (1u64 << shift) as f64;
    (bytes.is_finite() && bytes >= (1u64 << 20) as f64).then_some(bytes as u64)
}

/// Returns a quarter of the memory of the machine or container, or of the address space. Returns 1
/// GB if it is unknown.
fn quarter() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("MemTotal:"))?;
            let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(kib << 10)
        });
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max");
    let container = container.ok().and_then(|text| text.trim().parse().ok());
    let space = getrlimit(Resource::As).current;
    let least = machine.into_iter().chain(container).chain(space).min();
    least.unwrap_or(4 << 30) / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("512MB", 512 << 20),
            ("512 mib", 512 << 20),
            ("2G", 2 << 30),
            ("1.5GB", 3 << 29),
            ("2048k", 2 << 20),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for bad in [
            "", "512", "0MB", "1KB", "MB", "-1GB", "1XB", "nanGB", "infGB",
        ] {
            assert_eq!(size(bad), None, "{bad}");
        }
        assert!(quarter() > 0);
    }
}
