//! Facts about the load generator's machine, read from Linux system files, and the git revision.
//! Facts that cannot be read are omitted.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    pub name: Option<String>,
    pub kernel: Option<String>,
    pub cpu: Option<String>,
    pub cpus: Option<usize>,
    pub memory_bytes: Option<u64>,
    /// Clock source. Reading the time is slow unless it is `tsc`.
    pub clock_source: Option<String>,
    pub open_files_limit: Option<String>,
    pub local_ports: Option<String>,
    pub cgroup_cpu: Option<String>,
    pub cgroup_memory: Option<String>,
}

impl Host {
    #[must_use]
    pub fn read() -> Host {
        Host {
            name: line("/proc/sys/kernel/hostname"),
            kernel: line("/proc/sys/kernel/osrelease"),
            cpu: field("/proc/cpuinfo", "model name")
                .map(|text| text.trim_start_matches([':', ' ', '\t']).to_owned()),
            cpus: std::thread::available_parallelism().ok().map(usize::from),
            memory_bytes: field("/proc/meminfo", "MemTotal:")
                .and_then(|text| text.trim_end_matches("kB").trim().parse::<u64>().ok())
                .map(|kb| kb * 1024),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            open_files_limit: field("/proc/self/limits", "Max open files").map(|text| {
                text.split_whitespace()
                    .take(2)
                    .collect::<Vec<_>>()
                    .join(" ")
            }),
            local_ports: line("/proc/sys/net/ipv4/ip_local_port_range")
                .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")),
            cgroup_cpu: line("/sys/fs/cgroup/cpu.max"),
            cgroup_memory: line("/sys/fs/cgroup/memory.max"),
        }
    }
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(|rest| rest.trim().to_owned())
}

pub(super) fn git_revision(folder: &Path) -> Option<String> {
    let start = fs::canonicalize(folder).ok()?;
    let git = start
        .ancestors()
        .map(|folder| folder.join(".git"))
        .find(|git| git.is_dir())?;
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(reference) = head.trim().strip_prefix("ref: ") else {
        return Some(head.trim().to_owned());
    };
    if let Ok(revision) = fs::read_to_string(git.join(reference)) {
        return Some(revision.trim().to_owned());
    }
    let packed = fs::read_to_string(git.join("packed-refs")).ok()?;
    packed
        .lines()
        .find_map(|line| line.strip_suffix(reference))
        .map(|revision| revision.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linux_machine_says_something() {
        let host = Host::read();
        assert!(host.kernel.is_some() && host.memory_bytes > Some(1 << 20));
        assert!(
            host.open_files_limit
                .is_some_and(|limit| limit.contains(' '))
        );
    }
}
