//! A scripted server that runs on plain threads.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

pub(crate) enum Reply {
    Bytes(Vec<u8>),
    Close(Vec<u8>),
    Never,
}

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub head: String,
    pub body: Vec<u8>,
}

/// A running server. Its threads end with their connections, and its listener ends with the
/// process.
pub(crate) struct Peer {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Vec<Seen>>>,
}

impl Peer {
    pub(crate) fn start(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, reply) = (Arc::clone(&seen), Arc::new(reply));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, reply) = (Arc::clone(&log), Arc::clone(&reply));
                std::thread::spawn(move || serve(stream, &log, reply.as_ref()));
            }
        });
        Peer { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.seen
            .lock()
            .expect("no panic")
            .iter()
            .map(|s| s.head.clone())
            .collect()
    }
}

fn serve(mut stream: TcpStream, log: &Mutex<Vec<Seen>>, reply: &dyn Fn(&Seen) -> Reply) {
    let Ok(reading) = stream.try_clone() else {
        return;
    };
    let mut reading = BufReader::new(reading);
    while let Some(seen) = read_request(&mut reading) {
        log.lock().expect("no panic").push(seen.clone());
        match reply(&seen) {
            Reply::Bytes(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Reply::Close(bytes) => {
                let _ = stream.write_all(&bytes);
                return;
            }
            Reply::Never => {
                let _ = reading.read(&mut [0; 64]);
                return;
            }
        }
    }
}

fn read_request(reading: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reading.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let length = head.lines().find_map(|l| {
        l.to_ascii_lowercase()
            .strip_prefix("content-length: ")
            .and_then(|v| v.parse().ok())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reading.read_exact(&mut body).ok()?;
    Some(Seen { head, body })
}

pub(crate) fn ok(body: &str) -> Reply {
    Reply::Bytes(
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
    )
}
