//! Fault injection for the broker. Faults affect every n-th message rather than random ones, so
//! tests know exactly which messages are affected.

use std::{cell::Cell, time::Duration};

use crate::{LabError, LabOptions, units};

pub(super) const OPTIONS: &[&str] = &[
    "mode",
    "drop",
    "duplicate",
    "reorder",
    "refuse",
    "delay",
    "throttle",
    "user",
    "receive-maximum",
];

#[derive(Debug, Default)]
pub(super) struct Faults {
    pub is_sink: bool,
    /// Every n-th message is acknowledged but not delivered.
    drop: Every,
    duplicate: Every,
    /// Every n-th message is delivered after the publisher's next message.
    reorder: Every,
    refuse: Every,
    pub delay: Duration,
    /// Maximum number of messages per second read from each client. Other messages wait in the
    /// socket.
    pub throttle: Option<u64>,
    /// User name and password of the only accepted user.
    pub user: Option<(String, String)>,
    pub receive_maximum: Option<u16>,
}

#[derive(Debug, Default)]
struct Every {
    nth: Option<u64>,
    seen: Cell<u64>,
}

impl Every {
    fn is_next(&self) -> bool {
        let Some(nth) = self.nth else { return false };
        self.seen.set(self.seen.get() + 1);
        self.seen.get().is_multiple_of(nth)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Delivered,
    Dropped,
    Twice,
    BehindTheNext,
}

impl Faults {
    pub fn read(lab: &'static str, options: &LabOptions) -> Result<Faults, LabError> {
        let bad = |option: &str, value: &str, advice: String| LabError::BadOption {
            lab,
            option: option.to_owned(),
            value: value.to_owned(),
            advice,
        };
        let number = |option: &str, most: u64| match options.extra(option) {
            None => Ok(None),
            Some(text) => units::count(text, 1..=most)
                .map(Some)
                .map_err(|advice| bad(option, text, advice)),
        };
        let every = |option| {
            Ok::<_, LabError>(Every {
                nth: number(option, u64::MAX)?,
                seen: Cell::new(0),
            })
        };
        let is_sink = match options.extra("mode") {
            None | Some("broker") => false,
            Some("sink") => true,
            Some(other) => return Err(bad("mode", other, "broker or sink".to_owned())),
        };
        let delay = options.extra("delay").unwrap_or("0");
        let user = options.extra("user").map(|text| {
            let (name, password) = text.split_once(':').unwrap_or((text, ""));
            (name.to_owned(), password.to_owned())
        });
        Ok(Faults {
            is_sink,
            drop: every("drop")?,
            duplicate: every("duplicate")?,
            reorder: every("reorder")?,
            refuse: every("refuse")?,
            delay: Duration::from_nanos(
                units::duration(delay).map_err(|advice| bad("delay", delay, advice))?,
            ),
            throttle: number("throttle", 1_000_000)?,
            user,
            receive_maximum: number("receive-maximum", 65_535)?.map(|n| n as u16),
        })
    }

    pub fn refuses(&self) -> bool {
        self.refuse.is_next()
    }

    pub fn fate(&self) -> Fate {
        // Advance all counters for each message, so that one fault does not change when another
        // occurs.
        let (drop, twice) = (self.drop.is_next(), self.duplicate.is_next());
        let after = self.reorder.is_next();
        match (drop, twice, after) {
            (true, ..) => Fate::Dropped,
            (_, true, _) => Fate::Twice,
            (.., true) => Fate::BehindTheNext,
            _ => Fate::Delivered,
        }
    }
}
