//! Parser for response heads: length, framing of the body, connection reuse, and headers that the
//! client acts on.

use std::rc::Rc;

use measure::outcome::ProtocolFault;

use super::framing::Framing;

pub(crate) const MAX_HEAD: usize = 256 << 10;
const USUAL_HEADERS: usize = 48;
const MOST_HEADERS: usize = 1024;

/// A parsed response head.
#[derive(Debug, Clone)]
pub struct ResponseHead {
    /// HTTP status.
    pub status: u16,
    /// Whether the connection can be reused.
    pub keep_alive: bool,
    /// Length of the head in bytes.
    pub length: usize,
    /// How the body is delimited. `None` if there is no body.
    pub body: Option<Framing>,
    /// Whether this is a 1xx response, which precedes the final response.
    pub interim: bool,
    /// Headers that the client acts on. `None` if the head contains none or the caller did not
    /// request them.
    pub notable: Option<Rc<Notable>>,
}

/// The headers that a client acts on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notable {
    /// Values of `Set-Cookie`.
    pub set_cookies: Vec<String>,
    /// `Location` of a redirect.
    pub location: Option<String>,
    /// The `total` of `Server-Timing` in milliseconds.
    pub server_ms: Option<f64>,
    /// Raw value of `Content-Encoding`.
    pub encoding: Option<String>,
}

impl Notable {
    /// Returns whether a client acts on this header.
    pub(crate) fn includes(name: &[u8], status: u16) -> bool {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        is("content-encoding")
            || is("set-cookie")
            || is("server-timing")
            || (is("location") && (300..400).contains(&status))
    }

    /// Adds a header for which [`Notable::includes`] returned `true`.
    pub(crate) fn add(&mut self, name: &[u8], value: &[u8]) {
        let value = text(value);
        match name.len() {
            8 => self.location = Some(value),
            10 => self.set_cookies.push(value),
            13 => self.server_ms = self.server_ms.or_else(|| server_total(&value)),
            _ => self.encoding = Some(value),
        }
    }
}

/// Parses the head at the start of `bytes`. Returns `None` if the head is incomplete. `acts`
/// requests the headers that a client acts on.
pub(crate) fn read(
    bytes: &[u8],
    to_head: bool,
    acts: bool,
) -> Result<Option<ResponseHead>, ProtocolFault> {
    let mut usual = [httparse::EMPTY_HEADER; USUAL_HEADERS];
    match parse(bytes, &mut usual, to_head, acts) {
        Err(httparse::Error::TooManyHeaders) => {
            let mut most = vec![httparse::EMPTY_HEADER; MOST_HEADERS];
            parse(bytes, &mut most, to_head, acts).map_err(|e| fault(e, bytes))?
        }
        other => other.map_err(|e| fault(e, bytes))?,
    }
}

pub(crate) fn lines(head: &[u8]) -> Vec<(String, String)> {
    let mut usual = [httparse::EMPTY_HEADER; USUAL_HEADERS];
    let texts = |headers: &[httparse::Header<'_>]| {
        let text = |h: &httparse::Header<'_>| (h.name.to_ascii_lowercase(), text(h.value));
        headers.iter().map(text).collect()
    };
    let mut response = httparse::Response::new(&mut usual);
    match config().parse_response(&mut response, head) {
        Ok(_) => texts(response.headers),
        Err(_) => {
            let mut most = vec![httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut response = httparse::Response::new(&mut most);
            // This cannot fail, because the head has been parsed before.
            let read = config().parse_response(&mut response, head);
            read.map_or_else(|_| Vec::new(), |_| texts(response.headers))
        }
    }
}

fn config() -> httparse::ParserConfig {
    let mut config = httparse::ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true);
    config
}

#[cold]
fn fault(error: httparse::Error, bytes: &[u8]) -> ProtocolFault {
    match error {
        _ if is_http2(bytes) => ProtocolFault::Http2,
        _ if is_tls_alert(bytes) => ProtocolFault::Tls,
        httparse::Error::Status | httparse::Error::Version | httparse::Error::Token => {
            status_line(bytes)
        }
        httparse::Error::TooManyHeaders => ProtocolFault::HeadTooLarge,
        _ => ProtocolFault::Header,
    }
}

fn status_line(bytes: &[u8]) -> ProtocolFault {
    match bytes.strip_prefix(b"HTTP/") {
        None => ProtocolFault::StatusLine,
        Some([b'1', b'.', b'0' | b'1', b' ', ..]) => ProtocolFault::Status,
        Some(_) => ProtocolFault::Version,
    }
}

