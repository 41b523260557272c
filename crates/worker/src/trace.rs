//! Formatting of requests and responses as text for `--trace`. Bodies are cut at 2 KB. The caller
//! hides secrets.

use std::fmt::Write;

use measure::Fault;

use codec::{
    Origin, Response,
    content::{self, Unpacking},
};

const MOST: usize = 2048;

/// Formats a request in HTTP/1.1 encoding, with the version over which it is sent.
#[must_use]
pub fn request(origin: &Origin, bytes: &[u8], version: &str) -> String {
    let end = bytes
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .map_or(bytes.len(), |at| at + 4);
    let mut out = format!("> {}\n", origin.text());
    let head = String::from_utf8_lossy(&bytes[..end]);
    for line in head
        .replacen(" HTTP/1.1", &format!(" {version}"), 1)
        .lines()
        .filter(|line| !line.is_empty())
    {
        let _ = writeln!(out, "> {line}");
    }
    push_body(&mut out, '>', &bytes[end..]);
    out
}

#[must_use]
pub fn answer(answer: &Response, fault: Option<Fault>) -> String {
    let mut out = String::new();
    if answer.status > 0 {
        let _ = writeln!(out, "< {}", answer.status);
        for (name, value) in &answer.headers {
            let _ = writeln!(out, "< {name}: {value}");
        }
        let body = content::decoded(answer, codec::reply::MAX_BODY, Unpacking::Strict)
            .unwrap_or(std::borrow::Cow::Borrowed(&answer.body));
        push_body(&mut out, '<', &body);
    }
    if let Some(fault) = fault {
        let _ = writeln!(out, "! {}", fault.text());
    }
    out
}

fn push_body(out: &mut String, mark: char, body: &[u8]) {
    if body.is_empty() {
        return;
    }
    let _ = writeln!(out, "{mark}");
    for line in String::from_utf8_lossy(&body[..body.len().min(MOST)]).lines() {
        let _ = writeln!(out, "{mark} {line}");
    }
    if body.len() > MOST {
        let _ = writeln!(out, "{mark} … {} more bytes", body.len() - MOST);
    }
}
