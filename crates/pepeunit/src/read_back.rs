//! Reads stored messages back repeatedly, until they are correct or the time limit is reached.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use mqtt_driver::Sums;
use plan::mqtt::Groups;
use worker::clock;

use crate::{
    pipes::{Pipe, Policy},
    rest::{RestClient, RestUnit, each},
    verify::{SentByUnit, VerifiedMessages},
};

const ROUND_NS: u64 = 250_000_000;

pub(crate) fn all(
    rest: &RestClient,
    units: &[RestUnit],
    pipe: &Pipe,
    groups: Groups,
    sums: &BTreeMap<u32, Sums>,
    patience_ns: u64,
) -> Result<Vec<VerifiedMessages>, String> {
    let until = clock::monotonic_ns().saturating_add(patience_ns);
    let found: Mutex<BTreeMap<usize, VerifiedMessages>> = Mutex::default();
    let counts: Mutex<BTreeMap<usize, u64>> = Mutex::default();
    let mut open: Vec<usize> = (0..units.len()).collect();
    loop {
        let is_last = clock::monotonic_ns() >= until;
        each(&open, |number| {
            let node = units[*number].node.as_deref().unwrap_or_default();
            if pipe.policy != Policy::LastValue && !is_last {
                let count = rest.count(node, pipe.policy.name())?;
                let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                if counts.insert(*number, count) == Some(count) {
                    return Ok(());
                }
            }
            let sent = SentByUnit {
                pipe,
                groups,
                client: *number as u64,
                sums: sums.get(&(*number as u32)).copied().unwrap_or_default(),
            };
            let of = match pipe.policy {
                Policy::LastValue => sent.with_state(rest.state(node)?.as_deref()),
                _ => sent.with_rows(&rest.rows(node, pipe.policy.name())?),
            };
            found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(*number, of);
            Ok(())
        })?;
        {
            let found = found.lock().unwrap_or_else(PoisonError::into_inner);
            open.retain(|number| !found.get(number).is_some_and(VerifiedMessages::is_right));
        }
        if open.is_empty() || is_last {
            let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
            return Ok(found.into_values().collect());
        }
        clock::pause(ROUND_NS);
    }
}
