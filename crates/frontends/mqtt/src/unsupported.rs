//! Options of emqtt-bench that are not supported, with a suggested alternative for each.

const KNOWN: [(&[&str], &str); 4] = [
    (&["--ws"], "WebSocket is not supported: use TCP or TLS"),
    (
        &["--quic", "--load-qst"],
        "QUIC is not supported: use TCP or TLS",
    ),
    (
        &["--prometheus", "--restapi"],
        "see the figures in the record, the report or --json FILE",
    ),
    (
        &["--topics-payload"],
        "a client publishes to only one topic: start several runs at the same time",
    ),
];

pub(crate) fn first(arguments: &[String]) -> Option<String> {
    arguments.iter().find_map(|argument| {
        let name = argument.split('=').next().unwrap_or_default();
        let (_, reason) = KNOWN.iter().find(|(options, _)| options.contains(&name))?;
        Some(format!("{name} (emqtt-bench) is not supported: {reason}"))
    })
}
