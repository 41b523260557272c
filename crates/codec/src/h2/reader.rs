//! Reader that splits received bytes into frames. The bytes may arrive in parts of any length.

use super::{
    error::ConnectionError,
    frame::{FrameHeader, HEADER_LEN, MIN_FRAME_SIZE, flag, kind},
};

/// Splits received bytes into frames. Stores only the beginning of an incomplete frame. Never
/// stores the payload of DATA frames and unknown frames.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    state: ReadState,
    /// Incomplete frame header, or beginning of a payload.
    rest: Vec<u8>,
    has_settings: bool,
    in_header_block: bool,
}

#[derive(Debug, Default, Clone, Copy)]
enum ReadState {
    #[default]
    Header,
    /// The pad length is next.
    PadLength(FrameHeader),
    Data(DataState),
    Payload(FrameHeader),
    Skip(usize),
}

#[derive(Debug, Clone, Copy)]
struct DataState {
    header: FrameHeader,
    is_first: bool,
    /// Length of the data of the whole frame.
    frame_data: usize,
    data: usize,
    padding: usize,
}

impl DataState {
    fn new(header: FrameHeader, data: usize, padding: usize) -> DataState {
        DataState {
            header,
            is_first: true,
            frame_data: data,
            data,
            padding,
        }
    }
}

/// A frame, or a part of a DATA frame.
#[derive(Debug)]
pub(super) enum FramePart<'b> {
    Data(DataPart<'b>),
    Frame(FrameHeader, Payload<'b>),
    /// A frame of an unknown type, which is skipped.
    Unknown,
}

/// Part of a DATA frame, without padding.
#[derive(Debug)]
pub(super) struct DataPart<'b> {
    pub(super) header: FrameHeader,
    pub(super) bytes: &'b [u8],
    /// Length of the data of the whole frame.
    pub(super) frame_data: usize,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

/// Payload of a frame.
#[derive(Debug)]
pub(super) enum Payload<'b> {
    Whole(&'b [u8]),
    /// A payload assembled from several reads. [`FrameReader::recycle`] returns its buffer to the
    /// reader.
    Assembled(Vec<u8>),
}

impl Payload<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Payload::Whole(bytes) => bytes,
            Payload::Assembled(bytes) => bytes,
        }
    }
}