/// Returns whether the bytes are a SETTINGS or GOAWAY frame, which only an HTTP/2 server sends.
fn is_http2(bytes: &[u8]) -> bool {
    const SETTINGS: u8 = 4;
    const GOAWAY: u8 = 7;
    // A frame header has length (24 bits), type, flags, and stream (0 for both frames).
    match bytes {
        [0, _, _, SETTINGS | GOAWAY, 0, stream @ ..] => stream.iter().take(4).all(|b| *b == 0),
        _ => false,
    }
}

fn is_tls_alert(bytes: &[u8]) -> bool {
    const ALERT: u8 = 21;
    matches!(bytes, [ALERT, 3, 0..=4, ..])
}

type Parsed = Result<Option<ResponseHead>, ProtocolFault>;

fn parse<'b>(
    bytes: &'b [u8],
    headers: &mut [httparse::Header<'b>],
    to_head: bool,
    acts: bool,
) -> Result<Parsed, httparse::Error> {
    let mut response = httparse::Response::new(headers);
    let httparse::Status::Complete(length) = config().parse_response(&mut response, bytes)? else {
        return Ok(Ok(None));
    };
    // Check the length, so that the result does not depend on how the bytes were split.
    if length > MAX_HEAD {
        return Ok(Err(ProtocolFault::HeadTooLarge));
    }
    let status = response.code.unwrap_or(0);
    if status < 100 {
        return Ok(Err(ProtocolFault::Status));
    }
    let interim = (100..200).contains(&status) && status != 101;
    let mut lines = FramingHeaders {
        keep_alive: response.version == Some(1),
        ..FramingHeaders::default()
    };
    if !interim {
        for header in response.headers.iter() {
            if let Err(fault) = lines.take(header, status, acts) {
                return Ok(Err(fault));
            }
        }
    }
    let body = if interim || to_head || status == 204 || status == 304 || status == 101 {
        None
    } else if lines.chunked {
        Some(Framing::CHUNKED)
    } else if lines.other_coding {
        Some(Framing::UntilClose)
    } else {
        match lines.length {
            Some(0) => None,
            Some(length) => Some(Framing::Length(length)),
            None => Some(Framing::UntilClose),
        }
    };
    let keep_alive = lines.keep_alive && body != Some(Framing::UntilClose) && status != 101;
    Ok(Ok(Some(ResponseHead {
        status,
        keep_alive,
        length,
        body,
        interim,
        notable: lines.notable.map(Rc::new),
    })))
}

#[derive(Default)]
struct FramingHeaders {
    length: Option<u64>,
    chunked: bool,
    other_coding: bool,
    keep_alive: bool,
    notable: Option<Notable>,
}

impl FramingHeaders {
    fn take(
        &mut self,
        header: &httparse::Header<'_>,
        status: u16,
        acts: bool,
    ) -> Result<(), ProtocolFault> {
        let (name, value) = (header.name, header.value);
        // Comparing lengths first rejects most headers quickly.
        match name.len() {
            14 if name.eq_ignore_ascii_case("content-length") => {
                let length = parse_length(value)?;
                if self.length.is_some_and(|known| known != length) {
                    return Err(ProtocolFault::Lengths);
                }
                self.length = Some(length);
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                let last = value
                    .rsplit(|b| *b == b',')
                    .next()
                    .unwrap_or(value)
                    .trim_ascii();
                self.chunked = last.eq_ignore_ascii_case(b"chunked");
                self.other_coding = !self.chunked;
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                for token in value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                    if token.eq_ignore_ascii_case(b"close") {
                        self.keep_alive = false;
                    } else if token.eq_ignore_ascii_case(b"keep-alive") {
                        self.keep_alive = true;
                    }
                }
            }
            8 | 10 | 13 | 16 if acts && Notable::includes(name.as_bytes(), status) => {
                let notable = self.notable.get_or_insert_default();
                notable.add(name.as_bytes(), value);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Decodes the value of a header as UTF-8, or as Latin-1 if it is not valid UTF-8, like Node.js.
pub(crate) fn text(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().map(|b| *b as char).collect(),
    }
}

fn parse_length(value: &[u8]) -> Result<u64, ProtocolFault> {
    let value = value.trim_ascii();
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return Err(ProtocolFault::ContentLength);
    }
    Ok(value
        .iter()
        .fold(0, |n, digit| n * 10 + u64::from(digit - b'0')))
}

/// Returns the first `total;dur=` value of a `Server-Timing` header.
fn server_total(value: &str) -> Option<f64> {
    const TOTAL: &str = "total;dur=";
    let at = value.to_ascii_lowercase().find(TOTAL)? + TOTAL.len();
    let digits = value[at..]
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(value.len() - at);
    let total: f64 = value[at..at + digits].parse().ok()?;
    // A number with too many digits parses as infinity.
    total.is_finite().then_some(total)
}
