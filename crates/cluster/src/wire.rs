//! What a conductor and its nodes say to each other, and how that is cut out of a stream of bytes: a length, a line of JSON, and behind
//! it what is long. It neither reads from anywhere nor decides anything.

use std::io::{self, Read, Write};

use plan::Share;
use record::RunStart;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use session::RunPartOrder;

/// Changes with every change of what is said.
pub const PROTOCOL: u32 = 1;
/// Nothing that is said is longer: an interval of thousands of names is a few megabytes.
const LONGEST: usize = 64 << 20;

/// What the conductor says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToNode {
    /// Answer at once.
    Ping {
        /// Which.
        number: u64,
    },
    /// Make a part of a run ready. It may hold secrets: it goes into no file.
    Arm {
        /// The test, in the words of whoever reads it.
        test: Value,
        /// Which part.
        part: Box<Arming>,
    },
    /// Find out how many requests a second can be sent from here, up to so many.
    Measure {
        /// More than that need not be shown.
        enough: f64,
    },
    /// Begin then.
    Go {
        /// The zero of all times, by the node's own clock.
        start: RunStart,
    },
    /// It does not begin after all.
    Cancel,
    /// Go on until then, and no longer unless this is said again. Whoever reads it late has no more time for that.
    Lease {
        /// By the node's own monotonic clock, in nanoseconds.
        until_ns: u64,
    },
    /// Carry out these arrivals too, from that moment on.
    Adopt {
        /// Whose they were.
        share: Share,
        /// In nanoseconds from the start.
        from_ns: u64,
    },
    /// End; what is under way may finish, unless it is urgent.
    Stop {
        /// Who wants it.
        text: String,
        /// At once.
        urgent: bool,
    },
    /// Everything that was measured is here, and the node's own copy of it need not be kept.
    Bye,
}

/// A part that is to be made ready.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Arming {
    /// The part; when it starts is told later.
    pub part: SessionPart,
    /// Whether the node is a machine of its own, of which somebody has to look after.
    pub looks: bool,
    /// In which folder it keeps its own record until the conductor has all of it; none: below the folder for temporary files.
    pub keep: Option<std::path::PathBuf>,
    /// Whether shares of others may come to it.
    pub adopts: bool,
}

/// A [`Part`] that can be shown without what it holds.
#[derive(Clone, Serialize, Deserialize)]
pub struct SessionPart(pub RunPartOrder);

impl std::fmt::Debug for SessionPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "part {} of {}", self.0.share.index, self.0.share.of)
    }
}

/// What a node says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToConductor {
    /// The first that it says.
    Hello(Box<Facts>),
    /// The answer to a ping: when it came and when this went, by the node's monotonic clock in nanoseconds.
    Pong {
        /// Which.
        number: u64,
        /// When the ping was read.
        came_ns: u64,
        /// When this was written.
        went_ns: u64,
    },
    /// The part is ready.
    Armed {
        /// So many workers carry it out.
        workers: usize,
    },
    /// It cannot be carried out here.
    Refused {
        /// Line by line.
        lines: Vec<String>,
        /// Whether what was asked for is at fault.
        bad_input: bool,
    },
    /// So many requests a second can be sent from here, or more.
    Measured {
        /// Requests per second.
        per_second: f64,
    },
    /// It will begin.
    Going,
    /// A piece of its record, which is behind this.
    Piece,
    /// A line that the test prints.
    Line {
        /// Of which sort.
        sort: Sort,
        /// Without secrets.
        text: String,
    },
    /// A line for whoever has started the run.
    Said {
        /// Without secrets.
        text: String,
        /// Whether it is a warning.
        warning: bool,
    },
    /// Whether arrivals of another's share will be carried out here from then on.
    Adopted {
        /// Whose they were.
        share: Share,
        /// As it was asked.
        from_ns: u64,
        /// It was asked for in time, and can be.
        done: bool,
    },
    /// Its part is over; everything of its record has been said.
    Over {
        /// What it died of, if it did.
        error: Option<String>,
    },
}

/// The sort of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// A scenario's log.
    Log,
    /// What a script prints.
    Text,
    /// A trace.
    Trace,
    /// What every rendering has to say.
    Remark,
}