impl FrameReader {
    /// Reads the next part and advances `input`. Returns `None` at the end of `input`.
    #[inline]
    pub(super) fn next<'b>(
        &mut self,
        input: &mut &'b [u8],
    ) -> Result<Option<FramePart<'b>>, ConnectionError> {
        loop {
            match self.state {
                ReadState::Header => {
                    let Some(header) = self.header(input) else {
                        return Ok(None);
                    };
                    self.check(header)?;
                    self.state = match header.kind {
                        kind::DATA if header.has(flag::PADDED) => ReadState::PadLength(header),
                        kind::DATA => ReadState::Data(DataState::new(header, header.length, 0)),
                        kind::HEADERS..=kind::CONTINUATION => ReadState::Payload(header),
                        _ => ReadState::Skip(header.length),
                    };
                    if matches!(self.state, ReadState::Skip(_)) {
                        return Ok(Some(FramePart::Unknown));
                    }
                }
                ReadState::PadLength(header) => {
                    let Some((padding, rest)) = input.split_first() else {
                        return Ok(None);
                    };
                    *input = rest;
                    let padding = usize::from(*padding);
                    let data = (header.length - 1).checked_sub(padding);
                    let data = data.ok_or(ConnectionError::Padding)?;
                    self.state = ReadState::Data(DataState::new(header, data, padding));
                }
                ReadState::Data(state) => return Ok(self.data(state, input)),
                ReadState::Payload(header) => {
                    let payload = self.payload(header, input);
                    return Ok(payload.map(|payload| FramePart::Frame(header, payload)));
                }
                ReadState::Skip(left) => {
                    let skipped = left.min(input.len());
                    *input = &input[skipped..];
                    if skipped < left {
                        self.state = ReadState::Skip(left - skipped);
                        return Ok(None);
                    }
                    self.state = ReadState::Header;
                }
            }
        }
    }

    /// Reuses the buffer of an assembled payload.
    pub(super) fn recycle(&mut self, payload: Payload<'_>) {
        if let Payload::Assembled(mut buffer) = payload {
            buffer.clear();
            self.rest = buffer;
        }
    }

    #[inline]
    fn header(&mut self, input: &mut &[u8]) -> Option<FrameHeader> {
        if self.rest.is_empty()
            && let Some((header, rest)) = input.split_first_chunk()
        {
            *input = rest;
            return Some(FrameHeader::parse(header));
        }
        let taken = input.len().min(HEADER_LEN - self.rest.len());
        let (bytes, rest) = input.split_at(taken);
        *input = rest;
        self.rest.extend_from_slice(bytes);
        let header = FrameHeader::parse(self.rest.first_chunk()?);
        self.rest.clear();
        Some(header)
    }

    /// Checks a frame header, independently of the payload.
    fn check(&mut self, header: FrameHeader) -> Result<(), ConnectionError> {
        if !self.has_settings {
            if header.kind != kind::SETTINGS || header.has(flag::ACK) {
                return Err(first_frame_error(header));
            }
            self.has_settings = true;
        }
        if header.length > MIN_FRAME_SIZE {
            return Err(ConnectionError::FrameTooLarge);
        }
        if self.in_header_block != (header.kind == kind::CONTINUATION) {
            return Err(ConnectionError::Continuation);
        }
        if matches!(header.kind, kind::HEADERS | kind::CONTINUATION) {
            self.in_header_block = !header.has(flag::END_HEADERS);
        }
        let is_valid_size = match header.kind {
            kind::DATA => header.length > 0 || !header.has(flag::PADDED),
            kind::RST_STREAM | kind::WINDOW_UPDATE => header.length == 4,
            kind::SETTINGS if header.has(flag::ACK) => header.length == 0,
            kind::SETTINGS => header.length.is_multiple_of(6),
            kind::PING => header.length == 8,
            kind::GOAWAY => header.length >= 8,
            _ => true,
        };
        if !is_valid_size {
            return Err(ConnectionError::FrameSize);
        }
        let is_valid_stream = match header.kind {
            kind::SETTINGS | kind::PING | kind::GOAWAY => header.stream == 0,
            kind::WINDOW_UPDATE => true,
            other => other > kind::CONTINUATION || header.stream != 0,
        };
        if is_valid_stream {
            Ok(())
        } else {
            Err(ConnectionError::StreamZero)
        }
    }

    #[inline]
    fn data<'b>(&mut self, mut state: DataState, input: &mut &'b [u8]) -> Option<FramePart<'b>> {
        let (bytes, rest) = input.split_at(input.len().min(state.data));
        let (padding, rest) = rest.split_at(rest.len().min(state.padding));
        *input = rest;
        state.data -= bytes.len();
        state.padding -= padding.len();
        let is_last = state.data == 0 && state.padding == 0;
        let part = DataPart {
            header: state.header,
            bytes,
            frame_data: state.frame_data,
            is_first: state.is_first,
            is_last,
        };
        self.state = if is_last {
            ReadState::Header
        } else if bytes.is_empty() && padding.is_empty() {
            return None;
        } else {
            state.is_first = false;
            ReadState::Data(state)
        };
        Some(FramePart::Data(part))
    }

    fn payload<'b>(&mut self, header: FrameHeader, input: &mut &'b [u8]) -> Option<Payload<'b>> {
        let missing = header.length - self.rest.len();
        let Some((bytes, rest)) = input.split_at_checked(missing) else {
            self.rest.extend_from_slice(input);
            *input = &[];
            return None;
        };
        *input = rest;
        self.state = ReadState::Header;
        if self.rest.is_empty() {
            return Some(Payload::Whole(bytes));
        }
        self.rest.extend_from_slice(bytes);
        Some(Payload::Assembled(std::mem::take(&mut self.rest)))
    }
}

/// Recognises other protocols by the first nine bytes.
#[cold]
fn first_frame_error(header: FrameHeader) -> ConnectionError {
    const HTTP: usize = u32::from_be_bytes([0, b'H', b'T', b'T']) as usize;
    const ALERT_OF_TLS: usize = 0x15_0300;
    match header {
        FrameHeader {
            length: HTTP,
            kind: b'P',
            flags: b'/',
            ..
        } => ConnectionError::Http1,
        FrameHeader { length, .. } if length & !0xff == ALERT_OF_TLS => ConnectionError::Tls,
        _ => ConnectionError::Preface,
    }
}

/// Removes the padding from a payload, and the priority from HEADERS.
pub(super) fn header_fragment(
    header: FrameHeader,
    mut payload: &[u8],
) -> Result<&[u8], ConnectionError> {
    let mut padding = 0;
    if header.has(flag::PADDED) {
        let (length, rest) = payload.split_first().ok_or(ConnectionError::FrameSize)?;
        (padding, payload) = (usize::from(*length), rest);
    }
    if header.has(flag::PRIORITY) {
        let (_, rest) = payload
            .split_at_checked(5)
            .ok_or(ConnectionError::FrameSize)?;
        payload = rest;
    }
    let length = payload.len().checked_sub(padding);
    Ok(&payload[..length.ok_or(ConnectionError::Padding)?])
}
