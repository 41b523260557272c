//! Measures the codec's CPU time per HTTP/2 request with its response, and per streamed event.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock and prints its result"
)]

use std::time::Instant;

use codec::{
    events::{EventKind, EventReader, Format},
    h2::{
        Body, Config, Connection, Event, FieldNumbers, HeadError, HeadSource, HeadTemplate,
        Request, TemplateField, ValueSource,
    },
};

const ROUNDS: u32 = 50_000;
/// Number of requests per write and of responses per read.
const BATCH: u32 = 16;
const EVENTS: u32 = 1_000_000;

fn main() -> Result<(), HeadError> {
    let field = |name, value: &'static [u8]| TemplateField {
        name,
        value: ValueSource::Constant(value),
    };
    let head = HeadTemplate::new(
        &mut FieldNumbers::default(),
        &HeadSource {
            method: ValueSource::Constant(b"GET"),
            scheme: "http",
            authority: ValueSource::Constant(b"127.0.0.1:8080"),
            path: ValueSource::Hole(0),
            fields: &[field("user-agent", b"loadline"), field("accept", b"*/*")],
        },
    )?;
    let mut connection = Connection::new(&Config::default());
    receive(&mut connection, &frame(4, 0, 0, &[]));
    let mut responses = Vec::new();
    let begun = Instant::now();
    let mut answered = 0;
    for _ in 0..ROUNDS {
        responses.clear();
        for _ in 0..BATCH {
            let request = Request {
                head: &head,
                values: &|_| b"/users/123456",
                extra: &[],
                body: Body::None,
            };
            if let Ok(stream) = connection.send(&request) {
                let number = stream.number();
                responses.extend_from_slice(&frame(1, 0x4, number, &response_block()));
                responses.extend_from_slice(&frame(0, 0x1, number, &[b'x'; 32]));
            }
        }
        let written = connection.output().len();
        connection.wrote(written, |_| {});
        answered += receive(&mut connection, &responses);
    }
    let exchange = begun.elapsed() / answered;
    println!("HTTP/2: {exchange:?} per request and response, including this peer");
    println!("OpenAI: {:?} per event", time_per_event());
    Ok(())
}

/// Receives bytes, and returns the number of streams that ended.
fn receive(connection: &mut Connection, mut bytes: &[u8]) -> u32 {
    let mut ended = 0;
    while let Some(event) = connection.next_event(&mut bytes) {
        ended += u32::from(matches!(event, Event::Ended { .. }));
    }
    ended
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    let [s, t, u, v] = stream.to_be_bytes();
    [&[a, b, c, kind, flags, s, t, u, v], payload].concat()
}

/// Returns a response head as nginx encodes it: literals without indexing.
fn response_block() -> Vec<u8> {
    let fields = [
        ("server", "nginx/1.22.1"),
        ("date", "Mon, 01 Jan 2024 00:00:00 GMT"),
        ("content-type", "text/plain"),
        ("content-length", "32"),
    ];
    let mut block = vec![0x88];
    for (name, value) in fields {
        block.extend_from_slice(&[0, name.len() as u8]);
        block.extend_from_slice(name.as_bytes());
        block.push(value.len() as u8);
        block.extend_from_slice(value.as_bytes());
    }
    block
}

fn time_per_event() -> std::time::Duration {
    let event = concat!(
        r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1694268190,"#,
        r#""model":"m","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":"#,
        r#"{"content":"Hello"},"logprobs":null,"finish_reason":null}]}"#,
        "\n\n"
    );
    let mut reader = EventReader::new(Format::OpenAi);
    let (mut content, begun) = (0, Instant::now());
    for _ in 0..EVENTS {
        // The event is far below the limits, so this cannot fail.
        let _ = reader.read(event.as_bytes(), |event| {
            content += u32::from(event.kind == EventKind::Content);
        });
    }
    begun.elapsed() / content
}
