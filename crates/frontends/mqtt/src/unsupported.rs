//! Options of emqtt-bench that are not supported, each with an alternative to suggest.

const KNOWN: [(&[&str], &str); 4] = [
    (&["--ws"], "WebSocket is not supported, only TCP and TLS"),
    (
        &["--quic", "--load-qst"],
        "QUIC is not supported, only TCP and TLS",
    ),
    (
        &["--prometheus", "--restapi"],
        "figures are in the record, the report and --json FILE",
    ),
    (
        &["--topics-payload"],
        "a client publishes to one topic: have several runs at a time",
    ),
];

pub(crate) fn first(arguments: &[String]) -> Option<String> {
    arguments.iter().find_map(|argument| {
        let name = argument.split('=').next().unwrap_or_default();
        let (_, reason) = KNOWN.iter().find(|(options, _)| options.contains(&name))?;
        Some(format!("{name} of emqtt-bench is not supported: {reason}"))
    })
}
