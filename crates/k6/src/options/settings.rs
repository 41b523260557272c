//! Settings of a run that are not options of the test.

use super::value::OptionValue;

/// The text that is printed at the end of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SummaryMode {
    /// Totals.
    #[default]
    Compact,
    /// Totals, groups and scenarios.
    Full,
    /// No text. `handleSummary` is not called either.
    Disabled,
    /// The text of k6 up to v0.57. Prints a deprecation warning.
    Legacy,
}

impl SummaryMode {
    /// Parses k6's name.
    ///
    /// # Errors
    ///
    /// Returns k6's text for other names.
    pub fn parse(text: &str) -> Result<SummaryMode, String> {
        match text {
            "compact" => Ok(SummaryMode::Compact),
            "full" => Ok(SummaryMode::Full),
            "disabled" => Ok(SummaryMode::Disabled),
            "legacy" => Ok(SummaryMode::Legacy),
            _ => Err("invalid summary mode".to_owned()),
        }
    }
}

/// The JavaScript features that the test may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompatibilityMode {
    /// Includes TypeScript, `global`, and modules.
    #[default]
    Extended,
    /// Only the features of the engine itself.
    Base,
}

impl CompatibilityMode {
    fn parse(text: &str) -> Result<CompatibilityMode, String> {
        match text {
            "extended" | "experimental_enhanced" => Ok(CompatibilityMode::Extended),
            "base" => Ok(CompatibilityMode::Base),
            _ => Err(format!(
                "invalid compatibility mode \"{text}\". Use: \"extended\", \"base\""
            )),
        }
    }

    /// Returns k6's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CompatibilityMode::Extended => "extended",
            CompatibilityMode::Base => "base",
        }
    }
}

macro_rules! settings {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// The settings of one layer: command line or environment. `None` means unset.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Settings {
            $($(#[$doc])* pub $field: Option<$type>,)*
            /// Variables of `-e` for `__ENV`, in order.
            pub env: Vec<(String, String)>,
            /// Warnings about deprecated settings.
            pub warnings: Vec<String>,
        }

        impl Settings {
            /// Returns these settings, completed with those of a lower layer.
            #[must_use]
            pub fn or(mut self, lower: Settings) -> Settings {
                $(self.$field = self.$field.or(lower.$field);)*
                self.warnings.extend(lower.warnings);
                self
            }
        }
    };
}

settings! {
    /// Outputs for samples, as written. See [`crate::output`].
    out: Vec<String>,
    /// Whether to wait for Ctrl+C at the end.
    linger: bool,
    /// Whether thresholds are neither parsed nor evaluated.
    no_thresholds: bool,
    /// Text at the end of the test.
    summary_mode: SummaryMode,
    /// File for the summary as JSON.
    summary_export: String,
    /// Whether to use the newer form of that file.
    new_machine_readable_summary: bool,
    /// Whether `__ENV` contains the environment. The default is `true` only for `run`.
    include_system_env_vars: bool,
    /// JavaScript features that the test may use.
    compatibility_mode: CompatibilityMode,
    /// Whether usage reports are disabled. Loadline never sends one.
    no_usage_report: bool,
    /// Type of the test: `js` or `archive`. `None` determines it by the file's name.
    test_type: String,
    /// Destination of traces.
    traces_output: String,
    /// Configuration file.
    config: String,
    /// Whether to omit the banner and the progress.
    quiet: bool,
    /// Whether to log debug messages too.
    verbose: bool,
    /// Whether to omit colours.
    no_color: bool,
    /// Destination of the log. See [`crate::log`].
    log_output: String,
    /// Format of the log. See [`crate::log`].
    log_format: String,
    /// Address of the REST API.
    address: String,
    /// Whether to serve profiles.
    profiling_enabled: bool,
    /// Source of secrets.
    secret_source: String,
    /// Whether to refuse fetching remote modules.
    offline: bool,
    /// Whether to print the usage text.
    help: bool,
    /// File of the archive to write, for `archive`.
    archive_out: String,
    /// Whether to add the duration and the virtual users, for `inspect`.
    execution_requirements: bool,
}

