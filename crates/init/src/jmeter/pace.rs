//! Throughput timers: they limit the rate of samples, which a plan expresses as an arrival rate.

use serde_json::{Value, json};

use super::{
    JmeterDraft,
    groups::{CommonLoad, GroupLoad, ThreadGroup},
    schedule,
    steps::requests_of,
    tree::JmxElement,
};
use crate::draft::DraftScenario;

/// The number of samples per second that a timer allows, for all threads together.
struct Pace<'e, 'x> {
    timer: &'e JmxElement<'x>,
    per_second: f64,
    is_per_thread: bool,
    is_random: bool,
}

/// Replaces users by an arrival rate, if a throughput timer paces the only thread group.
pub(super) fn apply(
    plan: &JmxElement<'_>,
    groups: &[ThreadGroup<'_, '_>],
    scenarios: &[DraftScenario],
    load: &mut CommonLoad,
    context: &mut JmeterDraft<'_>,
) {
    let mut timers = Vec::new();
    collect(plan, &mut timers);
    let pace = timers.first().and_then(|timer| read(timer, context));
    let (Some(pace), [group], [scenario]) = (pace, groups, scenarios) else {
        load.comments.extend(timers.iter().map(|timer| {
            timer.comment(
                context.file,
                "TO FILL IN: it limits the rate of requests; set `rate` instead of `users`",
            )
        }));
        return;
    };
    let GroupLoad::Users(stretches) = &group.load else {
        let text = "not translated, because the threads loop a fixed number of times";
        load.comments.push(pace.timer.comment(context.file, text));
        return;
    };
    let most = stretches
        .iter()
        .map(|one| one.from.max(one.to))
        .fold(1.0, f64::max);
    let seconds: f64 = stretches.iter().map(|stretch| stretch.seconds).sum();
    let requests = requests_of(&scenario.steps).max(1);
    let samples = if pace.is_per_thread {
        pace.per_second * most
    } else {
        pace.per_second
    };
    let mut phase = json!({
        "rate": schedule::rate_text(samples / requests as f64),
        "duration": schedule::seconds(seconds),
        "max-users": most as u64,
    });
    if pace.is_random {
        phase["arrivals"] = Value::from("poisson");
    }
    load.phases = vec![phase];
    load.comments.push(pace.timer.comment(
        context.file,
        &format!(
            "{} requests, {requests} in each iteration, by at most {most} users",
            schedule::rate_text(samples)
        ),
    ));
}

fn collect<'e, 'x>(element: &'e JmxElement<'x>, out: &mut Vec<&'e JmxElement<'x>>) {
    if ["ConstantThroughputTimer", "PreciseThroughputTimer"].contains(&element.kind) {
        out.push(element);
    }
    element
        .children
        .iter()
        .for_each(|child| collect(child, out));
}

fn read<'e, 'x>(timer: &'e JmxElement<'x>, context: &JmeterDraft<'_>) -> Option<Pace<'e, 'x>> {
    let number = |name: &str| {
        let text = context.scope.expand(&timer.property(name));
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|number| *number > 0.0 && *number < 1e9)
    };
    let throughput = number("throughput")?;
    if timer.kind == "PreciseThroughputTimer" {
        return Some(Pace {
            timer,
            per_second: throughput / number("throughputPeriod").unwrap_or(3600.0),
            is_per_thread: false,
            is_random: true,
        });
    }
    let mode = timer.property("calcMode");
    Some(Pace {
        timer,
        per_second: throughput / 60.0,
        is_per_thread: matches!(mode.trim(), "" | "0"),
        is_random: false,
    })
}
