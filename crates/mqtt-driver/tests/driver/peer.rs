//! A scripted server, defined by the bytes that each connection expects and sends. Any deviation
//! fails the test.

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use worker::stop::{Cause, StopHandle};

pub enum Do {
    Hear(Vec<u8>),
    Say(Vec<u8>),
    Silence,
}

pub use Do::{Hear, Say, Silence};

pub struct Played {
    pub came: Vec<Instant>,
    pub rest: Vec<u8>,
}

pub struct Peer {
    pub port: u16,
    thread: JoinHandle<Played>,
}

impl Peer {
    pub fn start(scripts: Vec<Vec<Do>>) -> Peer {
        Peer::ending(scripts, StopHandle::default())
    }

    pub fn ending(scripts: Vec<Vec<Do>>, stop: StopHandle) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let (mut came, mut rest) = (Vec::new(), Vec::new());
            let last = scripts.len() - 1;
            for (n, script) in scripts.into_iter().enumerate() {
                let mut stream = accept(&listener);
                came.push(Instant::now());
                play(&mut stream, script, n);
                if n == last {
                    stop.stop(Cause::Signal(15));
                    let patience = Some(Duration::from_secs(60));
                    stream.set_read_timeout(patience).unwrap();
                    let _ = stream.read_to_end(&mut rest);
                }
            }
            Played { came, rest }
        });
        Peer { port, thread }
    }

    pub fn played(self) -> Played {
        self.thread.join().expect("the script was followed")
    }
}

fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let begun = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).unwrap();
                return stream;
            }
            Err(_) => assert!(
                begun.elapsed() < Duration::from_secs(30),
                "no client connected"
            ),
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn play(stream: &mut TcpStream, script: Vec<Do>, connection: usize) {
    for (step, what) in script.into_iter().enumerate() {
        let patience = match what {
            Silence => Duration::from_millis(50),
            _ => Duration::from_secs(30),
        };
        stream.set_read_timeout(Some(patience)).unwrap();
        match what {
            Hear(expected) => {
                let mut received = vec![0; expected.len()];
                let read = stream.read_exact(&mut received);
                assert!(read.is_ok(), "{connection}.{step}: {read:?}");
                assert_eq!(received, expected, "{connection}.{step}");
            }
            Say(bytes) => stream.write_all(&bytes).unwrap(),
            Silence => match stream.read(&mut [0; 64]) {
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                other => panic!("{connection}.{step}: {other:?}"),
            },
        }
    }
}

pub fn echo() -> [Do; 2] {
    [Say(publish(0x32, 7)), Hear(ack(PUBACK, 7))]
}

pub fn connack(session_present: u8, code: u8) -> Do {
    Say(vec![0x20, 2, session_present, code])
}

pub fn publish(first: u8, id: u8) -> Vec<u8> {
    if first & 6 == 0 {
        return vec![first, 4, 0, 1, b'a', b'm'];
    }
    vec![first, 6, 0, 1, b'a', 0, id, b'm']
}

pub fn ack(first: u8, id: u8) -> Vec<u8> {
    vec![first, 2, 0, id]
}

pub const PUBACK: u8 = 0x40;
pub const PUBREC: u8 = 0x50;
pub const PUBREL: u8 = 0x62;
pub const PUBCOMP: u8 = 0x70;
pub const DISCONNECT: [u8; 2] = [0xe0, 0];
pub const PINGREQ: [u8; 2] = [0xc0, 0];
pub const PINGRESP: [u8; 2] = [0xd0, 0];
