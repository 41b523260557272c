//! Decodes content encodings on demand: gzip, deflate, brotli and zstd.

use std::{borrow::Cow, io::Read};

use super::{
    answer::Response,
    unpack::{UnpackError, read},
};

/// How to treat content encodings that a client may not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpacking {
    /// Decodes all supported encodings. An unknown encoding is an error.
    Strict,
    /// Decodes the three encodings that Artillery's client supports, and passes other bodies
    /// through.
    Lenient,
}

/// Decodes a body according to the encodings in its head.
///
/// Fails if an encoding is unknown, the data is invalid, or the result exceeds `most` bytes.
pub fn decoded(
    answer: &Response,
    most: usize,
    unpacking: Unpacking,
) -> Result<Cow<'_, [u8]>, Unreadable> {
    if answer.body_cut {
        return Err(Unreadable::TooLarge);
    }
    let body = Cow::Borrowed(answer.body.as_slice());
    let Some(encodings) = answer.encoding() else {
        return Ok(body);
    };
    // The head of a response to HEAD, or with status 204 or 304, describes a body that is not sent.
    if body.is_empty() {
        return Ok(body);
    }
    let encodings = encodings.to_ascii_lowercase();
    if unpacking == Unpacking::Lenient {
        return match encodings.as_str() {
            "gzip" | "deflate" | "br" => unpacked(body, &encodings, most),
            _ => Ok(body),
        };
    }
    decoded_from(&encodings, body, most)
}

/// Decodes a body with the encodings of a `Content-Encoding` header, given in lower case.
///
/// Fails if an encoding is unknown, the data is invalid, or the result exceeds `most` bytes.
pub fn decoded_from<'b>(
    encodings: &str,
    body: Cow<'b, [u8]>,
    most: usize,
) -> Result<Cow<'b, [u8]>, Unreadable> {
    // The header lists the encodings in the order in which the server applied them.
    let mut listed = encodings.rsplit(',').map(str::trim);
    listed.try_fold(body, |body, encoding| unpacked(body, encoding, most))
}

fn unpacked<'b>(
    body: Cow<'b, [u8]>,
    encoding: &str,
    most: usize,
) -> Result<Cow<'b, [u8]>, Unreadable> {
    let unpacked = match encoding {
        "" | "identity" => return Ok(body),
        "gzip" | "x-gzip" => gunzip(&body, most),
        "deflate" => inflate(&body, most),
        "br" => read_all(
            brotli_decompressor::Decompressor::new(body.as_ref(), 4096),
            most,
        ),
        "zstd" => super::zstd::decoded(&body, most),
        unknown => return Err(Unreadable::Unknown(render(unknown))),
    };
    unpacked.map(Cow::Owned).map_err(|reason| match reason {
        UnpackError::Broken => Unreadable::Broken(render(encoding)),
        UnpackError::TooLarge => Unreadable::TooLarge,
    })
}

fn render(encoding: &str) -> String {
    encoding.chars().take(40).collect()
}

/// Why a body cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// The encoding with this name is unknown.
    Unknown(String),
    /// The data is invalid for the encoding with this name.
    Broken(String),
    /// The decoded body exceeds the limit.
    TooLarge,
}

/// Decodes consecutive gzip members. As in the gzip tools, zeros after a member are padding, and
/// anything else must be another member.
fn gunzip(mut rest: &[u8], most: usize) -> Result<Vec<u8>, UnpackError> {
    let mut out = Vec::new();
    loop {
        let mut member = flate2::bufread::GzDecoder::new(rest);
        read(&mut member, most, &mut out)?;
        rest = member.into_inner();
        if matches!(rest.first(), None | Some(0)) {
            return Ok(out);
        }
    }
}

/// Decodes "deflate", which is the zlib format. Many servers send raw deflate instead, which is
/// accepted too.
fn inflate(body: &[u8], most: usize) -> Result<Vec<u8>, UnpackError> {
    read_all(flate2::read::ZlibDecoder::new(body), most).or_else(|reason| match reason {
        UnpackError::Broken => read_all(flate2::read::DeflateDecoder::new(body), most),
        UnpackError::TooLarge => Err(reason),
    })
}

