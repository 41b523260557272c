//! Tests of frames, messages and handshakes, with handwritten frames.

use proptest::prelude::*;

use super::frame::apply_mask;
use super::handshake::{
    UpgradeError, UpgradeOffer, Upgraded, accept_key, check_response, request_key,
};
use super::*;

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn limits(message: usize) -> Limits {
    Limits { message }
}

/// Reads bytes in parts of `piece` bytes, and returns the events and the violation as texts.
fn events(mut reader: Reader, bytes: &[u8], piece: usize) -> Vec<String> {
    let mut events = Vec::new();
    for part in bytes.chunks(piece) {
        let mut input = part;
        loop {
            match reader.read(&mut input) {
                Ok(Some(event)) => events.push(format!("{event:?}")),
                Ok(None) => break,
                Err(error) => {
                    events.push(error.name().to_owned());
                    break;
                }
            }
        }
        assert!(input.is_empty() || events.last().is_some());
    }
    events
}

/// Reads the bytes in equal parts of every possible length, and checks that all results are equal.
fn every_split(reader: impl Fn() -> Reader, bytes: &[u8]) -> Vec<String> {
    let whole = events(reader(), bytes, bytes.len().max(1));
    for piece in 1..bytes.len() {
        assert_eq!(events(reader(), bytes, piece), whole, "parts of {piece}");
    }
    whole
}

fn client(bytes: &[u8]) -> Vec<String> {
    every_split(|| Reader::new(Role::Client, limits(1000)), bytes)
}

fn server(bytes: &[u8]) -> Vec<String> {
    every_split(|| Reader::new(Role::Server, limits(1000)), bytes)
}

fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    assert!(length < 126);
    [&[first, length], payload].concat()
}

