use proptest::prelude::*;

use super::*;

fn plain() -> FinishedRequest {
    FinishedRequest {
        id: None,
        target: Target::Any,
        is_head: false,
        keep_alive: true,
    }
}

fn read(bytes: &[u8]) -> Result<Vec<FinishedRequest>, ReadRefusal> {
    let mut requests = Vec::new();
    RequestReader::default().feed(bytes, true, &mut requests)?;
    Ok(requests)
}

const THREE: &[u8] = b"GET /a HTTP/1.1\r\nHost: x\r\nX-Request-ID: one\r\n\r\n\
    POST /b?q=1 HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello\
    PUT /__lab/stats?x HTTP/1.1\r\nTransfer-Encoding: Chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n";

fn three() -> Vec<FinishedRequest> {
    vec![
        FinishedRequest {
            id: Some((*b"one").into()),
            ..plain()
        },
        plain(),
        FinishedRequest {
            target: Target::Stats,
            keep_alive: false,
            ..plain()
        },
    ]
}

#[test]
fn pipelined_requests_are_parsed() {
    assert_eq!(read(THREE), Ok(three()));
}

#[test]
fn request_completes_with_its_last_byte() {
    let post = b"POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nhell";
    assert_eq!(read(post), Ok(vec![]));
    assert_eq!(read(&[&post[..], b"o"].concat()), Ok(vec![plain()]));
}

#[test]
fn keep_alive_follows_version_and_connection() {
    for (head, keep_alive) in [
        ("GET / HTTP/1.1\r\n\r\n", true),
        (
            "GET / HTTP/1.1\r\nConnection: upgrade, Close\r\n\r\n",
            false,
        ),
        ("GET / HTTP/1.0\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n", true),
        (
            "GET / HTTP/1.0\r\nconnection: keep-alive, close\r\n\r\n",
            false,
        ),
    ] {
        let requests = read(head.as_bytes()).unwrap();
        assert_eq!(requests[0].keep_alive, keep_alive, "{head}");
    }
}

#[test]
fn own_paths_are_recognised() {
    for (path, target) in [
        ("/", Target::Any),
        ("*", Target::Any),
        ("/__labs/stats", Target::Any),
        ("/?/__lab/stats", Target::Any),
        ("/a?u=http://b/__lab/stats", Target::Any),
        ("http://host", Target::Any),
        ("http://host:80/__lab/stats", Target::Stats),
        ("/__lab/stats", Target::Stats),
        ("/__lab/", Target::Unknown),
    ] {
        let head = format!("HEAD {path} HTTP/1.1\r\n\r\n");
        let requests = read(head.as_bytes()).unwrap();
        assert_eq!(
            (requests[0].target, requests[0].is_head),
            (target, true),
            "{path}"
        );
    }
}

#[test]
fn unframeable_requests_are_rejected() {
    for (head, code) in [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\ncontent-length: +1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\ncontent-length: \r\n\r\n", 400),
        (
            "GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            400,
        ),
        (
            "GET / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
            400,
        ),
        ("GET / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nx", 400),
    ] {
        assert_eq!(read(head.as_bytes()), Err(ReadRefusal(code)), "{head:?}");
    }
    let many = format!(
        "GET / HTTP/1.1\r\n{}\r\n",
        "a: b\r\n".repeat(MAX_HEADERS + 1)
    );
    assert_eq!(read(many.as_bytes()), Err(ReadRefusal(431)));
    let long = format!("GET / HTTP/1.1\r\na: {}", "b".repeat(MAX_HEAD));
    assert_eq!(read(long.as_bytes()), Err(ReadRefusal(431)));
}

#[test]
fn expect_continue_is_reported_once() {
    let mut reader = RequestReader::default();
    let mut feed = |bytes: &[u8]| {
        let mut requests = Vec::new();
        reader.feed(bytes, false, &mut requests).unwrap();
        (
            requests.len(),
            reader.wants_continue(),
            reader.wants_continue(),
        )
    };
    let head = b"POST / HTTP/1.1\r\nexpect: 100-Continue\r\ncontent-length: 2\r\n\r\n";
    assert_eq!(feed(head), (0, true, false));
    assert_eq!(feed(b"ok"), (1, false, false));
    assert_eq!(feed(&[&head[..], b"o"].concat()), (0, false, false));
    assert_eq!(feed(b"k"), (1, false, false));
}

proptest! {
    #[test]
    fn result_is_independent_of_packets(mut cuts in proptest::collection::vec(0..=THREE.len(), 0..8)) {
        cuts.extend([0, THREE.len()]);
        cuts.sort_unstable();
        let mut reader = RequestReader::default();
        let mut requests = Vec::new();
        for pair in cuts.windows(2) {
            prop_assert_eq!(reader.feed(&THREE[pair[0]..pair[1]], true, &mut requests), Ok(()));
        }
        prop_assert_eq!(requests, three());
    }

    #[test]
    fn any_bytes_are_handled(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
        let _ = read(&[b"POST / HTTP/1.1\r\n", &bytes[..], b"\r\n\r\n"].concat());
    }
}
