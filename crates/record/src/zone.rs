//! Local times of reports. The names of time zones are those of the system's time zone database.

use jiff::{
    Timestamp,
    tz::{Offset, TimeZone},
};
use plan::report_zone::ReportZone;

/// A time zone with the rules of the system's time zone database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Returns a time zone. `None` if the system's database does not contain its name, or if there
    /// is no database.
    #[must_use]
    pub fn find(zone: &ReportZone) -> Option<Zone> {
        match zone {
            ReportZone::Offset(minutes) => {
                let offset = Offset::from_seconds(minutes.checked_mul(60)?).ok()?;
                Some(Zone(TimeZone::fixed(offset)))
            }
            ReportZone::Named(name) => TimeZone::get(name).ok().map(Zone),
        }
    }

    /// Formats a time in nanoseconds since 1970 as `2026-11-27T03:30:59-05:00`. `None` if it is out
    /// of range.
    #[must_use]
    pub fn rfc3339(&self, wall_ns: u64) -> Option<String> {
        let moment = Timestamp::from_nanosecond(i128::from(wall_ns)).ok()?;
        let local = moment.to_zoned(self.0.clone());
        Some(local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_offset_of_their_moment() {
        let zone = |text: &str| Zone::find(&ReportZone::parse(text)).unwrap();
        let (summer, winter) = (1_655_407_740_000_000_000, 1_763_000_000_000_000_000);
        let fixed = zone("UTC-05:00");
        let shown = fixed.rfc3339(summer).unwrap();
        assert_eq!(shown, "2022-06-16T14:29:00-05:00");
        let named = zone("America/New_York");
        let shown = named.rfc3339(summer).unwrap();
        assert_eq!(shown, "2022-06-16T15:29:00-04:00");
        let shown = named.rfc3339(winter).unwrap();
        assert_eq!(shown, "2025-11-12T21:13:20-05:00");
        let unknown = Zone::find(&ReportZone::parse("Europe/Nowhere"));
        assert_eq!(unknown, None);
    }
}
