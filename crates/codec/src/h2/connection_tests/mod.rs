//! Unit tests of the connection with handwritten frames.

mod endings;
mod requests;
mod responses;
mod violations;
mod windows;

use super::{
    super::{
        frame::{HEADER_LEN, PREFACE},
        hpack::{HpackError, encoder::Indexing},
        *,
    },
    *,
};

const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
/// `:status: 200`, from the static table.
const OK: &[u8] = &[0x88];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    let [s, t, u, v] = stream.to_be_bytes();
    [&[a, b, c, kind, flags, s, t, u, v], payload].concat()
}

fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let entry = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(
        0x4,
        0,
        0,
        &entries.iter().flat_map(entry).collect::<Vec<u8>>(),
    )
}

fn headers(stream: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(0x1, flags | END_HEADERS, stream, block)
}

/// Encodes a literal field without indexing and without Huffman coding.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let (name, value) = (name.as_bytes(), value.as_bytes());
    [&[0, name.len() as u8], name, &[value.len() as u8], value].concat()
}

fn head_with(fields: &[(&str, &str)]) -> Vec<u8> {
    let fields = fields.iter().flat_map(|(name, value)| literal(name, value));
    OK.iter().copied().chain(fields).collect()
}

fn goaway(last_stream: u32, code: u32, debug: &[u8]) -> Vec<u8> {
    let payload = [&last_stream.to_be_bytes()[..], &code.to_be_bytes(), debug].concat();
    frame(0x7, 0, 0, &payload)
}

fn rst(stream: u32, code: u32) -> Vec<u8> {
    frame(0x3, 0, stream, &code.to_be_bytes())
}

fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(0x8, 0, stream, &increment.to_be_bytes())
}

/// A frame that the client sent.
#[derive(Debug, PartialEq, Eq)]
struct Sent {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

/// A client connection whose server frames are handwritten.
struct Client {
    connection: Connection,
    template: HeadTemplate,
    post: HeadTemplate,
}

impl Client {
    /// Returns a client that has received these settings and written its preface.
    fn connected(entries: &[(u16, u32)]) -> Client {
        let mut client = Client::new(&Config::default());
        assert_eq!(client.receive(&settings(entries)), ["settings"]);
        client.sent();
        client
    }

    fn new(config: &Config) -> Client {
        let mut numbers = FieldNumbers::default();
        let mut head = |method: &'static str| {
            let source = HeadSource {
                method: ValueSource::Constant(method.as_bytes()),
                scheme: "http",
                authority: ValueSource::Constant(b"a.test"),
                path: ValueSource::Constant(b"/"),
                fields: &[],
            };
            HeadTemplate::new(&mut numbers, &source).unwrap()
        };
        Client {
            connection: Connection::new(config),
            template: head("GET"),
            post: head("POST"),
        }
    }

    fn try_send(&mut self, body: Body<'_>) -> Result<StreamId, SendError> {
        let head = match body {
            Body::None => &self.template,
            _ => &self.post,
        };
        let request = Request {
            head,
            values: &|_| b"",
            extra: &[],
            body,
        };
        self.connection.send(&request)
    }

    fn get(&mut self) -> StreamId {
        self.try_send(Body::None).unwrap()
    }

    fn receive(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut input = bytes;
        let mut events = Vec::new();
        while let Some(event) = self.connection.next_event(&mut input) {
            events.push(describe(&event));
        }
        assert!(input.is_empty());
        events
    }

    /// Writes the output, and returns its frames without the preface.
    fn sent(&mut self) -> Vec<Sent> {
        let bytes = self.connection.output().to_vec();
        self.connection.wrote(bytes.len(), |_| {});
        let mut rest = bytes.strip_prefix(PREFACE).unwrap_or(&bytes);
        let mut frames = Vec::new();
        while let Some((header, after)) = rest.split_first_chunk::<HEADER_LEN>() {
            let header = frame::FrameHeader::parse(header);
            let (payload, after) = after.split_at(header.length);
            frames.push(Sent {
                kind: header.kind,
                flags: header.flags,
                stream: header.stream,
                payload: payload.to_vec(),
            });
            rest = after;
        }
        assert!(rest.is_empty());
        frames
    }

    fn sent_code(&mut self, kind: u8) -> Option<ErrorCode> {
        let sent = self.sent().into_iter().find(|sent| sent.kind == kind)?;
        let code = sent.payload.last_chunk::<4>().copied()?;
        Some(ErrorCode(u32::from_be_bytes(code)))
    }
}

fn describe(event: &Event<'_>) -> String {
    match event {
        Event::Settings => "settings".to_owned(),
        Event::Interim { stream, status } => format!("{} interim {status}", stream.number()),
        Event::Head { stream, head } => {
            let fields: Vec<String> = head
                .headers()
                .iter()
                .map(|(n, v)| format!(" {n}={v}"))
                .collect();
            format!(
                "{} head {}{}",
                stream.number(),
                head.status,
                fields.concat()
            )
        }
        Event::Data { stream, bytes, .. } => {
            format!(
                "{} data {}",
                stream.number(),
                String::from_utf8_lossy(bytes)
            )
        }
        Event::Trailers { stream, trailers } => {
            format!("{} trailers {:?}", stream.number(), trailers.headers())
        }
        Event::Ended { stream, outcome } => format!("{} {outcome:?}", stream.number()),
        Event::Pong(payload) => format!("pong {payload:?}"),
        Event::GoAway {
            code,
            last_stream,
            debug,
        } => format!(
            "goaway {code} {last_stream} {}",
            String::from_utf8_lossy(debug)
        ),
        Event::Broken(error) => format!("broken {error:?}"),
    }
}
