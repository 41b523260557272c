//! The workloads in a load profile: a table of all workloads, followed by the tables of each
//! workload.

use plan::profile::{Profile, WorkloadProfile};
use record::units::{self, count};

use super::Teller;

/// Returns the blocks of text that replace those of a single load.
pub(super) fn blocks(teller: &Teller<'_>) -> Vec<String> {
    let mut blocks = vec![overview(teller)];
    for WorkloadProfile { name, profile, .. } in &teller.profile.workloads {
        let own = Teller {
            profile,
            rendered: teller.rendered,
            workload: Some(name),
        };
        blocks.push(own.scenarios());
        blocks.extend(own.endpoints());
        blocks.push(own.load());
        blocks.extend(own.phases());
    }
    blocks
}

fn overview(teller: &Teller<'_>) -> String {
    let heads = [
        "Workload",
        "<Model",
        "From",
        "To",
        "Arrivals",
        "Users",
        "<Scenarios",
    ];
    let mut table = teller.table(&heads);
    for WorkloadProfile {
        name,
        start_ns,
        end_ns,
        profile,
    } in &teller.profile.workloads
    {
        let scenarios = profile.scenarios.iter().map(|row| row.name.as_str());
        let optional = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), count);
        table.row([
            name.clone(),
            model(profile).to_owned(),
            units::duration(*start_ns),
            units::duration(*end_ns),
            optional(profile.arrivals),
            optional(profile.users.map(u64::from)),
            scenarios.collect::<Vec<_>>().join(", "),
        ]);
    }
    let heading = teller.heading("Workloads");
    format!("{heading}\n\n{table}").trim_end().to_owned()
}

fn model(profile: &Profile) -> &'static str {
    match profile.users {
        Some(_) => "closed loop",
        None => "open",
    }
}
