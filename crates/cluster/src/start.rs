//! One beginning for all nodes, or none: whether each can send its share, whether each has made its part ready, and a moment on which all agree.
//! What happens from then on is the conductor's.

use std::{path::PathBuf, time::Duration};

use engine::Zero;
use plan::{
    Load, Plan,
    profile::{Assumed, Profile},
    units::{MILLISECOND, SECOND},
};
use record::{RunStart, units};
use serde_json::Value;
use session::PartitionedRun;

use crate::{
    conductor::LEASE_NS,
    losses,
    nodes::Nodes,
    wire::{Arming, SessionPart, ToConductor, ToNode},
};

/// So long nodes may take to make a test ready.
const ARM: Duration = Duration::from_secs(300);
/// So long before the start every node must have said that it will begin.
const AGREED_NS: u64 = 500 * MILLISECOND;
/// The start is so far ahead of the word that says when it is: of nodes elsewhere, and of those on this machine.
const LEAD_NS: u64 = 2 * SECOND;
const LEAD_HERE_NS: u64 = SECOND;
/// And so many times as far as the longest way there and back.
const WAYS: u64 = 10;
/// A node is trusted with so much of what it has shown that it can send.
const TRUSTED: f64 = 0.7;
/// So long a machine may take to show that.
const MEASURE: Duration = Duration::from_secs(60);

/// Refuses a load of which a node's share is more than it is trusted with.
pub fn can_send(nodes: &mut Nodes, plan: &Plan) -> Result<(), Vec<String>> {
    // Of a load that nobody can tell beforehand nothing is asked.
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
        "has not measured what it can send",
        |said| match said {
            ToConductor::Measured { per_second } => Some(per_second),
            _ => None,
        },
    )?;
    let mut wrong = Vec::new();
    for ((node, of_a_core), cores) in nodes.all.iter().zip(measured).zip(cores) {
        let carries = of_a_core * cores;
        if share > TRUSTED * carries {
            wrong.push(format!(
                "{} would send {}/s, and has shown {}/s: a node is trusted with {:.0} % of that; use more nodes",
                node.called(),
                units::rate(share),
                units::rate(carries),
                TRUSTED * 100.0
            ));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// How many cores each node has for itself: several may be on one machine.
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

/// The most requests a second that an open load comes to.
fn peak(plan: &Plan) -> Option<f64> {
    let Load::Open { .. } = plan.load else {
        return None;
    };
    let (profile, _) = session::profile::profile(plan, 1, Assumed::default()).ok()?;
    Some(Profile::peak(profile.requests_per_second)).filter(|peak| peak.is_finite() && *peak > 0.0)
}

/// Has every node make its part ready.
pub fn arm(
    nodes: &mut Nodes,
    divided: &PartitionedRun,
    test: &Value,
    keep: Option<&PathBuf>,
) -> Result<(), Vec<String>> {
    let looks = !nodes.are_here();
    let adopts = losses::can_move(divided.plan());
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
                adopts,
            }),
        });
    }
    nodes.gather(ARM, "has not made the test ready", |said| match said {
        ToConductor::Armed { workers } => Some(workers),
        _ => None,
    })?;
    Ok(())
}

/// Chooses the moment of the start and has all nodes say that they will begin then.
pub fn agree(nodes: &mut Nodes) -> Result<Zero, Vec<String>> {
    let least = if nodes.are_here() {
        LEAD_HERE_NS
    } else {
        LEAD_NS
    };
    let zero = Zero::in_ns(least.max(WAYS * nodes.worst_ns()));
    let whole = RunStart::at(zero.wall_ns, zero.monotonic_ns);
    for node in &mut nodes.all {
        node.began = node.offset;
        let offset = node.offset.unwrap_or_default();
        let start = RunStart {
            monotonic_ns: offset.there(zero.monotonic_ns),
            uncertainty_ns: offset.error_ns,
            ..whole.clone()
        };
        node.lease_ends_ns = zero.monotonic_ns + LEASE_NS;
        node.say(&ToNode::Go { start });
    }
    let agreed_ns = zero.monotonic_ns - AGREED_NS;
    let silent = "has not said in time that it will begin: nothing was started";
    let going = nodes.gather_until(agreed_ns, silent, |said| match said {
        ToConductor::Going => Some(()),
        _ => None,
    });
    if let Err(lines) = going {
        nodes.say(&ToNode::Cancel);
        return Err(lines);
    }
    Ok(zero)
}
