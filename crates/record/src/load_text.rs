//! Descriptions of the load, such as `open, 200/s evenly spaced for 10 s`.

use plan::{
    ArrivalProcess, HttpVersion, Load, Phase, Plan, PoolPolicy, Shape, UserPhase, Work, Workload,
};

use crate::units;

#[must_use]
pub fn describe(plan: &Plan) -> String {
    if let Some(listen) = &plan.listen {
        return format!(
            "{}; in addition {} listeners on WebSocket connections",
            of_work(plan) + &http_version(plan) + &cut(plan),
            units::count(u64::from(listen.clients)),
        );
    }
    let Some(background) = &plan.background else {
        return of_work(plan) + &http_version(plan) + &cut(plan);
    };
    let loads = plan.background_loads();
    let peak: f64 = loads.iter().flatten().map(Load::peak_rate).sum();
    format!(
        "{}; in addition {} MQTT clients at {}, at most {} messages/s",
        of_work(plan) + &cut(plan),
        units::count(background.mqtt.clients()),
        background.mqtt.target(),
        units::rate(peak)
    )
}

/// Returns the chosen HTTP version. Empty for HTTP/1.1, which is the default.
fn http_version(plan: &Plan) -> String {
    let versions = &plan.http.versions;
    let text = match versions.usual {
        HttpVersion::Http1 if versions.are_http1() => return String::new(),
        HttpVersion::Http1 => "HTTP version by origin",
        HttpVersion::Http2 => "HTTP/2",
        HttpVersion::Http2PriorKnowledge => "HTTP/2 with prior knowledge",
        HttpVersion::Auto => "HTTP/2 if the server chooses it",
    };
    format!(", {text}")
}

fn cut(plan: &Plan) -> String {
    let end_ns = plan.end_ns();
    if end_ns >= plan.load.end_ns() {
        return String::new();
    }
    format!(
        "; ended by max-duration after {} of {}",
        units::duration(end_ns),
        units::duration(plan.load.end_ns())
    )
}

fn of_work(plan: &Plan) -> String {
    match &plan.load {
        Load::Once => "one iteration".into(),
        Load::Several { workloads } => {
            let has_arrivals = workloads.iter().any(Workload::is_open);
            let pool = has_arrivals.then(|| of_pool(plan));
            of_workloads(workloads, &pool.unwrap_or_default())
        }
        Load::Closed { phases, .. } if !phases.is_empty() => {
            let text = in_turn(phases.iter().map(of_users), plan.load.end_ns());
            format!("closed loop, {text}: each user sees a stall only once")
        }
        Load::Closed {
            users, duration_ns, ..
        } => {
            let users = so_many(*users);
            match &plan.work {
                Work::External(external) => format!(
                    "closed loop, up to {users} that {} starts and stops: each user sees a stall only once",
                    external.by
                ),
                _ if plan.iterations.is_some() => format!(
                    "closed loop, {} iterations by {users}: each user sees a stall only once",
                    units::count(plan.iterations.unwrap_or_default())
                ),
                _ => format!(
                    "closed loop, {users} for {}: each user sees a stall only once",
                    units::duration(*duration_ns)
                ),
            }
        }
        Load::Open { phases, .. } => {
            let mut text = format!(
                "open, {}",
                in_turn(phases.iter().map(of_phase), plan.load.end_ns())
            );
            text.push_str(&of_pool(plan));
            text
        }
    }
}

/// Describes the connections that arrivals share.
fn of_pool(plan: &Plan) -> String {
    match plan.http.pool {
        PoolPolicy::Shared(connections) => {
            let connections = units::count(u64::from(connections));
            format!(", at most {connections} connections")
        }
        PoolPolicy::PerUser => String::new(),
    }
}

fn of_workloads(workloads: &[Workload], pool: &str) -> String {
    let model = match workloads.iter().filter(|one| one.is_open()).count() {
        0 => "closed loop, ",
        open if open == workloads.len() => "open, ",
        _ => "open and closed, ",
    };
    let texts = workloads.iter().take(3);
    let texts: Vec<String> = texts
        .map(|one| format!("{}: {}", one.name, of_workload(one)))
        .collect();
    let rest = match workloads.len() {
        0..=3 => String::new(),
        // A tool with its own texts calls its workloads scenarios.
        number if workloads.iter().all(|one| one.text.is_empty()) => {
            format!("; … ({number} workloads)")
        }
        number => format!("; … ({number} scenarios)"),
    };
    let stall = match model {
        "open, " => "",
        _ => ": each user of a closed loop sees a stall only once",
    };
    format!("{model}{}{rest}{pool}{stall}", texts.join("; "))
}

/// Describes a workload in the words of its tool, or otherwise by its load.
pub(super) fn of_workload(workload: &Workload) -> String {
    if !workload.text.is_empty() {
        return workload.text.clone();
    }
    let end_ns = workload.load.end_ns();
    let text = match &workload.load {
        Load::Open { phases, .. } => in_turn(phases.iter().map(of_phase), end_ns),
        load => {
            let phases = load.user_phases().unwrap_or_default();
            in_turn(phases.iter().map(of_users), end_ns)
        }
    };
    match workload.starts_ns {
        0 => text,
        start_ns => format!("after {}, {text}", units::duration(start_ns)),
    }
}

fn in_turn(mut phases: impl ExactSizeIterator<Item = String>, end_ns: u64) -> String {
    let number = phases.len();
    let rendered: Vec<String> = phases.by_ref().take(3).collect();
    let text = rendered.join(", then ");
    if phases.len() == 0 {
        return text;
    }
    let total = units::duration(end_ns);
    format!("{text}, … ({number} phases, {total})")
}

fn so_many(users: u32) -> String {
    if users == 1 {
        "1 user".to_owned()
    } else {
        format!("{} users", units::count(u64::from(users)))
    }
}

pub(super) fn of_users(phase: &UserPhase) -> String {
    let duration = units::duration(phase.duration_ns);
    match (phase.from, phase.to) {
        (0, 0) => format!("a pause of {duration}"),
        (from, to) if from == to => format!("{} for {duration}", so_many(to)),
        (from, to) => format!(
            "{} to {} over {duration}",
            units::count(u64::from(from)),
            so_many(to)
        ),
    }
}

pub(super) fn of_phase(phase: &Phase) -> String {
    let spread = match phase.arrivals {
        ArrivalProcess::Even => "evenly spaced",
        ArrivalProcess::Poisson => "Poisson",
    };
    let duration = units::duration(phase.duration_ns);
    let text = match phase.shape {
        Shape::Rate(rate) => format!(
            "{}/s {spread} for {duration}",
            units::decimal(rate.as_f64())
        ),
        Shape::Count(count) => format!("{} arrivals over {duration}", units::count(count)),
        Shape::Staircase { from, to } => {
            format!(
                "{}/s to {}/s {spread} over {duration}",
                units::decimal(from.as_f64()),
                units::decimal(to.as_f64())
            )
        }
        Shape::Pause => format!("a pause of {duration}"),
    };
    match phase.max_users {
        Some(users) => format!("{text} (at most {} users)", units::count(u64::from(users))),
        None => text,
    }
}
