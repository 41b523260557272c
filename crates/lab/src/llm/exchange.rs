//! Serves the lab's connections: reads requests, and writes tokens when they are due. Writes go
//! directly to the socket, so that the log contains their exact times.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::api::{Api, Prompt};
use super::ledger::{LlmEnd, LlmLedger, LlmRecord};
use super::schedule::{Scheduler, TokenSchedule};
use super::settings::LlmConfig;
use crate::draw::Draws;
use crate::own_server::LabState;
use crate::timer::Timer;
use crate::{LabError, clock};

const MAX_HEAD: usize = 64 * 1024;
const MAX_BODY: usize = 16 * 1024 * 1024;
const MAX_HEADERS: usize = 100;

pub(super) struct LlmState {
    pub(super) config: LlmConfig,
    pub(super) scheduler: Scheduler,
    pub(super) ledger: LlmLedger,
    pub(super) cuts: Draws,
    pub(super) timer: Timer,
}

impl LabState for LlmState {
    fn flush(&self) {
        self.ledger.flush();
    }

    fn finish(&self) -> Result<(), LabError> {
        self.ledger.finish()
    }
}

/// Serves requests one after another until the connection ends.
pub(super) async fn connection(state: Arc<LlmState>, mut stream: TcpStream, _number: u64) {
    let mut buffer = Vec::new();
    while let Ok(Some(request)) = read_request(&mut stream, &mut buffer).await {
        if respond(&state, &mut stream, &request).await.is_err() {
            return;
        }
    }
}

struct ReceivedRequest {
    is_post: bool,
    path: String,
    body: Vec<u8>,
    arrival_ns: u64,
}

/// Reads a request. Returns `None` at the end of the connection.
async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<ReceivedRequest>> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let parsed = head.parse(buffer).map_err(io::Error::other)?;
        if let httparse::Status::Complete(head_len) = parsed {
            let length = content_length(head.headers)?;
            let is_post = head.method == Some("POST");
            let path = head.path.unwrap_or_default();
            let path = path.split('?').next().unwrap_or_default().to_owned();
            if expects_continue(head.headers) {
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            }
            while buffer.len() < head_len + length {
                if stream.read_buf(buffer).await? == 0 {
                    return Ok(None);
                }
            }
            let arrival_ns = clock::monotonic_ns();
            let body = buffer[head_len..head_len + length].to_vec();
            buffer.drain(..head_len + length);
            return Ok(Some(ReceivedRequest {
                is_post,
                path,
                body,
                arrival_ns,
            }));
        }
        if buffer.len() > MAX_HEAD || stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn content_length(headers: &[httparse::Header<'_>]) -> io::Result<usize> {
    let mut length = 0;
    for header in headers.iter() {
        if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(io::Error::other("chunked request"));
        }
        if header.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(header.value).map_err(io::Error::other)?;
            length = text.trim().parse().map_err(io::Error::other)?;
        }
    }
    if length > MAX_BODY {
        return Err(io::Error::other("body too large"));
    }
    Ok(length)
}

fn expects_continue(headers: &[httparse::Header<'_>]) -> bool {
    let is_expect = |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case("expect");
    headers.iter().any(|header| is_expect(&header))
}

/// Responds to a request. Fails if the connection has ended.
async fn respond(
    state: &LlmState,
    stream: &mut TcpStream,
    request: &ReceivedRequest,
) -> io::Result<()> {
    if request.path == "/__lab/stats" {
        return answer(stream, "200 OK", &state.ledger.to_json().to_string()).await;
    }
    let Some(api) = Api::for_path(&request.path) else {
        state.ledger.totals().rejected += 1;
        return refuse(stream, "404 Not Found", "try /v1/chat/completions").await;
    };
    if !request.is_post {
        state.ledger.totals().rejected += 1;
        return refuse(stream, "405 Method Not Allowed", "use POST").await;
    }
    match api.prompt(&request.body) {
        Ok(prompt) => stream_tokens(state, stream, api, &prompt, request.arrival_ns).await,
        Err(text) => {
            state.ledger.totals().rejected += 1;
            refuse(stream, "400 Bad Request", text).await
        }
    }
}

async fn refuse(stream: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let body = json!({ "error": { "message": text } });
    answer(stream, status, &body.to_string()).await
}

async fn answer(stream: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).await
}

async fn stream_tokens(
    state: &LlmState,
    stream: &mut TcpStream,
    api: Api,
    prompt: &Prompt,
    arrival_ns: u64,
) -> io::Result<()> {
    let n = state.ledger.received(api);
    let tokens = state
        .config
        .tokens
        .min(prompt.max_tokens.unwrap_or(u64::MAX))
        .max(1);
    let schedule = state.scheduler.admit(n, arrival_ns, prompt.tokens, tokens);
    let TokenSchedule { start_ns, due_ns } = schedule;
    let record = LlmRecord {
        n,
        api,
        arrival_ns,
        start_ns,
        due_ns,
        token_ns: Vec::new(),
        end_ns: None,
        end: LlmEnd::Unfinished,
    };
    let ledger = &state.ledger;
    let mut open = OpenRequest { ledger, record };
    let written = write_response(state, stream, prompt, &mut open.record).await;
    if written.is_err() {
        open.record.end = LlmEnd::Gone;
    }
    match open.record.end {
        LlmEnd::Cut => Err(io::Error::other("cut")),
        _ => written,
    }
}

/// A request in progress, which is logged when it ends or the lab stops.
struct OpenRequest<'a> {
    ledger: &'a LlmLedger,
    record: LlmRecord,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.ledger.ended(&self.record);
    }
}

async fn write_response(
    state: &LlmState,
    stream: &mut TcpStream,
    prompt: &Prompt,
    record: &mut LlmRecord,
) -> io::Result<()> {
    let api = record.api;
    let tokens = record.due_ns.len();
    let is_cut = state.cuts.is_of(state.config.cut, record.n);
    let written = if is_cut { tokens.div_ceil(2) } else { tokens };
    state.timer.until(record.start_ns).await;
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n\r\n",
        api.content_type()
    );
    stream.write_all(head.as_bytes()).await?;
    let bundle = usize::try_from(state.config.bundle).unwrap_or(usize::MAX);
    let mut first = 0;
    while first < written {
        let last = first.saturating_add(bundle).min(written);
        let mut events = if first == 0 {
            api.opening(prompt)
        } else {
            String::new()
        };
        for token in first..last {
            events.push_str(&api.token(token as u64));
        }
        // A bundle is complete when its last token is due.
        state.timer.until(record.due_ns[last - 1]).await;
        let now = clock::monotonic_ns();
        stream.write_all(&chunk(&events)).await?;
        record
            .token_ns
            .extend(std::iter::repeat_n(now, last - first));
        first = last;
    }
    if is_cut {
        record.end = LlmEnd::Cut;
        return Ok(());
    }
    let mut closing = chunk(&api.closing(prompt, tokens as u64));
    closing.extend_from_slice(b"0\r\n\r\n");
    record.end_ns = Some(clock::monotonic_ns());
    stream.write_all(&closing).await?;
    record.end = LlmEnd::Complete;
    Ok(())
}

fn chunk(data: &str) -> Vec<u8> {
    let mut chunk = Vec::with_capacity(data.len() + 12);
    let _ = write!(chunk, "{:x}\r\n", data.len());
    chunk.extend_from_slice(data.as_bytes());
    chunk.extend_from_slice(b"\r\n");
    chunk
}
