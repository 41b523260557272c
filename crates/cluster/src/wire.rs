//! Messages between conductor and nodes. Each consists of a length, a line of JSON, and binary
//! data.

use std::io::{self, Read, Write};

use plan::Share;
use record::RunStart;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use session::RunPartOrder;

pub const PROTOCOL: u32 = 2;
/// Maximum size of a message. Thousands of labels take a few megabytes.
const LONGEST: usize = 64 << 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToNode {
    Ping {
        number: u64,
    },
    /// Prepares a part. The message may contain secrets, so it is never stored.
    Arm {
        test: Value,
        part: Box<Arming>,
    },
    /// Measures how much load the machine can generate, up to `enough`.
    Measure {
        enough: f64,
    },
    Go {
        start: RunStart,
    },
    Cancel,
    /// Lets the node continue until this time. The conductor renews the lease regularly.
    Lease {
        until_ns: u64,
    },
    TakeOver {
        share: Share,
        from_ns: u64,
    },
    /// Stops the run. Requests in flight may finish unless the stop is urgent.
    Stop {
        text: String,
        urgent: bool,
    },
    Bye,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Arming {
    pub part: SessionPart,
    pub looks: bool,
    /// Folder for the node's own record. `None` means a temporary folder.
    pub keep: Option<std::path::PathBuf>,
    pub takes_over: bool,
}

/// A [`RunPartOrder`] whose debug output hides secrets.
#[derive(Clone, Serialize, Deserialize)]
pub struct SessionPart(pub RunPartOrder);

impl std::fmt::Debug for SessionPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "part {} of {}", self.0.share.number(), self.0.share.of)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToConductor {
    Hello(Box<Facts>),
    Pong {
        number: u64,
        came_ns: u64,
        went_ns: u64,
    },
    Armed {
        workers: usize,
        /// Digest of the plan that the node created from the test.
        plan_digest: Option<String>,
    },
    Refused {
        lines: Vec<String>,
        bad_input: bool,
    },
    Measured {
        per_second: f64,
    },
    Going,
    Piece,
    Line {
        sort: Sort,
        text: String,
    },
    Said {
        text: String,
        warning: bool,
    },
    TakenOver {
        share: Share,
        from_ns: u64,
        done: bool,
    },
    Over {
        error: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    Log,
    Text,
    ErrorText,
    Trace,
    Remark,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Facts {
    pub protocol: u32,
    pub version: String,
    pub name: String,
    pub boot: String,
    pub cores: usize,
    pub descriptors: Option<u64>,
    pub ports: Option<u64>,
    /// Clock error in microseconds. `None` if the clock is not synchronized.
    pub clock_error_us: Option<u64>,
    pub clock_known: bool,
}

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
                ", clock within {} of UTC",
                record::units::time(us.saturating_mul(1_000))
            ),
            None if self.clock_known => f.write_str(", clock not synchronized"),
            None => f.write_str(", clock"),
        }
    }
}

pub fn write<T: Serialize>(out: &mut dyn Write, message: &T, rest: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(message).map_err(io::Error::other)?;
    let decoded = 4 + head.len() + rest.len();
    let too_long = || io::Error::other("the message is too long");
    if decoded > LONGEST {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(decoded + 4);
    for length in [decoded, head.len()] {
        let length = u32::try_from(length).map_err(|_| too_long())?;
        bytes.extend(length.to_le_bytes());
    }
    bytes.extend(head);
    bytes.extend(rest);
    out.write_all(&bytes)?;
    out.flush()
}

pub fn read<T: DeserializeOwned>(input: &mut dyn Read) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut length = [0; 4];
    if !is_filled(input, &mut length)? {
        return Ok(None);
    }
    let wrong = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "invalid message: the sender runs another version of Loadline",
        )
    };
    let decoded = u32::from_le_bytes(length) as usize;
    if !(4..=LONGEST).contains(&decoded) {
        return Err(wrong());
    }
    let mut bytes = vec![0; decoded];
    input.read_exact(&mut bytes)?;
    let (length, after) = bytes.split_at(4);
    let head = length
        .try_into()
        .map(u32::from_le_bytes)
        .map_err(|_| wrong())? as usize;
    let (head, rest) = after.split_at_checked(head).ok_or_else(wrong)?;
    let message = serde_json::from_slice(head).map_err(|_| wrong())?;
    Ok(Some((message, rest.to_vec())))
}

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
    let (message, came) = read::<ToNode>(&mut stream).unwrap().unwrap();
    let pinged = matches!(message, ToNode::Ping { number: n } if n == number);
    prop_assert!(pinged);
    prop_assert_eq!(came, rest);
    let (message, _) = read::<ToNode>(&mut stream).unwrap().unwrap();
    let is_bye = matches!(message, ToNode::Bye);
    prop_assert!(is_bye);
    prop_assert!(read::<ToNode>(&mut stream).unwrap().is_none());
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
