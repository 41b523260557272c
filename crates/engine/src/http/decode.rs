//! The answer decoder: bytes as they come off the wire into a head and a body, in any split. No I/O, no clock, and no
//! panic on any bytes.

use measure::outcome::ProtocolFault;

use super::framing::Framing;

/// What of an answer somebody will look at; the rest is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Want {
    /// All headers.
    pub headers: bool,
    /// The body.
    pub body: bool,
    /// `Location` and `Set-Cookie`.
    pub routing: bool,
    /// The total of `Server-Timing`.
    pub timing: bool,
}

/// An answer, as far as it was wanted.
#[derive(Debug, Default)]
pub struct Answer {
    /// The status; 0 until the head is complete.
    pub status: u16,
    /// Header names in lower case with their values, when wanted.
    pub headers: Vec<(String, String)>,
    /// Values of `Set-Cookie`, when wanted.
    pub set_cookies: Vec<String>,
    /// `Location`, when wanted.
    pub location: Option<String>,
    /// The total of `Server-Timing` in milliseconds, when wanted and there.
    pub server_ms: Option<f64>,
    /// `Content-Encoding` as it stands, when the body is wanted.
    pub encoding: Option<String>,
    /// The body as it came over the wire, when wanted, up to [`MAX_BODY`].
    pub body: Vec<u8>,
    /// Whether the body was longer than is kept.
    pub body_cut: bool,
    /// Bytes of the body on the wire, kept or not.
    pub body_bytes: u64,
    /// Whether the connection may be used again.
    pub keep_alive: bool,
}

/// So much of a body is kept for those who look at it.
pub const MAX_BODY: usize = 64 << 20;
/// A larger head is refused.
pub(super) const MAX_HEAD: usize = 256 << 10;
const USUAL_HEADERS: usize = 48;
const MOST_HEADERS: usize = 1024;

/// What a call of [`Decoder::feed`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fed {
    /// Bytes used up.
    pub used: usize,
    /// Whether the head is complete.
    pub head: bool,
    /// Whether the answer is complete.
    pub done: bool,
}

/// The decoder of one answer.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    want: Want,
    /// Whether the request was HEAD: its answer has no body whatever the head says.
    to_head: bool,
}

#[derive(Debug)]
enum State {
    /// The bytes of an incomplete head so far.
    Head(Vec<u8>),
    Body(Framing),
    Done,
}

impl Decoder {
    /// A decoder for the answer to a request with this method.
    #[must_use]
    pub fn new(method: &str, want: Want) -> Decoder {
        Decoder {
            state: State::Head(Vec::new()),
            want,
            to_head: method == "HEAD",
        }
    }

    /// Takes bytes. What is not used up belongs to the next answer.
    ///
    /// # Errors
    /// When the bytes are not an HTTP/1 answer.
    pub fn feed(&mut self, bytes: &[u8], answer: &mut Answer) -> Result<Fed, ProtocolFault> {
        let mut used = 0;
        loop {
            match &mut self.state {
                State::Done => {
                    return Ok(Fed {
                        used,
                        head: true,
                        done: true,
                    });
                }
                State::Head(stash) => {
                    let rest = &bytes[used..];
                    if rest.is_empty() {
                        return Ok(Fed {
                            used,
                            head: false,
                            done: false,
                        });
                    }
                    let found = if stash.is_empty() {
                        read_head(rest, self.want, self.to_head, answer)?
                    } else {
                        stash.extend_from_slice(rest);
                        read_head(stash, self.want, self.to_head, answer)?
                    };
                    let Some(head) = found else {
                        if stash.is_empty() {
                            stash.extend_from_slice(rest);
                        }
                        return if stash.len() > MAX_HEAD {
                            Err(ProtocolFault::HeadTooLarge)
                        } else {
                            Ok(Fed {
                                used: bytes.len(),
                                head: false,
                                done: false,
                            })
                        };
                    };
                    // The part of the head that was stashed earlier is not part of `bytes`.
                    used += head.length - stash.len().saturating_sub(rest.len());
                    self.state = match head.next {
                        Next::Interim => State::Head(Vec::new()),
                        Next::Body(framing) => State::Body(framing),
                        Next::Complete => State::Done,
                    };
                }
                State::Body(framing) => {
                    let keep = self.want.body;
                    let taken = framing.take(&bytes[used..], |data| {
                        answer.body_bytes += data.len() as u64;
                        if keep {
                            let room = MAX_BODY.saturating_sub(answer.body.len());
                            answer.body_cut |= data.len() > room;
                            answer.body.extend_from_slice(&data[..data.len().min(room)]);
                        }
                    })?;
                    used += taken.used;
                    if !taken.done {
                        return Ok(Fed {
                            used,
                            head: true,
                            done: false,
                        });
                    }
                    self.state = State::Done;
                }
            }
        }
    }

