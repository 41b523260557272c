//! Counts the requests in the bytes that a script returns, and finds HEAD requests. Bytes are
//! validated once before the run, so that counting is fast afterwards.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

static HEAD_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\r\n\r\n"));

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    pub count: u32,
    pub heads: Vec<u32>,
}

/// Why bytes are not complete requests. Line and column are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    reason: &'static str,
    line: usize,
    column: usize,
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}:{}", self.reason, self.line, self.column)
    }
}

fn flaw(bytes: &[u8], at: usize, reason: &'static str) -> Flaw {
    let before = &bytes[..at.min(bytes.len())];
    let line_begin = before
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |n| n + 1);
    Flaw {
        reason,
        line: before.iter().filter(|b| **b == b'\n').count() + 1,
        column: before.len() - line_begin + 1,
    }
}

pub fn check(bytes: &[u8]) -> Result<Requests, Flaw> {
    let mut found = Requests::default();
    let mut at = 0;
    while at < bytes.len() || found.count == 0 {
        let head_end = check_head(bytes, at)?;
        let request = &bytes[at..head_end];
        if request.starts_with(b"HEAD ") {
            found.heads.push(found.count);
        }
        let body = body(request);
        let has_length = |line: &[u8]| value_of(line, b"content-length:").is_some();
        if matches!(body, RequestFraming::Chunked) && request.split(|b| *b == b'\n').any(has_length)
        {
            return Err(flaw(
                bytes,
                head_end - 1,
                "unexpected content-length header",
            ));
        }
        let end = match body {
            RequestFraming::Length(length) => head_end.checked_add(length),
            RequestFraming::Chunked => chunks(&bytes[head_end..]).map(|n| head_end + n),
        };
        at = end
            .filter(|end| *end <= bytes.len())
            .ok_or_else(|| flaw(bytes, bytes.len(), "incomplete request"))?;
        found.count += 1;
    }
    Ok(found)
}

/// Counts requests without validating them. Returns `None` if the last request is incomplete.
#[inline]
pub fn count(bytes: &[u8], found: &mut Requests) -> Option<()> {
    found.count = 0;
    found.heads.clear();
    let head_end = &*HEAD_END;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let head = head_end.find(rest)? + 4;
        if rest.starts_with(b"HEAD ") {
            found.heads.push(found.count);
        }
        // Without headers that frame a body, the next request follows immediately.
        at += match body(&rest[..head]) {
            _ if head == rest.len() => head,
            RequestFraming::Length(length) => head.checked_add(length)?,
            RequestFraming::Chunked => head + chunks(&rest[head..])?,
        };
        found.count += 1;
    }
    (at == bytes.len() && found.count > 0).then_some(())
}

enum RequestFraming {
    Length(usize),
    Chunked,
}

fn body(head: &[u8]) -> RequestFraming {
    let mut found = RequestFraming::Length(0);
    let mut rest = head;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let line = &rest[..end];
        rest = &rest[end + 1..];
        match line.first() {
            Some(b'c' | b'C') => {
                if let Some(value) = value_of(line, b"content-length:") {
                    let digits = std::str::from_utf8(value).ok();
                    let length = digits.and_then(|digits| digits.parse().ok());
                    found = RequestFraming::Length(length.unwrap_or(0));
                }
            }
            Some(b't' | b'T') => {
                if let Some(value) = value_of(line, b"transfer-encoding:")
                    && value.to_ascii_lowercase().ends_with(b"chunked")
                {
                    return RequestFraming::Chunked;
                }
            }
            _ => {}
        }
    }
    found
}

fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (begin, value) = line.split_at_checked(name.len())?;
    begin.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

/// Returns the length of a chunked body. `None` if the body is incomplete.
fn chunks(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let line_end = at + memmem::find(&bytes[at..], b"\r\n")?;
        let line = std::str::from_utf8(&bytes[at..line_end]).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        at = line_end + 2;
        if size == 0 {
            loop {
                let line = memmem::find(bytes.get(at..)?, b"\r\n")?;
                at += line + 2;
                if line == 0 {
                    return Some(at);
                }
            }
        }
        at = at.checked_add(size)?.checked_add(2)?;
        if at > bytes.len() {
            return None;
        }
    }
}

