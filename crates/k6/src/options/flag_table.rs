//! The flags of the commands, and the setting that each flag changes.

use super::{
    Options,
    settings::Settings,
    value::{OptionValue, Stage, TextMap},
};
use crate::text::go_quote;

/// The options and settings that flags change.
pub(super) struct Target<'a> {
    pub options: &'a mut Options,
    pub settings: &'a mut Settings,
}

/// Whether a flag takes a value.
pub(super) enum Arity {
    /// No value, or one after `=`.
    Bool,
    /// One value.
    Value,
    /// One value after `=`, or otherwise this default.
    Optional(&'static str),
}

type Apply = fn(&mut Target<'_>, &str) -> Result<(), String>;

pub(super) struct Flag {
    pub long: &'static str,
    pub short: Option<char>,
    pub arity: Arity,
    pub apply: Apply,
}

const fn flag(long: &'static str, short: Option<char>, arity: Arity, apply: Apply) -> Flag {
    Flag {
        long,
        short,
        arity,
        apply,
    }
}

macro_rules! option {
    ($long:literal, $short:expr, $arity:expr, $key:literal) => {
        flag($long, $short, $arity, |target, text| {
            target.options.set_text($key, text)
        })
    };
}

macro_rules! text_setting {
    ($long:literal, $short:expr, $field:ident) => {
        flag($long, $short, Arity::Value, |target, text| {
            target.settings.$field = Some(text.to_owned());
            Ok(())
        })
    };
}

macro_rules! bool_setting {
    ($long:literal, $short:expr, $field:ident) => {
        flag($long, $short, Arity::Bool, |target, text| {
            target.settings.$field = Some(bool::from_text(text)?);
            Ok(())
        })
    };
}

/// Flags that all commands accept.
pub(super) const GLOBAL: &[Flag] = &[
    text_setting!("log-output", None, log_output),
    text_setting!("log-format", None, log_format),
    text_setting!("logformat", None, log_format),
    text_setting!("config", Some('c'), config),
    text_setting!("address", Some('a'), address),
    text_setting!("secret-source", None, secret_source),
    bool_setting!("no-color", None, no_color),
    bool_setting!("verbose", Some('v'), verbose),
    bool_setting!("quiet", Some('q'), quiet),
    bool_setting!("profiling-enabled", None, profiling_enabled),
    bool_setting!("offline", None, offline),
    bool_setting!("help", Some('h'), help),
];

/// Flags of `run`, `archive` and `inspect` that set options and the script's environment.
pub(super) const OPTIONS: &[Flag] = &[
    option!("vus", Some('u'), Arity::Value, "vus"),
    option!("duration", Some('d'), Arity::Value, "duration"),
    option!("iterations", Some('i'), Arity::Value, "iterations"),
    flag("stage", Some('s'), Arity::Value, add_stages),
    option!("execution-segment", None, Arity::Value, "executionSegment"),
    option!(
        "execution-segment-sequence",
        None,
        Arity::Value,
        "executionSegmentSequence"
    ),
    option!("paused", Some('p'), Arity::Bool, "paused"),
    option!("max-redirects", None, Arity::Value, "maxRedirects"),
    option!("batch", None, Arity::Value, "batch"),
    option!("batch-per-host", None, Arity::Value, "batchPerHost"),
    option!("rps", None, Arity::Value, "rps"),
    option!("user-agent", None, Arity::Value, "userAgent"),
    option!("http-debug", None, Arity::Optional("headers"), "httpDebug"),
    option!("no-setup", None, Arity::Bool, "noSetup"),
    option!("no-teardown", None, Arity::Bool, "noTeardown"),
    option!(
        "insecure-skip-tls-verify",
        None,
        Arity::Bool,
        "insecureSkipTLSVerify"
    ),
    option!(
        "no-connection-reuse",
        None,
        Arity::Bool,
        "noConnectionReuse"
    ),
    option!(
        "no-vu-connection-reuse",
        None,
        Arity::Bool,
        "noVUConnectionReuse"
    ),
    option!(
        "discard-response-bodies",
        None,
        Arity::Bool,
        "discardResponseBodies"
    ),
    option!(
        "min-iteration-duration",
        None,
        Arity::Value,
        "minIterationDuration"
    ),
    option!("throw", Some('w'), Arity::Bool, "throw"),
    flag("blacklist-ip", None, Arity::Value, add_blacklist),
    flag("block-hostnames", None, Arity::Value, add_hostnames),
    option!(
        "summary-trend-stats",
        None,
        Arity::Value,
        "summaryTrendStats"
    ),
    option!("summary-time-unit", None, Arity::Value, "summaryTimeUnit"),
    option!("system-tags", None, Arity::Value, "systemTags"),
    flag("tag", None, Arity::Value, add_tag),
    option!("console-output", None, Arity::Value, "consoleOutput"),
    option!("local-ips", None, Arity::Value, "localIPs"),
    option!("dns", None, Arity::Value, "dns"),
    option!("features", None, Arity::Value, "features"),
    bool_setting!("include-system-env-vars", None, include_system_env_vars),
    flag("compatibility-mode", None, Arity::Value, |target, text| {
        target.settings.set_compatibility_mode(text)
    }),
    flag("env", Some('e'), Arity::Value, add_env),
    bool_setting!("no-thresholds", None, no_thresholds),
    flag("summary-mode", None, Arity::Value, |target, text| {
        target.settings.set_summary_mode(text)
    }),
    flag("no-summary", None, Arity::Bool, disable_summary),
    text_setting!("summary-export", None, summary_export),
    bool_setting!(
        "new-machine-readable-summary",
        None,
        new_machine_readable_summary
    ),
    text_setting!("traces-output", None, traces_output),
    text_setting!("type", Some('t'), test_type),
];

/// Flags of `run` only.
pub(super) const RUN: &[Flag] = &[
    flag("out", Some('o'), Arity::Value, |target, text| {
        let out = target.settings.out.get_or_insert_default();
        out.push(text.to_owned());
        Ok(())
    }),
    bool_setting!("linger", Some('l'), linger),
    bool_setting!("no-usage-report", None, no_usage_report),
];

/// Flags of `archive` only.
pub(super) const ARCHIVE: &[Flag] = &[text_setting!("archive-out", Some('O'), archive_out)];

/// Flags of `inspect` only.
pub(super) const INSPECT: &[Flag] = &[bool_setting!(
    "execution-requirements",
    None,
    execution_requirements
)];

fn add_stages(target: &mut Target<'_>, text: &str) -> Result<(), String> {
    let stages = target.options.stages.get_or_insert_default();
    if text.is_empty() {
        return Ok(());
    }
    for part in text.split(',') {
        stages.push(
            Stage::parse(part)
                .map_err(|reason| format!("invalid stage {}: {reason}", go_quote(part)))?,
        );
    }
    Ok(())
}

fn add_blacklist(target: &mut Target<'_>, text: &str) -> Result<(), String> {
    let ranges = OptionValue::from_text(text)?;
    let super::network::AddressRanges(ranges) = ranges;
    let list = target.options.blacklist_ips.get_or_insert_default();
    list.0.extend(ranges);
    Ok(())
}

fn add_hostnames(target: &mut Target<'_>, text: &str) -> Result<(), String> {
    let patterns = OptionValue::from_text(text)?;
    let list = target.options.block_hostnames.get_or_insert_default();
    list.extend(patterns);
    Ok(())
}

fn add_tag(target: &mut Target<'_>, text: &str) -> Result<(), String> {
    match text.split_once('=') {
        None | Some((_, "") | ("", _)) => Err(format!(
            "invalid tag {}: expected `name=value`",
            go_quote(text)
        )),
        Some((name, value)) => {
            let tags: &mut TextMap = target.options.tags.get_or_insert_default();
            tags.set(name, value);
            Ok(())
        }
    }
}

fn add_env(target: &mut Target<'_>, text: &str) -> Result<(), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let starts = name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
    let is_valid = starts && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    if !is_valid {
        return Err(format!("invalid environment variable name '{name}'"));
    }
    target
        .settings
        .env
        .push((name.to_owned(), value.to_owned()));
    Ok(())
}

fn disable_summary(target: &mut Target<'_>, text: &str) -> Result<(), String> {
    if bool::from_text(text)? {
        target.settings.set_summary_mode("disabled")?;
        target
            .settings
            .warnings
            .push("--no-summary was removed in k6 v2, use --summary-mode=disabled".to_owned());
    }
    Ok(())
}
