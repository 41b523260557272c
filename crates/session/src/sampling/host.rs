//! Samples this machine from /proc: CPU, memory, load, network, context switches.

use std::fs;

use record::server::{Descriptor, MetricReading};

use super::Sampler;

const INSTANCES: [&str; 2] = ["lo", "others"];

/// The sampler of this machine.
#[derive(Debug, Default)]
pub struct HostSampler {
    /// CPU ticks at the last sample: busy and total.
    before: Option<(u64, u64)>,
}

impl Sampler for HostSampler {
    fn source(&self) -> &str {
        "host"
    }

    fn metrics(&self) -> Vec<Descriptor> {
        let mut all = vec![cpu(), switches(), memory(), load()];
        for instance in INSTANCES {
            all.push(network("in", instance));
            all.push(network("out", instance));
        }
        all
    }

    fn look(&mut self) -> Result<Vec<MetricReading>, String> {
        let stat = read("/proc/stat")?;
        let meminfo = read("/proc/meminfo")?;
        let loadavg = read("/proc/loadavg")?;
        let net = read("/proc/net/dev")?;
        let mut all = Vec::new();
        let mut add = |of, value: Option<f64>| {
            let value = value.unwrap_or(f64::NAN);
            all.push(MetricReading { of, value });
        };
        add(cpu(), self.busy(&stat));
        add(switches(), number(&stat, "ctxt"));
        add(memory(), used(&meminfo));
        add(load(), first_number(&loadavg));
        for (instance, received, sent) in traffic(&net) {
            add(network("in", instance), Some(received));
            add(network("out", instance), Some(sent));
        }
        Ok(all)
    }
}

fn cpu() -> Descriptor {
    Descriptor::gauge("cpu", "%")
}

fn memory() -> Descriptor {
    Descriptor::gauge("memory", "%")
}

fn load() -> Descriptor {
    Descriptor::gauge("load", "")
}

fn switches() -> Descriptor {
    Descriptor::counter("context-switches", "")
}

fn network(direction: &str, instance: &str) -> Descriptor {
    Descriptor::counter(&format!("network-{direction}"), "B").with_instance(instance)
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|reason| format!("{path}: {reason}"))
}

impl HostSampler {
    /// Returns the share of CPU time since the last sample that was neither idle nor waiting for a
    /// disk.
    fn busy(&mut self, stat: &str) -> Option<f64> {
        let line = stat.lines().find(|line| line.starts_with("cpu "))?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .take(8)
            .map(|text| text.parse().unwrap_or(0))
            .collect();
        let all: u64 = ticks.iter().sum();
        let idle = ticks.get(3)? + ticks.get(4)?;
        let now = (all.saturating_sub(idle), all);
        let before = self.before.replace(now)?;
        let of = now.1.checked_sub(before.1).filter(|of| *of > 0)?;
        let busy = now.0.checked_sub(before.0)?;
        Some(busy as f64 * 100.0 / of as f64)
    }
}

fn number(text: &str, word: &str) -> Option<f64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(word)?.strip_prefix([' ', ':']))?;
    first_number(rest)
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

fn used(meminfo: &str) -> Option<f64> {
    let all = number(meminfo, "MemTotal").filter(|all| *all > 0.0)?;
    let available = number(meminfo, "MemAvailable")?;
    Some((all - available) * 100.0 / all)
}

fn traffic(net: &str) -> [(&'static str, f64, f64); 2] {
    let mut all = INSTANCES.map(|instance| (instance, 0.0, 0.0));
    for line in net.lines() {
        let Some((name, numbers)) = line.split_once(':') else {
            continue;
        };
        let mut numbers = numbers.split_whitespace().map(str::parse::<f64>);
        let (Some(Ok(received)), Some(Ok(sent))) = (numbers.next(), numbers.nth(7)) else {
            continue;
        };
        let sum = &mut all[usize::from(name.trim() != "lo")];
        sum.1 += received;
        sum.2 += sent;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_is_understood() {
        let mut host = HostSampler::default();
        assert_eq!(
            host.busy("cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3"),
            None
        );
        let busy = host.busy("cpu  120 0 110 850 110 10 0 0 99 0\ncpu0 1 2 3");
        assert_eq!(busy, Some(20.0));
        assert_eq!(number("cpu 1\nctxt 4711\nbtime 1", "ctxt"), Some(4711.0));
        let meminfo = "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    250 kB\n";
        assert_eq!(used(meminfo), Some(75.0));
        let net = "Inter-| Receive | Transmit\n face |bytes packets\n    lo: 10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n  eth0:300 1 0 0 0 0 0 0 400 1 0 0 0 0 0 0\n  eth1: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n";
        assert_eq!(traffic(net), [("lo", 10.0, 20.0), ("others", 305.0, 406.0)]);
    }

    #[test]
    fn a_look_costs_next_to_nothing_and_says_what_was_promised() {
        let mut host = HostSampler::default();
        let before = worker::clock::thread_cpu_ns();
        let mut readings = Vec::new();
        for _ in 0..20 {
            readings = host.look().unwrap();
        }
        let each = (worker::clock::thread_cpu_ns() - before) / 20;
        assert!(each < 5_000_000, "{each} ns");
        let promised = host.metrics();
        let readings: Vec<_> = readings.into_iter().map(|reading| reading.of).collect();
        assert_eq!(readings, promised);
    }
}
