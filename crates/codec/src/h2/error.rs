//! Error codes, violations of the protocol, and outcomes of streams.

use std::fmt;

use super::hpack::HpackError;

/// An error code (RFC 9113, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Graceful shutdown, or a stream that needs no more data.
    pub const NO_ERROR: ErrorCode = ErrorCode(0x0);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(0x1);
    /// The peer exceeded a flow-control window.
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(0x3);
    /// A frame was received on a stream that had ended.
    pub const STREAM_CLOSED: ErrorCode = ErrorCode(0x5);
    /// A frame has an invalid size.
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(0x6);
    /// The server did not process the stream.
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(0x7);
    /// The client gave up the stream.
    pub const CANCEL: ErrorCode = ErrorCode(0x8);
    /// The state of the header compression is lost.
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(0x9);
    /// The peer causes excessive load.
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(0xb);
    /// The server requires HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: ErrorCode = ErrorCode(0xd);

    /// Names of the codes by number.
    pub const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];

    /// Returns the name. `None` if the number has none.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        ErrorCode::NAMES.get(self.0 as usize).copied()
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

/// A violation that ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectionError {
    /// The server answered with HTTP/1.
    Http1,
    /// The server answered with a TLS record.
    Tls,
    /// The first frame is not SETTINGS.
    Preface,
    /// A frame is larger than the announced maximum.
    FrameTooLarge,
    /// A frame has a size that its type does not allow.
    FrameSize,
    /// A frame that belongs to a stream has stream 0, or the reverse.
    StreamZero,
    /// A frame names a stream that the client has not opened.
    IdleStream,
    /// A frame follows the end of its stream.
    ClosedStream,
    /// The padding is longer than the frame.
    Padding,
    /// A header block is interrupted by another frame, or CONTINUATION follows no header block.
    Continuation,
    /// A header block has too many CONTINUATION frames.
    TooManyContinuations,
    /// A header block is too large.
    HeaderBlockTooLarge,
    /// A header block cannot be decoded.
    Hpack(HpackError),
    /// A setting has an invalid value.
    Setting,
    /// PUSH_PROMISE, although push is disabled.
    Push,
    /// A WINDOW_UPDATE of the connection has increment 0.
    WindowIncrement,
    /// A flow-control window exceeds 2^31 - 1.
    WindowOverflow,
    /// The server sent more data than the connection's window allows.
    WindowExceeded,
    /// A second GOAWAY names a later stream than the first.
    GoAwayIncreased,
    /// The server sent too many control or empty frames in a second without progress of a stream.
    ControlFlood,
    /// Too many acknowledgements wait because the server does not read them.
    AcknowledgementFlood,
}

/// What is wrong, which code answers it, and which section it violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// The code sent in GOAWAY or RST_STREAM.
    pub code: ErrorCode,
    /// The document and section, such as `RFC 9113 6.5`.
    pub section: &'static str,
    /// A short text for users.
    pub text: &'static str,
}

const fn violation(code: ErrorCode, section: &'static str, text: &'static str) -> Violation {
    Violation {
        code,
        section,
        text,
    }
}

