//! What is said of a test of Pepeunit: what arrived, whether the backend sustained it, what was kept, and where the rest was lost. Computes
//! from counts that others have made; reads nothing.

use engine::Cause;
use measure::accumulator::Tally;
use record::units::count;
use serde_json::{Value, json};

use crate::{
    pipes::{Pipe, Policy},
    verify::Found,
};

/// What is known of a test.
pub(crate) struct Verdict {
    due: u64,
    sent: u64,
    confirmed: u64,
    behind: u64,
    broken: u64,
    connected: u64,
    seconds: f64,
    ended: Option<String>,
    kept: Option<Kept>,
}

struct Kept {
    policy: Policy,
    all: Found,
    units: Vec<Found>,
    /// Messages that the broker says it has dropped meanwhile.
    dropped: Option<u64>,
    unreadable: Option<String>,
}

impl Verdict {
    /// Of what the driver has told, of a load of so many seconds.
    pub fn of(told: &Tally, (seconds, cause): (f64, Option<&Cause>)) -> Verdict {
        let of = |name: &str| told.counters.get(name).copied().unwrap_or(0);
        Verdict {
            due: of("due"),
            sent: of("sent"),
            confirmed: of("confirmed"),
            behind: of("behind").max(of("unsent")),
            broken: of("broken"),
            connected: of("connected"),
            seconds,
            ended: cause.map(ToString::to_string),
            kept: None,
        }
    }

    /// What was read back.
    pub fn read_back(
        &mut self,
        pipe: &Pipe,
        read: Result<Vec<Found>, String>,
        dropped: Option<f64>,
    ) {
        let (units, unreadable) = match read {
            Ok(units) => (units, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let mut all = Found::default();
        for of in &units {
            all.add(of);
        }
        self.kept = Some(Kept {
            policy: pipe.policy,
            all,
            units,
            dropped: dropped.map(|dropped| dropped.max(0.0) as u64),
            unreadable,
        });
    }

    /// Whether nothing is wrong with what was kept.
    pub fn is_good(&self) -> bool {
        let kept = self.kept.as_ref();
        kept.is_none_or(|kept| kept.unreadable.is_none() && kept.all.is_right())
    }

    /// Messages that have certainly arrived: kept or held back as intended, where each is a row; else those that the broker has read.
    fn arrived(&self) -> u64 {
        match &self.kept {
            Some(kept) if kept.policy == Policy::TimeWindow && kept.unreadable.is_none() => {
                kept.all.kept + kept.all.filtered.min(self.confirmed)
            }
            _ => self.confirmed,
        }
    }

    /// The sentences that the record keeps.
    pub fn findings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(kept) = &self.kept {
            lines.extend(kept.lines());
        }
        if self.broken > 0 {
            lines.push(format!(
                "{} connections broke: which messages were lost with them is not known, they count as sent",
                count(self.broken)
            ));
        }
        lines.push(self.last());
        lines
    }

    /// The last word.
    pub fn last(&self) -> String {
        let arrived = self.arrived();
        let rate = arrived as f64 / self.seconds.max(1e-9);
        let rate = count(rate.round() as u64);
        let asked = count((self.due as f64 / self.seconds.max(1e-9)).round() as u64);
        let (due, arrived_text) = (count(self.due), count(arrived));
        if let Some(ended) = &self.ended {
            return format!(
                "Test ended early by {ended}: {arrived_text} of {due} messages arrived; what it would have sustained is not known"
            );
        }
        if self.connected == 0 {
            return "Nothing was sent: no connection was accepted".to_owned();
        }
        if self.behind > 0 {
            return format!(
                "Backend did not sustain {asked} rps: throttled by the target, {arrived_text} of {due} messages arrived in time, {rate} rps"
            );
        }
        if arrived < self.due {
            return format!(
                "Backend did not sustain {asked} rps: {arrived_text} of {due} messages arrived, {rate} rps"
            );
        }
        format!(
            "Backend sustained {rate} rps: {arrived_text} messages arrived in {:.0}s",
            self.seconds
        )
    }

    /// Everything, unit by unit.
    pub fn to_json(&self) -> Value {
        let kept = self.kept.as_ref().map(|kept| {
            json!({
                "policy": kept.policy.name(), "all": kept.all, "units": kept.units,
                "dropped_by_broker": kept.dropped, "unreadable": kept.unreadable,
            })
        });
        json!({
            "due": self.due, "sent": self.sent, "confirmed": self.confirmed, "arrived": self.arrived(),
            "is_good": self.is_good(), "kept": kept, "found": self.findings(),
        })
    }
}

impl Kept {
    fn lines(&self) -> Vec<String> {
        if let Some(why) = &self.unreadable {
            return vec![format!("kept: could not be read back: {why}")];
        }
        let all = &self.all;
        let mut lines = vec![format!(
            "kept by {}: {} of {} units have what they should",
            self.policy.name(),
            count(all.right),
            count(all.units)
        )];
        let filtered = format!("{} filtered as intended", count(all.filtered));
        lines.push(match self.policy {
            Policy::TimeWindow => format!(
                "messages: {} sent = {} kept + {filtered} + {} lost + {} not certainly read by the broker",
                count(all.sent),
                count(all.kept),
                count(all.lost),
                count(all.unread),
            ),
            Policy::NRecords => format!("messages: {} sent, {filtered}, the newest {} kept", count(all.sent), count(all.kept)),
            Policy::LastValue => format!("messages: {} sent, {filtered}, {} newest values kept", count(all.sent), count(all.kept)),
            Policy::Aggregation => format!("messages: {} sent, {filtered}, {} in sums that are right", count(all.sent), count(all.kept)),
        });
        if all.lost > 0 {
            lines.push(self.whose_loss());
        }
        if all.surplus > 0 {
            lines.push(format!(
                "wrong: {} more rows than messages",
                count(all.surplus)
            ));
        }
        lines.extend(
            all.wrong
                .iter()
                .map(|(why, number)| format!("wrong: {} {why}", count(*number))),
        );
        if self.policy != Policy::Aggregation {
            lines.push("order within a group of equal messages is not observable".to_owned());
        }
        lines
    }

