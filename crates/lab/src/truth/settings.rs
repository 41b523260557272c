//! Parses and validates all options together. Rejects invalid combinations with a one-line error.

use super::mode::{Mode, When};
use super::stall::Rhythm;
use super::table::DurationTable;
use crate::units;
use crate::{LabError, LabOptions};

pub(super) const OPTIONS: &[&str] = &[
    "mode", "body", "service", "table", "mean", "servers", "stall", "every", "first", "drain",
    "share", "slow", "when", "code",
];

const COMMON: &[&str] = &["mode", "body"];

const MODES: &[(&str, &[&str])] = &[
    ("constant", &["service"]),
    ("table", &["table"]),
    ("exponential", &["mean", "servers"]),
    ("stall", &["stall", "every", "first", "service", "drain"]),
    ("slow", &["share", "slow", "service"]),
    ("never", &["share", "service"]),
    ("reset", &["share", "when", "service"]),
    ("error", &["share", "code", "service"]),
];

const MAX_BODY: u64 = 16 * 1024 * 1024;
const MAX_SERVERS: u64 = 100_000;

#[derive(Debug)]
pub(super) struct TruthConfig {
    pub(super) mode: Mode,
    pub(super) body: usize,
    pub(super) error_code: u16,
}

impl TruthConfig {
    pub(super) fn read(options: &LabOptions) -> Result<Self, LabError> {
        let given = TruthOptions(options);
        let name = given.0.extra("mode").unwrap_or("constant");
        let Some(&(name, own)) = MODES.iter().find(|(mode, _)| *mode == name) else {
            let modes: Vec<_> = MODES.iter().map(|(mode, _)| *mode).collect();
            return Err(given.refuse("mode", format!("the modes are {}", modes.join(", "))));
        };
        let foreign = |option: &str| !COMMON.contains(&option) && !own.contains(&option);
        if let Some((option, _)) = options.extra.iter().find(|(option, _)| foreign(option)) {
            let takes = [own, COMMON].concat().join(", ");
            return Err(given.refuse(option, format!("mode={name} takes {takes}")));
        }
        Ok(Self {
            mode: given.mode(name)?,
            body: given.size("body", "12", 0..=MAX_BODY)?,
            error_code: u16::try_from(given.size("code", "503", 400..=599)?).unwrap_or(503),
        })
    }
}

struct TruthOptions<'a>(&'a LabOptions);

impl TruthOptions<'_> {
    fn mode(&self, name: &str) -> Result<Mode, LabError> {
        Ok(match name {
            "table" => Mode::Table(self.value("table", "", DurationTable::read)?),
            "exponential" => Mode::Exponential {
                mean: self.value("mean", "1ms", units::duration_above_zero)?,
                servers: self.size("servers", "1", 1..=MAX_SERVERS)?,
            },
            "stall" => self.stall()?,
            "slow" => Mode::Slow {
                share: self.value("share", "10%", units::share)?,
                slow: self.value("slow", "1s", units::duration)?,
                service: self.value("service", "1ms", units::duration)?,
            },
            "never" => Mode::Never {
                share: self.value("share", "100%", units::share)?,
                service: self.service()?,
            },
            "reset" => Mode::Reset {
                share: self.value("share", "1%", units::share)?,
                when: self.value("when", "before", When::read)?,
                service: self.service()?,
            },
            "error" => Mode::Error {
                share: self.value("share", "10%", units::share)?,
                service: self.service()?,
            },
            _ => Mode::Constant {
                service: self.service()?,
            },
        })
    }

    fn stall(&self) -> Result<Mode, LabError> {
        let stall = self.value("stall", "1s", units::duration_above_zero)?;
        let every = self.value("every", "10s", units::duration_above_zero)?;
        let service = self.value("service", "1ms", units::duration)?;
        let render = |option: &str, default: &str| self.text(option, default).to_owned();
        let every_shown = render("every", "10s");
        let Some(between) = every.checked_sub(stall).filter(|&between| between > 0) else {
            return Err(if self.0.extra("stall").is_some() {
                self.refuse(
                    "stall",
                    format!("it must be shorter than every={every_shown}"),
                )
            } else {
                self.refuse("every", "it must be longer than stall=1s".to_owned())
            });
        };
        if service > between {
            let stall_shown = render("stall", "1s");
            let advice =
                format!("it must fit between two stalls (stall={stall_shown} every={every_shown})");
            let named = ["service", "stall", "every"];
            let named = named
                .into_iter()
                .find(|option| self.0.extra(option).is_some());
            return Err(self.refuse(named.unwrap_or("service"), advice));
        }
        // By default, each stall is in the middle of its period, so that n periods contain n whole
        // stalls.
        let first = match self.0.extra("first") {
            Some(_) => self.value("first", "", units::duration)?,
            None => between / 2,
        };
        let gap = match self.0.extra("drain") {
            Some(_) => self.value("drain", "", units::gap_of_rate)?,
            None => 0,
        };
        let rhythm = Rhythm {
            stall,
            every,
            first,
        };
        Ok(Mode::Stall {
            rhythm,
            gap,
            service,
        })
    }

    fn service(&self) -> Result<u64, LabError> {
        self.value("service", "0", units::duration)
    }

    fn size(
        &self,
        option: &str,
        default: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<usize, LabError> {
        let n = self.value(option, default, |text| units::count(text, range))?;
        usize::try_from(n).map_err(|_| self.refuse(option, "it exceeds the maximum".to_owned()))
    }

    fn text<'b>(&'b self, option: &str, default: &'b str) -> &'b str {
        self.0.extra(option).unwrap_or(default)
    }

    fn value<T>(
        &self,
        option: &str,
        default: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, LabError> {
        read(self.text(option, default)).map_err(|advice| self.refuse(option, advice))
    }

    fn refuse(&self, option: &str, advice: String) -> LabError {
        LabError::BadOption {
            lab: super::NAME,
            option: option.to_owned(),
            value: self.0.extra(option).unwrap_or_default().to_owned(),
            advice,
        }
    }
}

#[cfg(test)]
mod tests;