    /// The connection was closed: whether that completes the answer.
    #[must_use]
    pub fn closed(&mut self) -> bool {
        matches!(self.state, State::Done | State::Body(Framing::UntilClose))
    }

    /// Whether any byte of a head has come.
    #[must_use]
    pub fn begun(&self) -> bool {
        !matches!(&self.state, State::Head(stash) if stash.is_empty())
    }
}

/// What a head says.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The status.
    pub status: u16,
    /// Whether the connection may be used again.
    pub keep_alive: bool,
    /// The head's length.
    pub length: usize,
    /// How the body is delimited; none: there is none.
    pub body: Option<Framing>,
    /// Whether it is a 1xx answer, behind which the real one comes.
    pub interim: bool,
}

/// What the head at the beginning of these bytes says, for those who want nothing else of it; none: it is not complete.
pub(super) fn facts(bytes: &[u8], to_head: bool) -> Result<Option<Facts>, ProtocolFault> {
    let mut answer = Answer::default();
    let head = read_head(bytes, Want::default(), to_head, &mut answer)?;
    Ok(head.map(|head| Facts {
        status: answer.status,
        keep_alive: answer.keep_alive,
        length: head.length,
        interim: matches!(head.next, Next::Interim),
        body: match head.next {
            Next::Body(framing) => Some(framing),
            Next::Interim | Next::Complete => None,
        },
    }))
}

struct Head {
    length: usize,
    next: Next,
}

enum Next {
    /// A 1xx answer: the real one follows.
    Interim,
    Body(Framing),
    Complete,
}

