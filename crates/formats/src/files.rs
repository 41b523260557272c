//! Access to files through a function, which tests and fuzzing can replace.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use plan::{At, Plan, Problem};

/// A function that returns the bytes of a file, or the reason why it cannot be read.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> Result<Vec<u8>, String>;

pub fn from_disk(path: &Path) -> Result<Vec<u8>, String> {
    read(path).map_err(|error| error.to_string())
}

const LARGEST: u64 = 1 << 30;
/// Maximum size to read from a device such as a terminal. `/dev/zero` is endless.
const LARGEST_OF_DEVICE: u64 = 1 << 20;

/// Reads a file or pipe that the user named. Fails if it is too large.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    let largest = if kind.is_char_device() || kind.is_block_device() {
        LARGEST_OF_DEVICE
    } else {
        LARGEST
    };
    read_at_most(file, largest)
}

pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8 text"))
}

fn read_at_most(file: impl Read, largest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        let reason = format!("it is larger than {} MB, or does not end", largest >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

#[derive(Debug, Default)]
pub struct Noting(RefCell<BTreeSet<PathBuf>>);

impl Noting {
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let bytes = from_disk(path)?;
        self.0.borrow_mut().insert(path.to_owned());
        Ok(bytes)
    }

    #[must_use]
    pub fn apply(self, mut plan: Plan) -> Plan {
        let read = self.0.into_inner().into_iter();
        let read = read.map(|path| path.display().to_string());
        plan.provenance.dependencies = read
            .filter(|path| !plan.provenance.files.contains(path))
            .collect();
        plan
    }
}

/// Converts the bytes of a file to text. If they are not UTF-8, the error contains the position of
/// the first invalid byte.
pub fn text(bytes: Vec<u8>) -> Result<String, NotText> {
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        NotText {
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            column: String::from_utf8_lossy(&before[line_start..])
                .chars()
                .count()
                + 1,
            byte: error.as_bytes()[before.len()],
        }
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotText {
    pub line: usize,
    pub column: usize,
    byte: u8,
}

impl NotText {
    pub fn problem(&self, file: String) -> Problem {
        Problem {
            at: Some(At {
                file,
                line: self.line,
                column: self.column,
            }),
            message: self.to_string(),
        }
    }
}

impl std::fmt::Display for NotText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "byte 0x{:02x} is not valid UTF-8: save the file as UTF-8",
            self.byte
        )
    }
}

pub fn from_text<'a>(
    name: &'a str,
    text: &'a str,
) -> impl Fn(&Path) -> Result<Vec<u8>, String> + 'a {
    move |path| {
        if path == Path::new(name) {
            Ok(text.as_bytes().to_owned())
        } else {
            Err("no such file".to_owned())
        }
    }
}

#[must_use]
pub fn relative(path: &Path, folder: &Path) -> PathBuf {
    let common = folder.ancestors().find(|above| path.starts_with(above));
    let common = common.unwrap_or(Path::new("/"));
    let ups = folder
        .strip_prefix(common)
        .map_or(0, |below| below.components().count());
    let below = path.strip_prefix(common).unwrap_or(path);
    std::iter::repeat_n(Path::new(".."), ups)
        .chain([below])
        .collect()
}
