//! Decoder for header blocks.

use super::{
    FIELD_OVERHEAD, HpackError, TABLE_SIZE, huffman, integer, static_table::STATIC, table::Table,
};
use crate::h2::fields::Fields;

/// Limits for a decoded header list.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum size of the list in bytes. Each field counts with its name, its value and 32 bytes
    /// more.
    pub list: usize,
}

/// Decodes the header blocks of one connection.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    scratch: Vec<u8>,
    /// Whether the last block used an entry of the dynamic table, or changed the table's size.
    depends_on_table: bool,
    /// Indices of the fields that the last block inserted into the table.
    inserted: Vec<u32>,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder {
            table: Table::new(TABLE_SIZE),
            scratch: Vec::new(),
            depends_on_table: false,
            inserted: Vec::new(),
        }
    }
}

impl Decoder {
    /// Returns the revision of the dynamic table. A block that leaves the table unchanged always
    /// decodes to the same fields at the same revision.
    #[inline]
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.table.revision()
    }

    /// Returns whether the fields of the last block depend only on its bytes.
    #[must_use]
    pub fn is_self_contained(&self) -> bool {
        !self.depends_on_table
    }

    /// Returns the indices of the fields that the last block inserted into the table.
    #[must_use]
    pub fn inserted(&self) -> &[u32] {
        &self.inserted
    }

    /// Inserts fields of a block again, as if the block had been decoded `times` more times.
    pub fn insert_again(&mut self, fields: &Fields, positions: &[u32], times: u64) {
        // Each entry has this overhead, so more repetitions would leave the table unchanged.
        let most = TABLE_SIZE / (FIELD_OVERHEAD * positions.len().max(1)) + 1;
        for _ in 0..times.min(most as u64) {
            let mut positions = positions.iter().peekable();
            for (at, field) in fields.iter().enumerate() {
                if positions.next_if(|next| **next as usize == at).is_some() {
                    self.table.insert(field.name, field.value);
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn table_size(&self) -> usize {
        self.table.size()
    }

    /// Decodes a block and replaces the contents of `fields`.
    ///
    /// Sizes are checked during decoding, before anything is stored. After an error, the table no
    /// longer matches the peer's table and must not be used.
    pub fn decode(
        &mut self,
        mut block: &[u8],
        limits: Limits,
        fields: &mut Fields,
    ) -> Result<(), HpackError> {
        fields.clear();
        self.depends_on_table = false;
        self.inserted.clear();
        let mut left = limits.list;
        let mut may_resize = true;
        while let Some(first) = block.first() {
            match first {
                0x80.. => {
                    let index = integer::decode(&mut block, 7)?;
                    self.depends_on_table |= index > STATIC.len();
                    let (name, value) = lookup(&self.table, index)?;
                    charge(&mut left, name.len() + value.len())?;
                    fields.push(name, value);
                }
                0x40..0x80 => self.literal(&mut block, 6, true, &mut left, fields)?,
                0x20..0x40 => {
                    let size = integer::decode(&mut block, 5)?;
                    if !may_resize || size > TABLE_SIZE {
                        return Err(HpackError::SizeUpdate);
                    }
                    self.depends_on_table = true;
                    self.table.resize(size);
                    continue;
                }
                // The representations "without indexing" (0000) and "never indexed" (0001) differ
                // only for proxies.
                0..0x20 => self.literal(&mut block, 4, false, &mut left, fields)?,
            }
            may_resize = false;
        }
        Ok(())
    }

    fn literal(
        &mut self,
        block: &mut &[u8],
        prefix: u32,
        inserts: bool,
        left: &mut usize,
        fields: &mut Fields,
    ) -> Result<(), HpackError> {
        charge(left, 0)?;
        self.scratch.clear();
        let index = integer::decode(block, prefix)?;
        if index == 0 {
            string(block, left, &mut self.scratch)?;
        } else {
            self.depends_on_table |= index > STATIC.len();
            let (name, _) = lookup(&self.table, index)?;
            spend(left, name.len())?;
            self.scratch.extend_from_slice(name);
        }
        let name = self.scratch.len();
        string(block, left, &mut self.scratch)?;
        let (name, value) = self.scratch.split_at(name);
        if inserts {
            self.inserted.push(fields.len() as u32);
            self.table.insert(name, value);
        }
        fields.push(name, value);
        Ok(())
    }
}

fn lookup(table: &Table, index: usize) -> Result<(&[u8], &[u8]), HpackError> {
    let position = index.checked_sub(1).ok_or(HpackError::Index)?;
    match STATIC.get(position) {
        Some((name, value)) => Ok((name.as_bytes(), value.as_bytes())),
        None => table.get(position - STATIC.len()).ok_or(HpackError::Index),
    }
}

fn charge(left: &mut usize, bytes: usize) -> Result<(), HpackError> {
    spend(left, bytes + FIELD_OVERHEAD)
}

fn spend(left: &mut usize, bytes: usize) -> Result<(), HpackError> {
    *left = left.checked_sub(bytes).ok_or(HpackError::ListTooLarge)?;
    Ok(())
}

/// Appends a string literal to `out`, and subtracts its decoded length from `left`.
fn string(block: &mut &[u8], left: &mut usize, out: &mut Vec<u8>) -> Result<(), HpackError> {
    let is_huffman = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer::decode(block, 7)?;
    let (bytes, rest) = block
        .split_at_checked(length)
        .ok_or(HpackError::Truncated)?;
    *block = rest;
    let start = out.len();
    if is_huffman {
        huffman::decode(bytes, *left, out)?;
    } else {
        if length > *left {
            return Err(HpackError::ListTooLarge);
        }
        out.extend_from_slice(bytes);
    }
    spend(left, out.len() - start)
}
