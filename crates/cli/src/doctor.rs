//! The command `loadline doctor`, which measures the timing, requests per core, connections and
//! ports of this machine.

use std::fmt::Write;

use record::Host;

use session::{LabProcess, exit};

use crate::log;

pub fn command() -> u8 {
    let mut lines = Vec::new();
    let mut advice = Vec::new();
    machine(&mut lines, &mut advice);
    limits(&mut lines, &mut advice);
    timing(&mut lines, &mut advice);
    let code = match throughput() {
        Ok(line) => {
            lines.push(line);
            exit::PASS
        }
        Err(reason) => {
            advice.push(format!("throughput could not be measured: {reason}"));
            exit::COULD_NOT_RUN
        }
    };
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in lines {
        let _ = writeln!(text, "{name:width$}  {value}");
    }
    for line in advice {
        let _ = writeln!(text, "! {line}");
    }
    log::out(&text);
    code
}

type DoctorLines = Vec<(&'static str, String)>;

fn machine(lines: &mut DoctorLines, advice: &mut Vec<String>) {
    let host = Host::read();
    let unknown = || "unknown".to_owned();
    lines.push(("kernel", host.kernel.unwrap_or_else(unknown)));
    lines.push((
        "cpu",
        format!(
            "{} × {}",
            host.cpus.unwrap_or(1),
            host.cpu.unwrap_or_else(unknown)
        ),
    ));
    let source = host.clock_source.unwrap_or_else(unknown);
    if !matches!(source.as_str(), "tsc" | "kvm-clock" | "arch_sys_counter") {
        advice.push(format!("the clock source is {source}, which needs a system call for each reading: tsc would be faster"));
    }
    lines.push(("clock source", source));
    if let Some(quota) = host.cgroup_cpu.filter(|quota| !quota.starts_with("max")) {
        advice.push(format!(
            "the control group limits the CPU ({quota} µs): runs that need more will be INVALID"
        ));
    }
    if host.cpus == Some(1) {
        advice.push(
            "this machine has only one core: a server and a generator on it will compete for the CPU"
                .to_owned(),
        );
    }
}

fn limits(lines: &mut DoctorLines, advice: &mut Vec<String>) {
    let descriptors = worker::raise_descriptors();
    lines.push((
        "descriptors",
        descriptors.map_or_else(
            || "unlimited".to_owned(),
            |n| format!("{n}, so about {} connections", n.saturating_sub(32)),
        ),
    ));
    if descriptors.is_some_and(|n| n < 10_000) {
        advice.push(
            "fewer than 10,000 descriptors: raise the hard limit with `ulimit -Hn`".to_owned(),
        );
    }
    if let Some(range) = Host::read().local_ports {
        let ends: Vec<u32> = range
            .split_whitespace()
            .filter_map(|end| end.parse().ok())
            .collect();
        if let [low, high] = ends[..] {
            lines.push((
                "local ports",
                format!(
                    "{}, the maximum number of connections to one address and port",
                    high.saturating_sub(low) + 1
                ),
            ));
        }
    }
}

fn timing(lines: &mut DoctorLines, advice: &mut Vec<String>) {
    let mut lateness = worker::clock::bare_timer_loop(1_000_000, 2_000);
    lateness.sort_unstable();
    let at = |q: f64| {
        measure::histogram::rank_of(q, lateness.len() as u64)
            .and_then(|r| lateness.get(r as usize - 1))
            .copied()
            .unwrap_or(0)
    };
    lines.push((
        "timing",
        format!(
            "{} late at the median, {} at p99, in a loop that only sleeps",
            record::units::time(at(0.5)),
            record::units::time(at(0.99))
        ),
    ));
    if at(0.99) > 1_000_000 {
        advice.push("1 % of timers are more than 1 ms late: the machine is busy or throttled, so runs may be INVALID".to_owned());
    }
}

fn throughput() -> Result<(&'static str, String), String> {
    let run = two_seconds()?;
    let rows = || run.totals.rows.iter();
    let ended: u64 = rows().map(|row| row.all.ok).sum();
    let cpu: u64 = rows().flat_map(|row| row.run.cpu_ns).sum();
    if ended == 0 {
        return Err("no request was answered".to_owned());
    }
    let per_request = cpu as f64 / ended as f64;
    let per_core = 1e9 / per_request;
    Ok((
        "throughput",
        format!(
            "{:.1} µs of CPU per request, so about {:.0},000/s per core",
            per_request / 1e3,
            per_core / 1e3
        ),
    ))
}

fn two_seconds() -> Result<record::Run, String> {
    let lab = LabProcess::start("truth?mode=constant")?;
    let folder = std::env::temp_dir().join(format!("loadline-doctor-{}", std::process::id()));
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = std::process::Command::new(program);
    command
        .args([
            "run",
            lab.url(),
            "--connections",
            "32",
            "--duration",
            "2s",
            "--workers",
            "1",
            "--runs",
        ])
        .arg(&folder);
    command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    command.status().map_err(|e| e.to_string())?;
    let run = record::Run::find(&folder, "last").map_err(|e| e.to_string());
    let _ = std::fs::remove_dir_all(&folder);
    run
}
