//! Unit tests of the connection against frames written by hand.

use std::rc::Rc;

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
/// `:status: 200` of the static table.
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

/// A literal field without indexing and without Huffman code.
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

/// A client whose server is written by hand.
struct Client {
    connection: Connection,
    template: HeadTemplate,
    post: HeadTemplate,
}

impl Client {
    /// A client that has received these SETTINGS and written its preface.
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

#[test]
fn preface_and_first_request_are_one_write() {
    let mut client = Client::new(&Config::default());
    let first = client.get();
    assert_eq!(client.try_send(Body::None), Err(SendError::NoFreeStream));
    let bytes = client.connection.output().to_vec();
    assert!(bytes.starts_with(PREFACE));
    let mut started = Vec::new();
    let head_at = bytes.len() - 10;
    client
        .connection
        .wrote(head_at - 20, |stream| started.push(stream));
    assert!(started.is_empty(), "SETTINGS and WINDOW_UPDATE only");
    client
        .connection
        .wrote(bytes.len() - head_at + 20, |stream| started.push(stream));
    assert_eq!(started, [first]);
    assert!(client.connection.output().is_empty());
}

#[test]
fn each_write_reports_the_requests_that_it_starts() {
    let mut client = Client::connected(&[]);
    let first = client.get();
    let length = client.connection.output().len();
    let second = client.get();
    let mut started = Vec::new();
    client
        .connection
        .wrote(length, |stream| started.push(stream));
    assert_eq!(started, [first]);
    client.connection.wrote(1, |stream| started.push(stream));
    assert_eq!(started, [first, second]);
    let rest = client.connection.output().len();
    client.connection.wrote(rest, |stream| started.push(stream));
    assert_eq!(started.len(), 2);
}

#[test]
fn streams_are_limited_by_both_sides() {
    let config = Config {
        max_streams: 5,
        ..Config::default()
    };
    let mut client = Client::new(&config);
    assert_eq!(client.connection.free_streams(), 1);
    client.receive(&settings(&[(3, 2)]));
    assert_eq!(client.connection.free_streams(), 2);
    let (first, _) = (client.get(), client.get());
    assert_eq!(client.try_send(Body::None), Err(SendError::NoFreeStream));
    client.receive(&settings(&[(3, 0)]));
    client.receive(&headers(first.number(), END_STREAM, OK));
    assert_eq!(client.connection.free_streams(), 0, "a limit of 0 pauses");
    assert!(client.connection.accepts_requests());
    client.receive(&settings(&[(3, 100)]));
    assert_eq!(client.connection.free_streams(), 4);
    assert_eq!(client.connection.server_stream_limit(), Some(100));
}

#[test]
fn response_with_interim_body_and_trailers_is_answered() {
    let mut client = Client::connected(&[]);
    client.get();
    let bytes = [
        headers(1, 0, &literal(":status", "103")),
        headers(1, 0, &head_with(&[("a", "b"), ("content-length", "5")])),
        frame(0x0, 0x8, 1, b"\x03hel\0\0\0"),
        frame(0x0, 0, 1, b"lo"),
        headers(1, END_STREAM, &literal("grpc-status", "0")),
    ];
    let expected = [
        "1 interim 103",
        "1 head 200 a=b content-length=5",
        "1 data hel",
        "1 data lo",
        "1 trailers [(\"grpc-status\", \"0\")]",
        "1 Answered",
    ];
    assert_eq!(client.receive(&bytes.concat()), expected);
    assert_eq!(client.connection.open_streams(), 0);
}

#[test]
fn any_split_of_the_bytes_gives_the_same_events() {
    let bytes = [
        settings(&[(3, 7)]),
        frame(0xbe, 0, 1, b"unknown"),
        frame(
            0x1,
            0x8 | 0x20,
            1,
            &[&[2, 0, 0, 0, 0, 9][..], OK, &[0, 0]].concat(),
        ),
        frame(0x9, 0, 1, &literal("a", "b")[..2]),
        frame(0x9, END_HEADERS, 1, &literal("a", "b")[2..]),
        frame(0x6, 0, 0, b"12345678"),
        frame(0x0, 0x8, 1, b"\x03hel\0\0\0"),
        frame(0x0, 0x8 | END_STREAM, 1, b"\x02lo\0\0"),
        goaway(1, 0, b"bye"),
    ]
    .concat();
    let run = |parts: &[&[u8]]| {
        let mut client = Client::new(&Config::default());
        client.get();
        let mut events: Vec<String> = Vec::new();
        for part in parts {
            for event in client.receive(part) {
                match (event.strip_prefix("1 data "), events.last_mut()) {
                    (Some(data), Some(last)) if last.starts_with("1 data ") => last.push_str(data),
                    _ => events.push(event),
                }
            }
        }
        (events, client.sent())
    };
    let whole = run(&[&bytes]);
    assert_eq!(
        whole.0,
        [
            "settings",
            "1 head 200 a=b",
            "1 data hello",
            "1 Answered",
            "goaway NO_ERROR 1 bye"
        ]
    );
    for at in 0..bytes.len() {
        assert_eq!(run(&[&bytes[..at], &bytes[at..]]), whole, "split at {at}");
    }
    assert_eq!(run(&bytes.chunks(1).collect::<Vec<_>>()), whole);
}

#[test]
fn repeated_heads_are_shared() {
    let mut client = Client::connected(&[]);
    let mut heads = Vec::new();
    // The first block inserts a field, so it cannot be cached.
    let inserting = [0x88, 0x40, 1, b'a', 1, b'b'];
    for block in [
        &inserting[..],
        &[0x88, 0xbe],
        &[0x88, 0xbe],
        &inserting,
        &[0x88, 0xbf],
    ] {
        let stream = client.get();
        let bytes = headers(stream.number(), END_STREAM, block);
        let mut input = &bytes[..];
        while let Some(event) = client.connection.next_event(&mut input) {
            if let Event::Head { head, .. } = event {
                assert_eq!(head.get("a"), Some(&b"b"[..]));
                heads.push(head);
            }
        }
    }
    assert!(Rc::ptr_eq(&heads[1], &heads[2]));
    assert!(!Rc::ptr_eq(&heads[0], &heads[1]) && !Rc::ptr_eq(&heads[2], &heads[4]));
}

#[test]
fn resets_end_streams_by_their_code() {
    let mut client = Client::connected(&[]);
    for _ in 0..4 {
        client.get();
    }
    assert_eq!(client.receive(&rst(1, 0x7)), ["1 Refused"]);
    assert_eq!(client.receive(&rst(3, 0x2)), ["3 Reset(ErrorCode(2))"]);
    client.receive(&headers(5, 0, OK));
    assert_eq!(
        client.receive(&rst(5, 0)),
        ["5 Reset(ErrorCode(0))"],
        "an incomplete response"
    );
    client.receive(&headers(7, END_STREAM, OK));
    assert!(
        client.receive(&rst(7, 0)).is_empty(),
        "after a complete response"
    );
    let counters = client.connection.counters();
    let resets = &counters.resets_received.0;
    assert!(resets.contains(&(ErrorCode::NO_ERROR.into(), 2)));
    assert_eq!(resets.iter().map(|(_, n)| n).sum::<u64>(), 4);
    assert!(Outcome::Refused.may_resend() && !Outcome::Reset(ErrorCode::CANCEL).may_resend());
}

#[test]
fn goaway_separates_unprocessed_streams() {
    let mut client = Client::connected(&[]);
    for _ in 0..3 {
        client.get();
    }
    let events = client.receive(&goaway(3, 0, &[b'x'; 300]));
    assert_eq!(events[0].len(), "goaway NO_ERROR 3 ".len() + 200);
    assert_eq!(events[1..], ["5 NotProcessed(ErrorCode(0))"]);
    assert!(!client.connection.accepts_requests());
    assert_eq!(client.try_send(Body::None), Err(SendError::NotAccepting));
    assert_eq!(
        client.receive(&headers(1, END_STREAM, OK)),
        ["1 head 200", "1 Answered"]
    );
    let events = client.receive(&goaway(1, 0xb, b""));
    assert_eq!(events[1..], ["3 NotProcessed(ErrorCode(11))"]);
    assert!(client.connection.is_closed());
}

#[test]
fn goaway_with_error_ends_all_streams() {
    let mut client = Client::connected(&[]);
    client.get();
    client.get();
    let events = client.receive(&goaway(1, 0xb, b"calm"));
    let ends = ["1 GoAway(ErrorCode(11))", "3 NotProcessed(ErrorCode(11))"];
    assert_eq!(events[0], "goaway ENHANCE_YOUR_CALM 1 calm");
    assert_eq!(events[1..], ends);
}

#[test]
fn lost_connection_ends_all_streams() {
    let mut client = Client::connected(&[]);
    client.get();
    client.get();
    client.connection.lose();
    assert_eq!(
        client.receive(&[]),
        ["1 ConnectionLost", "3 ConnectionLost"]
    );
    assert!(client.connection.is_closed() && client.receive(b"more").is_empty());
}

#[test]
fn cancelled_stream_is_reset_and_its_frames_are_ignored() {
    let mut client = Client::connected(&[]);
    let first = client.get();
    client.sent();
    client.connection.cancel(first);
    client.connection.cancel(first);
    assert_eq!(client.sent_code(0x3), Some(ErrorCode::CANCEL));
    let resets = &client.connection.counters().resets_sent.0;
    assert_eq!(resets, &[(ErrorCode::CANCEL.into(), 1)]);
    // The block inserts a field, which the next response uses.
    let late = [
        headers(1, 0, &[0x88, 0x40, 1, b'a', 1, b'b']),
        frame(0, END_STREAM, 1, b"late"),
    ];
    assert!(client.receive(&late.concat()).is_empty());
    client.get();
    assert_eq!(
        client.receive(&headers(3, END_STREAM, &[0x88, 0xbe])),
        ["3 head 200 a=b", "3 Answered"]
    );
}

#[test]
fn pings_are_answered_in_order() {
    let mut client = Client::connected(&[]);
    client.connection.ping(*b"roundtri");
    client.receive(&frame(0x6, 0, 0, b"12345678"));
    let sent = client.sent();
    assert_eq!((sent[0].flags, &sent[0].payload[..]), (0, &b"roundtri"[..]));
    assert_eq!((sent[1].flags, &sent[1].payload[..]), (1, &b"12345678"[..]));
    assert_eq!(client.receive(&frame(0x6, 1, 0, b"roundtri")).len(), 1);
}

fn data_of(sent: &[Sent], stream: u32) -> Vec<u8> {
    let frames = sent
        .iter()
        .filter(|sent| sent.kind == 0 && sent.stream == stream);
    frames.flat_map(|sent| sent.payload.clone()).collect()
}

#[test]
fn upload_continues_with_window_updates() {
    for shared in [false, true] {
        let mut client = Client::connected(&[(4, 10)]);
        let body: Rc<[u8]> = (0..25).collect();
        let upload = if shared {
            Body::Shared(&body)
        } else {
            Body::Bytes(&body)
        };
        client.try_send(upload).unwrap();
        let mut data = data_of(&client.sent(), 1);
        assert_eq!(data.len(), 10);
        assert_eq!(client.connection.blocked_uploads(), 1);
        client.receive(&window_update(1, 5));
        data.extend(data_of(&client.sent(), 1));
        assert_eq!(data.len(), 15);
        client.receive(&settings(&[(4, 30)]));
        let sent = client.sent();
        data.extend(data_of(&sent, 1));
        assert_eq!(data, *body);
        let last = sent.iter().rfind(|sent| sent.kind == 0).unwrap();
        assert_eq!(last.flags, END_STREAM);
        let connection = &client.connection;
        assert_eq!(
            (
                connection.blocked_uploads(),
                connection.counters().uploads_blocked
            ),
            (0, 2)
        );
    }
}

#[test]
fn uploads_share_the_connection_window_in_turns() {
    let mut client = Client::connected(&[(4, 1 << 20)]);
    let body = vec![b'x'; 60_000];
    client.try_send(Body::Bytes(&body)).unwrap();
    client.try_send(Body::Bytes(&body)).unwrap();
    let mut sent = client.sent();
    assert!(
        client.connection.blocked_uploads() == 0,
        "the output is full, not the window"
    );
    sent.extend(client.sent());
    let length = |sent: &[Sent], stream| data_of(sent, stream).len();
    assert_eq!(length(&sent, 1) + length(&sent, 3), 65_535);
    assert_eq!(client.connection.blocked_uploads(), 1);
    client.receive(&window_update(0, 100_000));
    sent.extend(client.sent());
    assert_eq!((length(&sent, 1), length(&sent, 3)), (60_000, 60_000));
    assert_eq!(client.connection.blocked_uploads(), 0);
}

#[test]
fn reduced_initial_window_can_be_negative() {
    let mut client = Client::connected(&[(4, 10)]);
    client.try_send(Body::Bytes(&[1; 20])).unwrap();
    client.sent();
    client.receive(&settings(&[(4, 4)]));
    client.receive(&window_update(1, 6));
    assert!(data_of(&client.sent(), 1).is_empty());
    client.receive(&window_update(1, 3));
    assert_eq!(data_of(&client.sent(), 1).len(), 3);
}

#[test]
fn early_response_drops_the_upload() {
    let mut client = Client::connected(&[(4, 10)]);
    client.try_send(Body::Bytes(&[1; 20])).unwrap();
    client.sent();
    assert_eq!(
        client.receive(&headers(1, END_STREAM, OK)),
        ["1 head 200", "1 Answered"]
    );
    assert_eq!(client.sent_code(0x3), Some(ErrorCode::NO_ERROR));
    assert_eq!(client.connection.blocked_uploads(), 0);
}

#[test]
fn received_data_is_returned_to_the_windows() {
    let config = Config {
        window: 100_000,
        ..Config::default()
    };
    let mut client = Client::new(&config);
    client.get();
    client.receive(&[settings(&[]), headers(1, 0, OK)].concat());
    client.sent();
    let mut returned = 0;
    for _ in 0..100 {
        client.receive(&frame(0, 0, 1, &[b'x'; 10_000]));
        for sent in client.sent() {
            assert_eq!(sent.kind, 0x8);
            if sent.stream == 0 {
                returned += u32::from_be_bytes(*sent.payload.first_chunk().unwrap());
            }
        }
    }
    assert!((900_000..=1_000_000).contains(&returned), "{returned}");
}

#[test]
fn large_head_is_split_into_continuations() {
    let mut client = Client::connected(&[]);
    let value = "\u{1}".repeat(40_000);
    let extra = [Field {
        name: b"x-large",
        value: value.as_bytes(),
    }];
    let request = Request {
        head: &client.template,
        values: &|_| b"",
        extra: &extra,
        body: Body::None,
    };
    client.connection.send(&request).unwrap();
    let sent = client.sent();
    let kinds: Vec<_> = sent.iter().map(|sent| (sent.kind, sent.flags)).collect();
    assert_eq!(kinds, [(0x1, END_STREAM), (0x9, 0), (0x9, END_HEADERS)]);
    assert!(sent.iter().all(|sent| sent.payload.len() <= 16_384));
}

#[test]
fn content_length_is_added_to_bodies() {
    let mut client = Client::connected(&[]);
    let config = Config {
        indexing: Indexing::Literal,
        ..Config::default()
    };
    client.connection = Connection::new(&config);
    client.try_send(Body::Bytes(b"")).unwrap();
    let sent = client.sent();
    let head = sent.iter().find(|sent| sent.kind == 1).unwrap();
    assert_eq!(head.flags, END_STREAM | END_HEADERS);
    assert!(
        head.payload.ends_with(&[0x0f, 0x0d, 0x01, b'0']),
        "{:x?}",
        head.payload
    );
}

#[test]
fn last_stream_number_exhausts_the_connection() {
    let mut client = Client::connected(&[]);
    client.connection.next_stream = (1 << 31) - 1;
    assert_eq!(client.connection.free_streams(), 1);
    let last = client.get();
    assert_eq!(last.number(), (1 << 31) - 1);
    assert!(!client.connection.accepts_requests());
    let events = client.receive(&headers(last.number(), END_STREAM, OK));
    assert!(events[1].ends_with("Answered"));
}

/// Passes bytes after SETTINGS and one request, and expects the violation of a hostile server.
fn expect_violations<const N: usize>(cases: [(Vec<u8>, ConnectionError); N]) {
    for (bytes, error) in cases {
        let mut client = Client::connected(&[]);
        client.get();
        client.sent();
        let events = client.receive(&bytes);
        let broken = format!("broken {error:?}");
        assert!(events.contains(&broken), "{error:?}: {events:?}");
        let ended = format!("1 {:?}", Outcome::ConnectionError(error));
        assert_eq!(events.last(), Some(&ended), "{events:?}");
        assert_eq!(client.sent_code(0x7), Some(error.violation().code));
        assert!(client.connection.is_closed());
    }
}

#[test]
fn invalid_frames_end_the_connection() {
    use ConnectionError as E;
    expect_violations([
        (headers(0, 0, OK), E::StreamZero),
        (frame(0, 0, 0, b"x"), E::StreamZero),
        (frame(4, 0, 1, b""), E::StreamZero),
        (frame(6, 0, 1, &[0; 8]), E::StreamZero),
        (frame(7, 0, 1, &[0; 8]), E::StreamZero),
        (rst(0, 8), E::StreamZero),
        (headers(3, 0, OK), E::IdleStream),
        (headers(2, 0, OK), E::IdleStream),
        (frame(0, 0, 5, b"x"), E::IdleStream),
        (rst(5, 8), E::IdleStream),
        (window_update(5, 1), E::IdleStream),
        (frame(5, END_HEADERS, 1, &[0, 0, 0, 2, 0x82]), E::Push),
        (frame(0, 0x8, 1, b""), E::FrameSize),
        (frame(0, 0x8, 1, b"\x05hell"), E::Padding),
        (headers(1, 0x8, &[5, 0x88]), E::Padding),
        (frame(6, 0, 0, b"short"), E::FrameSize),
        (frame(4, 0, 0, b"12345"), E::FrameSize),
        (frame(4, 1, 0, b"123456"), E::FrameSize),
        (frame(3, 0, 1, b"123"), E::FrameSize),
        (frame(7, 0, 0, b"1234567"), E::FrameSize),
        (frame(8, 0, 1, b"123"), E::FrameSize),
        (frame(0, 0, 1, &[0; 16_385]), E::FrameTooLarge),
        (frame(0xee, 0, 1, &[0; 16_385]), E::FrameTooLarge),
    ]);
}

#[test]
fn invalid_header_blocks_end_the_connection() {
    use ConnectionError as E;
    let many_continuations: Vec<u8> = [frame(1, 0, 1, OK), frame(9, 0, 1, b"").repeat(9)].concat();
    let large_block = [frame(1, 0, 1, OK), frame(9, 0, 1, &[0; 16_384]).repeat(4)].concat();
    expect_violations([
        (frame(9, END_HEADERS, 1, OK), E::Continuation),
        (
            [frame(1, 0, 1, OK), frame(6, 0, 0, &[0; 8])].concat(),
            E::Continuation,
        ),
        (
            [frame(1, 0, 1, OK), frame(0xee, 0, 1, b"")].concat(),
            E::Continuation,
        ),
        (
            [frame(1, 0, 1, OK), frame(9, END_HEADERS, 3, b"")].concat(),
            E::Continuation,
        ),
        (many_continuations, E::TooManyContinuations),
        (large_block, E::HeaderBlockTooLarge),
        (
            headers(1, 0, &[0xff, 0xff]),
            E::Hpack(HpackError::Truncated),
        ),
        (headers(1, 0, &[0x80]), E::Hpack(HpackError::Index)),
    ]);
}

#[test]
fn invalid_settings_windows_and_floods_end_the_connection() {
    use ConnectionError as E;
    expect_violations([
        (settings(&[(2, 1)]), E::Setting),
        (settings(&[(5, 16_383)]), E::Setting),
        (settings(&[(5, 1 << 24)]), E::Setting),
        (settings(&[(4, 1 << 31)]), E::WindowOverflow),
        (window_update(0, 0), E::WindowIncrement),
        (window_update(0, (1 << 31) - 1), E::WindowOverflow),
        (
            [window_update(1, 1 << 30), settings(&[(4, (1 << 31) - 1)])].concat(),
            E::WindowOverflow,
        ),
        (
            [goaway(1, 0, b""), goaway(3, 0, b"")].concat(),
            E::GoAwayIncreased,
        ),
        (frame(6, 0, 0, &[0; 8]).repeat(65), E::AcknowledgementFlood),
        (settings(&[]).repeat(65), E::AcknowledgementFlood),
        (frame(6, 1, 0, &[0; 8]).repeat(1001), E::ControlFlood),
        (frame(2, 0, 1, &[0; 5]).repeat(1001), E::ControlFlood),
        (frame(0xee, 0, 0, b"").repeat(1001), E::ControlFlood),
        (window_update(0, 1).repeat(1001), E::ControlFlood),
        (
            [headers(1, 0, OK), frame(0, 0, 1, b"").repeat(1001)].concat(),
            E::ControlFlood,
        ),
    ]);
}

#[test]
fn frames_after_the_end_of_a_stream_are_refused() {
    for late in [headers(1, 0, OK), frame(0, 0, 1, b"x")] {
        let mut client = Client::connected(&[]);
        client.get();
        client.receive(&headers(1, END_STREAM, OK));
        assert_eq!(client.receive(&late), ["broken ClosedStream"]);
    }
}

#[test]
fn first_frame_must_be_settings() {
    for (bytes, error) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "Http1"),
        (b"HTTP/1.0 400 Bad Request\r\n\r\n".to_vec(), "Http1"),
        (vec![0x15, 3, 1, 0, 2, 2, 70, 0, 0], "Tls"),
        (b"SSH-2.0-OpenSSH".to_vec(), "Preface"),
        (frame(6, 0, 0, &[0; 8]), "Preface"),
        (frame(4, 1, 0, &[]), "Preface"),
    ] {
        let mut client = Client::new(&Config::default());
        client.get();
        let events = client.receive(&bytes);
        assert_eq!(events[0], format!("broken {error}"));
        assert_eq!(events.len(), 2);
    }
}

