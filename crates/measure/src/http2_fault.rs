//! Causes of HTTP/2 failures: resets, GOAWAY, and violations of RFC 9113.
//!
//! The names are part of the record format and never change, unlike the texts for users.

/// Why an HTTP/2 request has no complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Http2Fault {
    /// The server refused the stream twice, before processing the request.
    RefusedStream,
    /// The server reset the stream.
    Reset(Http2Code),
    /// The server closed the connection with GOAWAY.
    GoAway(Http2Code),
    /// The server violated the protocol.
    Violation(Http2Violation),
    /// The plan requires HTTP/2, but the URL uses plain HTTP.
    Cleartext,
}

/// An error code of RFC 9113, section 7. All unknown codes compare equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Http2Code(u8);

/// The name of a fault in the record, and its text for users.
#[derive(Debug)]
struct FaultText {
    name: &'static str,
    text: &'static str,
}

macro_rules! codes {
    ($($code:literal $name:literal,)*) => {
        /// Names of the codes by number.
        const CODES: [&str; [$($code),*].len()] = [$($code),*];
        const RESETS: [FaultText; CODES.len() + 1] = [
            $(FaultText {
                name: concat!("h2_rst_", $name),
                text: concat!("HTTP/2: stream reset, ", $code),
            },)*
            FaultText {
                name: "h2_rst_other",
                text: "HTTP/2: stream reset, unknown code",
            },
        ];
        const GOAWAYS: [FaultText; CODES.len() + 1] = [
            $(FaultText {
                name: concat!("h2_goaway_", $name),
                text: concat!("HTTP/2: GOAWAY, ", $code),
            },)*
            FaultText {
                name: "h2_goaway_other",
                text: "HTTP/2: GOAWAY, unknown code",
            },
        ];
    };
}

codes! {
    "NO_ERROR" "no_error",
    "PROTOCOL_ERROR" "protocol_error",
    "INTERNAL_ERROR" "internal_error",
    "FLOW_CONTROL_ERROR" "flow_control_error",
    "SETTINGS_TIMEOUT" "settings_timeout",
    "STREAM_CLOSED" "stream_closed",
    "FRAME_SIZE_ERROR" "frame_size_error",
    "REFUSED_STREAM" "refused_stream",
    "CANCEL" "cancel",
    "COMPRESSION_ERROR" "compression_error",
    "CONNECT_ERROR" "connect_error",
    "ENHANCE_YOUR_CALM" "enhance_your_calm",
    "INADEQUATE_SECURITY" "inadequate_security",
    "HTTP_1_1_REQUIRED" "http_1_1_required",
}

impl Http2Code {
    /// Names of the codes by number.
    pub const NAMES: [&str; CODES.len()] = CODES;

    /// Creates a code from its number on the wire.
    #[must_use]
    pub fn new(number: u32) -> Http2Code {
        Http2Code(number.min(CODES.len() as u32) as u8)
    }

    /// Returns the name from RFC 9113, or `other` for an unknown code.
    #[must_use]
    pub fn name(self) -> &'static str {
        CODES.get(usize::from(self.0)).copied().unwrap_or("other")
    }

    /// Returns the code with this name. An unknown name gives the code `other`.
    #[must_use]
    pub fn named(name: &str) -> Http2Code {
        let known = Http2Code::all().find(|code| code.name() == name);
        known.unwrap_or(Http2Code::new(u32::MAX))
    }

    fn all() -> impl Iterator<Item = Http2Code> {
        (0..=CODES.len() as u8).map(Http2Code)
    }
}

macro_rules! violations {
    ($($variant:ident $name:literal $section:literal $text:literal,)*) => {
        /// A rule of HTTP/2 that the server violated.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the texts for users describe the variants")]
        #[repr(u8)]
        pub enum Http2Violation {
            $($variant,)*
        }

        const VIOLATIONS: [(Http2Violation, FaultText); [$($name),*].len()] = [
            $((
                Http2Violation::$variant,
                FaultText {
                    name: concat!("h2_", $name),
                    text: concat!("HTTP/2: ", $text, " (", $section, ")"),
                },
            ),)*
        ];
    };
}

