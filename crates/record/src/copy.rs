//! Streams a byte-identical copy of a record to another place, in pieces.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use measure::{Histogram, LabelId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    DecodedChunk, Manifest, RecordChunk, RecordError,
    files::{Files, replace},
};

pub type Ages = BTreeMap<LabelId, Vec<(u64, u64)>>;

/// Receives the pieces of a copy, in order. Must not block.
pub trait Copier: Send {
    fn take(&mut self, piece: RecordPiece);
}

#[derive(Debug, Clone, PartialEq)]
pub enum RecordPiece {
    Begun {
        manifest: Box<Manifest>,
        plan: Value,
    },
    Chunk {
        chunk: RecordChunk,
        in_flight_ages: Ages,
    },
    Lines {
        file: Extra,
        text: String,
    },
    Ended(Box<Manifest>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extra {
    Events,
    Server,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PieceHead {
    Begun {
        manifest: Box<Manifest>,
        plan: Value,
    },
    Chunk {
        in_flight_ages: Ages,
    },
    Lines {
        file: Extra,
    },
    Ended {
        manifest: Box<Manifest>,
    },
}

impl RecordPiece {
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (head, rest) = match self {
            RecordPiece::Begun { manifest, plan } => {
                let (manifest, plan) = (manifest.clone(), plan.clone());
                (PieceHead::Begun { manifest, plan }, Vec::new())
            }
            RecordPiece::Chunk {
                chunk,
                in_flight_ages,
            } => {
                let in_flight_ages = in_flight_ages.clone();
                (PieceHead::Chunk { in_flight_ages }, chunk.to_bytes())
            }
            RecordPiece::Lines { file, text } => {
                (PieceHead::Lines { file: *file }, text.clone().into_bytes())
            }
            RecordPiece::Ended(manifest) => {
                let manifest = manifest.clone();
                (PieceHead::Ended { manifest }, Vec::new())
            }
        };
        let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend(rest);
        bytes
    }

    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<RecordPiece> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (head, rest) = (&bytes[..end], &bytes[end + 1..]);
        let piece = match serde_json::from_slice(head).ok()? {
            PieceHead::Begun { manifest, plan } => RecordPiece::Begun { manifest, plan },
            PieceHead::Chunk { in_flight_ages } => {
                let chunk = RecordChunk::from_bytes(rest)?;
                return Some(RecordPiece::Chunk {
                    chunk,
                    in_flight_ages,
                });
            }
            PieceHead::Lines { file } => {
                let text = String::from_utf8(rest.to_vec()).ok()?;
                let is_whole = text.is_empty() || text.ends_with('\n');
                return is_whole.then_some(RecordPiece::Lines { file, text });
            }
            PieceHead::Ended { manifest } => RecordPiece::Ended(manifest),
        };
        rest.is_empty().then_some(piece)
    }
}

#[must_use]
pub fn ages(in_flight_ages: &BTreeMap<LabelId, Histogram<u64>>) -> Ages {
    let cells = |ages: &Histogram<u64>| ages.cells().map(|cell| (cell.low, cell.count)).collect();
    let all = in_flight_ages.iter().filter(|(_, ages)| ages.count() > 0);
    all.map(|(id, ages)| (*id, cells(ages))).collect()
}

pub struct Replica {
    dir: PathBuf,
    files: Option<Files>,
}

impl Replica {
    #[must_use]
    pub fn new(run: &Path, number: u64) -> Replica {
        Replica {
            dir: run.join("parts").join(number.to_string()),
            files: None,
        }
    }

    pub fn take(&mut self, piece: &RecordPiece) -> Result<Option<DecodedChunk>, RecordError> {
        let dir = self.dir.clone();
        let failed = |source| RecordError::NotWritable { path: dir, source };
        let unbegun = || std::io::Error::other("a chunk arrived before the start of the record");
        let mut unfolded = None;
        let written = match piece {
            RecordPiece::Begun { manifest, plan } => self.begin(manifest, plan),
            RecordPiece::Ended(manifest) => replace(&self.dir.join("manifest.json"), manifest),
            RecordPiece::Chunk { chunk, .. } => {
                unfolded = chunk.unfold();
                let damaged = || std::io::Error::other("an interval arrived damaged");
                match &mut self.files {
                    _ if unfolded.is_none() => Err(damaged()),
                    Some(files) => files.interval(chunk),
                    None => Err(unbegun()),
                }
            }
            RecordPiece::Lines { file, text } => match (&mut self.files, file) {
                (Some(files), Extra::Events) => files.events(text),
                (Some(files), Extra::Server) => files.server(text),
                (None, _) => Err(unbegun()),
            },
        };
        written.map_err(failed).map(|()| unfolded)
    }

    fn begin(&mut self, manifest: &Manifest, plan: &Value) -> std::io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        replace(&self.dir.join("manifest.json"), manifest)?;
        replace(&self.dir.join("plan.json"), plan)?;
        let has_accumulator = manifest.frontend != "run";
        self.files = Some(Files::begin(
            &self.dir,
            manifest.start.wall_ns,
            has_accumulator,
        )?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
    #[test]
    fn a_piece_comes_back_as_it_went(
    ages in prop::collection::btree_map(0..50u16, prop::collection::vec((any::<u64>(), 1..9u64), 1..5), 0..4),
    lines in prop::collection::vec("[a-z{}\"]{0,20}", 0..4),
    ) {
    let chunk = RecordChunk::default();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let file = Extra::Events;
    for piece in [RecordPiece::Chunk { chunk, in_flight_ages: ages }, RecordPiece::Lines { file, text }] {
    let bytes = piece.to_bytes();
    let came = RecordPiece::from_bytes(&bytes);
    prop_assert_eq!(came.as_ref(), Some(&piece));
    }
    }

    #[test]
    fn whatever_comes_is_a_piece_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
    let _ = RecordPiece::from_bytes(&bytes);
    }
    }
}
