//! Protocol violations by a hostile server, which end the connection.

use super::*;

/// Passes the bytes after SETTINGS and one request, and expects the violation.
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
fn pings_are_answered_in_order() {
    let mut client = Client::connected(&[]);
    client.connection.ping(*b"roundtri");
    client.receive(&frame(0x6, 0, 0, b"12345678"));
    let sent = client.sent();
    assert_eq!((sent[0].flags, &sent[0].payload[..]), (0, &b"roundtri"[..]));
    assert_eq!((sent[1].flags, &sent[1].payload[..]), (1, &b"12345678"[..]));
    assert_eq!(client.receive(&frame(0x6, 1, 0, b"roundtri")).len(), 1);
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
