//! Reader for messages and control frames. The bytes may arrive in parts of any length.

use super::frame::{FrameHeader, MAX_HEADER, Opcode, apply_mask};
use super::inflater::Inflater;
use super::{Close, Event, FrameError, Limits, Negotiated, Role, is_close_code};

/// Reads the events of one connection. Stores only the bytes of incomplete frames and messages.
#[derive(Debug)]
pub struct Reader {
    role: Role,
    /// Whether a close frame or a violation ended the stream.
    has_ended: bool,
    limit: usize,
    /// Beginning of an incomplete frame header.
    header: [u8; MAX_HEADER],
    header_len: u8,
    frame: Option<FrameState>,
    message: Option<MessageState>,
    /// Parts of the incomplete message, or the message in the last returned event.
    buffer: Vec<u8>,
    /// Length of the valid UTF-8 at the start of `buffer`.
    checked: usize,
    /// Beginning of an incomplete control frame, or the control frame in the last returned event.
    control: Vec<u8>,
    inflater: Option<Box<Inflater>>,
}

/// A frame whose header has been read.
#[derive(Debug, Clone, Copy)]
struct FrameState {
    opcode: Opcode,
    is_final: bool,
    mask: Option<[u8; 4]>,
    /// Number of payload bytes that have not been read.
    rest: usize,
}

#[derive(Debug, Clone, Copy)]
struct MessageState {
    opcode: Opcode,
    is_compressed: bool,
}

