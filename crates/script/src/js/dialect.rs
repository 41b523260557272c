//! The dialect of Node.js and its HTTP client `got`.

use std::io::ErrorKind;

use plan::dialect::{Dialect, UnsendableReason};

/// Error of `got` for a body that it does not send, such as the body of a GET request.
pub const BODY_ERROR: &str = "ERR_GOT_REQUEST_ERROR";

/// How Node.js encodes headers, joins repeated ones, and names request errors.
pub const NODE: Dialect = Dialect {
    latin1: true,
    single_headers: &[
        "age",
        "authorization",
        "content-length",
        "content-type",
        "etag",
        "expires",
        "from",
        "host",
        "if-modified-since",
        "if-unmodified-since",
        "last-modified",
        "location",
        "max-forwards",
        "proxy-authorization",
        "referer",
        "retry-after",
        "server",
        "user-agent",
    ],
    error_names: &[
        (UnsendableReason::Url, "ERR_INVALID_URL"),
        (UnsendableReason::Scheme, "ERR_UNSUPPORTED_PROTOCOL"),
        (UnsendableReason::Header, "ERR_INVALID_CHAR"),
        (UnsendableReason::File(ErrorKind::NotFound), "ENOENT"),
        (
            UnsendableReason::File(ErrorKind::PermissionDenied),
            "EACCES",
        ),
        (UnsendableReason::File(ErrorKind::NotADirectory), "ENOTDIR"),
        (UnsendableReason::File(ErrorKind::IsADirectory), "EISDIR"),
        (UnsendableReason::File(ErrorKind::InvalidInput), "EINVAL"),
        (UnsendableReason::File(ErrorKind::Other), "EIO"),
    ],
};
