//! Parses HTTP/1.0 and 1.1 requests, which may be pipelined or incomplete. Skips bodies. Shares no
//! code with the engine's codec, because the lab verifies it.

use std::mem::MaybeUninit;

use httparse::{Header, Status};

use super::chunked::Chunked;

const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;

#[derive(Debug, PartialEq)]
pub(super) struct FinishedRequest {
    pub(super) id: Option<Box<[u8]>>,
    pub(super) target: Target,
    pub(super) is_head: bool,
    pub(super) keep_alive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    Any,
    Stats,
    Unknown,
}

#[derive(Debug, PartialEq)]
pub(super) struct ReadRefusal(pub(super) u16);

#[derive(Debug, Default)]
pub(super) struct RequestReader {
    partial: Vec<u8>,
    body: Option<(FinishedRequest, BodyFraming)>,
    wants_continue: bool,
}

#[derive(Debug)]
enum BodyFraming {
    Bytes(u64),
    Chunks(Chunked),
}

impl RequestReader {
    pub(super) fn feed(
        &mut self,
        mut input: &[u8],
        wants_ids: bool,
        requests: &mut Vec<FinishedRequest>,
    ) -> Result<(), ReadRefusal> {
        while !input.is_empty() {
            self.wants_continue = false;
            let used = match self.body.take() {
                Some((request, body)) => self.skip(request, body, input, requests)?,
                None => self.head(input, wants_ids, requests)?,
            };
            input = input.get(used..).unwrap_or_default();
        }
        Ok(())
    }

    pub(super) fn wants_continue(&mut self) -> bool {
        std::mem::take(&mut self.wants_continue)
    }

    fn skip(
        &mut self,
        request: FinishedRequest,
        mut body: BodyFraming,
        input: &[u8],
        requests: &mut Vec<FinishedRequest>,
    ) -> Result<usize, ReadRefusal> {
        let (used, ended) = match &mut body {
            BodyFraming::Bytes(left) => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX);
                let here = here.min(input.len());
                *left -= here as u64;
                (here, *left == 0)
            }
            BodyFraming::Chunks(chunks) => chunks.skip(input).map_err(|_| ReadRefusal(400))?,
        };
        if ended {
            requests.push(request);
        } else {
            self.body = Some((request, body));
        }
        Ok(used)
    }

    fn head(
        &mut self,
        input: &[u8],
        wants_ids: bool,
        requests: &mut Vec<FinishedRequest>,
    ) -> Result<usize, ReadRefusal> {
        let before = self.partial.len();
        let head = if before == 0 {
            parse(input, wants_ids)?
        } else {
            self.partial.extend_from_slice(input);
            parse(&self.partial, wants_ids)?
        };
        let Some(head) = head else {
            if before == 0 {
                self.partial.extend_from_slice(input);
            }
            return match self.partial.len() {
                0..=MAX_HEAD => Ok(input.len()),
                _ => Err(ReadRefusal(431)),
            };
        };
        self.partial = Vec::new();
        match head.body {
            None => requests.push(head.request),
            Some(body) => {
                self.body = Some((head.request, body));
                self.wants_continue = head.expects_continue;
            }
        }
        Ok(head.length.saturating_sub(before))
    }
}

struct RequestHead {
    request: FinishedRequest,
    length: usize,
    body: Option<BodyFraming>,
    expects_continue: bool,
}

fn parse(bytes: &[u8], wants_ids: bool) -> Result<Option<RequestHead>, ReadRefusal> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut []);
    let length = match parsed.parse_with_uninit_headers(bytes, &mut headers) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(ReadRefusal(431)),
        Err(_) => return Err(ReadRefusal(400)),
    };
    let fields = Fields::read(parsed.headers, wants_ids)?;
    let method = parsed.method.unwrap_or_default();
    let is_1_1 = parsed.version == Some(1);
    let request = FinishedRequest {
        id: fields.id,
        target: target(parsed.path.unwrap_or_default()),
        is_head: method == "HEAD",
        keep_alive: !fields.close && (is_1_1 || fields.keep_alive),
    };
    Ok(Some(RequestHead {
        request,
        length,
        expects_continue: fields.expects_continue && is_1_1,
        body: match (fields.chunked, fields.length) {
            // Refuse requests with both headers, because they allow request smuggling.
            (true, Some(_)) => return Err(ReadRefusal(400)),
            (true, None) => Some(BodyFraming::Chunks(Chunked::new())),
            (false, Some(0) | None) => None,
            (false, Some(bytes)) => Some(BodyFraming::Bytes(bytes)),
        },
    }))
}

#[derive(Default)]
struct Fields {
    id: Option<Box<[u8]>>,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
}

impl Fields {
    fn read(headers: &[Header<'_>], wants_ids: bool) -> Result<Self, ReadRefusal> {
        let mut fields = Self::default();
        for Header { name, value } in headers {
            match name.len() {
                12 if wants_ids && name.eq_ignore_ascii_case("x-request-id") => {
                    fields.id = Some((*value).into());
                }
                14 if name.eq_ignore_ascii_case("content-length") => {
                    let length = length_of(value).ok_or(ReadRefusal(400))?;
                    if fields.length.is_some_and(|other| other != length) {
                        return Err(ReadRefusal(400));
                    }
                    fields.length = Some(length);
                }
                17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                    if fields.chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                        return Err(ReadRefusal(501));
                    }
                    fields.chunked = true;
                }
                10 if name.eq_ignore_ascii_case("connection") => {
                    let has = |token: &[u8]| {
                        let mut tokens = value.split(|&byte| byte == b',');
                        tokens.any(|one| one.trim_ascii().eq_ignore_ascii_case(token))
                    };
                    fields.close |= has(b"close");
                    fields.keep_alive |= has(b"keep-alive");
                }
                6 if name.eq_ignore_ascii_case("expect") => {
                    fields.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
                }
                _ => {}
            }
        }
        Ok(fields)
    }
}

fn length_of(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    digits_only.then(|| text.parse().ok())?
}

fn target(text: &str) -> Target {
    let path = match text.split_once("://") {
        Some((_, rest)) if !text.starts_with('/') => rest.find('/').map_or("/", |at| &rest[at..]),
        _ => text,
    };
    if !path.starts_with("/__lab/") {
        Target::Any
    } else if path.split('?').next() == Some("/__lab/stats") {
        Target::Stats
    } else {
        Target::Unknown
    }
}

#[cfg(test)]
mod tests;
