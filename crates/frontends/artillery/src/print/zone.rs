//! The time of day as Artillery writes it: `12:33:20(+0000)`, in the machine's zone.

use jiff::{
    Timestamp,
    tz::{Offset, TimeZone},
};

/// A time zone.
#[derive(Debug, Clone)]
pub struct Zone(TimeZone);

impl Zone {
    /// The machine's; UTC where it says none.
    #[must_use]
    pub fn of_machine() -> Zone {
        Zone(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    /// A fixed distance from UTC, in seconds; UTC itself when it is none that exists.
    #[must_use]
    pub fn fixed(seconds: i32) -> Zone {
        Zone(Offset::from_seconds(seconds).map_or(TimeZone::UTC, TimeZone::fixed))
    }

    /// The time of day of a moment, in nanoseconds since 1970.
    pub(super) fn time(&self, wall_ns: u64) -> String {
        let moment = Timestamp::from_nanosecond(i128::from(wall_ns)).unwrap_or_default();
        moment
            .to_zoned(self.0.clone())
            .strftime("%H:%M:%S(%z)")
            .to_string()
    }

    /// The moment as part of a file's name: `YYYYMMDD_HHmmss`.
    #[must_use]
    pub fn file_stamp(&self, wall_ns: u64) -> String {
        let moment = Timestamp::from_nanosecond(i128::from(wall_ns)).unwrap_or_default();
        moment
            .to_zoned(self.0.clone())
            .strftime("%Y%m%d_%H%M%S")
            .to_string()
    }
}
