//! Reads `tested` and `target-service`: the tested service, and the service for which the report
//! estimates the capacity.

use plan::{
    deployment::{Deployment, Scaling},
    units::Quantity,
};

use super::{
    model,
    read::{self, entries},
};
use crate::{
    document::{Entry, Node},
    findings::Findings,
};

/// Reads both services. Returns `None` if they are absent or one is invalid.
pub(super) fn read(root: &Node, findings: &mut Findings) -> Option<Scaling> {
    let alone = match (root.entry("tested"), root.entry("target-service")) {
        (Some(tested), Some(target)) => {
            let tested = deployment(tested, findings);
            let target = deployment(target, findings);
            let both = tested.zip(target);
            return both.map(|(tested, target)| Scaling { tested, target });
        }
        (None, None) => return None,
        (Some(tested), None) => (
            tested,
            "`tested` requires `target-service`, the service whose capacity the report estimates: add, for example, `target-service: { instances: 16, background: 35% }`",
        ),
        (None, Some(target)) => (
            target,
            "`target-service` requires `tested`, the service that is loaded: add, for example, `tested: { instances: 6 }`",
        ),
    };
    findings.problem(alone.0.key_mark, alone.1);
    None
}

fn deployment(entry: &Entry, findings: &mut Findings) -> Option<Deployment> {
    let (node, what) = (&entry.value, entry.key.as_str());
    entries(node, what, model::DEPLOYMENT, findings);
    if !node.is_map() {
        return None;
    }
    let Some(instances) = node.get("instances") else {
        let text = format!("`{what}` requires `instances`, the number of instances");
        read::missing(node, model::DEPLOYMENT, text, findings);
        return None;
    };
    let instances = read::whole_u32(instances, "instances", 1, findings);
    let background = match node.get("background") {
        Some(node) => share(node, findings),
        None => Some(0.0),
    };
    let (instances, background) = instances.zip(background)?;
    Some(Deployment {
        instances,
        background,
    })
}

fn share(node: &Node, findings: &mut Findings) -> Option<f64> {
    let what = match read::quantity(node, "background", findings)? {
        Quantity::Share(share) if share < 1.0 => return Some(share),
        Quantity::Share(_) => "leaves no capacity for the load: use a share below 100%",
        _ => {
            "is not a share: enter the part of each instance that other load uses, for example 35%"
        }
    };
    let text = node.text();
    findings.problem(node.mark, format!("`background: {text}` {what}"));
    None
}
