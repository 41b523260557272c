use proptest::prelude::*;

use super::*;

const ALL: Want = Want {
    headers: true,
    body: true,
    routing: true,
    timing: true,
};

fn whole(method: &str, bytes: &[u8]) -> Result<(Answer, Fed), ProtocolFault> {
    let mut answer = Answer::default();
    let fed = Decoder::new(method, ALL).feed(bytes, &mut answer)?;
    Ok((answer, fed))
}

#[test]
fn by_length() {
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhelloNEXT";
    let (answer, fed) = whole("GET", wire).expect("an answer");
    assert_eq!(
        (answer.status, answer.body.as_slice(), answer.keep_alive),
        (200, &b"hello"[..], true)
    );
    assert_eq!(
        answer.headers,
        [
            ("content-length".to_owned(), "5".to_owned()),
            ("x-a".to_owned(), "b".to_owned())
        ]
    );
    assert!(fed.done);
    assert_eq!(fed.used, wire.len() - "NEXT".len());
}

#[test]
fn without_a_body() {
    for (method, head) in [
        (
            "HEAD",
            &b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"[..],
        ),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        (
            "GET",
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
        ),
        ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ] {
        let (answer, fed) = whole(method, head).expect("an answer");
        assert!(
            fed.done && fed.used == head.len() && answer.keep_alive,
            "{head:?}"
        );
    }
}

#[test]
fn interim_answers_are_passed_over() {
    let wire = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx";
    let (answer, fed) = whole("POST", wire).expect("an answer");
    assert_eq!((answer.status, fed.done, fed.used), (201, true, wire.len()));
    assert_eq!(answer.headers.len(), 1);
}

#[test]
fn until_close() {
    let mut decoder = Decoder::new("GET", ALL);
    let mut answer = Answer::default();
    let fed = decoder
        .feed(b"HTTP/1.0 200 OK\r\n\r\nabc", &mut answer)
        .expect("an answer");
    assert!(!fed.done && fed.head && !answer.keep_alive);
    assert!(decoder.closed());
    assert_eq!(answer.body, b"abc");
    let mut short = Decoder::new("GET", ALL);
    short
        .feed(
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
            &mut Answer::default(),
        )
        .expect("a part");
    assert!(!short.closed());
    assert!(!Decoder::new("GET", ALL).closed());
}

