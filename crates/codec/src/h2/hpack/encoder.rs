//! Encoder for the header blocks of requests. Their fields are compiled once per plan step.

use std::collections::{HashMap, VecDeque};

use super::{FIELD_OVERHEAD, TABLE_SIZE, huffman, integer, static_table};

const STATIC_ENTRIES: usize = static_table::STATIC.len();
const INDEXED: u8 = 0x80;
const INSERTED: u8 = 0x40;
const NEVER_INDEXED: u8 = 0x10;
const NOT_INDEXED: u8 = 0x00;

/// Whether an encoder uses the dynamic table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Indexing {
    /// The first use of a constant field inserts it into the table. Later uses take one or two
    /// bytes.
    #[default]
    Dynamic,
    /// Fields are never inserted, so equal requests have equal header blocks.
    Literal,
}

/// Assigns numbers to the fields that encoders may insert. All templates of a plan share the
/// numbers.
#[derive(Debug, Default)]
pub struct FieldNumbers {
    numbers: HashMap<FieldKey, u32>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FieldKey {
    name: Box<[u8]>,
    /// `None` for an entry that consists of a name and an empty value.
    value: Option<Box<[u8]>>,
}

impl FieldNumbers {
    fn number(&mut self, name: &[u8], value: Option<&[u8]>) -> u32 {
        let next = self.numbers.len() as u32;
        let key = FieldKey {
            name: name.into(),
            value: value.map(Into::into),
        };
        *self.numbers.entry(key).or_insert(next)
    }
}

/// A field compiled for encoding.
#[derive(Debug)]
pub(crate) struct CompiledField {
    kind: FieldKind,
    /// Index of the name in the static table. 0 if the table does not contain it.
    name_index: usize,
    /// Name as a string literal. Empty if the name has an index.
    name: Vec<u8>,
    name_len: usize,
    is_cookie: bool,
}

#[derive(Debug)]
enum FieldKind {
    /// An entry of the static table, by index.
    Static(usize),
    /// A constant that its first use inserts. `size` is its size in the table.
    Constant {
        number: u32,
        size: usize,
        literal: Vec<u8>,
    },
    /// A constant that must never be inserted into a table.
    Secret { literal: Vec<u8> },
    /// A value that the caller supplies for `hole` in each request. `number` identifies a name that
    /// is not in the static table.
    Hole {
        hole: u32,
        number: Option<u32>,
        secret: bool,
    },
}

/// Shorter cookies are easy to guess, so they are never indexed.
const SHORT_COOKIE: usize = 20;

fn is_credential(name: &[u8]) -> bool {
    matches!(name, b"authorization" | b"proxy-authorization")
}

fn is_secret(name: &[u8], value: &[u8]) -> bool {
    is_credential(name) || (name == b"cookie" && value.len() < SHORT_COOKIE)
}

impl CompiledField {
    pub(crate) fn constant(numbers: &mut FieldNumbers, name: &[u8], value: &[u8]) -> CompiledField {
        let literal = string_literal(value);
        let kind = if is_secret(name, value) {
            FieldKind::Secret { literal }
        } else if let Some(index) = static_table::index_of_field(name, value) {
            FieldKind::Static(index)
        } else {
            FieldKind::Constant {
                number: numbers.number(name, Some(value)),
                size: name.len() + value.len() + FIELD_OVERHEAD,
                literal,
            }
        };
        CompiledField::new(name, kind)
    }

    pub(crate) fn hole(numbers: &mut FieldNumbers, name: &[u8], hole: u32) -> CompiledField {
        let has_index = static_table::index_of_name(name).is_some();
        let kind = FieldKind::Hole {
            hole,
            number: (!has_index).then(|| numbers.number(name, None)),
            secret: is_credential(name),
        };
        CompiledField::new(name, kind)
    }

    /// Returns the number of the hole. `None` if the value is constant.
    pub(crate) fn hole_number(&self) -> Option<u32> {
        match self.kind {
            FieldKind::Hole { hole, .. } => Some(hole),
            _ => None,
        }
    }

    fn new(name: &[u8], kind: FieldKind) -> CompiledField {
        let name_index = static_table::index_of_name(name).unwrap_or(0);
        CompiledField {
            kind,
            name_index,
            name: if name_index == 0 {
                string_literal(name)
            } else {
                Vec::new()
            },
            name_len: name.len(),
            is_cookie: name == b"cookie",
        }
    }

    fn write_name(&self, pattern: u8, prefix: u32, out: &mut Vec<u8>) {
        integer::encode(out, pattern, prefix, self.name_index);
        out.extend_from_slice(&self.name);
    }
}

/// Encodes the header blocks of one connection.
#[derive(Debug)]
pub struct Encoder {
    indexing: Indexing,
    max: usize,
    size: usize,
    /// Sizes of the entries, oldest first.
    sizes: VecDeque<usize>,
    inserted: u64,
    /// Number of insertions up to and including that of the field, by field number. 0 if the field
    /// was never inserted.
    positions: Vec<u64>,
    size_update: Option<SizeUpdate>,
}

/// Changes of the table size since the last block.
#[derive(Debug, Clone, Copy)]
struct SizeUpdate {
    smallest: usize,
    last: usize,
}

impl Encoder {
    /// Creates an encoder with an empty table.
    #[must_use]
    pub fn new(indexing: Indexing) -> Encoder {
        Encoder {
            indexing,
            max: TABLE_SIZE,
            size: 0,
            sizes: VecDeque::new(),
            inserted: 0,
            positions: Vec::new(),
            size_update: None,
        }
    }

