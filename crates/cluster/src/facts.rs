//! Properties of a machine, read before the run.

use std::fs;

use record::Host;

use crate::wire::{Facts, PROTOCOL};

#[must_use]
pub fn own() -> Facts {
    let host = Host::read();
    let clock = worker::clock_error_us();
    Facts {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: name(),
        boot: line_of("/proc/sys/kernel/random/boot_id"),
        cores: host.cpus.unwrap_or(1),
        descriptors: worker::raise_descriptors(),
        ports: host.local_ports.as_deref().and_then(ports),
        clock_error_us: clock.flatten(),
        clock_known: clock.is_some(),
    }
}

#[must_use]
pub fn name() -> String {
    let name = line_of("/proc/sys/kernel/hostname");
    if name.is_empty() {
        "a machine".to_owned()
    } else {
        name
    }
}

fn line_of(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.trim().to_owned()
}

fn ports(range: &str) -> Option<u64> {
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some(high.saturating_sub(low) + 1)
}
