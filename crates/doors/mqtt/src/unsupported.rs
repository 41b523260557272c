//! Options of emqtt-bench that have no counterpart here: told by name, with what there is instead, before anything else is read.

/// Options, and what there is to say of them.
const KNOWN: [(&[&str], &str); 13] = [
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
        &["--qoe", "-Q", "--qoelog"],
        "every connect, subscribe and publish is timed anyway",
    ),
    (
        &["--lowmem", "-l"],
        "idle connections hold no buffers anyway",
    ),
    (
        &["--shortids"],
        "say what identifiers begin with: --prefix TEXT",
    ),
    (
        &["--num-retry-connect", "--reconnect"],
        "a lost connection is always tried anew, and counted",
    ),
    (
        &["--retry-interval"],
        "messages are sent again on a new connection only",
    ),
    (
        &["--topics-payload"],
        "a client publishes to one topic: have several runs at a time",
    ),
    (
        &["--wait-before-publishing", "-w"],
        "messages begin behind all connects anyway",
    ),
    (
        &["--min-random-wait", "--max-random-wait"],
        "messages are spread evenly anyway",
    ),
    (
        &["--payload-hdrs"],
        "payloads of 28 bytes and more carry a stamp anyway",
    ),
    (
        &["--keep-connected", "--log_to"],
        "leave it out: it has no meaning here",
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
