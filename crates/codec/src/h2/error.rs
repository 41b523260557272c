//! Error codes, protocol violations, and stream outcomes.

use std::fmt;

use measure::outcome::{Http2Code, Http2Fault, Http2Violation};

use super::hpack::HpackError;

/// An error code (RFC 9113, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Graceful shutdown, or a stream that needs no more data.
    pub const NO_ERROR: ErrorCode = ErrorCode(0x0);
    /// The peer violated the protocol.
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(0x1);
    /// The peer exceeded a flow-control window.
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(0x3);
    /// A frame was received on a stream that had ended.
    pub const STREAM_CLOSED: ErrorCode = ErrorCode(0x5);
    /// A frame has an invalid size.
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(0x6);
    /// The server did not process the stream.
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(0x7);
    /// The client cancelled the stream.
    pub const CANCEL: ErrorCode = ErrorCode(0x8);
    /// The header compression state is lost.
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(0x9);
    /// The peer causes excessive load.
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(0xb);
    /// The server requires HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: ErrorCode = ErrorCode(0xd);

    /// Names of the codes, by number.
    pub const NAMES: [&str; Http2Code::NAMES.len()] = Http2Code::NAMES;

    /// Returns the name of the code. `None` if RFC 9113 does not define it.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        ErrorCode::NAMES.get(self.0 as usize).copied()
    }
}

impl From<ErrorCode> for Http2Code {
    fn from(code: ErrorCode) -> Http2Code {
        Http2Code::new(code.0)
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

/// A protocol violation that ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectionError {
    /// The server responded with HTTP/1.
    Http1,
    /// The server responded with a TLS record.
    Tls,
    /// The first frame is not SETTINGS.
    Preface,
    /// A frame is larger than the announced maximum.
    FrameTooLarge,
    /// The size of a frame is not valid for its type.
    FrameSize,
    /// A frame that needs a stream has stream 0, or a frame of the connection has another stream.
    StreamZero,
    /// A frame refers to a stream that the client has not opened.
    IdleStream,
    /// A frame arrived after the end of its stream.
    ClosedStream,
    /// The padding is longer than the frame.
    Padding,
    /// Another frame interrupts a header block, or CONTINUATION does not continue a header block.
    Continuation,
    /// A header block has too many CONTINUATION frames.
    TooManyContinuations,
    /// A header block is too large.
    HeaderBlockTooLarge,
    /// A header block cannot be decoded.
    Hpack(HpackError),
    /// A setting has an invalid value.
    Setting,
    /// The server sent PUSH_PROMISE, although push is disabled.
    Push,
    /// A WINDOW_UPDATE for the connection has increment 0.
    WindowIncrement,
    /// A flow-control window exceeds 2^31 - 1.
    WindowOverflow,
    /// The server sent more data than the connection's window allows.
    WindowExceeded,
    /// A second GOAWAY has a higher stream ID than the first.
    GoAwayIncreased,
    /// The server sent too many control frames or empty frames within a second without progress on
    /// a stream.
    ControlFlood,
    /// Too many acknowledgements are queued because the server does not read them.
    AcknowledgementFlood,
}

/// The violated rule, and the error code to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// Error code for GOAWAY or RST_STREAM.
    pub code: ErrorCode,
    /// The violated rule.
    pub rule: Http2Violation,
}

const fn violation(code: ErrorCode, rule: Http2Violation) -> Violation {
    Violation { code, rule }
}

impl ConnectionError {
    /// Returns the details of the violation.
    #[must_use]
    pub fn violation(self) -> Violation {
        use Http2Violation as Rule;
        let protocol = |rule| violation(ErrorCode::PROTOCOL_ERROR, rule);
        let flow = |rule| violation(ErrorCode::FLOW_CONTROL_ERROR, rule);
        let calm = |rule| violation(ErrorCode::ENHANCE_YOUR_CALM, rule);
        let size = |rule| violation(ErrorCode::FRAME_SIZE_ERROR, rule);
        let compression = |rule| violation(ErrorCode::COMPRESSION_ERROR, rule);
        match self {
            Self::Http1 => protocol(Rule::Http1),
            Self::Tls => protocol(Rule::Tls),
            Self::Preface => protocol(Rule::Preface),
            Self::FrameTooLarge => size(Rule::FrameTooLarge),
            Self::FrameSize => size(Rule::FrameSize),
            Self::StreamZero => protocol(Rule::StreamZero),
            Self::IdleStream => protocol(Rule::IdleStream),
            Self::ClosedStream => violation(ErrorCode::STREAM_CLOSED, Rule::ClosedStream),
            Self::Padding => protocol(Rule::Padding),
            Self::Continuation => protocol(Rule::Continuation),
            Self::TooManyContinuations => calm(Rule::TooManyContinuations),
            Self::HeaderBlockTooLarge => calm(Rule::HeaderBlockTooLarge),
            Self::Hpack(HpackError::ListTooLarge) => calm(Rule::HpackListTooLarge),
            Self::Hpack(HpackError::Truncated) => compression(Rule::HpackTruncated),
            Self::Hpack(HpackError::Integer) => compression(Rule::HpackInteger),
            Self::Hpack(HpackError::Huffman) => compression(Rule::HpackHuffman),
            Self::Hpack(HpackError::Index) => compression(Rule::HpackIndex),
            Self::Hpack(HpackError::SizeUpdate) => compression(Rule::HpackSizeUpdate),
            Self::Setting => protocol(Rule::Setting),
            Self::Push => protocol(Rule::Push),
            Self::WindowIncrement => protocol(Rule::WindowIncrement),
            Self::WindowOverflow => flow(Rule::WindowOverflow),
            Self::WindowExceeded => flow(Rule::WindowExceeded),
            Self::GoAwayIncreased => protocol(Rule::GoAwayIncreased),
            Self::ControlFlood => calm(Rule::ControlFlood),
            Self::AcknowledgementFlood => calm(Rule::AcknowledgementFlood),
        }
    }
}

