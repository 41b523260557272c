//! Protocol violations of RFC 6455 and RFC 7692.

/// Why a frame or message is invalid. Each violation ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameError {
    /// A reserved bit is set, and no extension defines it for this frame.
    ReservedBits,
    /// The opcode is reserved.
    ReservedOpcode,
    /// The server masked a frame.
    Masked,
    /// The client sent a frame without a mask.
    Unmasked,
    /// A control frame is fragmented.
    FragmentedControl,
    /// The payload of a control frame is longer than 125 bytes.
    ControlTooLong,
    /// A length is encoded in more bytes than needed.
    NonMinimalLength,
    /// The most significant bit of a 64-bit length is set.
    LengthTopBit,
    /// A continuation frame does not follow a fragment.
    UnexpectedContinuation,
    /// A message starts before the previous message is complete.
    InterruptedMessage,
    /// A text message is not valid UTF-8.
    Utf8,
    /// A close frame contains a code that must not be sent.
    CloseCode,
    /// The payload of a close frame has one byte.
    ClosePayload,
    /// The reason in a close frame is not valid UTF-8.
    CloseReason,
    /// A compressed message cannot be decompressed.
    Deflate,
    /// A message is longer than the limit.
    MessageTooLarge,
}

impl FrameError {
    /// Returns the close code to send in response to the violation.
    #[must_use]
    pub fn close_code(&self) -> u16 {
        match self {
            Self::Utf8 | Self::CloseReason | Self::Deflate => 1007,
            Self::MessageTooLarge => 1009,
            _ => 1002,
        }
    }

    /// Returns the stable name of the violation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ReservedBits => "reserved_bits",
            Self::ReservedOpcode => "reserved_opcode",
            Self::Masked => "masked",
            Self::Unmasked => "unmasked",
            Self::FragmentedControl => "fragmented_control",
            Self::ControlTooLong => "control_too_long",
            Self::NonMinimalLength => "non_minimal_length",
            Self::LengthTopBit => "length_top_bit",
            Self::UnexpectedContinuation => "unexpected_continuation",
            Self::InterruptedMessage => "interrupted_message",
            Self::Utf8 => "utf8",
            Self::CloseCode => "close_code",
            Self::ClosePayload => "close_payload",
            Self::CloseReason => "close_reason",
            Self::Deflate => "deflate",
            Self::MessageTooLarge => "message_too_large",
        }
    }
}
