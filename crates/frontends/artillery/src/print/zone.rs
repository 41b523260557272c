//! Formats the time of day like Artillery: `12:33:20(+0000)`.

use jiff::{
    Timestamp,
    tz::{Offset, TimeZone},
};

#[derive(Debug, Clone)]
pub struct Zone(TimeZone);

impl Zone {
    #[must_use]
    pub fn of_machine() -> Zone {
        Zone(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    #[must_use]
    pub fn fixed(seconds: i32) -> Zone {
        Zone(Offset::from_seconds(seconds).map_or(TimeZone::UTC, TimeZone::fixed))
    }

    pub(super) fn time(&self, wall_ns: u64) -> String {
        let moment = Timestamp::from_nanosecond(i128::from(wall_ns)).unwrap_or_default();
        moment
            .to_zoned(self.0.clone())
            .strftime("%H:%M:%S(%z)")
            .to_string()
    }

    #[must_use]
    pub fn file_stamp(&self, wall_ns: u64) -> String {
        let moment = Timestamp::from_nanosecond(i128::from(wall_ns)).unwrap_or_default();
        moment
            .to_zoned(self.0.clone())
            .strftime("%Y%m%d_%H%M%S")
            .to_string()
    }
}
