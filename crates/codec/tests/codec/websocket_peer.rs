//! WebSocket frames and keys, checked against tungstenite as an independent peer.

use std::io::{self, Read, Write};

use codec::websocket::{
    Close, Event, Limits, Reader, Role, handshake, write_binary, write_close, write_ping,
    write_pong, write_text,
};
use proptest::prelude::*;
use tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tungstenite::protocol::frame::{CloseFrame, Frame};
use tungstenite::protocol::{Role as PeerRole, WebSocket};
use tungstenite::{Message, handshake::derive_accept_key};

/// A message or control frame, independent of both codecs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<(u16, String)>),
}

impl From<Event<'_>> for Item {
    fn from(event: Event<'_>) -> Item {
        match event {
            Event::Text(text) => Item::Text(text.to_owned()),
            Event::Binary(bytes) => Item::Binary(bytes.to_vec()),
            Event::Ping(bytes) => Item::Ping(bytes.to_vec()),
            Event::Pong(bytes) => Item::Pong(bytes.to_vec()),
            Event::Close(close) => {
                Item::Close(close.map(|close| (close.code, close.reason.to_owned())))
            }
        }
    }
}

impl From<Message> for Item {
    fn from(message: Message) -> Item {
        match message {
            Message::Text(text) => Item::Text(text.as_str().to_owned()),
            Message::Binary(bytes) => Item::Binary(bytes.to_vec()),
            Message::Ping(bytes) => Item::Ping(bytes.to_vec()),
            Message::Pong(bytes) => Item::Pong(bytes.to_vec()),
            Message::Close(close) => Item::Close(
                close.map(|close| (close.code.into(), close.reason.as_str().to_owned())),
            ),
            Message::Frame(_) => panic!("only for writing"),
        }
    }
}

/// A connection that contains some bytes and then ends.
#[derive(Default)]
struct Pipe {
    received: io::Cursor<Vec<u8>>,
    sent: Vec<u8>,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.received.read(buffer)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            length => Ok(length),
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sent.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read(role: Role, bytes: &[u8], piece: usize) -> Vec<Item> {
    let mut reader = Reader::new(role, Limits::default());
    let mut items = Vec::new();
    for part in bytes.chunks(piece) {
        let mut input = part;
        while let Some(event) = reader.read(&mut input).unwrap() {
            items.push(event.into());
        }
    }
    assert!(!reader.is_mid_message());
    assert_eq!(reader.held(), 0);
    items
}

fn payload(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..max)
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        ".{0,200}".prop_map(Item::Text),
        payload(300).prop_map(Item::Binary),
        (65_000..66_000_usize).prop_map(|length| Item::Binary(vec![7; length])),
        payload(126).prop_map(Item::Ping),
        payload(126).prop_map(Item::Pong),
    ]
}

fn close() -> impl Strategy<Value = Item> {
    // The peer treats 1014 as reserved.
    let code = prop_oneof![1000..1004_u16, 1007..1014_u16, 3000..5000_u16];
    prop::option::of((code, "[a-z\u{e4}]{0,60}")).prop_map(Item::Close)
}

/// Returns the frames of an item. Messages are split into fragments, with pings between them.
fn frames(item: &Item, fragments: usize) -> Vec<Message> {
    let (kind, bytes) = match item {
        Item::Text(text) => (Data::Text, text.as_bytes()),
        Item::Binary(bytes) => (Data::Binary, &bytes[..]),
        Item::Ping(bytes) => return vec![Message::Ping(bytes.clone().into())],
        Item::Pong(bytes) => return vec![Message::Pong(bytes.clone().into())],
        Item::Close(close) => {
            let close = close.as_ref().map(|(code, reason)| CloseFrame {
                code: CloseCode::from(*code),
                reason: reason.as_str().into(),
            });
            return vec![Message::Close(close)];
        }
    };
    let size = bytes.len().div_ceil(fragments).max(1);
    let parts: Vec<_> = bytes.chunks(size).map(<[u8]>::to_vec).collect();
    let parts = if parts.is_empty() {
        vec![Vec::new()]
    } else {
        parts
    };
    let mut frames = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let kind = if number == 0 { kind } else { Data::Continue };
        let is_final = number + 1 == parts.len();
        let frame = Frame::message(part.clone(), OpCode::Data(kind), is_final);
        frames.push(Message::Frame(frame));
        if !is_final {
            frames.push(Message::Ping(vec![1].into()));
        }
    }
    frames
}

fn write(out: &mut Vec<u8>, mask: Option<[u8; 4]>, item: &Item) {
    match item {
        Item::Text(text) => write_text(out, mask, text),
        Item::Binary(bytes) => write_binary(out, mask, bytes),
        Item::Ping(bytes) => write_ping(out, mask, bytes).unwrap(),
        Item::Pong(bytes) => write_pong(out, mask, bytes).unwrap(),
        Item::Close(close) => {
            let close = close.as_ref().map(|(code, reason)| Close {
                code: *code,
                reason,
            });
            write_close(out, mask, close).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn frames_of_a_peer_are_read(
        items in prop::collection::vec(item(), 0..6),
        last in close(),
        fragments in 1..5_usize,
        is_server: bool,
        piece in prop_oneof![1..20_usize, Just(100_000)],
    ) {
        let (peer, role) = match is_server {
            true => (PeerRole::Client, Role::Server),
            false => (PeerRole::Server, Role::Client),
        };
        let mut peer = WebSocket::from_raw_socket(Pipe::default(), peer, None);
        let mut expected = Vec::new();
        for item in items.iter().chain([&last]) {
            let frames = frames(item, fragments);
            let pings = frames.len() / 2;
            for frame in frames {
                peer.send(frame).unwrap();
            }
            expected.extend(std::iter::repeat_n(Item::Ping(vec![1]), pings));
            expected.push(item.clone());
        }
        prop_assert_eq!(read(role, &peer.get_ref().sent, piece), expected);
    }

    #[test]
    fn written_frames_are_read_by_a_peer(
        items in prop::collection::vec(item(), 0..6),
        last in close(),
        mask: Option<[u8; 4]>,
    ) {
        let role = match mask {
            Some(_) => PeerRole::Server,
            None => PeerRole::Client,
        };
        let mut bytes = Vec::new();
        let expected: Vec<_> = items.iter().chain([&last]).cloned().collect();
        for item in &expected {
            write(&mut bytes, mask, item);
        }
        let pipe = Pipe {
            received: io::Cursor::new(bytes),
            sent: Vec::new(),
        };
        let mut peer = WebSocket::from_raw_socket(pipe, role, None);
        let read: Vec<Item> = expected.iter().map(|_| peer.read().unwrap().into()).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn keys_are_answered_like_a_peer_does(random: [u8; 16]) {
        let key = handshake::request_key(random);
        let expected = derive_accept_key(&key);
        prop_assert_eq!(&handshake::accept_key(&key)[..], expected.as_bytes());
    }
}