/// Splits outputs at commas. Arguments of the CSV output may contain commas themselves.
fn split_outputs(list: &str) -> Vec<String> {
    let mut outputs: Vec<String> = Vec::new();
    for part in list.split(',') {
        let key = part.split_once('=').map_or("", |(key, _)| key);
        let is_argument = matches!(
            key,
            "fileName"
                | "file_name"
                | "saveInterval"
                | "save_interval"
                | "timeFormat"
                | "time_format"
        );
        match outputs.last_mut() {
            Some(last) if is_argument => {
                last.push(',');
                last.push_str(part);
            }
            _ => outputs.push(part.to_owned()),
        }
    }
    outputs
}

impl Settings {
    /// Sets the summary mode.
    pub(super) fn set_summary_mode(&mut self, text: &str) -> Result<(), String> {
        let mode = SummaryMode::parse(text)?;
        if mode == SummaryMode::Legacy {
            self.warnings
                .push("summary mode \"legacy\" was removed in k6 v2, it is supported here".into());
        }
        self.summary_mode = Some(mode);
        Ok(())
    }

    /// Sets the compatibility mode.
    pub(super) fn set_compatibility_mode(&mut self, text: &str) -> Result<(), String> {
        self.compatibility_mode = Some(CompatibilityMode::parse(text)?);
        if text == "experimental_enhanced" {
            self.warnings.push(
                "compatibility mode \"experimental_enhanced\" is deprecated, use \"extended\""
                    .into(),
            );
        }
        Ok(())
    }

    /// Reads the settings in the environment. `lookup` returns the value of a variable.
    ///
    /// # Errors
    ///
    /// Returns a text that names the variable if a value is invalid.
    pub fn from_env(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let text = |name: &str| lookup(name).filter(|text| !text.is_empty());
        let flag = |name: &str| -> Result<Option<bool>, String> {
            let value = text(name).map(|text| bool::from_text(&text));
            value
                .transpose()
                .map_err(|reason| format!("{name}: {reason}"))
        };
        let mut settings = Settings {
            out: text("K6_OUT").map(|list| split_outputs(&list)),
            linger: flag("K6_LINGER")?,
            no_thresholds: flag("K6_NO_THRESHOLDS")?,
            summary_export: text("K6_SUMMARY_EXPORT"),
            new_machine_readable_summary: flag("K6_NEW_MACHINE_READABLE_SUMMARY")?,
            include_system_env_vars: flag("K6_INCLUDE_SYSTEM_ENV_VARS")?,
            no_usage_report: flag("K6_NO_USAGE_REPORT")?,
            test_type: text("K6_TYPE"),
            traces_output: text("K6_TRACES_OUTPUT"),
            config: text("K6_CONFIG"),
            log_output: text("K6_LOG_OUTPUT"),
            log_format: text("K6_LOG_FORMAT"),
            address: text("K6_ADDRESS"),
            profiling_enabled: flag("K6_PROFILING_ENABLED")?,
            secret_source: text("K6_SECRET_SOURCE"),
            ..Settings::default()
        };
        if text("K6_NO_COLOR").is_some() || lookup("NO_COLOR").is_some() {
            settings.no_color = Some(true);
        }
        if let Some(mode) = text("K6_SUMMARY_MODE") {
            settings.set_summary_mode(&mode)?;
        }
        if let Some(mode) = text("K6_COMPATIBILITY_MODE") {
            settings.set_compatibility_mode(&mode)?;
        }
        if flag("K6_WEB_DASHBOARD")? == Some(true) {
            let out = settings.out.get_or_insert_default();
            out.push("web-dashboard".to_owned());
        }
        Ok(settings)
    }
}
