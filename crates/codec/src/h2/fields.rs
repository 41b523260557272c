//! A list of header fields, stored in one buffer.

/// Header fields in the order of the wire. [`Fields::clear`] keeps the buffer for reuse.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    bytes: Vec<u8>,
    lengths: Vec<FieldLengths>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FieldLengths {
    name: u32,
    value: u32,
}

/// A header field. Names are in lower case on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

impl Fields {
    /// Removes all fields.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }

    /// Appends a field.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.lengths.push(FieldLengths {
            name: name.len() as u32,
            value: value.len() as u32,
        });
    }

    /// Returns the fields in order.
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        let mut rest = &self.bytes[..];
        self.lengths.iter().map(move |lengths| {
            let (name, after) = rest.split_at(lengths.name as usize);
            let (value, after) = after.split_at(lengths.value as usize);
            rest = after;
            Field { name, value }
        })
    }

    /// Returns the number of fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Returns the total length of names and values in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the first value of a field. `name` must be in lower case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let mut fields = self.iter();
        let found = fields.find(|field| field.name == name.as_bytes());
        found.map(|field| field.value)
    }
}