violations! {
    Http1 "http1" "RFC 9113 3.4" "the server speaks HTTP/1",
    Tls "tls" "RFC 9113 3.4" "the server speaks TLS",
    Preface "preface" "RFC 9113 3.4" "the first frame is not SETTINGS",
    FrameTooLarge "frame_too_large" "RFC 9113 4.2" "a frame is larger than the announced maximum",
    FrameSize "frame_size" "RFC 9113 4.2" "a frame has an invalid size",
    StreamZero "stream_zero" "RFC 9113 5.1.1" "a frame has the wrong kind of stream",
    IdleStream "idle_stream" "RFC 9113 5.1" "a frame names a stream never opened",
    ClosedStream "closed_stream" "RFC 9113 5.1" "a frame follows the end of its stream",
    Padding "padding" "RFC 9113 6.1" "padding is longer than its frame",
    Continuation "continuation" "RFC 9113 6.10" "a header block is interrupted",
    TooManyContinuations "too_many_continuations" "RFC 9113 10.5.1" "too many CONTINUATION frames",
    HeaderBlockTooLarge "header_block_too_large" "RFC 9113 10.5.1" "a header block is too large",
    HpackTruncated "hpack_truncated" "RFC 9113 4.3" "a header block ends within a field",
    HpackInteger "hpack_integer" "RFC 9113 4.3" "an integer in a header block is too large",
    HpackHuffman "hpack_huffman" "RFC 9113 4.3" "a Huffman code in a header block is invalid",
    HpackIndex "hpack_index" "RFC 9113 4.3" "a header block uses an index without an entry",
    HpackSizeUpdate "hpack_size_update" "RFC 9113 4.3" "a header block has an invalid table size update",
    HpackListTooLarge "hpack_list_too_large" "RFC 9113 10.5.1" "the decoded header list is too large",
    Setting "setting" "RFC 9113 6.5.2" "a setting has an invalid value",
    Push "push" "RFC 9113 6.6" "a push, although push is disabled",
    WindowIncrement "window_increment" "RFC 9113 6.9" "the connection's window grows by 0",
    WindowOverflow "window_overflow" "RFC 9113 6.9.1" "the connection's window exceeds 2^31 - 1",
    WindowExceeded "window_exceeded" "RFC 9113 6.9.1" "more data than the connection's window allows",
    GoAwayIncreased "go_away_increased" "RFC 9113 6.8" "GOAWAY names a later stream",
    ControlFlood "control_flood" "RFC 9113 10.5" "too many control or empty frames without progress",
    AcknowledgementFlood "acknowledgement_flood" "RFC 9113 10.5" "too many unread acknowledgements",
    Status "status" "RFC 9113 8.3.2" "the response has no valid :status",
    PseudoField "pseudo_field" "RFC 9113 8.3" "an invalid pseudo-header field",
    FieldName "field_name" "RFC 9113 8.2.1" "an invalid field name",
    FieldValue "field_value" "RFC 9113 8.2.1" "an invalid field value",
    ConnectionField "connection_field" "RFC 9113 8.2.2" "a connection-specific field",
    ContentLength "content_length" "RFC 9113 8.1.1" "an invalid content-length",
    BodyLength "body_length" "RFC 9113 8.1.1" "the body's length differs from content-length",
    UnexpectedBody "unexpected_body" "RFC 9113 8.1.1" "a body in a response without content",
    BodyBeforeHead "body_before_head" "RFC 9113 8.1" "a body before the response head",
    Interim "interim" "RFC 9113 8.1" "an invalid 1xx response",
    Trailers "trailers" "RFC 9113 8.1" "trailers do not end the stream",
    StreamWindowIncrement "stream_window_increment" "RFC 9113 6.9" "a stream's window grows by 0",
    StreamWindowOverflow "stream_window_overflow" "RFC 9113 6.9.1" "a stream's window exceeds 2^31 - 1",
    StreamWindowExceeded "stream_window_exceeded" "RFC 9113 6.9.1" "more data than a stream's window allows",
    PrioritySize "priority_size" "RFC 9113 6.3" "a PRIORITY frame has an invalid size",
}

impl Http2Fault {
    /// Returns all faults.
    pub(crate) fn all() -> impl Iterator<Item = Http2Fault> {
        [Http2Fault::RefusedStream, Http2Fault::Cleartext]
            .into_iter()
            .chain(Http2Code::all().map(Http2Fault::Reset))
            .chain(Http2Code::all().map(Http2Fault::GoAway))
            .chain(
                VIOLATIONS
                    .iter()
                    .map(|(one, _)| Http2Fault::Violation(*one)),
            )
    }

    fn texts(self) -> &'static FaultText {
        match self {
            Http2Fault::RefusedStream => &FaultText {
                name: "h2_refused_stream",
                text: "HTTP/2: refused stream",
            },
            Http2Fault::Cleartext => &FaultText {
                name: "h2_cleartext",
                text: "HTTP/2 without TLS needs `version: 2-prior-knowledge`",
            },
            Http2Fault::Reset(code) => &RESETS[code.0 as usize],
            Http2Fault::GoAway(code) => &GOAWAYS[code.0 as usize],
            Http2Fault::Violation(violation) => &VIOLATIONS[violation as usize].1,
        }
    }

    /// Returns the fault's name in the record.
    pub(crate) fn name(self) -> &'static str {
        self.texts().name
    }

    /// Returns a short text for users.
    #[must_use]
    pub fn text(self) -> &'static str {
        self.texts().text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_codes_and_sections() {
        let text = |fault: Http2Fault| fault.text();
        let reset = Http2Fault::Reset(Http2Code::new(8));
        assert_eq!(text(reset), "HTTP/2: stream reset, CANCEL");
        let unknown = Http2Fault::GoAway(Http2Code::new(0x1f));
        assert_eq!(text(unknown), "HTTP/2: GOAWAY, unknown code");
        let violation = Http2Fault::Violation(Http2Violation::Http1);
        assert_eq!(
            text(violation),
            "HTTP/2: the server speaks HTTP/1 (RFC 9113 3.4)"
        );
    }

    #[test]
    fn violations_are_in_the_order_of_their_table() {
        for (index, (violation, _)) in VIOLATIONS.iter().enumerate() {
            assert_eq!(*violation as usize, index);
        }
    }
}
