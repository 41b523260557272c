use proptest::prelude::*;

use super::*;
use crate::{
    Response, Want,
    heads::dated::{MONDAY, TUESDAY, answer},
};

struct Decoder {
    replies: Replies,
    heads: Heads,
    to_head: bool,
    keep_alive: bool,
}

impl Decoder {
    fn new(method: &str) -> Decoder {
        Decoder {
            replies: Replies::default(),
            heads: Heads::acted_upon(),
            to_head: method == "HEAD",
            keep_alive: false,
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<Fed, ProtocolFault> {
        self.replies
            .feed(bytes, &mut self.heads, self.to_head, Keep::Body)
    }

    fn answer(&mut self) -> Response {
        self.keep_alive = self.replies.keep_alive;
        Response::from_reply(&mut self.replies.reply, Want::ALL)
    }
}

fn whole(method: &str, bytes: &[u8]) -> Result<(Response, Fed), ProtocolFault> {
    let mut decoder = Decoder::new(method);
    let fed = decoder.feed(bytes)?;
    Ok((decoder.answer(), fed))
}

fn is_kept(method: &str, bytes: &[u8]) -> bool {
    let mut decoder = Decoder::new(method);
    decoder.feed(bytes).expect("an answer");
    decoder.answer();
    decoder.keep_alive
}

#[test]
fn length_delimited_body_is_decoded() {
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhelloNEXT";
    let (answer, fed) = whole("GET", wire).expect("an answer");
    assert_eq!(
        (answer.status, answer.body.as_slice(), is_kept("GET", wire)),
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
fn responses_without_body_are_complete() {
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
        let (_, fed) = whole(method, head).expect("an answer");
        assert!(
            fed.done && fed.used == head.len() && is_kept(method, head),
            "{head:?}"
        );
    }
}

#[test]
fn interim_responses_are_skipped() {
    let wire = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx";
    let (answer, fed) = whole("POST", wire).expect("an answer");
    assert_eq!((answer.status, fed.done, fed.used), (201, true, wire.len()));
    assert_eq!(answer.headers.len(), 1);
}

#[test]
fn body_ends_when_connection_closes() {
    let mut decoder = Decoder::new("GET");
    let fed = decoder
        .feed(b"HTTP/1.0 200 OK\r\n\r\nabc")
        .expect("an answer");
    let reply = &decoder.replies.reply;
    assert!(!fed.done && reply.status == 200 && !decoder.replies.keep_alive);
    assert!(decoder.replies.closed());
    assert_eq!(decoder.answer().body, b"abc");
    let mut short = Decoder::new("GET");
    short
        .feed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        .expect("a part");
    assert!(!short.replies.closed());
    assert!(!Decoder::new("GET").replies.closed());
}

#[test]
fn connection_reuse_follows_the_head() {
    let keep = |head: &[u8]| is_kept("HEAD", head);
    assert!(keep(b"HTTP/1.1 200 OK\r\n\r\n"));
    assert!(!keep(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"));
    assert!(!keep(b"HTTP/1.0 200 OK\r\n\r\n"));
    assert!(keep(b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n"));
}

#[test]
fn malformed_responses_are_reported() {
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
    assert_eq!(answer.location(), Some("/x"));
    assert_eq!(answer.set_cookies(), ["a=1", "b=é"]);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 1usize..50) {
        let mut decoder = Decoder::new("GET");
        for piece in bytes.chunks(cut) {
            if decoder.feed(piece).is_err() {
                break;
            }
        }
        let _ = (decoder.replies.closed(), decoder.answer());
    }

    #[test]
    fn result_is_independent_of_splits(body in prop::collection::vec(any::<u8>(), 0..200), chunked in any::<bool>(), cut in 1usize..40) {
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
        let mut decoder = Decoder::new("GET");
        let mut done = false;
        for piece in wire.chunks(cut) {
            prop_assert!(!done);
            let fed = decoder.feed(piece).expect("an answer");
            prop_assert_eq!(fed.used, piece.len());
            done = fed.done;
        }
        prop_assert!(done);
        let answer = decoder.answer();
        prop_assert_eq!(answer.body, reference.body);
        prop_assert_eq!(answer.headers, reference.headers);
    }
}

#[test]
fn server_timing_total_is_parsed() {
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

#[test]
fn responses_are_separated_in_any_split() {
    let mut stream = answer(MONDAY, "hello");
    stream.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.extend(answer(TUESDAY, "hello"));
    stream.extend_from_slice(
        b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    );
    for size in 1..=stream.len() {
        let (mut heads, mut replies) = (Heads::default(), Replies::default());
        let mut seen = Vec::new();
        replies.begin();
        for chunk in stream.chunks(size) {
            let mut rest = chunk;
            while !rest.is_empty() {
                let fed = replies
                    .feed(rest, &mut heads, false, Keep::Body)
                    .expect("HTTP");
                rest = &rest[fed.used..];
                if fed.done {
                    let body = String::from_utf8_lossy(&replies.reply.body).into_owned();
                    assert!(replies.reply.head.ends_with(b"\r\n\r\n"));
                    seen.push((replies.reply.status, body, replies.reply.bytes));
                    replies.begin();
                }
            }
        }
        let bytes: u64 = seen.iter().map(|(_, _, bytes)| bytes).sum();
        assert_eq!(bytes, stream.len() as u64, "size {size}");
        let seen: Vec<_> = seen.iter().map(|(s, b, _)| (*s, b.as_str())).collect();
        assert_eq!(seen, [(200, "hello"), (200, "hello"), (404, "ab")]);
    }
}

#[test]
fn trailers_follow_the_head_in_any_split() {
    let stream = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-T: one\r\nX-U:\r\n\r\n";
    for size in 1..=stream.len() {
        let (mut heads, mut replies) = (Heads::default(), Replies::default());
        replies.begin();
        for piece in stream.chunks(size) {
            replies
                .feed(piece, &mut heads, false, Keep::Head)
                .expect("HTTP");
        }
        let head = String::from_utf8_lossy(&replies.reply.head).into_owned();
        let wanted = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-T: one\r\nX-U:\r\n\r\n";
        assert_eq!(head, wanted, "size {size}");
    }
}

#[test]
fn bodyless_statuses_have_no_body() {
    let (mut heads, mut replies) = (Heads::default(), Replies::default());
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let fed = replies.feed(head, &mut heads, true, Keep::Status);
    assert_eq!(fed.map(|fed| fed.done), Ok(true));
    replies.begin();
    let fed = replies.feed(head, &mut heads, false, Keep::Status);
    assert_eq!(fed.map(|fed| fed.done), Ok(false));
}

#[test]
fn long_bodies_can_be_discarded() {
    let (mut heads, mut replies) = (Heads::default(), Replies::default());
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
    replies
        .feed(head, &mut heads, false, Keep::Head)
        .expect("HTTP");
    assert_eq!(replies.unwanted(), Some(100_000));
    assert!(!replies.discarded(99_999) && replies.discarded(1));
    assert_eq!(replies.reply.bytes, head.len() as u64 + 100_000);
    assert_eq!(heads.first_read(), Some(head.len() + 64));
    replies.begin();
    for keep in [Keep::Body, Keep::Nothing] {
        let half = if keep == Keep::Body {
            &head[..20]
        } else {
            &head[20..]
        };
        replies.feed(half, &mut heads, false, keep).expect("HTTP");
    }
    assert_eq!(replies.unwanted(), None);
    assert_eq!(replies.reply.head, head);
}

#[test]
fn trailers_are_not_headers() {
    let chunks = "0\r\nX-T: one\r\n\r\n";
    for end in ["\r\n", "\n"] {
        let wire = format!("HTTP/1.1 200 OK{end}Transfer-Encoding: chunked{end}{end}{chunks}");
        let (answer, fed) = whole("GET", wire.as_bytes()).expect("an answer");
        assert!(fed.done);
        let only = ("transfer-encoding".to_owned(), "chunked".to_owned());
        assert_eq!(answer.headers, [only]);
    }
}

#[test]
fn excerpt_of_unrequested_failure_is_kept() {
    let (mut heads, mut replies) = (Heads::default(), Replies::default());
    replies.excerpt = 4;
    let mut stored = |head: &str, body: &[u8]| {
        replies.begin();
        let answer = [head.as_bytes(), body].concat();
        for piece in answer.chunks(7) {
            replies
                .feed(piece, &mut heads, false, Keep::Status)
                .expect("HTTP");
        }
        (
            replies.unwanted(),
            replies.reply.body.clone(),
            replies.reply.body_cut,
        )
    };
    let refusal = "HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\n";
    assert_eq!(
        stored(refusal, b"db broken"),
        (None, b"db b".to_vec(), false)
    );
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
    assert_eq!(stored(answer, b"all is ok"), (None, Vec::new(), false));
    let long = "HTTP/1.1 404 No\r\nContent-Length: 100000\r\n\r\n";
    assert_eq!(stored(long, b""), (None, Vec::new(), false));
    assert_eq!(
        stored(long, b"nothing"),
        (Some(99_993), b"noth".to_vec(), false)
    );
}