impl ConnectionError {
    /// Returns the details of the violation.
    #[must_use]
    pub fn violation(self) -> Violation {
        use ErrorCode as Code;
        let protocol = |section, text| violation(Code::PROTOCOL_ERROR, section, text);
        let flow = |section, text| violation(Code::FLOW_CONTROL_ERROR, section, text);
        let calm = |section, text| violation(Code::ENHANCE_YOUR_CALM, section, text);
        match self {
            Self::Http1 => protocol("RFC 9113 3.4", "the server speaks HTTP/1"),
            Self::Tls => protocol("RFC 9113 3.4", "the server speaks TLS"),
            Self::Preface => protocol("RFC 9113 3.4", "the first frame is not SETTINGS"),
            Self::FrameTooLarge => violation(
                Code::FRAME_SIZE_ERROR,
                "RFC 9113 4.2",
                "a frame is larger than the announced maximum",
            ),
            Self::FrameSize => violation(
                Code::FRAME_SIZE_ERROR,
                "RFC 9113 4.2",
                "a frame has an invalid size",
            ),
            Self::StreamZero => protocol("RFC 9113 5.1.1", "a frame has the wrong kind of stream"),
            Self::IdleStream => protocol("RFC 9113 5.1", "a frame names a stream never opened"),
            Self::ClosedStream => violation(
                Code::STREAM_CLOSED,
                "RFC 9113 5.1",
                "a frame follows the end of its stream",
            ),
            Self::Padding => protocol("RFC 9113 6.1", "padding is longer than its frame"),
            Self::Continuation => protocol("RFC 9113 6.10", "a header block is interrupted"),
            Self::TooManyContinuations => calm("RFC 9113 10.5.1", "too many CONTINUATION frames"),
            Self::HeaderBlockTooLarge => calm("RFC 9113 10.5.1", "a header block is too large"),
            Self::Hpack(HpackError::ListTooLarge) => {
                calm("RFC 9113 10.5.1", HpackError::ListTooLarge.text())
            }
            Self::Hpack(error) => violation(Code::COMPRESSION_ERROR, "RFC 9113 4.3", error.text()),
            Self::Setting => protocol("RFC 9113 6.5.2", "a setting has an invalid value"),
            Self::Push => protocol("RFC 9113 6.6", "a push, although push is disabled"),
            Self::WindowIncrement => protocol("RFC 9113 6.9", "a window grows by 0"),
            Self::WindowOverflow => flow("RFC 9113 6.9.1", "a window exceeds 2^31 - 1"),
            Self::WindowExceeded => flow("RFC 9113 6.9.1", "more data than the window allows"),
            Self::GoAwayIncreased => protocol("RFC 9113 6.8", "GOAWAY names a later stream"),
            Self::ControlFlood => calm(
                "RFC 9113 10.5",
                "too many control or empty frames without progress",
            ),
            Self::AcknowledgementFlood => calm("RFC 9113 10.5", "too many unread acknowledgements"),
        }
    }
}

/// A violation that ends one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamError {
    /// The response has no `:status`, or not exactly one of three digits.
    Status,
    /// A pseudo-header field is unknown, or not allowed in this place.
    PseudoField,
    /// A field name is empty, in upper case, or contains an invalid character.
    FieldName,
    /// A field value contains an invalid character, or starts or ends with a space.
    FieldValue,
    /// A field that HTTP/2 forbids, such as `connection`.
    ConnectionField,
    /// Content-Length is not a number, or has several values.
    ContentLength,
    /// The length of the body differs from Content-Length.
    BodyLength,
    /// A body in a response that cannot have one.
    UnexpectedBody,
    /// A body before the final response head.
    BodyBeforeHead,
    /// A 1xx response that ends the stream, or 101.
    Interim,
    /// Trailers that do not end the stream.
    Trailers,
    /// A WINDOW_UPDATE with increment 0.
    WindowIncrement,
    /// The stream's send window exceeds 2^31 - 1.
    WindowOverflow,
    /// The server sent more data than the stream's window allows.
    WindowExceeded,
    /// PRIORITY with an invalid size.
    PrioritySize,
}