#[test]
fn who_may_use_the_connection_again() {
    let keep = |head: &[u8]| whole("HEAD", head).expect("an answer").0.keep_alive;
    assert!(keep(b"HTTP/1.1 200 OK\r\n\r\n"));
    assert!(!keep(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"));
    assert!(!keep(b"HTTP/1.0 200 OK\r\n\r\n"));
    assert!(keep(b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n"));
}

#[test]
fn garbage_is_named() {
    let fault = |bytes: &[u8]| whole("GET", bytes).expect_err("garbage");
    assert_eq!(fault(b"SSH-2.0-OpenSSH_9.2\r\n"), ProtocolFault::StatusLine);
    for version in ["HTTP/3.7 200 OK", "HTTP/x 200 OK", "HTTP/1.1200 OK"] {
        let bytes = format!("{version}\r\n\r\n");
        assert_eq!(fault(bytes.as_bytes()), ProtocolFault::Version, "{version}");
    }
    for status in ["HTTP/1.1 abc OK", "HTTP/1.1 20 OK"] {
        let bytes = format!("{status}\r\n\r\n");
        assert_eq!(fault(bytes.as_bytes()), ProtocolFault::Status, "{status}");
    }
    let settings = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64";
    assert_eq!(fault(settings), ProtocolFault::Http2);
    assert_eq!(fault(&settings[..5]), ProtocolFault::Http2);
    assert_eq!(
        fault(b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0"),
        ProtocolFault::Http2
    );
    assert_eq!(
        fault(b"\0\0\x06\x04\0\0\0\0\x01"),
        ProtocolFault::StatusLine
    );
    assert_eq!(fault(b"\x15\x03\x03\0\x02\x02\x28"), ProtocolFault::Tls);
    assert_eq!(
        fault(b"HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n"),
        ProtocolFault::Status
    );
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        ProtocolFault::ContentLength
    );
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        ProtocolFault::Lengths
    );
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\n\0bad: x\r\n\r\n"),
        ProtocolFault::Header
    );
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz"),
        ProtocolFault::ChunkSize
    );
    let endless = [b"HTTP/1.1 200 OK\r\nX: ".as_slice(), &vec![b'a'; MAX_HEAD]].concat();
    assert_eq!(fault(&endless), ProtocolFault::HeadTooLarge);
    let at_once = [&endless, b"\r\nContent-Length: 0\r\n\r\n".as_slice()].concat();
    assert_eq!(fault(&at_once), ProtocolFault::HeadTooLarge);
}

#[test]
fn many_headers_are_read() {
    let many: String = (0..300).map(|i| format!("x-{i}: v\r\n")).collect();
    let (answer, fed) =
        whole("GET", format!("HTTP/1.1 204 No\r\n{many}\r\n").as_bytes()).expect("an answer");
    assert!(fed.done);
    assert_eq!(answer.headers.len(), 300);
}

#[test]
fn routing_headers() {
    let (answer, _) =
        whole("GET", b"HTTP/1.1 302 Found\r\nLocation: /x\r\nSet-Cookie: a=1\r\nSet-Cookie: b=\xe9\r\nContent-Length: 0\r\n\r\n").expect("an answer");
    assert_eq!(answer.location.as_deref(), Some("/x"));
    assert_eq!(answer.set_cookies, ["a=1", "b=é"]);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 1usize..50) {
        let mut decoder = Decoder::new("GET", ALL);
        let mut answer = Answer::default();
        for piece in bytes.chunks(cut) {
            if decoder.feed(piece, &mut answer).is_err() {
                break;
            }
        }
        let _ = decoder.closed();
    }

    #[test]
    fn any_split_gives_the_same(body in prop::collection::vec(any::<u8>(), 0..200), chunked in any::<bool>(), cut in 1usize..40) {
        let mut wire = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nServer: x\r\n".to_vec();
        if chunked {
            wire.extend_from_slice(format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", body.len().max(1)).as_bytes());
            wire.extend_from_slice(if body.is_empty() { b"x" } else { &body });
            wire.extend_from_slice(b"\r\n0\r\n\r\n");
        } else {
            wire.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            wire.extend_from_slice(&body);
        }
        let (reference, fed) = whole("GET", &wire).expect("an answer");
        prop_assert!(fed.done && fed.used == wire.len());
        let mut decoder = Decoder::new("GET", ALL);
        let mut answer = Answer::default();
        let mut done = false;
        for piece in wire.chunks(cut) {
            prop_assert!(!done);
            let fed = decoder.feed(piece, &mut answer).expect("an answer");
            prop_assert_eq!(fed.used, piece.len());
            done = fed.done;
        }
        prop_assert!(done);
        prop_assert_eq!(answer.body, reference.body);
        prop_assert_eq!(answer.headers, reference.headers);
    }
}

#[test]
fn what_the_server_says_it_took() {
    let endless = format!("Server-Timing: total;dur={}", "9".repeat(400));
    for (header, total) in [
        (endless.as_str(), None),
        ("Server-Timing: db;dur=5, total;dur=12.5", Some(12.5)),
        ("server-timing: Total;Dur=3, total;dur=4", Some(3.0)),
        ("Server-Timing: total;dur=", None),
        ("Server-Timing: db;dur=5", None),
        ("X: total;dur=5", None),
    ] {
        let wire = format!("HTTP/1.1 200 OK\r\n{header}\r\nContent-Length: 0\r\n\r\n");
        let (answer, _) = whole("GET", wire.as_bytes()).expect("an answer");
        assert_eq!(answer.server_ms, total, "{header}");
    }
}