/// A complete message or control frame, with the location of its payload.
enum Complete<'b> {
    Message(MessageState, Payload<'b>),
    Control(Opcode, Payload<'b>),
}

enum Payload<'b> {
    /// The payload is in the input.
    Input(&'b [u8]),
    /// The payload is in the reader's buffer for messages or control frames.
    Kept,
}

impl Reader {
    /// Creates a reader for a connection without compression.
    #[must_use]
    pub fn new(role: Role, limits: Limits) -> Reader {
        Reader {
            role,
            has_ended: false,
            limit: limits.message,
            header: [0; MAX_HEADER],
            header_len: 0,
            frame: None,
            message: None,
            buffer: Vec::new(),
            checked: 0,
            control: Vec::new(),
            inflater: None,
        }
    }

    /// Enables compressed messages with the negotiated parameters.
    #[must_use]
    pub fn with_deflate(mut self, negotiated: Negotiated) -> Reader {
        let sent = negotiated.received_by(self.role);
        self.inflater = Some(Box::new(Inflater::new(sent)));
        self
    }

    /// Reads the next event and advances `input`. Returns `None` when `input` is consumed.
    ///
    /// A complete frame without mask, fragments and compression is borrowed from `input`. The
    /// caller must read until `None`, which frees the memory of the last event. After a close frame
    /// or an error, further input is discarded.
    pub fn read<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Event<'r>>, FrameError> {
        if self.has_ended {
            *input = &[];
            self.discard();
            return Ok(None);
        }
        self.drop_last_event();
        match self.advance(input) {
            Ok(Some(complete)) => self.event(complete).map(Some),
            Ok(None) => {
                self.release();
                Ok(None)
            }
            Err(error) => {
                self.has_ended = true;
                self.discard();
                Err(error)
            }
        }
    }

    /// Returns whether a frame or a message is incomplete.
    #[must_use]
    pub fn is_mid_message(&self) -> bool {
        self.header_len > 0 || self.frame.is_some() || self.message.is_some()
    }

    /// Returns the memory that the reader has allocated, in bytes.
    #[must_use]
    pub fn held(&self) -> usize {
        let inflater = self.inflater.as_ref();
        let window = inflater.map_or(0, |inflater| size_of::<Inflater>() + inflater.capacity());
        self.buffer.capacity() + self.control.capacity() + window
    }

    fn drop_last_event(&mut self) {
        if self.message.is_none() {
            self.buffer.clear();
            self.checked = 0;
        }
        if self.frame.is_none_or(|frame| !frame.opcode.is_control()) {
            self.control.clear();
        }
    }

    /// Frees all buffers after the end of the stream.
    fn discard(&mut self) {
        (self.header_len, self.frame, self.message) = (0, None, None);
        (self.buffer, self.control) = (Vec::new(), Vec::new());
        self.inflater = None;
    }

    /// Frees empty buffers.
    fn release(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = Vec::new();
        }
        if self.control.is_empty() {
            self.control = Vec::new();
        }
    }

    #[inline]
    fn advance<'b>(&mut self, input: &mut &'b [u8]) -> Result<Option<Complete<'b>>, FrameError> {
        loop {
            let frame = match self.frame {
                Some(frame) => frame,
                None => match self.header(input)? {
                    Some(header) => self.begin(header)?,
                    None => return Ok(None),
                },
            };
            let complete = if frame.opcode.is_control() {
                self.control_payload(frame, input)
            } else {
                self.data_payload(frame, input)?
            };
            if complete.is_some() || self.frame.is_some() {
                return Ok(complete);
            }
        }
    }

    #[inline]
    fn header(&mut self, input: &mut &[u8]) -> Result<Option<FrameHeader>, FrameError> {
        let can_inflate = self.inflater.is_some();
        if self.header_len == 0
            && let Some(header) = FrameHeader::parse(input, self.role, can_inflate)?
        {
            *input = &input[header.length..];
            return Ok(Some(header));
        }
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            let length = usize::from(self.header_len) + 1;
            self.header[length - 1] = *byte;
            self.header_len += 1;
            let bytes = &self.header[..length];
            if let Some(header) = FrameHeader::parse(bytes, self.role, can_inflate)? {
                self.header_len = 0;
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// Checks a frame header against the current message.
    #[inline]
    fn begin(&mut self, header: FrameHeader) -> Result<FrameState, FrameError> {
        match (header.opcode, self.message) {
            (Opcode::Continuation, None) => return Err(FrameError::UnexpectedContinuation),
            (Opcode::Text | Opcode::Binary, Some(_)) => {
                return Err(FrameError::InterruptedMessage);
            }
            (opcode @ (Opcode::Text | Opcode::Binary), None) => {
                self.message = Some(MessageState {
                    opcode,
                    is_compressed: header.is_compressed,
                });
            }
            _ => {}
        }
        let rest = usize::try_from(header.payload).map_err(|_| FrameError::MessageTooLarge)?;
        if !header.opcode.is_control() {
            let is_compressed = self.message.is_some_and(|message| message.is_compressed);
            let limit = if is_compressed {
                // Codes of nine bits are the least efficient codes for incompressible bytes.
                self.limit.saturating_add(self.limit / 8 + 64)
            } else {
                self.limit
            };
            if rest > limit - self.buffer.len() {
                return Err(FrameError::MessageTooLarge);
            }
        }
        let frame = FrameState {
            opcode: header.opcode,
            is_final: header.is_final,
            mask: header.mask,
            rest,
        };
        self.frame = Some(frame);
        Ok(frame)
    }

    #[inline]
    fn control_payload<'b>(
        &mut self,
        frame: FrameState,
        input: &mut &'b [u8],
    ) -> Option<Complete<'b>> {
        if self.control.is_empty()
            && let Some(payload) = take_whole(frame, input)
        {
            self.frame = None;
            return Some(Complete::Control(frame.opcode, Payload::Input(payload)));
        }
        self.frame = take_part(frame, input, &mut self.control);
        let is_complete = self.frame.is_none();
        is_complete.then_some(Complete::Control(frame.opcode, Payload::Kept))
    }

    #[inline]
    fn data_payload<'b>(
        &mut self,
        frame: FrameState,
        input: &mut &'b [u8],
    ) -> Result<Option<Complete<'b>>, FrameError> {
        if frame.is_final
            && self.buffer.is_empty()
            && let Some(payload) = take_whole(frame, input)
        {
            self.frame = None;
            let message = self.message.take();
            return Ok(message.map(|state| Complete::Message(state, Payload::Input(payload))));
        }
        self.frame = take_part(frame, input, &mut self.buffer);
        if self.frame.is_none() && frame.is_final {
            let message = self.message.take();
            return Ok(message.map(|state| Complete::Message(state, Payload::Kept)));
        }
        self.check_text()?;
        Ok(None)
    }

    /// Checks the new bytes of an incomplete text message, so that invalid text fails early. A
    /// compressed message is checked when it is complete.
    fn check_text(&mut self) -> Result<(), FrameError> {
        let is_text =
            |message: &MessageState| message.opcode == Opcode::Text && !message.is_compressed;
        if self
            .message
            .as_ref()
            .is_none_or(|message| !is_text(message))
        {
            return Ok(());
        }
        match std::str::from_utf8(&self.buffer[self.checked..]) {
            Ok(_) => self.checked = self.buffer.len(),
            Err(error) if error.error_len().is_none() => self.checked += error.valid_up_to(),
            Err(_) => return Err(FrameError::Utf8),
        }
        Ok(())
    }

    #[inline]
    fn event<'a>(&'a mut self, complete: Complete<'a>) -> Result<Event<'a>, FrameError> {
        let event = match complete {
            Complete::Control(opcode, payload) => {
                let payload = match payload {
                    Payload::Input(bytes) => bytes,
                    Payload::Kept => &self.control,
                };
                control_event(opcode, payload)
            }
            Complete::Message(state, payload) => {
                let inflater = self.inflater.as_mut().filter(|_| state.is_compressed);
                let payload = match (inflater, payload) {
                    (None, Payload::Input(bytes)) => Ok(bytes),
                    (None, Payload::Kept) => Ok(&self.buffer[..]),
                    (Some(inflater), payload) => {
                        let kept = std::mem::take(&mut self.buffer);
                        let compressed = match payload {
                            Payload::Input(bytes) => bytes,
                            Payload::Kept => &kept,
                        };
                        let inflated = inflater.inflate(compressed, &mut self.buffer, self.limit);
                        inflated.map(|()| &self.buffer[..])
                    }
                };
                payload.and_then(|payload| message_event(state.opcode, payload))
            }
        };
        self.has_ended = matches!(event, Err(_) | Ok(Event::Close(_)));
        event
    }
}

