//! Conclusions about the steady state: a warm-up or a change. A steady run gives no conclusion, and
//! overload has a separate rule.

use super::overload::{found, is_behind};
use crate::summary::{Behaviour, Conclusion, Steady, Summary, Tone};

pub(super) fn has_changed(summary: &Summary) -> bool {
    use Behaviour::{Drifting, Shifting, WarmingUp};
    found(summary).is_some_and(|steady| matches!(steady.behaviour, WarmingUp | Drifting | Shifting))
}

pub(super) fn gets_worse(summary: &Summary) -> bool {
    has_changed(summary) && found(summary).is_some_and(is_worse)
}

fn is_worse(steady: &Steady) -> bool {
    steady.after_ns > steady.before_ns || steady.after_share > steady.before_share
}

pub(super) fn steady(summary: &Summary) -> Option<Conclusion> {
    let steady = found(summary).filter(|steady| steady.is_news())?;
    if is_behind(summary) {
        return None;
    }
    let is_worse = is_worse(steady);
    let tone = match steady.behaviour {
        Behaviour::Unknown | Behaviour::Overload => return None,
        Behaviour::Drifting | Behaviour::Shifting if is_worse => Tone::Bad,
        _ => Tone::Neutral,
    };
    let known = [
        ("settled_ns", steady.settled_ns.is_some()),
        ("before_ns", steady.before_ns.is_some()),
        ("after_ns", steady.after_ns.is_some()),
        ("before_share", steady.before_share.is_some()),
        ("after_share", steady.after_share.is_some()),
        ("at_ns", steady.at_ns.is_some()),
        ("change_per_minute", steady.change_per_minute.is_some()),
    ];
    let known = known.into_iter().filter(|(_, is_known)| *is_known);
    let figures: Vec<String> = known.map(|(name, _)| format!("steady.{name}")).collect();
    let figures: Vec<&str> = figures.iter().map(String::as_str).collect();
    let text = steady.sentence.clone();
    Some(Conclusion::new("steady", tone, text, &figures))
}
