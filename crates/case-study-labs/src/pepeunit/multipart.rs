//! Reads the fields of multipart bodies. Nesting is not supported.

pub(super) fn field(content_type: &str, body: &[u8], name: &str) -> Option<Vec<u8>> {
    let (_, boundary) = content_type.split_once("boundary=")?;
    let boundary = boundary.split(';').next()?.trim_matches('"');
    let begin = format!("--{boundary}\r\n");
    let end = format!("\r\n--{boundary}");
    let mut rest = body;
    loop {
        let at = find(rest, begin.as_bytes())?;
        rest = &rest[at + begin.len()..];
        let head = find(rest, b"\r\n\r\n")?;
        let length = find(&rest[head + 4..], end.as_bytes())?;
        let is_it = String::from_utf8_lossy(&rest[..head]).contains(&format!(" name=\"{name}\""));
        let content = &rest[head + 4..head + 4 + length];
        if is_it {
            return Some(content.to_vec());
        }
        rest = &rest[head + 4 + length + 2..];
    }
}

fn find(in_bytes: &[u8], what: &[u8]) -> Option<usize> {
    in_bytes.windows(what.len()).position(|at| at == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_among_others() {
        let body = b"--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a.yml\"\r\nContent-Type: application/yaml\r\n\r\na: 1\r\nb: 2\r\n--b--\r\n";
        let of = |name| field("multipart/form-data; boundary=b", body, name);
        assert_eq!(of("data").unwrap(), b"a: 1\r\nb: 2");
        assert_eq!(of("x").unwrap(), b"1");
        assert!(of("y").is_none());
        assert!(field("text/plain", body, "x").is_none());
    }
}