/// Validates every line of the head that starts at `begin`. Returns the end of the head.
fn check_head(bytes: &[u8], begin: usize) -> Result<usize, Flaw> {
    let mut at = begin;
    let mut first = true;
    let mut lengths = 0;
    loop {
        let line_end = memchr::memchr(b'\n', &bytes[at..]).map(|n| at + n);
        let line = &bytes[at..line_end.unwrap_or(bytes.len())];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let wrong = if first {
            check_request_line(line, line_end.is_some())
        } else {
            check_header(line, line_end.is_some(), &mut lengths)
        };
        if let Some((offset, reason)) = wrong {
            return Err(flaw(bytes, at + offset, reason));
        }
        let Some(line_end) = line_end else {
            return Err(flaw(bytes, bytes.len(), "incomplete request"));
        };
        at = line_end + 1;
        if line.is_empty() && !first {
            return Ok(at);
        }
        first = false;
    }
}

type Wrong = Option<(usize, &'static str)>;

const METHODS: [&str; 33] = [
    "DELETE",
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "CONNECT",
    "OPTIONS",
    "TRACE",
    "COPY",
    "LOCK",
    "MKCOL",
    "MOVE",
    "PROPFIND",
    "PROPPATCH",
    "SEARCH",
    "UNLOCK",
    "BIND",
    "REBIND",
    "UNBIND",
    "ACL",
    "REPORT",
    "MKACTIVITY",
    "CHECKOUT",
    "MERGE",
    "M-SEARCH",
    "NOTIFY",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "PATCH",
    "PURGE",
    "MKCALENDAR",
    "LINK",
    "UNLINK",
];

fn check_request_line(line: &[u8], whole: bool) -> Wrong {
    let method = memchr::memchr(b' ', line).unwrap_or(line.len());
    let known = METHODS.iter().any(|m| m.as_bytes() == &line[..method]);
    let begins = |n: usize| METHODS.iter().any(|m| m.as_bytes().starts_with(&line[..n]));
    if !known && (whole || method < line.len() || !begins(method)) {
        // Find the first byte that differs from all known methods.
        let fits = (0..=method).rev().find(|n| begins(*n)).unwrap_or(0);
        return Some((fits, "invalid HTTP method"));
    }
    let rest = &line[method..];
    let blanks = rest.iter().take_while(|b| **b == b' ').count();
    let target = &rest[blanks..];
    let at = method + blanks;
    let length = memchr::memchr(b' ', target).unwrap_or(target.len());
    let cut = !whole && length == target.len();
    if let Some(offset) = flaw_of_url(&target[..length], &line[..method] == b"CONNECT", cut) {
        return Some((at + offset, "invalid URL"));
    }
    let after = &target[length..];
    let blanks = after.iter().take_while(|b| **b == b' ').count();
    // A request without a version is HTTP 0.9, which wrk accepts.
    let wrong = check_version(&after[blanks..], whole && blanks > 0);
    wrong.map(|(offset, reason)| (at + length + blanks + offset, reason))
}

/// Returns the position of an error in the target of a request. `None` if the target is a path, an
/// absolute URL or, after CONNECT, a host.
fn flaw_of_url(target: &[u8], is_connect: bool, cut: bool) -> Option<usize> {
    let end = (!cut).then_some(target.len());
    let path = match target.first() {
        None => return end,
        _ if is_connect => 0,
        Some(b'/' | b'*') => 0,
        Some(b) if b.is_ascii_alphabetic() => {
            let scheme = target
                .iter()
                .take_while(|b| b.is_ascii_alphabetic())
                .count();
            let marks = b"://";
            for (n, mark) in marks.iter().enumerate() {
                match target.get(scheme + n) {
                    None => return end,
                    Some(b) if b != mark => return Some(scheme + n),
                    Some(_) => {}
                }
            }
            if target.len() == scheme + marks.len() {
                return end;
            }
            scheme + marks.len()
        }
        Some(_) => return Some(0),
    };
    let strange = |b: &u8| !b.is_ascii_graphic();
    target[path..].iter().position(strange).map(|n| path + n)
}

fn check_version(version: &[u8], whole: bool) -> Wrong {
    let name = b"HTTP/";
    let same = version.iter().zip(name).take_while(|(a, b)| a == b).count();
    if same < name.len() {
        let wrong = same < version.len() || whole;
        let reason = if same == 0 {
            "invalid constant string"
        } else {
            "strict mode assertion failed"
        };
        return wrong.then_some((same, reason));
    }
    let digits = |b: &u8| b.is_ascii_digit();
    let wanted: [&dyn Fn(&u8) -> bool; 3] = [&digits, &|b| *b == b'.', &digits];
    for (n, fits) in wanted.iter().enumerate() {
        match version.get(name.len() + n) {
            Some(b) if fits(b) => {}
            None if !whole => return None,
            _ => return Some((name.len() + n, "invalid HTTP version")),
        }
    }
    let end = name.len() + wanted.len();
    (version.len() > end).then_some((end, "invalid HTTP version"))
}

fn check_header(line: &[u8], whole: bool, lengths: &mut u32) -> Wrong {
    let token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    let name = line.iter().take_while(|b| token(b)).count();
    let folded = matches!(line.first(), Some(b' ' | b'\t'));
    let fits = line.is_empty() || folded || (name > 0 && line.get(name) == Some(&b':'));
    let cut = !whole && name == line.len();
    if !fits && !cut {
        return Some((name, "invalid character in header"));
    }
    if !line[..name].eq_ignore_ascii_case(b"content-length") || cut {
        return None;
    }
    let value = &line[name + 1..];
    let begin = value
        .iter()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count();
    *lengths += 1;
    if *lengths > 1 {
        return Some((name + 1 + begin, "unexpected content-length header"));
    }
    let value = value[begin..].trim_ascii_end();
    let strange = value.iter().position(|b| !b.is_ascii_digit());
    strange.map(|n| {
        (
            name + 1 + begin + n,
            "invalid character in content-length header",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_requests_are_counted() {
        for (text, number, heads) in [
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1, &[][..]),
            (
                "GET / HTTP/1.1\r\n\r\nHEAD /a HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n",
                3,
                &[1],
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nabcdeGET / HTTP/1.1\r\n\r\n",
                2,
                &[],
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nT: x\r\n\r\nHEAD / HTTP/1.1\r\n\r\n",
                2,
                &[1],
            ),
            ("GET http://other/a HTTP/1.1\r\nX: a\r\n b\r\n\r\n", 1, &[]),
        ] {
            let wanted = Requests {
                count: number,
                heads: heads.to_vec(),
            };
            assert_eq!(check(text.as_bytes()).as_ref(), Ok(&wanted), "{text:?}");
            let mut quickly = Requests::default();
            assert_eq!(count(text.as_bytes(), &mut quickly), Some(()), "{text:?}");
            assert_eq!(quickly, wanted);
        }
    }

    #[test]
    fn errors_have_positions() {
        for (text, message) in [
            ("", "incomplete request at 1:1"),
            ("garbage", "invalid HTTP method at 1:1"),
            ("5", "invalid HTTP method at 1:1"),
            ("GET / HTTP/1.1\r\n", "incomplete request at 2:1"),
            (
                "GET / HTTP/1.1\r\nHost x\r\n\r\n",
                "invalid character in header at 2:5",
            ),
            (
                "GET / HTTX/1.1\r\nHost: x\r\n\r\n",
                "strict mode assertion failed at 1:10",
            ),
            ("GETT / HTTP/1.1\r\n\r\n", "invalid HTTP method at 1:4"),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "unexpected content-length header at 4:2",
            ),
            ("G T / HTTP/1.1\r\n\r\n", "invalid HTTP method at 1:2"),
            ("FOO / HTTP/1.1\r\n\r\n", "invalid HTTP method at 1:1"),
            ("GET x y HTTP/1.1\r\n\r\n", "invalid URL at 1:6"),
            ("GET nope HTTP/1.1\r\n\r\n", "invalid URL at 1:9"),
            ("GET  HTTP/1.1\r\n\r\n", "invalid URL at 1:10"),
            ("GET /a\tb HTTP/1.1\r\n\r\n", "invalid URL at 1:7"),
            ("GET /\u{fc} HTTP/1.1\r\n\r\n", "invalid URL at 1:6"),
            ("GET / HTTP/12.1\r\n\r\n", "invalid HTTP version at 1:13"),
            (
                "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                "invalid character in content-length header at 2:17",
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
                "unexpected content-length header at 3:17",
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab",
                "incomplete request at 4:3",
            ),
        ] {
            let flaw = check(text.as_bytes()).expect_err(text);
            assert_eq!(flaw.to_string(), message);
        }
        let mut quickly = Requests::default();
        for text in [
            "",
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab",
        ] {
            assert_eq!(count(text.as_bytes(), &mut quickly), None, "{text:?}");
        }
    }
}