/// A protocol violation that ends one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamError {
    /// The response does not have exactly one `:status` with three digits.
    Status,
    /// A pseudo-header field is unknown or misplaced.
    PseudoField,
    /// A field name is empty, has upper-case letters, or contains an invalid character.
    FieldName,
    /// A field value contains an invalid character, or starts or ends with a space.
    FieldValue,
    /// The response contains a field that HTTP/2 forbids, such as `connection`.
    ConnectionField,
    /// Content-Length is not a number, or has several values.
    ContentLength,
    /// The length of the body differs from Content-Length.
    BodyLength,
    /// The response has a body although it must not have one.
    UnexpectedBody,
    /// Body data arrived before the final response head.
    BodyBeforeHead,
    /// A 1xx response ended the stream, or its status is 101.
    Interim,
    /// The trailers did not end the stream.
    Trailers,
    /// A WINDOW_UPDATE for the stream has increment 0.
    WindowIncrement,
    /// The stream's send window exceeds 2^31 - 1.
    WindowOverflow,
    /// The server sent more data than the stream's window allows.
    WindowExceeded,
    /// A PRIORITY frame has an invalid size.
    PrioritySize,
}

impl StreamError {
    /// Returns the details of the violation.
    #[must_use]
    pub fn violation(self) -> Violation {
        use Http2Violation as Rule;
        let protocol = |rule| violation(ErrorCode::PROTOCOL_ERROR, rule);
        let flow = |rule| violation(ErrorCode::FLOW_CONTROL_ERROR, rule);
        match self {
            Self::Status => protocol(Rule::Status),
            Self::PseudoField => protocol(Rule::PseudoField),
            Self::FieldName => protocol(Rule::FieldName),
            Self::FieldValue => protocol(Rule::FieldValue),
            Self::ConnectionField => protocol(Rule::ConnectionField),
            Self::ContentLength => protocol(Rule::ContentLength),
            Self::BodyLength => protocol(Rule::BodyLength),
            Self::UnexpectedBody => protocol(Rule::UnexpectedBody),
            Self::BodyBeforeHead => protocol(Rule::BodyBeforeHead),
            Self::Interim => protocol(Rule::Interim),
            Self::Trailers => protocol(Rule::Trailers),
            Self::WindowIncrement => protocol(Rule::StreamWindowIncrement),
            Self::WindowOverflow => flow(Rule::StreamWindowOverflow),
            Self::WindowExceeded => flow(Rule::StreamWindowExceeded),
            Self::PrioritySize => violation(ErrorCode::FRAME_SIZE_ERROR, Rule::PrioritySize),
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
    /// The server sent GOAWAY with a lower stream ID, so it did not process the stream.
    NotProcessed(ErrorCode),
    /// The server reset the stream.
    Reset(ErrorCode),
    /// The server closed the connection with an error code, and may have processed the stream.
    GoAway(ErrorCode),
    /// The connection was lost.
    ConnectionLost,
    /// The server violated the protocol on this stream.
    StreamError(StreamError),
    /// The server violated the protocol on the connection.
    ConnectionError(ConnectionError),
}

impl Outcome {
    /// Returns whether the server certainly did not process the request, so that it is safe to send
    /// it again.
    #[must_use]
    pub fn may_resend(self) -> bool {
        matches!(self, Outcome::Refused | Outcome::NotProcessed(_))
    }

    /// Returns the fault to record. `None` if the response is complete, or if the connection was
    /// lost: the caller knows the cause of the loss.
    #[must_use]
    pub fn fault(self) -> Option<Http2Fault> {
        let code = |code: ErrorCode| Http2Code::new(code.0);
        Some(match self {
            Outcome::Answered | Outcome::ConnectionLost => return None,
            Outcome::Refused => Http2Fault::RefusedStream,
            Outcome::NotProcessed(error) | Outcome::GoAway(error) => {
                Http2Fault::GoAway(code(error))
            }
            Outcome::Reset(error) => Http2Fault::Reset(code(error)),
            Outcome::StreamError(error) => Http2Fault::Violation(error.violation().rule),
            Outcome::ConnectionError(error) => Http2Fault::Violation(error.violation().rule),
        })
    }
}
