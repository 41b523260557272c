//! HPACK header compression (RFC 7541).

pub mod decoder;
pub mod encoder;
pub mod huffman;
mod integer;
mod static_table;
mod table;

pub use decoder::{Decoder, Limits};
pub use encoder::{Encoder, FieldNumbers};

/// Overhead of each field in the table, in bytes (RFC 7541, section 4.1).
const FIELD_OVERHEAD: usize = 32;

/// Default size of a dynamic table. Neither side of a connection uses a larger table.
pub const TABLE_SIZE: usize = 4096;

/// Why a header block cannot be decoded. Every error ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HpackError {
    /// The block ends within a field.
    Truncated,
    /// An integer exceeds 2^28.
    Integer,
    /// A Huffman code or its padding is invalid.
    Huffman,
    /// An index is outside the tables.
    Index,
    /// A table size update exceeds the announced size, or comes after a field.
    SizeUpdate,
    /// The decoded fields exceed the limit.
    ListTooLarge,
}

#[cfg(test)]
#[path = "hpack_tests.rs"]
mod tests;
