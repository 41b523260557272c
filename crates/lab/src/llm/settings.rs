//! Options of the lab.

use super::schedule::{Rhythm, Spread};
use crate::units;
use crate::{LabError, LabOptions};

pub(super) const OPTIONS: &[&str] = &[
    "ttft", "prefill", "gap", "spread", "tokens", "slots", "stall", "every", "bundle", "cut",
];

pub(super) struct LlmConfig {
    pub(super) rhythm: Rhythm,
    /// Number of tokens in a response, unless the request asks for fewer.
    pub(super) tokens: u64,
    /// Number of tokens per write.
    pub(super) bundle: u64,
    /// Share of responses that are cut off halfway.
    pub(super) cut: f64,
}

impl LlmConfig {
    pub(super) fn read(options: &LabOptions) -> Result<Self, LabError> {
        let every = options.read(super::NAME, "every", "10s", units::duration_above_zero)?;
        let stall = options.read(super::NAME, "stall", "0", units::duration)?;
        if stall >= every {
            return Err(options.refuse(
                super::NAME,
                "stall",
                "it must be shorter than every=".to_owned(),
            ));
        }
        let number = |text: &str| units::count(text, 1..=1_000_000);
        let slots = options.read(super::NAME, "slots", "1000000", number)?;
        Ok(Self {
            rhythm: Rhythm {
                ttft_ns: options.read(super::NAME, "ttft", "200ms", units::duration)?,
                prefill_ns: options.read(super::NAME, "prefill", "0", units::duration)?,
                gap_ns: options.read(super::NAME, "gap", "20ms", units::duration)?,
                spread: options.read(super::NAME, "spread", "constant", Spread::read)?,
                slots: usize::try_from(slots).unwrap_or(usize::MAX),
                stall_ns: stall,
                every_ns: every,
            },
            tokens: options.read(super::NAME, "tokens", "50", number)?,
            bundle: options.read(super::NAME, "bundle", "1", number)?,
            cut: options.read(super::NAME, "cut", "0%", units::share)?,
        })
    }
}
