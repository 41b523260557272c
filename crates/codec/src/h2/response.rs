//! Response heads and trailers, and a cache of recent heads.

use std::rc::Rc;

use super::{
    error::StreamError,
    fields::{Field, Fields},
    hpack::{Decoder, HpackError, Limits},
    template::{is_connection_specific, is_valid_name, is_valid_value},
};
use crate::head::{Notable, text};

/// A response head or trailers, with the parts that the client acts on.
#[derive(Debug, Clone, Default)]
pub struct ResponseHead {
    /// HTTP status. 0 in trailers.
    pub status: u16,
    /// Value of `content-length`.
    pub content_length: Option<u64>,
    /// Headers that a client acts on. `None` if there are none.
    pub notable: Option<Rc<Notable>>,
    /// Length of the compressed header block in bytes.
    pub block_len: usize,
    fields: Fields,
    /// Why the fields are malformed.
    pub(super) error: Option<StreamError>,
}

impl ResponseHead {
    /// Returns the fields in order, without `:status`.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let is_regular = |field: &Field<'_>| !field.name.starts_with(b":");
        self.fields.iter().filter(is_regular)
    }

    /// Returns the first value of a field. `name` must be in lower case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.fields.get(name)
    }

    /// Returns the fields as text: names in lower case, with their values.
    #[must_use]
    pub fn headers(&self) -> Vec<(String, String)> {
        let field = |field: Field<'_>| (text(field.name), text(field.value));
        self.fields().map(field).collect()
    }

    /// Returns the uncompressed length of names and values in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.fields.byte_len()
    }

    /// Returns whether this is a 1xx response, which precedes the final response.
    pub(super) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status)
    }

    fn read(&mut self, block_len: usize, is_trailer: bool) {
        (self.status, self.content_length, self.notable) = (0, None, None);
        self.block_len = block_len;
        self.error = self.interpret(is_trailer).err();
    }

    fn interpret(&mut self, is_trailer: bool) -> Result<(), StreamError> {
        let mut notable = None;
        let mut has_regular = false;
        for field in self.fields.iter() {
            if field.name == b":status" && !is_trailer && !has_regular {
                if self.status != 0 {
                    return Err(StreamError::Status);
                }
                self.status = parse_status(field.value).ok_or(StreamError::Status)?;
                continue;
            }
            check(field)?;
            has_regular = true;
            if field.name == b"content-length" && !is_trailer {
                let length = parse_length(field.value).ok_or(StreamError::ContentLength)?;
                if self.content_length.is_some_and(|known| known != length) {
                    return Err(StreamError::ContentLength);
                }
                self.content_length = Some(length);
            } else if !is_trailer && Notable::includes(field.name, self.status) {
                let notable = notable.get_or_insert_with(Notable::default);
                notable.add(field.name, field.value);
            }
        }
        if self.status == 0 && !is_trailer {
            return Err(StreamError::Status);
        }
        self.notable = notable.map(Rc::new);
        Ok(())
    }
}

fn check(field: Field<'_>) -> Result<(), StreamError> {
    if field.name.starts_with(b":") {
        return Err(StreamError::PseudoField);
    }
    if !is_valid_name(field.name) {
        return Err(StreamError::FieldName);
    }
    if !is_valid_value(field.value) {
        return Err(StreamError::FieldValue);
    }
    if is_connection_specific(field.name) || (field.name == b"te" && field.value != b"trailers") {
        return Err(StreamError::ConnectionField);
    }
    Ok(())
}

fn parse_status(value: &[u8]) -> Option<u16> {
    let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else {
        return None;
    };
    let digit = |byte: &u8| u16::from(byte - b'0');
    Some(digit(a) * 100 + digit(b) * 10 + digit(c))
}

fn parse_length(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.len() <= 18 && value.iter().all(u8::is_ascii_digit);
    let add = |number: u64, digit: &u8| number * 10 + u64::from(digit - b'0');
    is_number.then(|| value.iter().fold(0, add))
}

/// Number of cached heads per connection.
const CACHED: usize = 4;
/// Maximum size of a block to cache, in bytes.
const MAX_CACHED_BLOCK: usize = 4 << 10;
/// Number of consecutive unknown blocks after which only one block in 32 is cached.
const IN_VAIN: u32 = 32;

/// Decodes header blocks, with a cache of recent blocks.
///
/// If a block leaves the dynamic table unchanged, its fields depend only on its bytes and on the
/// table's revision, so a comparison replaces decoding. If a block refers to no entry of the table,
/// its fields depend only on its bytes. If such a block inserts fields, as every response of nginx
/// does, the insertions are postponed until another block must be decoded.
#[derive(Debug, Default)]
pub(super) struct HeadDecoder {
    decoder: Decoder,
    cached: Vec<CachedHead>,
    next: usize,
    unknown: u32,
    spare: Rc<ResponseHead>,
    pending: Option<PendingInsertions>,
}

/// Insertions of a cached block that have been postponed.
#[derive(Debug)]
struct PendingInsertions {
    /// Index of the cached head.
    cached: usize,
    times: u64,
}

#[derive(Debug)]
struct CachedHead {
    block: Vec<u8>,
    /// Table revision for which the head is valid. `None` means any revision.
    revision: Option<u64>,
    /// Indices of the fields that the block inserts into the table.
    inserted: Vec<u32>,
    is_trailer: bool,
    head: Rc<ResponseHead>,
}