impl StreamError {
    /// Returns the details of the violation.
    #[must_use]
    pub fn violation(self) -> Violation {
        let protocol = |section, text| violation(ErrorCode::PROTOCOL_ERROR, section, text);
        let flow = |section, text| violation(ErrorCode::FLOW_CONTROL_ERROR, section, text);
        match self {
            Self::Status => protocol("RFC 9113 8.3.2", "the response has no valid :status"),
            Self::PseudoField => protocol("RFC 9113 8.3", "an invalid pseudo-header field"),
            Self::FieldName => protocol("RFC 9113 8.2.1", "an invalid field name"),
            Self::FieldValue => protocol("RFC 9113 8.2.1", "an invalid field value"),
            Self::ConnectionField => protocol("RFC 9113 8.2.2", "a connection-specific field"),
            Self::ContentLength => protocol("RFC 9113 8.1.1", "an invalid content-length"),
            Self::BodyLength => protocol(
                "RFC 9113 8.1.1",
                "the body's length differs from content-length",
            ),
            Self::UnexpectedBody => {
                protocol("RFC 9113 8.1.1", "a body in a response without content")
            }
            Self::BodyBeforeHead => protocol("RFC 9113 8.1", "a body before the response head"),
            Self::Interim => protocol("RFC 9113 8.1", "an invalid 1xx response"),
            Self::Trailers => protocol("RFC 9113 8.1", "trailers do not end the stream"),
            Self::WindowIncrement => protocol("RFC 9113 6.9", "a window grows by 0"),
            Self::WindowOverflow => flow("RFC 9113 6.9.1", "a window exceeds 2^31 - 1"),
            Self::WindowExceeded => flow("RFC 9113 6.9.1", "more data than the window allows"),
            Self::PrioritySize => violation(
                ErrorCode::FRAME_SIZE_ERROR,
                "RFC 9113 6.3",
                "a PRIORITY frame has an invalid size",
            ),
        }
    }
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The response is complete.
    Answered,
    /// The server reset the stream with REFUSED_STREAM and did not process it.
    Refused,
    /// GOAWAY excluded the stream, so the server did not process it.
    NotProcessed(ErrorCode),
    /// The server reset the stream.
    Reset(ErrorCode),
    /// The server closed the connection with an error code, after it may have processed the stream.
    GoAway(ErrorCode),
    /// The connection was lost.
    ConnectionLost,
    /// The server broke the protocol on this stream.
    StreamError(StreamError),
    /// The server broke the protocol on the connection.
    ConnectionError(ConnectionError),
}

impl Outcome {
    /// Whether the server certainly did not process the request, so that it may be sent again.
    #[must_use]
    pub fn may_resend(self) -> bool {
        matches!(self, Outcome::Refused | Outcome::NotProcessed(_))
    }

    /// Returns the violation that ended the stream. `None` if the server followed the protocol.
    #[must_use]
    pub fn violation(self) -> Option<Violation> {
        match self {
            Outcome::StreamError(error) => Some(error.violation()),
            Outcome::ConnectionError(error) => Some(error.violation()),
            _ => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Answered => f.write_str("answered"),
            Outcome::Refused => f.write_str("refused stream"),
            Outcome::NotProcessed(code) | Outcome::GoAway(code) => write!(f, "goaway {code}"),
            Outcome::Reset(code) => write!(f, "rst {code}"),
            Outcome::ConnectionLost => f.write_str("connection lost"),
            Outcome::StreamError(error) => write_violation(f, error.violation()),
            Outcome::ConnectionError(error) => write_violation(f, error.violation()),
        }
    }
}

fn write_violation(f: &mut fmt::Formatter<'_>, violation: Violation) -> fmt::Result {
    write!(f, "{} ({})", violation.text, violation.section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_name_codes_and_sections() {
        let text = |outcome: Outcome| outcome.to_string();
        assert_eq!(text(Outcome::Reset(ErrorCode::CANCEL)), "rst CANCEL");
        assert_eq!(text(Outcome::Reset(ErrorCode(0x1f))), "rst 0x1f");
        let calm = Outcome::GoAway(ErrorCode::ENHANCE_YOUR_CALM);
        assert_eq!(text(calm), "goaway ENHANCE_YOUR_CALM");
        let error = Outcome::ConnectionError(ConnectionError::Http1);
        assert_eq!(text(error), "the server speaks HTTP/1 (RFC 9113 3.4)");
        let error = Outcome::StreamError(StreamError::Status);
        assert_eq!(
            text(error),
            "the response has no valid :status (RFC 9113 8.3.2)"
        );
    }
}
