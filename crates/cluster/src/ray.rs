//! Nodes on a Ray cluster. A Python child process, the relay (`loadline.ray`), places nodes and
//! multiplexes their streams by node number.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};
use session::{SharedMessageSink, python};

use crate::link::{Backend, COMMAND, Link};

const CONTROL: u32 = u32::MAX;
const PLACE_S: u64 = 60;
const LONGEST: u32 = 256 << 20;
/// Number of polls, 50 ms apart, that wait for the release of nodes.
const RELEASE: usize = 600;
const HOW: &str = "install Ray with: pip install 'loadline[ray]'";

pub struct Ray {
    pub address: Option<String>,
    pub insecure: bool,
    pub place_s: u64,
    pub files: Vec<(String, Vec<u8>)>,
    pub folder: String,
    /// Environment variables for nodes. They are passed through Ray and never written to a file.
    pub environment: Vec<(String, String)>,
    pub sink: SharedMessageSink,
    relay: Option<Relay>,
}

struct Relay {
    child: Child,
    lost: Arc<Mutex<BTreeMap<u64, String>>>,
    out: Option<SharedPipe>,
}

type SharedPipe = Arc<Mutex<ChildStdin>>;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RelayMessage {
    Placed { placed: Vec<NodePlace> },
    Lost { lost: u64, reason: String },
    Printed { printed: u64, text: String },
    Refused { refused: String },
}

#[derive(Debug, Deserialize)]
struct NodePlace {
    name: String,
}

impl Ray {
    #[must_use]
    pub fn new(address: Option<String>, insecure: bool, sink: &SharedMessageSink) -> Ray {
        Ray {
            address,
            insecure,
            place_s: PLACE_S,
            files: Vec::new(),
            folder: ".".to_owned(),
            environment: Vec::new(),
            sink: sink.clone(),
            relay: None,
        }
    }

    fn order(&self, nodes: Option<u64>) -> Value {
        let files = self.files.iter();
        let files: Vec<Value> = files
            .map(|(path, content)| json!([path, STANDARD.encode(content)]))
            .collect();
        let environment: BTreeMap<&String, &String> = self
            .environment
            .iter()
            .map(|(name, value)| (name, value))
            .collect();
        json!({
        "nodes": nodes,
        "address": self.address,
        "timeout_s": self.place_s,
        "arguments": [COMMAND],
        "folder": self.folder,
        "files": files,
        "environment": environment,
        "insecure": self.insecure,
        })
    }
}

impl Backend for Ray {
    fn place(&mut self, nodes: Option<u64>) -> Result<Vec<Link>, String> {
        let python = python::with_package(HOW)?;
        let (child, out, mut input) = start(&python)?;
        let out: SharedPipe = Arc::new(Mutex::new(out));
        let order = serde_json::to_vec(&self.order(nodes)).map_err(|error| error.to_string())?;
        let lost: Arc<Mutex<BTreeMap<u64, String>>> = Arc::default();
        self.relay = Some(Relay {
            child,
            lost: Arc::clone(&lost),
            out: Some(Arc::clone(&out)),
        });
        let broken = |error: io::Error| format!("the Ray helper exited: {error}");
        write(&out, CONTROL, &order).map_err(broken)?;
        let placed = placed(&mut input)?;
        let (senders, links): (Vec<Sender<Vec<u8>>>, Vec<Link>) = (0..)
            .zip(placed)
            .map(|(number, place)| {
                let (sender, receiver) = mpsc::channel();
                let link = Link {
                    name: place.name,
                    out: Box::new(ToNode {
                        number,
                        out: Arc::clone(&out),
                    }),
                    input: Box::new(FromNode {
                        parts: receiver,
                        rest: Vec::new(),
                        taken: 0,
                    }),
                };
                (sender, link)
            })
            .unzip();
        let sink = self.sink.clone();
        let thread = std::thread::Builder::new().name("ray".into());
        let carry = move || carry(input, senders, &lost, &sink);
        thread
            .spawn(carry)
            .map_err(|error| format!("cannot start a thread for Ray: {error}"))?;
        Ok(links)
    }

