//! HPACK header compression (RFC 7541).

pub mod decoder;
pub mod encoder;
pub mod huffman;
mod integer;
mod static_table;
mod table;

pub use decoder::{Decoder, Limits};
pub use encoder::{Encoder, FieldNumbers};

/// Size that RFC 7541, section 4.1, adds to each field.
const FIELD_OVERHEAD: usize = 32;

/// Default size of a dynamic table, and the largest that either side of a connection uses.
pub const TABLE_SIZE: usize = 4096;

/// Why a header block cannot be decoded. Each error ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HpackError {
    /// The block ends within a field.
    Truncated,
    /// An integer exceeds 2^28.
    Integer,
    /// A Huffman code is invalid, or its padding is.
    Huffman,
    /// An index refers to no entry of the tables.
    Index,
    /// A size update exceeds the announced size, or follows a field.
    SizeUpdate,
    /// The decoded fields exceed the limit.
    ListTooLarge,
}

#[cfg(test)]
#[path = "hpack_tests.rs"]
mod tests;
