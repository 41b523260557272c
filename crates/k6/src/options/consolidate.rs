//! Consolidation of the option layers of a test.

use std::fmt;

use super::{Options, value::TextMap};
use crate::{aggregate::trend_stat::TrendStat, text::go_quote};

/// The layers of options, from the lowest to the highest.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// Options from the configuration file.
    pub config: Options,
    /// Options that the script exports, or that an archive contains.
    pub script: Options,
    /// Options from the environment.
    pub env: Options,
    /// Options from the command line.
    pub cli: Options,
}

/// The consolidated options, with warnings for the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Consolidated {
    /// Options.
    pub options: Options,
    /// Warnings, in order.
    pub warnings: Vec<String>,
}

/// The error for invalid consolidated options. The exit code is 104.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidOptions(pub String);

impl fmt::Display for InvalidOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidOptions {}

const FEATURES: [&str; 3] = ["freeze-env", "merge-run-tags", "native-histograms"];

/// Takes each option from the highest layer that sets it. A layer that sets `duration`,
/// `iterations`, `stages` or `scenarios` hides all four options in the layers below.
///
/// # Errors
///
/// Fails if a statistic or the time unit of the summary does not exist.
pub fn consolidate(layers: &Layers) -> Result<Consolidated, InvalidOptions> {
    let ordered = [
        (&layers.config, ""),
        (&layers.script, ""),
        (&layers.env, "env"),
        (&layers.cli, "cli"),
    ];
    let mut options = Options::default();
    let mut warnings = Vec::new();
    let mut all_tags = TextMap::default();
    for (layer, name) in ordered {
        if sets_execution(layer) {
            let has_scenarios = options
                .scenarios
                .as_ref()
                .is_some_and(|scenarios| !scenarios.configs.is_empty());
            if has_scenarios && !name.is_empty() {
                warnings.push(format!(
                    "\"{name}\" level configuration overrode scenarios configuration entirely"
                ));
            }
            options.duration = None;
            options.iterations = None;
            options.stages = None;
            options.scenarios = None;
        }
        options.overlay(layer);
        for (name, value) in layer.tags.iter().flat_map(|tags| &tags.0) {
            all_tags.set(name, value);
        }
    }
    if options.has_feature("merge-run-tags") && options.tags.is_some() {
        options.tags = Some(all_tags);
    }
    for feature in options.features.iter().flatten() {
        if !FEATURES.contains(&feature.as_str()) {
            warnings.push(format!(
                "unknown feature {} has no effect",
                go_quote(feature)
            ));
        }
    }
    check(&options)?;
    Ok(Consolidated { options, warnings })
}

fn sets_execution(layer: &Options) -> bool {
    layer.duration.is_some()
        || layer.iterations.is_some()
        || layer.stages.is_some()
        || layer.scenarios.is_some()
}

fn check(options: &Options) -> Result<(), InvalidOptions> {
    for stat in options.summary_trend_stats.iter().flatten() {
        TrendStat::parse(stat).map_err(InvalidOptions)?;
    }
    match options.summary_time_unit.as_deref() {
        None | Some("" | "s" | "ms" | "us") => Ok(()),
        Some(unit) => Err(InvalidOptions(format!(
            "invalid summary time unit '{unit}', use 's', 'ms' or 'us'"
        ))),
    }
}

impl Consolidated {
    /// Returns the statistics of trends in the summary.
    #[must_use]
    pub fn trend_stats(&self) -> Vec<TrendStat> {
        let default = super::DEFAULT_TREND_STATS.map(str::to_owned);
        let names = self.options.summary_trend_stats.as_deref();
        let names = names.unwrap_or(&default).iter();
        names
            .filter_map(|name| TrendStat::parse(name).ok())
            .collect()
    }
}
