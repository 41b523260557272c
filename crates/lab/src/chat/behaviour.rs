//! Delays and faults of a connection, set by the lab's options and the query of its URL.

use std::time::Duration;

use crate::draw::Draws;
use crate::random::mix;
use crate::units;

pub(super) const OPTIONS: &[&str] = &[
    "deflate",
    "delay",
    "drop",
    "duplicate",
    "reorder",
    "close-after",
    "code",
    "ping",
    "read",
];

/// The close code recorded when a connection ends without a close frame.
pub(super) const ABORT: u16 = 1006;

#[derive(Debug, Clone)]
pub(super) struct Behaviour {
    /// Time between the arrival of a message and sending it on this connection.
    pub(super) delay_ns: u64,
    drop: f64,
    duplicate: f64,
    reorder: f64,
    /// Number of received messages after which the lab closes the connection.
    pub(super) close_after: Option<u64>,
    pub(super) code: u16,
    /// Interval of the lab's pings.
    pub(super) ping: Option<Duration>,
    /// Maximum number of bytes read per second.
    pub(super) read: Option<u64>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            delay_ns: 0,
            drop: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            close_after: None,
            code: 1011,
            ping: None,
            read: None,
        }
    }
}

/// What happens to a message on its way to one receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryFault {
    Dropped,
    Duplicated,
    /// Sent after the next message.
    Reordered,
}

impl Behaviour {
    /// Sets an option. If the value is invalid, the error states which values are valid.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "delay" => self.delay_ns = units::duration(value)?,
            "drop" => self.drop = share(value)?,
            "duplicate" => self.duplicate = share(value)?,
            "reorder" => self.reorder = share(value)?,
            "close-after" => self.close_after = Some(units::count(value, 1..=u64::MAX)?),
            "code" => self.code = code(value)?,
            "ping" => {
                let ns = units::duration_above_zero(value)?;
                self.ping = Some(Duration::from_nanos(ns));
            }
            "read" => self.read = Some(units::count(value, 1..=1_000_000_000)?),
            _ => return Err(format!("there is no option `{name}`")),
        }
        Ok(())
    }

    /// Draws the fault of the message with this number on a connection. A dropped message has no
    /// other fault. The draw depends only on the seed and the two numbers.
    pub(super) fn fault(&self, seed: u64, connection: u64, number: u64) -> Option<DeliveryFault> {
        let number = mix(connection) ^ number;
        let is_of = |purpose, share| Draws::new(mix(seed) ^ purpose).is_of(share, number);
        if is_of(1, self.drop) {
            Some(DeliveryFault::Dropped)
        } else if is_of(2, self.duplicate) {
            Some(DeliveryFault::Duplicated)
        } else if is_of(3, self.reorder) {
            Some(DeliveryFault::Reordered)
        } else {
            None
        }
    }
}

/// Parses a share, written as `1%` or `0.01`. In a URL, `1%` is written `1%25`.
fn share(value: &str) -> Result<f64, String> {
    let value = value.replace("%25", "%");
    match units::weight(&value) {
        Ok(share) if share <= 1.0 => Ok(share),
        _ => units::share(&value),
    }
}

fn code(value: &str) -> Result<u16, String> {
    let code = u16::try_from(units::count(value, 1000..=4999)?).unwrap_or(u16::MAX);
    if code == ABORT || codec::websocket::is_close_code(code) {
        Ok(code)
    } else {
        Err("use a code that a close frame may contain, or 1006 for none".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaviour(options: &[(&str, &str)]) -> Result<Behaviour, String> {
        let mut behaviour = Behaviour::default();
        for (name, value) in options {
            behaviour.set(name, value)?;
        }
        Ok(behaviour)
    }

    #[test]
    fn faults_have_their_shares_and_depend_on_the_seed() {
        let options = [("drop", "10%25"), ("duplicate", "0.2"), ("reorder", "50%")];
        let behaviour = behaviour(&options).unwrap();
        let faults = |seed, connection| -> Vec<_> {
            (0..20_000)
                .map(|number| behaviour.fault(seed, connection, number))
                .collect()
        };
        let drawn = faults(7, 3);
        assert_eq!(drawn, faults(7, 3));
        assert_ne!(drawn, faults(8, 3));
        assert_ne!(drawn, faults(7, 4));
        for (fault, share) in [
            (DeliveryFault::Dropped, 0.1),
            (DeliveryFault::Duplicated, 0.9 * 0.2),
            (DeliveryFault::Reordered, 0.9 * 0.8 * 0.5),
        ] {
            let count = drawn.iter().filter(|drawn| **drawn == Some(fault)).count();
            assert!((count as f64 / 20_000.0 - share).abs() < 0.02, "{fault:?}");
        }
    }

    #[test]
    fn invalid_values_are_refused() {
        for (name, value) in [
            ("delay", "5"),
            ("drop", "2"),
            ("drop", "101%"),
            ("close-after", "0"),
            ("code", "1005"),
            ("code", "999"),
            ("ping", "0"),
            ("read", "0"),
            ("speed", "1"),
        ] {
            assert!(behaviour(&[(name, value)]).is_err(), "{name}={value}");
        }
        assert_eq!(behaviour(&[("code", "1006")]).unwrap().code, ABORT);
    }
}