#[test]
fn control_frames_are_counted_per_second() {
    let mut client = Client::connected(&[]);
    client.get();
    let pong = frame(6, 1, 0, &[0; 8]);
    client.receive(&pong.repeat(999));
    client.connection.begin_second();
    client.receive(&pong.repeat(1000));
    client.receive(&headers(1, 0, OK));
    assert_eq!(
        client.receive(&pong.repeat(1000)).len(),
        1000,
        "a head is progress"
    );
    assert!(client.receive(&pong)[0].starts_with("broken"));
}

#[test]
fn connection_window_is_enforced() {
    let config = Config {
        window: 65_535,
        ..Config::default()
    };
    let mut client = Client::new(&config);
    client.get();
    client.receive(&[settings(&[]), headers(1, 0, OK)].concat());
    client.connection.receive.available = 9_999;
    let events = client.receive(&frame(0, 0, 1, &[0; 10_000]));
    assert_eq!(events[0], "broken WindowExceeded");
}

#[test]
fn malformed_responses_end_only_their_stream() {
    use StreamError as E;
    let status = |value: &str| headers(1, END_STREAM, &literal(":status", value));
    let field = |name: &str, value: &str| headers(1, END_STREAM, &head_with(&[(name, value)]));
    let long = |length: &str, data: &[u8]| {
        let head = headers(1, 0, &head_with(&[("content-length", length)]));
        [head, frame(0, END_STREAM, 1, data)].concat()
    };
    for (bytes, error) in [
        (headers(1, END_STREAM, &literal("a", "b")), E::Status),
        (status("20"), E::Status),
        (status("2000"), E::Status),
        (status("abc"), E::Status),
        (headers(1, END_STREAM, &[0x88, 0x88]), E::Status),
        (field(":path", "/"), E::PseudoField),
        (
            headers(1, END_STREAM, &[&literal("a", "b"), OK].concat()),
            E::PseudoField,
        ),
        (field("Upper", "x"), E::FieldName),
        (field("", "x"), E::FieldName),
        (field("a b", "x"), E::FieldName),
        (field("a", "x\ny"), E::FieldValue),
        (field("a", "x\0"), E::FieldValue),
        (field("a", " x"), E::FieldValue),
        (field("connection", "close"), E::ConnectionField),
        (field("transfer-encoding", "chunked"), E::ConnectionField),
        (field("te", "gzip"), E::ConnectionField),
        (field("content-length", "x"), E::ContentLength),
        (field("content-length", "1"), E::BodyLength),
        (long("5", b"hell"), E::BodyLength),
        (long("5", b"helloo"), E::BodyLength),
        (frame(0, 0, 1, b"x"), E::BodyBeforeHead),
        (
            headers(1, END_STREAM, &literal(":status", "100")),
            E::Interim,
        ),
        (headers(1, 0, &literal(":status", "101")), E::Interim),
        (
            [headers(1, 0, OK), headers(1, 0, &literal("a", "b"))].concat(),
            E::Trailers,
        ),
        (
            [headers(1, 0, OK), headers(1, END_STREAM, OK)].concat(),
            E::PseudoField,
        ),
        (
            [
                headers(1, 0, &literal(":status", "204")),
                frame(0, 0, 1, b"x"),
            ]
            .concat(),
            E::UnexpectedBody,
        ),
        (window_update(1, 0), E::WindowIncrement),
        (window_update(1, (1 << 31) - 1), E::WindowOverflow),
        (frame(2, 0, 1, &[0; 4]), E::PrioritySize),
    ] {
        let mut client = Client::connected(&[]);
        client.get();
        client.get();
        client.sent();
        let events = client.receive(&bytes);
        let ended = format!("1 {:?}", Outcome::StreamError(error));
        assert_eq!(events.last(), Some(&ended), "{bytes:x?}");
        assert_eq!(
            client.sent_code(0x3),
            Some(error.violation().code),
            "{error:?}"
        );
        let other = client.receive(&headers(3, END_STREAM, OK));
        assert_eq!(
            other,
            ["3 head 200", "3 Answered"],
            "the connection continues"
        );
    }
}

