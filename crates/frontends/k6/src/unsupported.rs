//! Options and flags that are refused before the run, because they would have no effect.

use k6::{
    aggregate::selection::Selection,
    options::{Options, settings::Settings, tls::TlsVersion},
    scenario::Plan,
};

/// System tag that samples never have.
const MISSING_TAG: &str = "ocsp_status";

/// Returns a line for each requested feature that is not supported.
pub fn problems(options: &Options, settings: &Settings, plan: &Plan) -> Vec<String> {
    let has_browser = plan.scenarios.iter().any(|scenario| scenario.needs_browser);
    let browser = (
        has_browser,
        "a scenario with `options.browser`",
        "use HTTP requests",
    );
    let all = of_options(options).into_iter().chain(of_settings(settings));
    let given = all.chain([browser]).filter(|(is_given, ..)| *is_given);
    let mut lines: Vec<String> = given
        .map(|(_, name, advice)| format!("{name} is not supported: {advice}"))
        .collect();
    let features = options.features.iter().flatten();
    for feature in features.filter(|feature| *feature != "merge-run-tags") {
        lines.push(format!("feature `{feature}` is not supported: remove it"));
    }
    if settings.no_thresholds != Some(true) {
        lines.extend(tags_of_thresholds(options));
    }
    lines
}

/// Whether an option is given, its name, and advice.
type Refusal = (bool, &'static str, &'static str);

fn of_options(options: &Options) -> Vec<Refusal> {
    vec![
        (options.paused == Some(true), "option `paused`", "remove it"),
        (
            options.tls_auth.as_ref().is_some_and(|all| all.len() > 1),
            "option `tlsAuth` with several certificates",
            "leave one",
        ),
        (
            options
                .tls_auth
                .iter()
                .flatten()
                .any(|one| !one.password.is_empty()),
            "option `tlsAuth` with a password",
            "decrypt the key (`openssl pkey -in KEY`)",
        ),
        (
            excludes_tls(options),
            "option `tlsVersion` without TLS 1.2 and 1.3",
            "allow one of these versions",
        ),
        (
            options.tls_cipher_suites.is_some(),
            "option `tlsCipherSuites`",
            "remove it",
        ),
    ]
}

/// Whether `tlsVersion` allows none of the versions that are offered.
fn excludes_tls(options: &Options) -> bool {
    let allowed = options.tls_version.unwrap_or_default();
    !allowed.allows(TlsVersion::Tls12) && !allowed.allows(TlsVersion::Tls13)
}

fn of_settings(settings: &Settings) -> Vec<Refusal> {
    let is_other_type = settings
        .test_type
        .as_deref()
        .is_some_and(|kind| kind != "js");
    vec![
        (
            settings.traces_output.is_some(),
            "--traces-output",
            "remove it",
        ),
        (
            settings.secret_source.is_some(),
            "--secret-source",
            "pass secrets in environment variables",
        ),
        (
            settings.address.is_some(),
            "--address",
            "set LOADLINE_UI=1 to follow and to stop a run",
        ),
        (settings.linger == Some(true), "--linger", "remove it"),
        (
            settings.profiling_enabled == Some(true),
            "--profiling-enabled",
            "remove it",
        ),
        (
            settings.new_machine_readable_summary == Some(true),
            "--new-machine-readable-summary",
            "use --summary-export without it",
        ),
        (is_other_type, "--type", "name a script (.js or .ts)"),
    ]
}

fn tags_of_thresholds(options: &Options) -> Vec<String> {
    let mut lines = Vec::new();
    for metric in options.thresholds.iter().flat_map(|all| &all.0) {
        let selection = Selection::parse(&metric.metric).ok();
        let tags = selection.iter().flat_map(|selection| &selection.tags);
        for (tag, _) in tags.filter(|(tag, _)| tag == MISSING_TAG) {
            lines.push(format!(
                "tag `{tag}` in the threshold on `{}` is not supported: no sample has it, so the \
                 threshold would always hold",
                metric.metric
            ));
        }
    }
    lines
}