fn read_head(
    bytes: &[u8],
    want: Want,
    to_head: bool,
    answer: &mut Answer,
) -> Result<Option<Head>, ProtocolFault> {
    let mut usual = [httparse::EMPTY_HEADER; USUAL_HEADERS];
    match parse(bytes, &mut usual, want, to_head, answer) {
        Err(httparse::Error::TooManyHeaders) => {
            let mut most = vec![httparse::EMPTY_HEADER; MOST_HEADERS];
            parse(bytes, &mut most, want, to_head, answer).map_err(|e| fault(e, bytes))?
        }
        other => other.map_err(|e| fault(e, bytes))?,
    }
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

/// What is wrong with a status line.
fn status_line(bytes: &[u8]) -> ProtocolFault {
    match bytes.strip_prefix(b"HTTP/") {
        None => ProtocolFault::StatusLine,
        Some([b'1', b'.', b'0' | b'1', b' ', ..]) => ProtocolFault::Status,
        Some(_) => ProtocolFault::Version,
    }
}

/// A server that speaks HTTP/2 begins with its settings, or with the end of what it never understood.
fn is_http2(bytes: &[u8]) -> bool {
    const SETTINGS: u8 = 4;
    const GOAWAY: u8 = 7;
    // Length (24 bits), type, flags, stream (of both: 0).
    match bytes {
        [0, _, _, SETTINGS | GOAWAY, 0, stream @ ..] => stream.iter().take(4).all(|b| *b == 0),
        _ => false,
    }
}

/// What a server of TLS says to a request in clear.
fn is_tls_alert(bytes: &[u8]) -> bool {
    const ALERT: u8 = 21;
    matches!(bytes, [ALERT, 3, 0..=4, ..])
}

type Parsed = Result<Option<Head>, ProtocolFault>;

fn parse<'b>(
    bytes: &'b [u8],
    headers: &mut [httparse::Header<'b>],
    want: Want,
    to_head: bool,
    answer: &mut Answer,
) -> Result<Parsed, httparse::Error> {
    let mut config = httparse::ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true);
    let mut response = httparse::Response::new(headers);
    let httparse::Status::Complete(length) = config.parse_response(&mut response, bytes)? else {
        return Ok(Ok(None));
    };
    // Whether it came in one piece or in many must not decide.
    if length > MAX_HEAD {
        return Ok(Err(ProtocolFault::HeadTooLarge));
    }
    let status = response.code.unwrap_or(0);
    if status < 100 {
        return Ok(Err(ProtocolFault::Status));
    }
    if (100..200).contains(&status) && status != 101 {
        return Ok(Ok(Some(Head {
            length,
            next: Next::Interim,
        })));
    }
    answer.status = status;
    let mut lines = Lines {
        keep_alive: response.version == Some(1),
        ..Lines::default()
    };
    for header in response.headers.iter() {
        if let Err(fault) = lines.take(header, status, want, answer) {
            return Ok(Err(fault));
        }
    }
    let next = if to_head || status == 204 || status == 304 || status == 101 {
        Next::Complete
    } else if lines.chunked {
        Next::Body(Framing::CHUNKED)
    } else if lines.other_coding {
        Next::Body(Framing::UntilClose)
    } else {
        match lines.length {
            Some(0) => Next::Complete,
            Some(length) => Next::Body(Framing::Length(length)),
            None => Next::Body(Framing::UntilClose),
        }
    };
    answer.keep_alive =
        lines.keep_alive && !matches!(next, Next::Body(Framing::UntilClose)) && status != 101;
    Ok(Ok(Some(Head { length, next })))
}

/// The header lines that decide about framing.
#[derive(Default)]
struct Lines {
    length: Option<u64>,
    chunked: bool,
    other_coding: bool,
    keep_alive: bool,
}

impl Lines {
    fn take(
        &mut self,
        header: &httparse::Header<'_>,
        status: u16,
        want: Want,
        answer: &mut Answer,
    ) -> Result<(), ProtocolFault> {
        let (name, value) = (header.name, header.value);
        // Names are told apart by length first: most headers cost one comparison of a number.
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
            16 if want.body && name.eq_ignore_ascii_case("content-encoding") => {
                answer.encoding = Some(text(value))
            }
            10 if want.routing && name.eq_ignore_ascii_case("set-cookie") => {
                answer.set_cookies.push(text(value))
            }
            13 if want.timing && name.eq_ignore_ascii_case("server-timing") => {
                answer.server_ms = answer.server_ms.or_else(|| server_total(&text(value)));
            }
            8 if want.routing
                && (300..400).contains(&status)
                && name.eq_ignore_ascii_case("location") =>
            {
                answer.location = Some(text(value));
            }
            _ => {}
        }
        if want.headers {
            answer
                .headers
                .push((name.to_ascii_lowercase(), text(value)));
        }
        Ok(())
    }
}

/// Header values are bytes; like Node we read them as Latin-1 where they are not UTF-8.
fn text(value: &[u8]) -> String {
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

/// What a server says that everything took: the first `total;dur=` of a `Server-Timing` header.
fn server_total(value: &str) -> Option<f64> {
    const TOTAL: &str = "total;dur=";
    let at = value.to_ascii_lowercase().find(TOTAL)? + TOTAL.len();
    let digits = value[at..]
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(value.len() - at);
    let total: f64 = value[at..at + digits].parse().ok()?;
    // Enough digits are no number any more, and would be the largest figure of all.
    total.is_finite().then_some(total)
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