    /// Applies the server's SETTINGS_HEADER_TABLE_SIZE. The next block announces a change.
    pub fn limit_table(&mut self, size: usize) {
        let max = size.min(TABLE_SIZE);
        if max == self.max {
            return;
        }
        let smallest = self
            .size_update
            .map_or(max, |update| update.smallest.min(max));
        self.size_update = Some(SizeUpdate {
            smallest,
            last: max,
        });
        self.max = max;
        self.evict(max);
    }

    /// Starts a block, and announces changes of the table size.
    pub(crate) fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some(SizeUpdate { smallest, last }) = self.size_update.take() {
            if smallest < last {
                integer::encode(out, 0x20, 5, smallest);
            }
            integer::encode(out, 0x20, 5, last);
        }
    }

    /// Appends a compiled field. `values` returns the values of holes. Returns the length of the
    /// hole's value, or 0 for a constant.
    #[inline]
    pub(crate) fn field<'a>(
        &mut self,
        field: &CompiledField,
        values: &dyn Fn(u32) -> &'a [u8],
        out: &mut Vec<u8>,
    ) -> usize {
        match &field.kind {
            FieldKind::Static(index) => integer::encode(out, INDEXED, 7, *index),
            FieldKind::Constant {
                number,
                size,
                literal,
            } => {
                if let Some(index) = self.index(*number) {
                    integer::encode(out, INDEXED, 7, index);
                } else {
                    self.write_name(field, *number, *size, out);
                    out.extend_from_slice(literal);
                }
            }
            FieldKind::Secret { literal } => {
                field.write_name(NEVER_INDEXED, 4, out);
                out.extend_from_slice(literal);
            }
            FieldKind::Hole {
                hole,
                number,
                secret,
            } => {
                let value = values(*hole);
                let is_short_cookie = field.is_cookie && value.len() < SHORT_COOKIE;
                match number {
                    _ if *secret || is_short_cookie => field.write_name(NEVER_INDEXED, 4, out),
                    None => field.write_name(NOT_INDEXED, 4, out),
                    Some(number) => match self.index(*number) {
                        Some(index) => integer::encode(out, NOT_INDEXED, 4, index),
                        // The entry is useful for its name. Later requests have another value.
                        None => {
                            let size = field.name_len + value.len() + FIELD_OVERHEAD;
                            self.write_name(field, *number, size, out);
                        }
                    },
                }
                write_string(value, out);
                return value.len();
            }
        }
        0
    }

    /// Appends the start of a literal, which is also inserted if it fits into the table.
    fn write_name(&mut self, field: &CompiledField, number: u32, size: usize, out: &mut Vec<u8>) {
        if self.insert(number, size) {
            field.write_name(INSERTED, 6, out);
        } else {
            field.write_name(NOT_INDEXED, 4, out);
        }
    }

    /// Appends a field that was not compiled, without inserting it.
    pub(crate) fn literal(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        let pattern = if is_secret(name, value) {
            NEVER_INDEXED
        } else {
            NOT_INDEXED
        };
        let index = static_table::index_of_name(name).unwrap_or(0);
        integer::encode(out, pattern, 4, index);
        if index == 0 {
            write_string(name, out);
        }
        write_string(value, out);
    }

    /// Returns the index of an inserted field. `None` if it was never inserted or has been evicted.
    #[inline]
    fn index(&self, number: u32) -> Option<usize> {
        let position = *self.positions.get(number as usize)?;
        let age = self.inserted.checked_sub(position)? as usize;
        (position > 0 && age < self.sizes.len()).then_some(STATIC_ENTRIES + 1 + age)
    }

    /// Inserts a field of this size. Returns whether it fits into the table.
    fn insert(&mut self, number: u32, size: usize) -> bool {
        if self.indexing == Indexing::Literal || size > self.max {
            return false;
        }
        self.evict(self.max - size);
        self.size += size;
        self.sizes.push_back(size);
        self.inserted += 1;
        let number = number as usize;
        if self.positions.len() <= number {
            self.positions.resize(number + 1, 0);
        }
        self.positions[number] = self.inserted;
        true
    }

    fn evict(&mut self, max: usize) {
        while self.size > max
            && let Some(size) = self.sizes.pop_front()
        {
            self.size -= size;
        }
    }
}

fn string_literal(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_string(bytes, &mut out);
    out
}

/// Appends a string literal, with Huffman coding if that is shorter.
fn write_string(bytes: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_len(bytes);
    if coded < bytes.len() {
        integer::encode(out, 0x80, 7, coded);
        huffman::encode(bytes, out);
    } else {
        integer::encode(out, 0, 7, bytes.len());
        out.extend_from_slice(bytes);
    }
}
