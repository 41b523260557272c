//! Options of the lab.

use super::schedule::{Rhythm, Spread};
use crate::units;
use crate::{LabError, LabOptions};

pub(super) const OPTIONS: &[&str] = &[
    "ttft", "prefill", "gap", "spread", "tokens", "slots", "stall", "every", "bundle", "cut",
];

pub(super) struct LlmConfig {
    pub(super) rhythm: Rhythm,
    /// Number of tokens of a response, unless the request asks for fewer.
    pub(super) tokens: u64,
    /// Number of tokens per write.
    pub(super) bundle: u64,
    /// Share of responses that end halfway.
    pub(super) cut: f64,
}

impl LlmConfig {
    pub(super) fn read(options: &LabOptions) -> Result<Self, LabError> {
        let every = value(options, "every", "10s", units::duration_above_zero)?;
        let stall = value(options, "stall", "0", units::duration)?;
        if stall >= every {
            return Err(refuse(
                options,
                "stall",
                "it must be shorter than every=".to_owned(),
            ));
        }
        let number = |text: &str| units::count(text, 1..=1_000_000);
        let slots = value(options, "slots", "1000000", number)?;
        Ok(Self {
            rhythm: Rhythm {
                ttft_ns: value(options, "ttft", "200ms", units::duration)?,
                prefill_ns: value(options, "prefill", "0", units::duration)?,
                gap_ns: value(options, "gap", "20ms", units::duration)?,
                spread: value(options, "spread", "constant", Spread::read)?,
                slots: usize::try_from(slots).unwrap_or(usize::MAX),
                stall_ns: stall,
                every_ns: every,
            },
            tokens: value(options, "tokens", "50", number)?,
            bundle: value(options, "bundle", "1", number)?,
            cut: value(options, "cut", "0%", units::share)?,
        })
    }
}

fn value<T>(
    options: &LabOptions,
    option: &str,
    default: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, LabError> {
    let text = options.extra(option).unwrap_or(default);
    read(text).map_err(|advice| refuse(options, option, advice))
}

fn refuse(options: &LabOptions, option: &str, advice: String) -> LabError {
    LabError::BadOption {
        lab: super::NAME,
        option: option.to_owned(),
        value: options.extra(option).unwrap_or_default().to_owned(),
        advice,
    }
}
