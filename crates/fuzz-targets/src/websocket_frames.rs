//! Reads arbitrary bytes as frames from a client and from a server, with and without compression.
//! The events must not depend on how the bytes are split, and written events must be read back
//! unchanged.

use codec::websocket::{
    Event, FrameError, Limits, Negotiated, Reader, Role, accept_offer, write_binary, write_close,
    write_ping, write_pong, write_text,
};

const LIMITS: Limits = Limits { message: 4096 };
const MASK: [u8; 4] = [1, 2, 3, 250];

fn reader(role: Role, negotiated: Option<Negotiated>) -> Reader {
    let reader = Reader::new(role, LIMITS);
    match negotiated {
        Some(negotiated) => reader.with_deflate(negotiated),
        None => reader,
    }
}

/// Writes the event as the peer would, and reads it back.
fn check_written(role: Role, event: Event<'_>) -> Result<(), FrameError> {
    let mask = (role == Role::Server).then_some(MASK);
    let mut written = Vec::new();
    match event {
        Event::Text(text) => write_text(&mut written, mask, text),
        Event::Binary(bytes) => write_binary(&mut written, mask, bytes),
        Event::Ping(bytes) => write_ping(&mut written, mask, bytes)?,
        Event::Pong(bytes) => write_pong(&mut written, mask, bytes)?,
        Event::Close(close) => write_close(&mut written, mask, close)?,
    }
    let mut input = &written[..];
    assert_eq!(reader(role, None).read(&mut input)?, Some(event));
    assert!(input.is_empty());
    Ok(())
}

fn read(role: Role, negotiated: Option<Negotiated>, bytes: &[u8], piece: usize) -> Vec<String> {
    let mut reader = reader(role, negotiated);
    let mut events = Vec::new();
    for part in bytes.chunks(piece.max(1)) {
        let mut input = part;
        loop {
            match reader.read(&mut input) {
                Ok(None) => break,
                Ok(Some(event)) => {
                    assert_eq!(check_written(role, event), Ok(()));
                    events.push(format!("{event:?}"));
                }
                Err(error) => {
                    events.push(format!("{} {}", error.close_code(), error.name()));
                }
            }
        }
        assert!(input.is_empty());
        // The message, the window, and a control frame.
        assert!(reader.held() < 3 * LIMITS.message + (64 << 10));
    }
    events
}

pub fn check(piece: u8, bytes: &[u8]) {
    let full = accept_offer("permessage-deflate");
    let negotiated = full.map(|acceptance| acceptance.negotiated);
    assert!(negotiated.is_some());
    for role in [Role::Client, Role::Server] {
        for deflate in [None, negotiated] {
            let whole = read(role, deflate, bytes, bytes.len());
            let split = read(role, deflate, bytes, usize::from(piece) + 1);
            assert_eq!(split, whole);
        }
    }
}
