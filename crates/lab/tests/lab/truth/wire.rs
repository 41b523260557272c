//! Tests HTTP on the wire: framing, pipelining, large responses, many connections, clients that
//! disappear.

use super::*;

#[test]
fn bodies_of_any_framing_are_skipped() {
    let lab = Truth::start("");
    let mut client = lab.client();
    let body = "x".repeat(300_000);
    assert_eq!(client.request("POST", "/", &body).code, 200);
    client.send_raw(b"PUT /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n");
    assert_eq!(
        lab.stats()["received"]["total"],
        1,
        "received with its last byte"
    );
    client.send_raw(b"0\r\n\r\n");
    assert_eq!(client.receive("PUT").code, 200);
    let head = client.request("HEAD", "/", "");
    assert_eq!(
        (head.code, head.header("content-length")),
        (200, Some("12"))
    );
    client.send_raw(b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n");
    assert_eq!(client.receive("POST").code, 100);
    client.send_raw(b"ok");
    assert_eq!(client.receive("POST").code, 200);
    assert_eq!(lab.stop().requests.len(), 4);
}

#[test]
fn pipeline_is_answered_in_order() {
    let lab = Truth::start("mode=error share=50% service=3ms");
    let mut client = lab.client();
    client.send_raw("GET / HTTP/1.1\r\n\r\n".repeat(20).as_bytes());
    client.send_raw(b"GET /__lab/stats HTTP/1.1\r\n\r\n");
    let codes: Vec<_> = (0..20).map(|_| client.receive("GET").code).collect();
    let stats = client.receive("GET").json();
    assert_eq!(
        stats["answered"]["total"], 20,
        "a client that has its answer finds it counted"
    );
    let log = lab.stop();
    assert_eq!(stats["answered"], log.counts()["answered"]);
    let reported = log.in_order_of_arrival();
    assert!(
        reported
            .iter()
            .zip(codes)
            .all(|(reported, code)| reported.code == Some(code.into()))
    );
    assert!(
        reported.is_sorted_by_key(|reported| reported.release),
        "errors are ready earlier and wait"
    );
}

#[test]
fn own_paths_are_independent_of_mode() {
    let lab = Truth::start("mode=reset share=100%");
    let mut client = lab.client();
    assert_eq!(client.get("/__lab/nowhere").code, 404);
    let empty = client.get("/__lab/stats").json();
    assert_eq!(empty["received"], json!({ "total": 0, "by_route": {} }));
    assert_eq!(
        empty["release_error_ns"],
        json!({ "p50": null, "p99": null, "max": null })
    );
    assert_eq!(empty["start_ns"], Value::Null);
    assert!(lab.stop().requests.is_empty());
}

#[test]
fn connection_closes_as_requested() {
    let lab = Truth::start("service=1ms");
    for (request, code) in [
        (
            &b"GET / HTTP/1.1\r\nconnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n"[..],
            "200",
        ),
        (b"GET / HTTP/1.0\r\n\r\n", "200"),
        (b"GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n", "400"),
        (b"\0\0\0", "400"),
    ] {
        let mut client = lab.client();
        client.send_raw(request);
        let (bytes, ended) = client.receive_all();
        ended.unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {code} ")), "{text}");
        assert!(text.contains("\r\nconnection: close\r\n"), "{text}");
        assert_eq!(text.matches("content-length").count(), 1, "{text}");
    }
    assert_eq!(lab.stats()["received"]["total"], 2);
    assert_eq!(lab.stop().requests.len(), 2);
}

#[test]
fn response_larger_than_socket_buffer_arrives_whole() {
    let lab = Truth::start("body=16777216");
    let mut client = lab.client();
    client.send("GET", "/", "");
    client.send("GET", "/", "");
    lab.stats_when(|stats| stats["answered"]["total"] == 1);
    for _ in 0..2 {
        assert_eq!(client.receive("GET").body.len(), 16 * 1024 * 1024);
    }
    assert_eq!(lab.stop().requests.len(), 2);
}

#[test]
fn vanished_client_is_served_and_counted() {
    let lab = Truth::start("service=5ms");
    for _ in 0..100 {
        lab.client().send("POST", "/", "body");
    }
    let stats = lab.stats_when(|stats| stats["answered"]["total"] == 100);
    lab.stop().assert_agrees(stats);
}

#[test]
fn many_connections_wait_concurrently() {
    let lab = Truth::start("mode=table table=20ms:1,40ms:1,60ms:1");
    let mut clients: Vec<_> = (0..300).map(|_| lab.client()).collect();
    for _ in 0..2 {
        for client in &mut clients {
            client.send("GET", "/", "");
        }
        for client in &mut clients {
            assert_eq!(client.receive("GET").code, 200);
        }
    }
    let stats = lab.stats();
    let log = lab.stop();
    log.assert_agrees(stats);
    assert_eq!(log.requests.len(), 600);
    assert_eq!(
        log.requests
            .iter()
            .filter(|reported| reported.conn == 299)
            .count(),
        2
    );
}