/// Takes a complete unmasked payload from `input`.
#[inline]
fn take_whole<'b>(frame: FrameState, input: &mut &'b [u8]) -> Option<&'b [u8]> {
    if frame.mask.is_some() {
        return None;
    }
    let (payload, rest) = input.split_at_checked(frame.rest)?;
    *input = rest;
    Some(payload)
}

/// Moves a part of a payload to `kept`, and returns the frame with the rest of the payload still to
/// read.
#[inline]
fn take_part(mut frame: FrameState, input: &mut &[u8], kept: &mut Vec<u8>) -> Option<FrameState> {
    let (part, rest) = input.split_at(frame.rest.min(input.len()));
    *input = rest;
    let start = kept.len();
    kept.extend_from_slice(part);
    if let Some(mask) = &mut frame.mask {
        apply_mask(&mut kept[start..], *mask);
        mask.rotate_left(part.len() % 4);
    }
    frame.rest -= part.len();
    (frame.rest > 0).then_some(frame)
}

#[inline]
fn message_event(opcode: Opcode, payload: &[u8]) -> Result<Event<'_>, FrameError> {
    if opcode == Opcode::Binary {
        return Ok(Event::Binary(payload));
    }
    let text = std::str::from_utf8(payload).map_err(|_| FrameError::Utf8)?;
    Ok(Event::Text(text))
}

fn control_event(opcode: Opcode, payload: &[u8]) -> Result<Event<'_>, FrameError> {
    match (opcode, payload) {
        (Opcode::Ping, _) => Ok(Event::Ping(payload)),
        (Opcode::Pong, _) => Ok(Event::Pong(payload)),
        (_, []) => Ok(Event::Close(None)),
        (_, [_]) => Err(FrameError::ClosePayload),
        (_, [high, low, reason @ ..]) => {
            let code = u16::from_be_bytes([*high, *low]);
            if !is_close_code(code) {
                return Err(FrameError::CloseCode);
            }
            let reason = std::str::from_utf8(reason).map_err(|_| FrameError::CloseReason)?;
            Ok(Event::Close(Some(Close { code, reason })))
        }
    }
}