#[test]
fn stream_may_fail_within_a_data_frame() {
    let mut client = Client::connected(&[]);
    client.get();
    client.receive(&headers(1, 0, &head_with(&[("content-length", "2")])));
    let data = frame(0, 0, 1, b"hello");
    let failed = format!("1 {:?}", Outcome::StreamError(StreamError::BodyLength));
    assert_eq!(client.receive(&data[..12]), [failed]);
    assert!(client.receive(&data[12..]).is_empty());
    client.get();
    assert_eq!(client.receive(&headers(3, END_STREAM, OK)).len(), 2);
}

#[test]
fn head_request_may_have_content_length_without_body() {
    let mut client = Client::connected(&[]);
    let source = HeadSource {
        method: ValueSource::Hole(0),
        scheme: "http",
        authority: ValueSource::Constant(b"a.test"),
        path: ValueSource::Constant(b"/"),
        fields: &[],
    };
    let head = HeadTemplate::new(&mut FieldNumbers::default(), &source).unwrap();
    let request = Request {
        head: &head,
        values: &|_| b"HEAD",
        extra: &[],
        body: Body::None,
    };
    client.connection.send(&request).unwrap();
    let events = client.receive(&headers(
        1,
        END_STREAM,
        &head_with(&[("content-length", "9")]),
    ));
    assert_eq!(events[1], "1 Answered");
}
