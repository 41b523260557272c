//! Static table of HPACK (RFC 7541, appendix A).

/// Name and value of a field.
pub(super) type Pair = (&'static str, &'static str);

/// Fields by index. The first field has index 1.
pub(super) const STATIC: [Pair; 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// Returns the index of the first entry with this name, if there is one.
pub(super) fn index_of_name(name: &[u8]) -> Option<usize> {
    let position = STATIC.iter().position(|entry| entry.0.as_bytes() == name);
    position.map(|position| position + 1)
}

/// Returns the index of the entry with this name and value, if there is one.
pub(super) fn index_of_field(name: &[u8], value: &[u8]) -> Option<usize> {
    let is_field = |entry: &Pair| entry.0.as_bytes() == name && entry.1.as_bytes() == value;
    STATIC
        .iter()
        .position(is_field)
        .map(|position| position + 1)
}