/// What a node is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Of what is said.
    pub protocol: u32,
    /// Loadline's.
    pub version: String,
    /// What the machine is called.
    pub name: String,
    /// What tells the machine, since it was started, from all others.
    pub boot: String,
    /// Its cores.
    pub cores: usize,
    /// Files that may be open.
    pub descriptors: Option<u64>,
    /// Local ports.
    pub ports: Option<u64>,
    /// By how much its clock may be off from the world's, in microseconds; none where it is kept by nobody.
    pub clock_error_us: Option<u64>,
    /// Whether the kernel has been asked about its clock.
    pub clock_known: bool,
}

/// In words, ending with what is known of its clock.
impl std::fmt::Display for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = record::units::count;
        write!(f, "cores {}", self.cores)?;
        if let Some(descriptors) = self.descriptors {
            write!(f, ", descriptors {}", count(descriptors))?;
        }
        if let Some(ports) = self.ports {
            write!(f, ", ports {}", count(ports))?;
        }
        match self.clock_error_us {
            Some(us) => write!(
                f,
                ", clock within {} of the world's",
                record::units::time(us.saturating_mul(1_000))
            ),
            None if self.clock_known => f.write_str(", clock kept by nobody"),
            None => f.write_str(", clock"),
        }
    }
}

/// Writes something that is said.
///
/// # Errors
/// When whoever is told is gone.
pub fn write<T: Serialize>(out: &mut dyn Write, said: &T, rest: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(said).map_err(io::Error::other)?;
    let whole = 4 + head.len() + rest.len();
    let too_long = || io::Error::other("what is to be said is too long");
    if whole > LONGEST {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(whole + 4);
    for length in [whole, head.len()] {
        let length = u32::try_from(length).map_err(|_| too_long())?;
        bytes.extend(length.to_le_bytes());
    }
    bytes.extend(head);
    bytes.extend(rest);
    out.write_all(&bytes)?;
    out.flush()
}

/// The next that is said; none at the end of the stream.
///
/// # Errors
/// When the stream breaks off, or holds something else.
pub fn read<T: DeserializeOwned>(input: &mut dyn Read) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut length = [0; 4];
    if !is_filled(input, &mut length)? {
        return Ok(None);
    }
    let wrong = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "what came is nothing that a Loadline of this version says",
        )
    };
    let whole = u32::from_le_bytes(length) as usize;
    if !(4..=LONGEST).contains(&whole) {
        return Err(wrong());
    }
    let mut bytes = vec![0; whole];
    input.read_exact(&mut bytes)?;
    let (length, after) = bytes.split_at(4);
    let head = length
        .try_into()
        .map(u32::from_le_bytes)
        .map_err(|_| wrong())? as usize;
    let (head, rest) = after.split_at_checked(head).ok_or_else(wrong)?;
    let said = serde_json::from_slice(head).map_err(|_| wrong())?;
    Ok(Some((said, rest.to_vec())))
}

/// Whether there was anything at all.
fn is_filled(input: &mut dyn Read, bytes: &mut [u8; 4]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < bytes.len() {
        match input.read(&mut bytes[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_said_comes_as_it_went(number in any::<u64>(), rest in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = Vec::new();
            write(&mut bytes, &ToNode::Ping { number }, &rest).unwrap();
            write(&mut bytes, &ToNode::Bye, b"").unwrap();
            let mut stream = bytes.as_slice();
            let (said, came) = read::<ToNode>(&mut stream).unwrap().unwrap();
            let pinged = matches!(said, ToNode::Ping { number: n } if n == number);
            prop_assert!(pinged);
            prop_assert_eq!(came, rest);
            let (said, _) = read::<ToNode>(&mut stream).unwrap().unwrap();
            let is_bye = matches!(said, ToNode::Bye);
            prop_assert!(is_bye);
            prop_assert!(read::<ToNode>(&mut stream).unwrap().is_none());
            // Torn, it is an error and no message.
            for end in 1..bytes.len().min(20) {
                prop_assert!(read::<ToNode>(&mut &bytes[..end]).is_err());
            }
        }

        #[test]
        fn whatever_comes_is_said_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read::<ToConductor>(&mut bytes.as_slice());
            let _ = read::<ToNode>(&mut bytes.as_slice());
        }
    }
}
