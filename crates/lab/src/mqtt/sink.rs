//! A sink that acknowledges messages as fast as possible, delivers none, and checks the sequence
//! numbers of each publisher. It parses packets in place without the codec. Tests compare its
//! counts with those of the broker.

use std::{collections::HashMap, io};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{BrokerState, framing};

#[derive(Debug, Default)]
pub(super) struct SinkCounts {
    connections: u64,
    messages: u64,
    bytes: u64,
    out_of_sequence: u64,
    unstamped: u64,
    next: HashMap<(u32, u32), u64>,
}

impl SinkCounts {
    pub fn to_json(&self) -> Value {
        json!({
            "connected": self.connections,
            "received": self.messages,
            "bytes": self.bytes,
            "out_of_sequence": self.out_of_sequence,
            "unstamped": self.unstamped,
            "publishers": self.next.len(),
        })
    }

    fn message(&mut self, payload: &[u8]) {
        self.messages += 1;
        let (Some(stamp), Some(b"LDM\x01")) = (payload.get(4..20), payload.get(..4)) else {
            self.unstamped += 1;
            return;
        };
        let four = |at: usize| {
            stamp[at..at + 4]
                .iter()
                .fold(0u32, |n, b| n << 8 | u32::from(*b))
        };
        let sequence = u64::from(four(8)) << 32 | u64::from(four(12));
        let next = self.next.entry((four(0), four(4))).or_default();
        self.out_of_sequence += u64::from(*next != sequence);
        *next = sequence + 1;
    }
}

const BUFFER: usize = 256 << 10;

pub(super) async fn serve(mut stream: TcpStream, state: &BrokerState) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let (mut held, mut is_v5) = (0, false);
    let mut out = Vec::new();
    loop {
        if held == buffer.len() {
            buffer.resize(2 * held, 0);
        }
        let came = stream.read(&mut buffer[held..]).await?;
        if came == 0 {
            return Ok(());
        }
        held += came;
        let mut at = 0;
        out.clear();
        while let Some((whole, body)) = framing::whole(&buffer[at..held])? {
            if at + whole > held {
                break;
            }
            let packet = &buffer[at..at + whole];
            if !take(packet, body, state, &mut is_v5, &mut out) {
                stream.write_all(&out).await?;
                return Ok(());
            }
            at += whole;
        }
        state.sink.borrow_mut().bytes += at as u64;
        buffer.copy_within(at..held, 0);
        held -= at;
        stream.write_all(&out).await?;
    }
}

fn take(
    packet: &[u8],
    body: usize,
    state: &BrokerState,
    is_v5: &mut bool,
    out: &mut Vec<u8>,
) -> bool {
    let two = |at: usize| -> usize {
        let byte = |at: usize| packet.get(at).copied().map_or(0, usize::from);
        byte(at) << 8 | byte(at + 1)
    };
    match packet[0] >> 4 {
        1 => {
            *is_v5 = packet.get(body + 6) == Some(&5);
            state.sink.borrow_mut().connections += 1;
            let connack: &[u8] = if *is_v5 {
                &[0x20, 3, 0, 0, 0]
            } else {
                &[0x20, 2, 0, 0]
            };
            out.extend_from_slice(connack);
        }
        3 => {
            let qos = packet[0] >> 1 & 3;
            let mut at = body + 2 + two(body);
            if qos > 0 {
                let id = two(at).to_be_bytes();
                let first = if qos == 1 { 0x40 } else { 0x50 };
                out.extend_from_slice(&[first, 2, id[6], id[7]]);
                at += 2;
            }
            if *is_v5 {
                at += 1 + packet.get(at).copied().map_or(0, usize::from);
            }
            state
                .sink
                .borrow_mut()
                .message(packet.get(at..).unwrap_or_default());
        }
        6 => {
            let id = two(body).to_be_bytes();
            out.extend_from_slice(&[0x70, 2, id[6], id[7]]);
        }
        12 => out.extend_from_slice(&[0xd0, 0]),
        14 => return false,
        _ => return false,
    }
    true
}