fn read_all(decoder: impl Read, most: usize) -> Result<Vec<u8>, UnpackError> {
    let mut out = Vec::new();
    read(decoder, most, &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn decoded(answer: &Response) -> Result<Cow<'_, [u8]>, Unreadable> {
        super::decoded(answer, 1 << 20, Unpacking::Strict)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(bytes).expect("in memory");
        gzip.finish().expect("in memory")
    }

    #[test]
    fn zeros_after_gzip_are_padding() {
        let of = |parts: &[&[u8]]| answer("gzip", parts.concat());
        let (a, b) = (gzip(b"abc"), gzip(b"def"));
        let broken = Err(Unreadable::Broken("gzip".into()));
        let readable: [(&[&[u8]], &[u8]); 4] = [
            (&[&a, &[0; 10]], b"abc"),
            (&[&a, &b], b"abcdef"),
            (&[&a, &b, &[0]], b"abcdef"),
            (&[&a, &[0, 0], b"garbage"], b"abc"),
        ];
        for (parts, text) in readable {
            assert_eq!(decoded(&of(parts)).as_deref(), Ok(text));
        }
        let cut = &a[..a.len() - 8];
        for parts in [&[&a[..], b"garbage"], &[cut, b""], &[cut, &[0; 8]]] {
            assert_eq!(decoded(&of(parts)), broken);
        }
    }

    #[test]
    fn lenient_mode_passes_other_encodings_through() {
        let read = |encoding: &str, body: Vec<u8>| {
            let answer = answer(encoding, body);
            super::decoded(&answer, 1 << 20, Unpacking::Lenient).map(Cow::into_owned)
        };
        assert_eq!(read("zstd", b"x".to_vec()), Ok(b"x".to_vec()));
        assert_eq!(read("gzip, br", b"x".to_vec()), Ok(b"x".to_vec()));
        assert_eq!(read("GZIP", gzip(b"x")), Ok(b"x".to_vec()));
        let broken = Err(Unreadable::Broken("gzip".into()));
        assert_eq!(read("gzip", b"x".to_vec()), broken);
    }

    #[test]
    fn decompression_bomb_is_rejected() {
        let bomb = answer("gzip", gzip(&vec![0; 1 << 20]));
        assert!(super::decoded(&bomb, 1 << 20, Unpacking::Strict).is_ok());
        assert_eq!(
            super::decoded(&bomb, (1 << 20) - 1, Unpacking::Strict),
            Err(Unreadable::TooLarge)
        );
    }

    fn answer(encoding: &str, body: Vec<u8>) -> Response {
        Response::encoded(encoding, body)
    }

    #[test]
    fn body_is_decoded_by_its_head() {
        assert_eq!(
            decoded(&answer("gzip", gzip(b"hello"))).as_deref(),
            Ok(&b"hello"[..])
        );
        let mut raw =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        raw.write_all(b"hello").expect("in memory");
        assert_eq!(
            decoded(&answer("Deflate", raw.finish().expect("in memory"))).as_deref(),
            Ok(&b"hello"[..])
        );
        assert_eq!(
            decoded(&answer("identity", b"x".to_vec())).as_deref(),
            Ok(&b"x"[..])
        );
        assert_eq!(
            decoded(&answer("gzip", Vec::new())).as_deref(),
            Ok(&b""[..])
        );
        for encoding in ["gzip", "zstd", "br"] {
            assert_eq!(
                decoded(&answer(encoding, b"\xff\xff\xff".to_vec())),
                Err(Unreadable::Broken(encoding.into()))
            );
        }
        assert_eq!(
            decoded(&answer("compress", b"no".to_vec())),
            Err(Unreadable::Unknown("compress".into()))
        );
    }
}
