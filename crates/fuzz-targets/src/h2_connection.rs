//! Passes arbitrary bytes to an HTTP/2 client. The result must not depend on how the bytes are
//! split, and each stream must end exactly once.

use std::collections::BTreeMap;

use codec::h2::{
    Body, Config, Connection, Event, FieldNumbers, HeadSource, HeadTemplate, Request, ValueSource,
};

/// SETTINGS frame without entries, which a server must send first.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

#[derive(Debug, Default, PartialEq)]
struct Received {
    bodies: BTreeMap<u32, Vec<u8>>,
    events: Vec<String>,
    output: Vec<u8>,
}

fn receive(bytes: &[u8], piece: usize) -> Option<Received> {
    let source = HeadSource {
        method: ValueSource::Constant(b"POST"),
        scheme: "http",
        authority: ValueSource::Constant(b"a.test"),
        path: ValueSource::Constant(b"/"),
        fields: &[],
    };
    let head = HeadTemplate::new(&mut FieldNumbers::default(), &source).ok()?;
    let mut connection = Connection::new(&Config::default());
    let mut received = Received::default();
    let mut open = 0;
    for part in [SETTINGS].into_iter().chain(bytes.chunks(piece.max(1))) {
        let mut input = part;
        while let Some(event) = connection.next_event(&mut input) {
            if let Event::Data { stream, bytes, .. } = event {
                let body = received.bodies.entry(stream.number()).or_default();
                body.extend_from_slice(bytes);
                continue;
            }
            if let Event::Ended { .. } = event {
                open -= 1;
            }
            received.events.push(format!("{event:?}"));
        }
        assert!(input.is_empty());
        if connection.requests() == 0 {
            for body in [Body::None, Body::Bytes(&[1; 70_000]), Body::None] {
                let request = Request {
                    head: &head,
                    values: &|_| b"",
                    extra: &[],
                    body,
                };
                open += usize::from(connection.send(&request).is_ok());
            }
        }
    }
    connection.lose();
    while let Some(event) = connection.next_event(&mut &[][..]) {
        open -= usize::from(matches!(event, Event::Ended { .. }));
    }
    assert_eq!((open, connection.open_streams()), (0, 0));
    received.output = connection.output().to_vec();
    Some(received)
}

pub fn check(piece: u8, bytes: &[u8]) {
    let whole = receive(bytes, bytes.len());
    let split = receive(bytes, usize::from(piece) + 1);
    assert_eq!(whole, split);
}
