use measure::TimeKind;
use record::{Run, units};

use super::{Behaviour, Finding, Segment, Steady, SteadyState};

pub(super) fn describe(run: &Run, found: Finding, kind: TimeKind) -> Steady {
    let name = match kind {
        TimeKind::Response => "response time",
        _ => "service time",
    };
    let place = found.stretch.map_or_else(String::new, |at| place(run, at));
    let mut reported = Steady {
        behaviour: Behaviour::Unknown,
        sentence: sentence(&found, name, &place),
        phase: found.stretch.and_then(|stretch| stretch.phase),
        from_ns: found.stretch.map_or(0, |stretch| stretch.from_ns),
        to_ns: found.stretch.map_or(0, |stretch| stretch.to_ns),
        settled_ns: None,
        stats: None,
        figure: None,
        at_ns: None,
        before_ns: None,
        after_ns: None,
        before_share: None,
        after_share: None,
        change_per_minute: None,
        arrived_per_second: None,
        answered_per_second: None,
        backlog_per_second: None,
    };
    match found.what {
        SteadyState::Unknown(_) => {}
        SteadyState::Steady { from_ns, stats } => {
            reported.behaviour = Behaviour::Steady;
            (reported.settled_ns, reported.stats) = (Some(from_ns), stats.map(|stats| *stats));
        }
        SteadyState::Drifting {
            figure,
            before,
            after,
            per_minute,
        } => {
            reported.behaviour = if figure != "errors" && after < before {
                Behaviour::WarmingUp
            } else {
                Behaviour::Drifting
            };
            reported.changed(figure, before, after);
            reported.change_per_minute = Some(per_minute);
        }
        SteadyState::Shifting {
            figure,
            at_ns,
            before,
            after,
        } => {
            reported.behaviour = Behaviour::Shifting;
            reported.changed(figure, before, after);
            reported.at_ns = Some(at_ns);
        }
        SteadyState::Overload {
            arrived,
            completed,
            grows,
        } => {
            reported.behaviour = Behaviour::Overload;
            reported.figure = Some("in_flight".into());
            (reported.arrived_per_second, reported.answered_per_second) =
                (Some(arrived), Some(completed));
            reported.backlog_per_second = Some(grows);
        }
    }
    reported
}

impl Steady {
    fn changed(&mut self, figure: &str, before: f64, after: f64) {
        self.figure = Some(figure.to_owned());
        if figure == "errors" {
            (self.before_share, self.after_share) = (Some(before), Some(after));
        } else {
            let ns = |value: f64| Some(value.round() as u64);
            (self.before_ns, self.after_ns) = (ns(before), ns(after));
        }
    }
}

fn place(run: &Run, stretch: Segment) -> String {
    let phases = &run.manifest.phases;
    let Some(phase) = stretch.phase.filter(|_| phases.len() > 1) else {
        return String::new();
    };
    let name = phases[phase].name.clone();
    format!(
        " in phase {}",
        name.unwrap_or_else(|| (phase + 1).to_string())
    )
}

fn sentence(found: &Finding, name: &str, place: &str) -> String {
    let from_ns = found.stretch.map_or(0, |stretch| stretch.from_ns);
    match &found.what {
        SteadyState::Unknown(reason) => {
            format!("Steady state{place} could not be determined: {reason}.")
        }
        SteadyState::Steady {
            from_ns: settled_ns,
            stats,
        } => {
            let figures = stats.as_ref().map_or_else(String::new, |stats| {
                let figures = [("p50", stats.p50), ("p99", stats.p99)];
                let known = figures.iter().filter(|(_, figure)| !figure.too_few);
                let known: Vec<String> = known
                    .map(|(percentile, figure)| format!("{percentile} {figure}"))
                    .collect();
                let of = format!("of {} samples", units::count(stats.count));
                format!(": {} {of}", known.join(" and "))
            });
            if *settled_ns == from_ns {
                format!("The {name} was steady{place} from the beginning{figures}.")
            } else {
                format!(
                    "The {name} was steady{place} from {} on, after a warm-up of {}{figures}.",
                    at(*settled_ns),
                    at(settled_ns - from_ns),
                )
            }
        }
        SteadyState::Drifting {
            figure,
            before,
            after,
            per_minute,
        } => {
            let (of, verb) = (
                figure_of(figure, name),
                if after > before { "rose" } else { "fell" },
            );
            let still = if *figure != "errors" && after < before {
                ", as in a service that is still warming up"
            } else {
                ""
            };
            format!(
                "There was no steady state{place}: {of} {verb} throughout, from {} to {}, by {} per minute{still}.",
                value(figure, *before),
                value(figure, *after),
                units::share(per_minute.abs()),
            )
        }
        SteadyState::Shifting {
            figure,
            at_ns,
            before,
            after,
        } => format!(
            "There was no steady state{place}: at {}, {} changed from {} to {}.",
            at(*at_ns),
            figure_of(figure, name),
            value(figure, *before),
            value(figure, *after),
        ),
        SteadyState::Overload {
            arrived,
            completed,
            grows,
        } => format!(
            "Overload instead of a steady state{place}: {} requests/s arrived and {}/s were answered. The backlog grew by {}/s.",
            units::rate(*arrived),
            units::rate(*completed),
            units::rate(*grows),
        ),
    }
}

fn at(ns: u64) -> String {
    let second = plan::units::SECOND;
    units::duration((ns + second / 2) / second * second)
}

fn figure_of(figure: &str, name: &str) -> String {
    match figure {
        "errors" => "the share of errors".to_owned(),
        percentile => format!("{percentile} of the {name}"),
    }
}

fn value(figure: &str, value: f64) -> String {
    match figure {
        "errors" => units::share(value),
        _ => units::time(value.round() as u64),
    }
}
