//! Options and flags that are refused before the run, because they would have no effect.

use k6::{
    options::{Options, settings::Settings},
    scenario::Plan,
};

/// Returns a line for each thing that the test asks for and that does not exist.
pub fn problems(options: &Options, settings: &Settings, plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    let mut refuse = |is_set: bool, name: &str, advice: &str| {
        if is_set {
            lines.push(format!("{name} is not supported: {advice}"));
        }
    };
    refuse(options.paused == Some(true), "option `paused`", "remove it");
    refuse(
        options.hosts.is_some(),
        "option `hosts`",
        "use the addresses in the script, or /etc/hosts",
    );
    refuse(
        options.blacklist_ips.is_some(),
        "option `blacklistIPs`",
        "use `blockHostnames`, which is checked",
    );
    refuse(
        options.dns.is_some(),
        "option `dns`",
        "remove it; names are looked up when a connection is opened",
    );
    refuse(
        options.tls_auth.is_some(),
        "option `tlsAuth`",
        "use a plan (`loadline run plan.yml`) for client certificates",
    );
    refuse(
        options.tls_version.is_some(),
        "option `tlsVersion`",
        "remove it; TLS 1.2 and 1.3 are offered",
    );
    refuse(
        options.tls_cipher_suites.is_some(),
        "option `tlsCipherSuites`",
        "remove it",
    );
    refuse(options.local_ips.is_some(), "--local-ips", "remove it");
    refuse(
        options
            .http_debug
            .as_deref()
            .is_some_and(|mode| !mode.is_empty()),
        "option `httpDebug`",
        "log the responses in the script",
    );
    refuse(
        options.console_output.is_some(),
        "--console-output",
        "redirect standard error to a file",
    );
    refuse(
        settings.traces_output.is_some(),
        "--traces-output",
        "remove it",
    );
    refuse(
        settings.secret_source.is_some(),
        "--secret-source",
        "pass secrets in environment variables",
    );
    refuse(
        settings.address.is_some(),
        "--address",
        "use `--live` of `loadline run` to follow a run",
    );
    refuse(settings.linger == Some(true), "--linger", "remove it");
    refuse(
        plan.scenarios.iter().any(|scenario| scenario.needs_browser),
        "a scenario with `options.browser`",
        "use HTTP requests",
    );
    lines
}