    fn whose_loss(&self) -> String {
        let lost = self.all.lost;
        let groups = match self.policy {
            Policy::TimeWindow => format!(", of {} groups", count(self.all.groups_hit)),
            _ => String::new(),
        };
        let whose = match self.dropped {
            Some(dropped) => {
                let broker = dropped.min(lost);
                format!(
                    "{} in the broker, by its own count, {} in DataPipe or not yet visible",
                    count(broker),
                    count(lost - broker)
                )
            }
            None => "in the broker, in DataPipe, or not yet visible".to_owned(),
        };
        format!("lost: {}{groups}: {whose}", count(lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(counts: &[(&str, u64)]) -> Verdict {
        let mut told = Tally::default();
        told.counters.extend(
            counts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value)),
        );
        Verdict::of(&told, (10.0, None))
    }

    fn kept(lost: u64, dropped: Option<f64>) -> Verdict {
        let mut verdict = verdict(&[
            ("connected", 1),
            ("due", 100),
            ("sent", 100),
            ("confirmed", 100),
        ]);
        let found = Found {
            sent: 100,
            kept: 100 - lost,
            lost,
            groups_hit: lost.min(1),
            units: 1,
            right: u64::from(lost == 0),
            ..Found::default()
        };
        verdict.read_back(&Pipe::of(Policy::TimeWindow), Ok(vec![found]), dropped);
        verdict
    }

    #[test]
    fn sustained_is_what_has_arrived() {
        assert!(
            kept(0, None)
                .last()
                .starts_with("Backend sustained 10 rps: 100 messages")
        );
        let lossy = kept(7, Some(5.0));
        assert!(
            lossy.last().contains("did not sustain 10 rps: 93 of 100"),
            "{}",
            lossy.last()
        );
        assert!(
            !lossy.is_good()
                && lossy.findings().join(" ").contains(
                    "lost: 7, of 1 groups: 5 in the broker, by its own count, 2 in DataPipe"
                )
        );
        let throttled = verdict(&[
            ("connected", 1),
            ("due", 100),
            ("sent", 100),
            ("confirmed", 30),
            ("behind", 70),
        ]);
        assert!(
            throttled
                .last()
                .contains("throttled by the target, 30 of 100")
        );
        assert!(!throttled.last().contains("sustained"));
    }

    #[test]
    fn who_ends_early_sustains_nothing() {
        let cause = Cause::Limit("an hour".to_owned());
        let verdict = Verdict::of(&Tally::default(), (10.0, Some(&cause)));
        assert!(verdict.last().contains("ended early by an hour"));
    }
}
