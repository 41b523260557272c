//! The option `httpDebug`: requests and responses in the log.

use k6::log::Level;
use worker::client::{Built, Exchange};

use crate::host::RunHost;

/// How much of a message is logged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Head,
    /// With the body.
    Full,
}

fn extent(host: &RunHost) -> Option<Extent> {
    match host.shared.options.http_debug.as_deref()? {
        "" => None,
        "full" => Some(Extent::Full),
        _ => Some(Extent::Head),
    }
}

/// Logs a request that is about to be sent.
pub fn request(host: &RunHost, built: &Built) {
    let Some(extent) = extent(host) else { return };
    let body_at = (built.cookie_at + 2).min(built.bytes.len());
    let (head, body) = built.bytes.split_at(body_at);
    write(host, "Request:", head, body, extent);
}

/// Logs a complete response.
pub fn response(host: &RunHost, exchange: &Exchange) {
    let Some(extent) = extent(host) else { return };
    let answer = &exchange.answer;
    write(host, "Response:", &answer.head, &answer.body, extent);
}

fn write(host: &RunHost, title: &str, head: &[u8], body: &[u8], extent: Extent) {
    let mut text = format!("{title}\n{}", String::from_utf8_lossy(head));
    if !text.ends_with("\r\n\r\n") {
        text.push_str("\r\n");
    }
    if extent == Extent::Full {
        text.push_str(&String::from_utf8_lossy(body));
    }
    host.log(Level::Info, &text, &[("source", "http-debug")]);
}