#[test]
fn examples_of_rfc_6455() {
    let hello = [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
    assert_eq!(client(&hello), [r#"Text("Hello")"#]);
    let masked = [
        0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58,
    ];
    assert_eq!(server(&masked), [r#"Text("Hello")"#]);
    let fragments = [0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f];
    assert_eq!(client(&fragments), [r#"Text("Hello")"#]);
    let ping = [0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
    assert_eq!(client(&ping), ["Ping([72, 101, 108, 108, 111])"]);
    let pong = [
        0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58,
    ];
    assert_eq!(server(&pong), ["Pong([72, 101, 108, 108, 111])"]);

    let mut written = Vec::new();
    write_text(&mut written, None, "Hello");
    write_text(&mut written, Some(MASK), "Hello");
    write_ping(&mut written, None, b"Hello").unwrap();
    write_pong(&mut written, Some(MASK), b"Hello").unwrap();
    assert_eq!(written, [&hello[..], &masked, &ping, &pong].concat());
    for (length, header) in [
        (256, &[0x82, 0x7e, 0x01, 0x00][..]),
        (65_536, &[0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]),
    ] {
        let mut written = Vec::new();
        write_binary(&mut written, None, &vec![7; length]);
        assert!(written.starts_with(header));
        let reader = Reader::new(Role::Client, Limits::default());
        let event = format!("{:?}", Event::Binary(&vec![7; length]));
        assert_eq!(events(reader, &written, 999), [event]);
    }
}

#[test]
fn control_frames_between_fragments_are_separate_events() {
    let bytes = [
        frame(0x01, "sch\u{f6}n".as_bytes()).as_slice(),
        &frame(0x89, b"1"),
        &frame(0x00, b""),
        &frame(0x8a, b"2"),
        &frame(0x80, b"!"),
        &frame(0x82, &[1]),
    ]
    .concat();
    assert_eq!(
        client(&bytes),
        [
            "Ping([49])",
            "Pong([50])",
            "Text(\"sch\u{f6}n!\")",
            "Binary([1])"
        ]
    );
}

#[test]
fn characters_may_be_split_by_fragments() {
    let euro = "\u{20ac}".as_bytes();
    let bytes = [frame(0x01, &euro[..1]), frame(0x80, &euro[1..])].concat();
    assert_eq!(client(&bytes), ["Text(\"\u{20ac}\")"]);
}

#[test]
fn violations_are_named() {
    let cases: &[(&[u8], &str, u16)] = &[
        (&[0xc1, 0], "reserved_bits", 1002),
        (&[0xa1, 0], "reserved_bits", 1002),
        (&[0x91, 0], "reserved_bits", 1002),
        (&[0x83, 0], "reserved_opcode", 1002),
        (&[0x8b, 0], "reserved_opcode", 1002),
        (&[0x81, 0x80], "masked", 1002),
        (&[0x09, 0], "fragmented_control", 1002),
        (&[0x89, 126], "control_too_long", 1002),
        (&[0x82, 126, 0, 125], "non_minimal_length", 1002),
        (
            &[0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff],
            "non_minimal_length",
            1002,
        ),
        (
            &[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
            "length_top_bit",
            1002,
        ),
        (&[0x80, 0], "unexpected_continuation", 1002),
        (&[0x01, 0, 0x81, 0], "interrupted_message", 1002),
        (&[0x01, 0, 0x02, 0], "interrupted_message", 1002),
        (&[0x81, 1, 0xff], "utf8", 1007),
        (&[0x01, 1, 0xff], "utf8", 1007),
        // The frame is incomplete.
        (&[0x81, 9, b'a', 0xff], "utf8", 1007),
        (&[0x01, 1, 0xe2, 0x80, 1, b'a'], "utf8", 1007),
        // The character is incomplete.
        (&[0x01, 1, 0xe2, 0x80, 0], "utf8", 1007),
        (&[0x88, 1, 3], "close_payload", 1002),
        (&[0x88, 3, 3, 232, 0xff], "close_reason", 1007),
        (&[0x82, 126, 3, 233], "message_too_large", 1009),
        (&[0x02, 1, 9, 0x80, 126, 3, 232], "message_too_large", 1009),
        (
            &[0x82, 127, 0x7f, 0, 0, 0, 0, 0, 0, 0],
            "message_too_large",
            1009,
        ),
    ];
    for (bytes, name, code) in cases {
        assert_eq!(client(bytes), [*name], "{bytes:02x?}");
        let mut reader = Reader::new(Role::Client, limits(1000));
        let error = loop {
            match reader.read(&mut &bytes[..]) {
                Err(error) => break error,
                Ok(event) => assert!(event.is_some(), "{bytes:02x?}"),
            }
        };
        assert_eq!(error.close_code(), *code);
    }
    assert_eq!(server(&[0x81, 0]), ["unmasked"]);
}

#[test]
fn close_codes_follow_the_registry() {
    let allowed = [
        1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000,
        4999,
    ];
    let refused = [
        0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535,
    ];
    for code in allowed {
        let mut bytes = Vec::new();
        let close = Close { code, reason: "r" };
        write_close(&mut bytes, None, Some(close)).unwrap();
        assert_eq!(client(&bytes), [format!("{:?}", Event::Close(Some(close)))]);
    }
    for code in refused {
        let close = Close { code, reason: "" };
        let written = write_close(&mut Vec::new(), None, Some(close));
        assert_eq!(written, Err(FrameError::CloseCode));
        let bytes = [&[0x88, 2][..], &u16::to_be_bytes(code)].concat();
        assert_eq!(client(&bytes), ["close_code"], "{code}");
    }
    assert_eq!(client(&[0x88, 0]), ["Close(None)"]);
}

#[test]
fn nothing_is_read_after_a_close_frame() {
    let bytes = [&frame(0x01, b"a")[..], &[0x88, 0], &[0xff; 40]].concat();
    assert_eq!(client(&bytes), ["Close(None)"]);
    let mut reader = Reader::new(Role::Client, limits(1000));
    let mut input = &bytes[..];
    assert!(reader.read(&mut input).unwrap().is_some());
    assert!(reader.read(&mut input).unwrap().is_none());
    assert!(input.is_empty() && !reader.is_mid_message());
    assert_eq!(reader.held(), 0);
}

#[test]
fn long_control_frames_cannot_be_written() {
    let mut out = Vec::new();
    let too_long = Err(FrameError::ControlTooLong);
    assert_eq!(write_ping(&mut out, None, &[0; 126]), too_long);
    assert_eq!(write_pong(&mut out, None, &[0; 126]), too_long);
    let reason = "r".repeat(124);
    let close = Close {
        code: 1000,
        reason: &reason,
    };
    assert_eq!(write_close(&mut out, None, Some(close)), too_long);
    assert!(out.is_empty());
}

#[test]
fn whole_frames_are_borrowed_from_the_input() {
    let bytes = [frame(0x81, b"text"), frame(0x89, b"ping")].concat();
    let mut reader = Reader::new(Role::Client, limits(1000));
    let mut input = &bytes[..];
    let Ok(Some(Event::Text(text))) = reader.read(&mut input) else {
        panic!("no text");
    };
    assert!(std::ptr::eq(text.as_ptr(), &raw const bytes[2]));
    let Ok(Some(Event::Ping(ping))) = reader.read(&mut input) else {
        panic!("no ping");
    };
    assert!(std::ptr::eq(ping.as_ptr(), &raw const bytes[8]));
    assert_eq!(reader.held(), 0);
}

#[test]
fn idle_connections_hold_no_buffers() {
    assert!(size_of::<Reader>() <= 128, "{}", size_of::<Reader>());
    let mut bytes = frame(0x02, &[1; 100]);
    bytes.extend(frame(0x89, b"ping"));
    bytes.extend(frame(0x80, &[2; 50]));
    let mut reader = Reader::new(Role::Client, limits(1000));
    assert!(!reader.is_mid_message());
    for (number, byte) in bytes.iter().enumerate() {
        let mut input = std::slice::from_ref(byte);
        while reader.read(&mut input).unwrap().is_some() {}
        assert_eq!(reader.is_mid_message(), number + 1 < bytes.len());
    }
    assert_eq!(reader.held(), 0);
}

#[test]
fn a_declared_length_allocates_nothing() {
    let mut reader = Reader::new(Role::Client, Limits::default());
    let header = [0x82, 127, 0, 0, 0, 0, 0, 0xff, 0, 0, 1];
    assert!(reader.read(&mut &header[..]).unwrap().is_none());
    assert!((1..100).contains(&reader.held()), "{}", reader.held());
}

fn accepted(offers: &str) -> Negotiated {
    accept_offer(offers).unwrap().negotiated
}

const NO_CONTEXT: &str =
    "permessage-deflate; client_no_context_takeover; server_no_context_takeover";

fn inflating(offers: &'static str) -> impl Fn() -> Reader {
    move || Reader::new(Role::Client, limits(1000)).with_deflate(accepted(offers))
}

#[test]
fn examples_of_rfc_7692() {
    let text = r#"Text("Hello")"#;
    let one = [0xc1, 0x07, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let fragments = [
        0x41, 0x03, 0xf2, 0x48, 0xcd, 0x80, 0x04, 0xc9, 0xc9, 0x07, 0x00,
    ];
    let again = [0xc1, 0x05, 0xf2, 0x00, 0x11, 0x00, 0x00];
    let stored = [
        0xc1, 0x0b, 0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00,
    ];
    let last = [0xc1, 0x08, 0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00];
    let two = [
        0xc1, 0x0d, 0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00,
    ];
    let full = inflating("permessage-deflate");
    let shared = inflating(NO_CONTEXT);
    for example in [&one[..], &fragments, &stored, &last, &two] {
        assert_eq!(every_split(&full, example), [text]);
        assert_eq!(every_split(&shared, example), [text]);
        // A final block does not end the window.
        let twice = [example, &again].concat();
        assert_eq!(every_split(&full, &twice), [text, text]);
        assert_eq!(every_split(&shared, &twice), [text, "deflate"]);
    }
    let uncompressed = [&frame(0x81, b"Hello")[..], &one].concat();
    assert_eq!(every_split(&shared, &uncompressed), [text, text]);
}

#[test]
fn faults_of_compressed_messages_are_named() {
    let full = inflating("permessage-deflate");
    let cases: [(Vec<u8>, &str); 8] = [
        // Reserved block type.
        (frame(0xc1, &[0x07]), "deflate"),
        // Cut within a block.
        (frame(0xc1, &[0xf2, 0x48, 0xcd, 0xc9]), "deflate"),
        (frame(0xc1, &[]), "deflate"),
        (frame(0xc1, &[0, 1, 0, 0, 0, 7]), "deflate"),
        // Endless final blocks.
        (frame(0xc1, &[3, 0].repeat(40)), "deflate"),
        // RSV1 on frames other than the first frame of a message.
        (frame(0xc9, b""), "reserved_bits"),
        (
            [frame(0x41, &[0xf2]), frame(0xc0, &[0])].concat(),
            "reserved_bits",
        ),
        // Latin-1.
        (frame(0xc1, &[0, 1, 0, 0xfe, 0xff, 0xe4, 0]), "utf8"),
    ];
    for (bytes, name) in cases {
        assert_eq!(every_split(&full, &bytes), [name], "{bytes:02x?}");
    }
}

#[test]
fn compressed_bombs_stop_at_the_limit() {
    let negotiated = accepted(NO_CONTEXT);
    let mut compressor = Compressor::new(Role::Server, negotiated).unwrap();
    let mut bomb = Vec::new();
    compressor
        .write_binary(&mut bomb, None, &vec![0; 20 << 20])
        .unwrap();
    assert!(bomb.len() < 40 << 10);
    let mut reader = Reader::new(Role::Client, limits(1 << 20)).with_deflate(negotiated);
    let mut input = &bomb[..];
    assert_eq!(reader.read(&mut input), Err(FrameError::MessageTooLarge));
    assert!(reader.held() < 2 << 20, "{}", reader.held());

    let mut fits = Vec::new();
    let message = vec![0; 1 << 20];
    compressor.write_binary(&mut fits, None, &message).unwrap();
    compressor.write_binary(&mut fits, None, &[1]).unwrap();
    let mut reader = Reader::new(Role::Client, limits(1 << 20)).with_deflate(negotiated);
    let mut input = &fits[..];
    assert_eq!(reader.read(&mut input), Ok(Some(Event::Binary(&message))));
    assert_eq!(reader.read(&mut input), Ok(Some(Event::Binary(&[1]))));
    assert_eq!(reader.read(&mut input), Ok(None));
    assert!(reader.held() < 100, "{}", reader.held());
}

fn messages() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let random = prop::collection::vec(any::<u8>(), 0..3000);
    let repetitive = (prop::collection::vec(0..4_u8, 1..40), 1..2000_usize);
    let repetitive = repetitive.prop_map(|(part, times)| part.repeat(times));
    prop::collection::vec(prop_oneof![random, repetitive], 1..6)
}

proptest! {
    #[test]
    fn masks_are_their_own_inverse(
        payload in prop::collection::vec(any::<u8>(), 0..100),
        mask: [u8; 4],
    ) {
        let mut masked = payload.clone();
        apply_mask(&mut masked, mask);
        for (index, byte) in masked.iter().enumerate() {
            prop_assert_eq!(*byte, payload[index] ^ mask[index % 4]);
        }
    }

    #[test]
    fn compressed_messages_are_read_back(
        messages in messages(),
        mask: Option<[u8; 4]>,
        piece in 1..5000_usize,
        offer in 0..5_usize,
    ) {
        let offers = [
            "permessage-deflate",
            NO_CONTEXT,
            "permessage-deflate; server_max_window_bits=9",
            "permessage-deflate; server_max_window_bits=12; client_no_context_takeover",
            "permessage-deflate; server_no_context_takeover; client_max_window_bits",
        ];
        let negotiated = accepted(offers[offer]);
        let (sender, receiver) = match mask {
            Some(_) => (Role::Client, Role::Server),
            None => (Role::Server, Role::Client),
        };
        let mut compressor = Compressor::new(sender, negotiated).unwrap();
        let mut bytes = Vec::new();
        for message in &messages {
            compressor.write_binary(&mut bytes, mask, message).unwrap();
        }
        let reader = Reader::new(receiver, Limits::default()).with_deflate(negotiated);
        let expected: Vec<_> = messages
            .iter()
            .map(|message| format!("{:?}", Event::Binary(message)))
            .collect();
        prop_assert_eq!(events(reader, &bytes, piece), expected);
    }

    #[test]
    fn any_bytes_give_the_same_events_however_they_are_split(
        mut bytes in prop::collection::vec(any::<u8>(), 0..60),
        first in prop::sample::select(vec![0x01_u8, 0x02, 0x41, 0x81, 0x82, 0xc1, 0x88, 0x89]),
        length in 0..60_u8,
    ) {
        bytes.splice(0..0, [first, length]);
        client(&bytes);
        every_split(inflating("permessage-deflate"), &bytes);
    }
}

#[test]
fn small_windows_are_accepted_from_servers_that_limit_them() {
    let negotiated = |bits: u8| {
        let header = format!("permessage-deflate; client_max_window_bits={bits}");
        response(&[("sec-websocket-extensions", &header)], Offer::Full)
            .unwrap()
            .deflate
            .unwrap()
    };
    assert!(Compressor::new(Role::Client, negotiated(8)).is_none());
    assert!(
        Compressor::new(Role::Client, negotiated(9))
            .unwrap()
            .takes_over()
    );
}

const KEY: &[u8] = b"dGhlIHNhbXBsZSBub25jZQ==";

/// Checks a response with changed headers. An empty value removes a header.
fn response(changes: &[(&str, &str)], deflate: Offer) -> Result<Upgraded, UpgradeError> {
    let right = [
        ("upgrade", "websocket"),
        ("connection", "Upgrade"),
        ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
    ];
    let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
    let kept = right.iter().filter(|(name, _)| !is_changed(name));
    let headers: Vec<_> = kept
        .chain(changes.iter().filter(|(_, value)| !value.is_empty()))
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let offer = UpgradeOffer {
        key: KEY,
        subprotocols: &["v2.json".to_owned(), "v1.json".to_owned()],
        deflate,
    };
    check_response(101, &headers, offer)
}

#[test]
fn keys_follow_rfc_6455() {
    assert_eq!(&request_key(*b"the sample nonce"), KEY);
    assert_eq!(&accept_key(KEY), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[test]
fn right_responses_are_accepted() {
    let plain = response(&[], Offer::Full).unwrap();
    assert_eq!((plain.subprotocol, plain.deflate), (None, None));
    let headers = [
        ("upgrade", "WebSocket"),
        ("connection", "keep-alive, UPGRADE"),
        ("sec-websocket-protocol", "v1.json"),
        ("sec-websocket-extensions", NO_CONTEXT),
    ];
    let upgraded = response(&headers, Offer::NoContext).unwrap();
    assert_eq!(upgraded.subprotocol.as_deref(), Some("v1.json"));
    assert_eq!(upgraded.deflate, Some(accepted(NO_CONTEXT)));
}

#[test]
fn wrong_responses_are_named() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("upgrade", "")], "upgrade_header"),
        (&[("upgrade", "h2c")], "upgrade_header"),
        (&[("connection", "")], "upgrade_connection"),
        (&[("connection", "close")], "upgrade_connection"),
        (&[("sec-websocket-accept", "")], "upgrade_accept_key"),
        (
            &[("sec-websocket-accept", "S3pPLMBiTxaQ9kYGzzhZRbK+xOo=")],
            "upgrade_accept_key",
        ),
        (&[("sec-websocket-protocol", "v3")], "upgrade_subprotocol"),
        (
            &[
                ("sec-websocket-protocol", "v1.json"),
                ("sec-websocket-protocol", "v2.json"),
            ],
            "upgrade_subprotocol",
        ),
        (
            &[("sec-websocket-extensions", "x-webkit")],
            "upgrade_extension",
        ),
        (
            &[(
                "sec-websocket-extensions",
                "permessage-deflate, permessage-deflate",
            )],
            "upgrade_extension",
        ),
    ];
    for (headers, name) in cases {
        let error = response(headers, Offer::Full).unwrap_err();
        assert_eq!(error.name(), *name, "{headers:?}");
    }
    let offer = UpgradeOffer {
        key: KEY,
        subprotocols: &[],
        deflate: Offer::Off,
    };
    for status in [200, 302, 401, 426] {
        let error = check_response(status, &[], offer).unwrap_err();
        assert_eq!(error, UpgradeError::Status(status));
    }
}

#[test]
fn parameters_of_deflate_must_answer_the_offer() {
    let of = |parameters: &str, offer| {
        let header = format!("permessage-deflate{parameters}");
        match response(&[("sec-websocket-extensions", &header)], offer) {
            Ok(upgraded) => upgraded.deflate.map_or("none", |_| "accepted"),
            Err(error) => error.name(),
        }
    };
    let wrong = "upgrade_extension_parameters";
    for (parameters, no_context, full) in [
        ("", wrong, "accepted"),
        ("; server_no_context_takeover", "accepted", "accepted"),
        ("; client_no_context_takeover", wrong, "accepted"),
        ("; client_max_window_bits=10", wrong, "accepted"),
        ("; client_max_window_bits=\"10\"", wrong, "accepted"),
        (
            "; server_no_context_takeover; server_max_window_bits=8",
            "accepted",
            "accepted",
        ),
        ("; client_max_window_bits", wrong, wrong),
        ("; server_max_window_bits", wrong, wrong),
        (
            "; server_no_context_takeover; server_max_window_bits=7",
            wrong,
            wrong,
        ),
        (
            "; server_no_context_takeover; server_max_window_bits=16",
            wrong,
            wrong,
        ),
        (
            "; server_no_context_takeover; server_max_window_bits=09",
            wrong,
            wrong,
        ),
        ("; server_no_context_takeover=1", wrong, wrong),
        (
            "; server_no_context_takeover; server_no_context_takeover",
            wrong,
            wrong,
        ),
        ("; server_no_context_takeover; other", wrong, wrong),
    ] {
        assert_eq!(of(parameters, Offer::NoContext), no_context, "{parameters}");
        assert_eq!(of(parameters, Offer::Full), full, "{parameters}");
        assert_eq!(of(parameters, Offer::Off), "upgrade_extension");
    }
}

#[test]
fn servers_accept_the_first_possible_offer() {
    let header = |offers: &str| accept_offer(offers).map(|acceptance| acceptance.header);
    assert_eq!(header(""), None);
    assert_eq!(header("x-webkit-deflate-frame"), None);
    assert_eq!(
        header("permessage-deflate; client_max_window_bits").as_deref(),
        Some("permessage-deflate")
    );
    assert_eq!(
        header("x, permessage-deflate; server_max_window_bits=8, permessage-deflate; server_max_window_bits=10").as_deref(),
        Some("permessage-deflate; server_max_window_bits=10")
    );
    for offer in [Offer::NoContext, Offer::Full] {
        let acceptance = accept_offer(offer.header().unwrap()).unwrap();
        let headers = [("sec-websocket-extensions", acceptance.header.as_str())];
        let upgraded = response(&headers, offer).unwrap();
        assert_eq!(upgraded.deflate, Some(acceptance.negotiated));
    }
    assert_eq!(Offer::Off.header(), None);
}
