//! Evaluation of criteria on messages of MQTT clients and listeners, based on their final counts.

use measure::{Label, label::LabelGroup};
use plan::{Criterion, criteria::MessageFate};
use record::Run;

use super::bound::bound;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MessageCounts {
    is_reported: bool,
    due: u64,
    pub unsent: u64,
    unknown: u64,
    expected: u64,
    expected_of_unknown: u64,
    received: u64,
    again: u64,
}

/// Returns whether a label counts deliveries to MQTT subscribers or WebSocket listeners.
pub(super) fn is_delivery(label: &Label) -> bool {
    let is_push = || label.name.split(' ').next() == Some(plan::listen::PUSH);
    label.group == LabelGroup::Custom && (label.name == plan::mqtt::DELIVERY || is_push())
}

pub(super) fn counts(run: &Run) -> MessageCounts {
    let mut counts = MessageCounts::default();
    for (_, part) in run.frontend_parts() {
        let of = |name: &str| part.counters.get(name).copied().unwrap_or(0);
        counts.is_reported |= part.counters.contains_key("due");
        counts.due += of("due");
        counts.unsent += of("unsent");
        counts.unknown += of("unknown");
        counts.expected += of("expected");
        counts.expected_of_unknown += of("expected_of_unknown");
        counts.received += of("received");
        counts.again += of("again");
    }
    counts
}

impl MessageCounts {
    /// Returns the number of messages with this result, and the number of all messages. Fails if
    /// unknown messages could decide the criterion.
    pub(super) fn share(
        &self,
        fate: MessageFate,
        criterion: &Criterion,
    ) -> Result<(u64, u64), String> {
        if !self.is_reported {
            return Err("the clients did not report their results at the end of the run".into());
        }
        let deliveries = "no deliveries were expected: the receivers must be in the same run, and the messages must have a message header or a stamp";
        match fate {
            MessageFate::Unknown => Ok((self.unknown, self.due)),
            MessageFate::Duplicates if self.received > 0 => Ok((self.again, self.received)),
            MessageFate::Lost if self.expected > 0 => {
                let most = self.expected.saturating_sub(self.received);
                let least = most.saturating_sub(self.expected_of_unknown);
                let holds = |n: u64| {
                    let value = match criterion.value {
                        plan::units::Quantity::Share(_) => n as f64 / self.expected as f64,
                        _ => n as f64,
                    };
                    criterion.op.holds(value, bound(criterion))
                };
                if holds(least) != holds(most) {
                    return Err(format!(
                        "between {least} and {most} deliveries were lost: it is unknown whether the server read {} messages",
                        self.unknown
                    ));
                }
                Ok((if holds(most) { most } else { least }, self.expected))
            }
            MessageFate::Lost | MessageFate::Duplicates => Err(deliveries.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn criterion(text: &str) -> Criterion {
        plan::criteria::parse_criterion(text).unwrap()
    }

    fn counts() -> MessageCounts {
        MessageCounts {
            is_reported: true,
            due: 100,
            expected: 200,
            received: 190,
            again: 3,
            ..MessageCounts::default()
        }
    }

    #[test]
    fn losses_and_duplicates_are_shares_of_deliveries() {
        let share = |text: &str| {
            let asked = criterion(text);
            let plan::criteria::Metric::Messages(fate) = asked.metric else {
                panic!("{text}")
            };
            counts().share(fate, &asked)
        };
        assert_eq!(share("lost < 0.1%"), Ok((10, 200)));
        assert_eq!(share("duplicates < 1%"), Ok((3, 190)));
        assert_eq!(share("unknown < 1"), Ok((0, 100)));
    }

    #[test]
    fn what_is_unknown_is_not_lost_and_not_delivered() {
        let counts = MessageCounts {
            unknown: 4,
            expected_of_unknown: 8,
            ..counts()
        };
        let lost = |text: &str| counts.share(MessageFate::Lost, &criterion(text));
        assert!(lost("lost < 2%").unwrap_err().contains("between 2 and 10"));
        assert_eq!(lost("lost < 10%"), Ok((10, 200)), "whatever became of them");
        assert_eq!(lost("lost < 1"), Ok((2, 200)), "without them it fails, too");
    }

    #[test]
    fn without_a_report_nothing_is_known() {
        let none = MessageCounts::default();
        assert!(
            none.share(MessageFate::Lost, &criterion("lost < 1"))
                .is_err()
        );
    }
}
