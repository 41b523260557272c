//! `artillery quick URL`: builds a script from the flags.

use serde_json::json;

use session::exit;

use session::SharedMessageSink;

use super::flags::Quick;

pub fn script(args: &Quick, sink: &SharedMessageSink) -> Result<String, u8> {
    for (flag, given) in [("-d", &args.duration), ("-r", &args.rate)] {
        if given.is_some() {
            sink.error(&format_args!(
                "{flag} was a flag of Artillery 1: use `phases` with `duration` and `arrivalRate` in a script, or -c and -n"
            ));
            return Err(exit::FAIL);
        }
    }
    let target = args.target.as_str();
    let protocol = target
        .split_once("://")
        .map(|(protocol, _)| protocol.to_ascii_lowercase());
    match protocol.as_deref() {
        Some("http" | "https") => {}
        Some("ws" | "wss") => {
            sink.error(&format_args!(
                "{target}: the engine ws is not supported yet: use http"
            ));
            return Err(1);
        }
        _ => {
            sink.say(&format_args!(
                "Unknown protocol in target: {target}\nSupported protocols: HTTP(S) and WS(S)"
            ));
            return Err(1);
        }
    }
    let get = json!({ "get": { "url": target } });
    // A loop with count 0 is endless.
    let flow = if args.num > 1 {
        json!([{ "loop": [get], "count": args.num }])
    } else {
        json!([get])
    };
    let script = json!({
        "config": { "target": target, "phases": [{ "duration": 1, "arrivalCount": args.count }] },
        "scenarios": [{ "flow": flow }],
    });
    Ok(script.to_string())
}
