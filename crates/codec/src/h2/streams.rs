//! The open streams, in reusable slots.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    rc::Rc,
};

/// Identifies a stream of one connection. It never refers to a later stream in the same slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamId {
    pub(super) id: u32,
    pub(super) slot: u32,
}

impl StreamId {
    /// Returns the stream ID on the wire.
    #[must_use]
    pub fn number(self) -> u32 {
        self.id
    }

    /// Returns the slot of the stream: a small number that no other open stream of the connection
    /// has.
    #[must_use]
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) id: u32,
    /// Number of bytes that the client may send. Negative after the server reduced the initial
    /// window.
    pub(super) send_window: i64,
    /// Number of bytes that the server may send.
    pub(super) receive_window: i64,
    /// Number of received bytes for which no WINDOW_UPDATE has been sent yet.
    pub(super) unreturned: i64,
    pub(super) is_head: bool,
    pub(super) has_head: bool,
    pub(super) expected_length: Option<u64>,
    pub(super) has_no_body: bool,
    pub(super) received: u64,
    pub(super) upload: Upload,
    /// Whether flow control blocks the upload.
    pub(super) is_blocked: bool,
    /// Whether the stream is in the queue of uploads.
    pub(super) is_queued: bool,
}

/// Maximum size of the buffer that a slot keeps for its next upload.
const KEPT_CAPACITY: usize = 64 << 10;

/// The rest of a request body.
#[derive(Debug, Default)]
pub(super) struct Upload {
    shared: Option<Rc<[u8]>>,
    copied: Vec<u8>,
    at: usize,
}

impl Upload {
    pub(super) fn share(&mut self, body: &Rc<[u8]>, at: usize) {
        self.shared = Some(Rc::clone(body));
        self.at = at;
    }

    pub(super) fn copy(&mut self, rest: &[u8]) {
        self.copied.extend_from_slice(rest);
    }

    pub(super) fn rest(&self) -> &[u8] {
        &self.shared.as_deref().unwrap_or(&self.copied)[self.at..]
    }

    pub(super) fn advance(&mut self, n: usize) {
        self.at += n;
    }

    pub(super) fn clear(&mut self) {
        self.shared = None;
        self.at = 0;
        if self.copied.capacity() > KEPT_CAPACITY {
            self.copied = Vec::new();
        }
        self.copied.clear();
    }
}

/// Hash function for stream IDs. A simple hash is safe, because the client assigns the IDs.
#[derive(Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[derive(Default)]
pub(super) struct Streams {
    slots: Vec<Stream>,
    free: Vec<u32>,
    by_number: HashMap<u32, u32, BuildHasherDefault<NumberHasher>>,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Opens a stream in a free slot.
    pub(super) fn open(&mut self, id: u32) -> StreamId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Stream::default());
            self.slots.len() as u32 - 1
        });
        let stream = &mut self.slots[slot as usize];
        let mut upload = std::mem::take(&mut stream.upload);
        upload.clear();
        *stream = Stream {
            id,
            upload,
            // The queue may still contain an entry of the slot's previous stream.
            is_queued: stream.is_queued,
            ..Stream::default()
        };
        self.by_number.insert(id, slot);
        StreamId { id, slot }
    }

    /// Closes a stream. Returns whether it was open.
    pub(super) fn close(&mut self, stream: StreamId) -> bool {
        if self.get(stream).is_none() {
            return false;
        }
        self.by_number.remove(&stream.id);
        let closed = &mut self.slots[stream.slot()];
        closed.id = 0;
        closed.upload.clear();
        self.free.push(stream.slot);
        true
    }

    pub(super) fn find(&self, id: u32) -> Option<StreamId> {
        let slot = *self.by_number.get(&id)?;
        Some(StreamId { id, slot })
    }

    pub(super) fn get(&self, stream: StreamId) -> Option<&Stream> {
        let open = self.slots.get(stream.slot())?;
        (open.id == stream.id).then_some(open)
    }

    pub(super) fn get_mut(&mut self, stream: StreamId) -> Option<&mut Stream> {
        let open = self.slots.get_mut(stream.slot())?;
        (open.id == stream.id).then_some(open)
    }

    /// Returns the stream in a slot, even if it is not open.
    pub(super) fn slot_mut(&mut self, slot: u32) -> Option<&mut Stream> {
        self.slots.get_mut(slot as usize)
    }

    /// Returns the open streams, in the order of opening.
    pub(super) fn ids(&self) -> Vec<StreamId> {
        let id = |(id, slot): (&u32, &u32)| StreamId {
            id: *id,
            slot: *slot,
        };
        let mut ids: Vec<StreamId> = self.by_number.iter().map(id).collect();
        ids.sort_unstable_by_key(|stream| stream.id);
        ids
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}
