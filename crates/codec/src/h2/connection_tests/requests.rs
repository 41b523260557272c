//! Sending requests: the preface, stream limits, heads, and write notifications.

use super::*;

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
