//! Options of emqtt-bench that have no counterpart here: told by name, with what there is instead, before anything else is read.

/// Options, and what there is to say of them.
const KNOWN: [(&[&str], &str); 4] = [
    (&["--ws"], "WebSocket is not spoken, only TCP and TLS"),
    (
        &["--quic", "--load-qst"],
        "QUIC is not spoken, only TCP and TLS",
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

/// What is to be said of the first option that is emqtt-bench's alone.
pub(crate) fn first(arguments: &[String]) -> Option<String> {
    arguments.iter().find_map(|argument| {
        let name = argument.split('=').next().unwrap_or_default();
        let (_, why) = KNOWN.iter().find(|(options, _)| options.contains(&name))?;
        Some(format!("{name} of emqtt-bench is not supported: {why}"))
    })
}