    fn why_gone(&mut self, node: u64) -> Option<String> {
        let lost = &self.relay.as_ref()?.lost;
        lost.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&node)
            .cloned()
    }

    fn is_here(&self) -> bool {
        false
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // The relay releases the nodes when its stream ends.
        drop(self.out.take());
        for _ in 0..RELEASE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(python: &Path) -> Result<(Child, ChildStdin, ChildStdout), String> {
    let mut command = Command::new(python);
    command
        // With `-P`, a file `ray.py` in the user's folder cannot hide Ray.
        .args(["-P", "-m", "loadline.ray"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    // A separate process group, so that terminal signals do not reach the relay.
    command.process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| format!("{}: {error}", python.display()))?;
    let streams = child.stdin.take().zip(child.stdout.take());
    let (out, input) = streams.ok_or("a process without streams")?;
    Ok((child, out, input))
}

fn placed(input: &mut ChildStdout) -> Result<Vec<NodePlace>, String> {
    loop {
        let (number, bytes) = read(input)
            .map_err(|error| format!("the Ray helper: {error}"))?
            .ok_or("the Ray helper exited without a message")?;
        if number != CONTROL {
            continue;
        }
        match serde_json::from_slice(&bytes) {
            Ok(RelayMessage::Placed { placed }) => return Ok(placed),
            Ok(RelayMessage::Refused { refused }) => return Err(refused),
            Ok(RelayMessage::Lost { lost, reason }) => {
                return Err(format!("node {lost}: {reason}"));
            }
            Ok(RelayMessage::Printed { .. }) => {}
            Err(error) => return Err(format!("unexpected reply from the Ray helper: {error}")),
        }
    }
}

fn carry(
    mut input: ChildStdout,
    senders: Vec<Sender<Vec<u8>>>,
    lost: &Mutex<BTreeMap<u64, String>>,
    sink: &SharedMessageSink,
) {
    let mut open: Vec<Option<Sender<Vec<u8>>>> = senders.into_iter().map(Some).collect();
    while let Ok(Some((number, bytes))) = read(&mut input) {
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        if number != CONTROL {
            let Some(to) = open.get_mut(place(u64::from(number))) else {
                continue;
            };
            match to {
                _ if bytes.is_empty() => *to = None,
                Some(sender) => drop(sender.send(bytes)),
                None => {}
            }
            continue;
        }
        match serde_json::from_slice(&bytes) {
            Ok(RelayMessage::Lost {
                lost: number,
                reason,
            }) => {
                let mut all = lost.lock().unwrap_or_else(PoisonError::into_inner);
                all.entry(number).or_insert(reason);
                drop(all);
                if let Some(to) = open.get_mut(place(number)) {
                    *to = None;
                }
            }
            Ok(RelayMessage::Printed { printed, text }) => {
                sink.say(&format_args!("node {printed}: {text}"))
            }
            Ok(RelayMessage::Refused { refused }) => sink.warning(&refused),
            Ok(RelayMessage::Placed { .. }) | Err(_) => {}
        }
    }
}

struct ToNode {
    number: u32,
    out: SharedPipe,
}

impl Write for ToNode {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !bytes.is_empty() {
            write(&self.out, self.number, bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ToNode {
    fn drop(&mut self) {
        let _ = write(&self.out, self.number, &[]);
    }
}

struct FromNode {
    parts: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    taken: usize,
}

impl Read for FromNode {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.rest.len() {
            match self.parts.recv() {
                Ok(part) => (self.rest, self.taken) = (part, 0),
                Err(_) => return Ok(0),
            }
        }
        let rest = &self.rest[self.taken..];
        let taken = rest.len().min(into.len());
        into[..taken].copy_from_slice(&rest[..taken]);
        self.taken += taken;
        Ok(taken)
    }
}

fn write(out: &SharedPipe, number: u32, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    let mut decoded = Vec::with_capacity(bytes.len() + 8);
    decoded.extend(number.to_le_bytes());
    decoded.extend(length.to_le_bytes());
    decoded.extend(bytes);
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    out.write_all(&decoded)?;
    out.flush()
}

fn read(input: &mut impl Read) -> io::Result<Option<(u32, Vec<u8>)>> {
    let mut head = [0; 8];
    match input.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let [a, b, c, d, e, f, g, h] = head;
    let (number, length) = (
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    );
    if length > LONGEST {
        return Err(io::Error::other("the message is too long"));
    }
    let mut bytes = vec![0; length as usize];
    input.read_exact(&mut bytes)?;
    Ok(Some((number, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_dealt_out_in_order() {
        let mut bytes: Vec<u8> = Vec::new();
        for (number, text) in [(3u32, "abc"), (CONTROL, "{}"), (3, "")] {
            bytes.extend(number.to_le_bytes());
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        let mut stream = bytes.as_slice();
        assert_eq!(read(&mut stream).unwrap(), Some((3, b"abc".to_vec())));
        assert_eq!(read(&mut stream).unwrap(), Some((CONTROL, b"{}".to_vec())));
        assert_eq!(read(&mut stream).unwrap(), Some((3, Vec::new())));
        assert_eq!(read(&mut stream).unwrap(), None);
        assert!(read(&mut [1u8, 0, 0, 0, 9, 0, 0, 0, 1].as_slice()).is_err());
    }

    #[test]
    fn a_stream_is_read_in_whatever_pieces() {
        let (sender, parts) = mpsc::channel();
        for part in ["ab", "c", "defg"] {
            sender.send(part.as_bytes().to_vec()).unwrap();
        }
        drop(sender);
        let mut from = FromNode {
            parts,
            rest: Vec::new(),
            taken: 0,
        };
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        assert_eq!(text, "abcdefg");
    }
}