impl HeadDecoder {
    /// Decodes a complete header block.
    #[inline]
    pub(super) fn decode(
        &mut self,
        block: &[u8],
        is_trailer: bool,
        limits: Limits,
    ) -> Result<Rc<ResponseHead>, HpackError> {
        let revision = self.decoder.revision();
        let is_current = self.pending.is_none();
        let is_same = |cached: &CachedHead| {
            let is_valid = cached
                .revision
                .is_none_or(|known| is_current && known == revision);
            is_valid && cached.is_trailer == is_trailer && cached.block == block
        };
        if let Some(at) = self.cached.iter().position(is_same) {
            self.unknown = 0;
            self.insert_later(at);
            return Ok(Rc::clone(&self.cached[at].head));
        }
        self.insert_pending();
        let revision = self.decoder.revision();
        if Rc::get_mut(&mut self.spare).is_none() {
            self.spare = Rc::default();
        }
        if let Some(head) = Rc::get_mut(&mut self.spare) {
            self.decoder.decode(block, limits, &mut head.fields)?;
            head.read(block.len(), is_trailer);
        }
        let valid_for = if self.decoder.is_self_contained() {
            Some(None)
        } else {
            (self.decoder.revision() == revision).then_some(Some(revision))
        };
        if let Some(valid_for) = valid_for
            && block.len() <= MAX_CACHED_BLOCK
        {
            self.unknown += 1;
            if self.unknown <= IN_VAIN || self.unknown.is_multiple_of(IN_VAIN) {
                self.cache(block, valid_for, is_trailer);
            }
        }
        Ok(Rc::clone(&self.spare))
    }

    /// Postpones the insertions of a cached block that was received again.
    #[inline]
    fn insert_later(&mut self, at: usize) {
        if self.cached[at].inserted.is_empty() {
            return;
        }
        match &mut self.pending {
            Some(pending) if pending.cached == at => pending.times += 1,
            _ => {
                self.insert_pending();
                self.pending = Some(PendingInsertions {
                    cached: at,
                    times: 1,
                });
            }
        }
    }

    fn insert_pending(&mut self) {
        if let Some(PendingInsertions { cached, times }) = self.pending.take() {
            let known = &self.cached[cached];
            self.decoder
                .insert_again(&known.head.fields, &known.inserted, times);
        }
    }

    #[cold]
    fn cache(&mut self, block: &[u8], revision: Option<u64>, is_trailer: bool) {
        let known = CachedHead {
            block: block.to_vec(),
            revision,
            inserted: self.decoder.inserted().to_vec(),
            is_trailer,
            head: Rc::clone(&self.spare),
        };
        if self.cached.len() < CACHED {
            self.cached.push(known);
        } else {
            self.cached[self.next] = known;
            self.next = (self.next + 1) % CACHED;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits { list: 4096 };

    /// Returns blocks that insert fields, blocks that refer to the table, and blocks that do
    /// neither.
    fn blocks() -> Vec<Vec<u8>> {
        let insert = |value: &[u8]| {
            let mut block = vec![0x88, 0x76, value.len() as u8];
            block.extend_from_slice(value);
            block
        };
        vec![
            insert(b"nginx/1.22.1"),
            insert(b"another"),
            [insert(b"a"), insert(b"b")].concat(),
            vec![0x88, 0x0f, 13, 1, b'5'],
            // The newest entries of the table.
            vec![0x88, 0xbe],
            vec![0x88, 0xbf, 0xbe],
            // An insertion whose name comes from the table.
            vec![0x88, 0x7e, 1, b'x'],
            // A smaller table, and the default again.
            vec![0x3f, 0x2f, 0x88],
            vec![0x3f, 0xe1, 0x1f, 0x88],
        ]
    }

    proptest! {
        #[test]
        fn cached_blocks_change_the_table_as_decoded_ones(
            order in prop::collection::vec((0..9usize, 1..150usize), 1..60),
        ) {
            let blocks = blocks();
            let (mut cached, mut plain) = (HeadDecoder::default(), Decoder::default());
            for (index, times) in order {
                for _ in 0..times {
                    let mut expected = Fields::default();
                    let found = cached.decode(&blocks[index], false, LIMITS);
                    let decoded = plain.decode(&blocks[index], LIMITS, &mut expected);
                    match decoded {
                        Ok(()) => prop_assert_eq!(&found.expect("a head").fields, &expected),
                        // The connection ends.
                        Err(error) => {
                            prop_assert_eq!(found.expect_err("an error"), error);
                            return Ok(());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn block_that_inserts_is_decoded_once() {
        let (blocks, mut heads) = (blocks(), HeadDecoder::default());
        let revision = |heads: &HeadDecoder| heads.decoder.revision();
        heads.decode(&blocks[0], false, LIMITS).expect("a head");
        let before = revision(&heads);
        for _ in 0..1000 {
            heads.decode(&blocks[0], false, LIMITS).expect("a head");
        }
        assert_eq!(revision(&heads), before, "nothing was decoded or inserted");
        let head = heads.decode(&blocks[4], false, LIMITS).expect("a head");
        assert_eq!(head.get("server"), Some(&b"nginx/1.22.1"[..]));
        assert!(revision(&heads) > before);
    }
}
