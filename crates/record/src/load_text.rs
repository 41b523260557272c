//! The load in words, as every rendering shows it: `open, 200/s even for 10 s`. It says the model first, because what a
//! percentile means depends on it.

use plan::{Arrivals, Load, Phase, Plan, Pool, Shape, Work};

use crate::units;

/// The load of a plan in words.
#[must_use]
pub fn of(plan: &Plan) -> String {
    let Some(beside) = &plan.beside else {
        return of_work(plan) + &cut(plan);
    };
    let loads = plan.loads_beside();
    let peak: f64 = loads.iter().flatten().map(Load::peak_rate).sum();
    format!(
        "{}; beside it {} MQTT clients at {}, {} messages/s at most",
        of_work(plan) + &cut(plan),
        units::count(beside.mqtt.clients()),
        beside.mqtt.target(),
        units::rate(peak)
    )
}

/// That the load is to end before it would by itself.
fn cut(plan: &Plan) -> String {
    let end_ns = plan.end_ns();
    if end_ns >= plan.load.end_ns() {
        return String::new();
    }
    format!(
        "; cut short by max-duration after {} of {}",
        units::duration(end_ns),
        units::duration(plan.load.end_ns())
    )
}

fn of_work(plan: &Plan) -> String {
    match &plan.load {
        Load::Once => "one iteration".into(),
        Load::Closed { users, duration_ns } => {
            let users = if *users == 1 {
                "1 user".to_owned()
            } else {
                format!("{} users", units::count(u64::from(*users)))
            };
            match &plan.work {
                Work::External(external) => format!(
                    "closed loop, up to {users} that {} starts and stops: a stall is seen once per user",
                    external.by
                ),
                _ => format!(
                    "closed loop, {users} for {}: a stall is seen once per user",
                    units::duration(*duration_ns)
                ),
            }
        }
        Load::Open { phases, .. } => {
            let shown: Vec<String> = phases.iter().take(3).map(of_phase).collect();
            let mut text = format!("open, {}", shown.join(", then "));
            if phases.len() > shown.len() {
                let total = phases.iter().map(|phase| phase.duration_ns).sum();
                text.push_str(&format!(
                    ", … ({} phases, {})",
                    phases.len(),
                    units::duration(total)
                ));
            }
            if let Pool::Shared(connections) = plan.http.pool {
                text.push_str(&format!(
                    ", at most {} connections",
                    units::count(u64::from(connections))
                ));
            }
            text
        }
    }
}

/// A phase in words.
pub(super) fn of_phase(phase: &Phase) -> String {
    let spread = match phase.arrivals {
        Arrivals::Even => "even",
        Arrivals::Poisson => "Poisson",
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
