//! Reads `show.time-zone`: a name of the IANA database, an offset from UTC, or `local`.

use jiff::tz::{self, TimeZone};
use plan::report_zone::ReportZone;

use super::read;
use crate::{document::Node, findings::Findings, nearest::nearest};

const LOCAL: &str = "local";

/// Reads a time zone. Reports a name that the system's time zone database does not contain. `local`
/// becomes the name of the system's time zone, so that the report shows the same times on every
/// machine.
pub(super) fn read(node: &Node, findings: &mut Findings) -> Option<ReportZone> {
    let text = read::text(node, "time-zone", findings)?;
    let text = text.trim();
    if text == LOCAL {
        let name = TimeZone::try_system().ok();
        let name = name.and_then(|zone| zone.iana_name().map(ToOwned::to_owned));
        if name.is_none() {
            let text = "`time-zone: local`: neither the variable TZ nor this machine's settings \
                        name a known time zone: write a name such as Europe/Berlin, or an offset \
                        such as UTC+01:00";
            findings.problem(node.mark, text);
        }
        return name.map(|name| ReportZone::parse(&name));
    }
    let zone = ReportZone::parse(text);
    let ReportZone::Named(name) = &zone else {
        return Some(zone);
    };
    if let Ok(known) = TimeZone::get(name) {
        // The database ignores case.
        let name = known.iana_name().unwrap_or(name);
        return Some(ReportZone::Named(name.to_owned()));
    }
    let names: Vec<String> = tz::db().available().map(|one| one.to_string()).collect();
    // The name closest to a time or an offset would be another time.
    let is_offset = name.contains(|c: char| c.is_ascii_digit()) || name.eq_ignore_ascii_case("z");
    let near = nearest(name, names.iter().map(String::as_str));
    let help = match near.filter(|_| !is_offset) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "use a name such as America/New_York (package tzdata), an offset such as \
                 UTC-05:00, or local"
            .to_owned(),
    };
    let text = format!("`time-zone: {name}` is not in this machine's time zone database: {help}");
    findings.problem(node.mark, text);
    None
}
