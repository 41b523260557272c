//! Receiving responses: events, malformed heads and bodies, and late frames.

use std::rc::Rc;

use super::*;

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
