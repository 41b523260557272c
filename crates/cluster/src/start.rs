//! Starts all nodes together: checks their capacity, prepares parts, and agrees on a start time.

use std::{path::PathBuf, time::Duration};

use plan::{
    Load, Plan,
    profile::{Assumed, Profile},
    units::{MILLISECOND, SECOND},
};
use record::{RunStart, units};
use serde_json::Value;
use session::PartitionedRun;
use worker::clock::Zero;

use crate::{
    losses,
    nodes::Nodes,
    wire::{Arming, SessionPart, ToConductor, ToNode},
};

/// Time that a node may send without a renewal of its lease, in nanoseconds.
pub const LEASE_NS: u64 = 5 * SECOND;
const ARM: Duration = Duration::from_secs(300);
const AGREED_NS: u64 = 500 * MILLISECOND;
const LEAD_NS: u64 = 2 * SECOND;
const LEAD_HERE_NS: u64 = SECOND;
const WAYS: u64 = 10;
const TRUSTED: f64 = 0.7;
const MEASURE: Duration = Duration::from_secs(60);

pub fn can_send(nodes: &mut Nodes, plan: &Plan) -> Result<(), Vec<String>> {
    let Some(peak) = peak(plan) else {
        return Ok(());
    };
    let share = peak / nodes.all.len() as f64;
    let cores = cores(nodes);
    for (node, cores) in nodes.all.iter_mut().zip(&cores) {
        let enough = share / TRUSTED / cores;
        node.say(&ToNode::Measure { enough });
    }
    let measured = nodes.gather(
        MEASURE,
        "did not measure its capacity",
        |message| match message {
            ToConductor::Measured { per_second } => Some(per_second),
            _ => None,
        },
    )?;
    let mut wrong = Vec::new();
    for ((node, of_a_core), cores) in nodes.all.iter().zip(measured).zip(cores) {
        let carries = of_a_core * cores;
        if share > TRUSTED * carries {
            wrong.push(format!(
"{} would have to send {}/s, but its measured capacity is {}/s, and at most {:.0} % may be used: use more nodes",
node.called(),
units::rate(share),
units::rate(carries),
TRUSTED * 100.0
));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn cores(nodes: &Nodes) -> Vec<f64> {
    let on = |boot: &str| {
        nodes
            .all
            .iter()
            .filter(|node| node.facts.boot == boot)
            .count()
    };
    let all = nodes.all.iter();
    all.map(|node| node.facts.cores.max(1) as f64 / on(&node.facts.boot).max(1) as f64)
        .collect()
}

fn peak(plan: &Plan) -> Option<f64> {
    let Load::Open { .. } = plan.load else {
        return None;
    };
    let (profile, _) = session::profile::profile(plan, 1, Assumed::default()).ok()?;
    Some(Profile::peak(profile.requests_per_second)).filter(|peak| peak.is_finite() && *peak > 0.0)
}

pub fn arm(
    nodes: &mut Nodes,
    divided: &PartitionedRun,
    test: &Value,
    keep: Option<&PathBuf>,
) -> Result<(), Vec<String>> {
    let looks = !nodes.are_here();
    let takes_over = losses::can_move(divided.plan());
    let parts: Vec<_> = divided.parts().collect();
    for (node, mut part) in nodes.all.iter_mut().zip(parts) {
        part.name = Some(node.name.clone());
        let keep = keep.map(|folder| folder.join(part.run_id.clone()));
        node.say(&ToNode::Arm {
            test: test.clone(),
            part: Box::new(Arming {
                part: SessionPart(part),
                looks,
                keep,
                takes_over,
            }),
        });
    }
    let digests = nodes.gather(ARM, "did not prepare the test", |said| match said {
        ToConductor::Armed { plan_digest, .. } => Some(plan_digest),
        _ => None,
    })?;
    // With different plans, the records could not be merged after the run.
    let digest = divided.plan_digest();
    let mut made = nodes.all.iter().zip(digests);
    match made.find(|(_, made)| *made != digest) {
        None => Ok(()),
        Some((node, _)) => Err(vec![format!(
            "{} read a different plan from the test: the test must not depend on the machine, for example on a folder or an environment variable",
            node.called()
        )]),
    }
}

pub fn agree(nodes: &mut Nodes) -> Result<Zero, Vec<String>> {
    let least = if nodes.are_here() {
        LEAD_HERE_NS
    } else {
        LEAD_NS
    };
    let zero = Zero::in_ns(least.max(WAYS * nodes.worst_ns()));
    let decoded = RunStart::at(zero.wall_ns, zero.monotonic_ns);
    for node in &mut nodes.all {
        node.began = node.offset;
        let offset = node.offset.unwrap_or_default();
        let start = RunStart {
            monotonic_ns: offset.there(zero.monotonic_ns),
            uncertainty_ns: offset.error_ns,
            ..decoded.clone()
        };
        node.lease_ends_ns = zero.monotonic_ns + LEASE_NS;
        node.say(&ToNode::Go { start });
    }
    let agreed_ns = zero.monotonic_ns - AGREED_NS;
    let silent = "did not confirm the start in time; the run was not started";
    let going = nodes.gather_until(agreed_ns, silent, |message| match message {
        ToConductor::Going => Some(()),
        _ => None,
    });
    if let Err(lines) = going {
        nodes.say(&ToNode::Cancel);
        return Err(lines);
    }
    Ok(zero)
}
