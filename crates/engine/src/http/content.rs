//! Content encodings: a body that somebody reads is decoded here, on demand and never otherwise.

use std::io::Read;

use super::decode::Answer;

/// The body as its author meant it: unpacked from gzip, deflate or brotli where the head says so.
///
/// # Errors
/// When the encoding is unknown, the bytes do not fit it, or there are more of them than `most`.
pub fn decoded(answer: &Answer, most: usize) -> Result<std::borrow::Cow<'_, [u8]>, Unreadable> {
    if answer.body_cut {
        return Err(Unreadable::TooLarge);
    }
    let mut body = std::borrow::Cow::Borrowed(answer.body.as_slice());
    let Some(encodings) = &answer.encoding else {
        return Ok(body);
    };
    // Answers to HEAD, 204 and 304 speak of a body that is not there.
    if body.is_empty() {
        return Ok(body);
    }
    // Listed in the order in which they were applied.
    for encoding in encodings.rsplit(',').map(str::trim) {
        body = match encoding.to_ascii_lowercase().as_str() {
            "" | "identity" => body,
            "gzip" | "x-gzip" => {
                read(flate2::read::MultiGzDecoder::new(body.as_ref()), most)?.into()
            }
            "deflate" => inflate(&body, most)?.into(),
            "br" => read(
                brotli_decompressor::Decompressor::new(body.as_ref(), 4096),
                most,
            )?
            .into(),
            _ => return Err(Unreadable::BadEncoding),
        };
    }
    Ok(body)
}

/// Why a body cannot be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// It does not fit its content encoding.
    BadEncoding,
    /// It is larger than may be kept.
    TooLarge,
}

/// "deflate" means the zlib format, but servers that send raw deflate are common enough that every client takes both.
fn inflate(body: &[u8], most: usize) -> Result<Vec<u8>, Unreadable> {
    read(flate2::read::ZlibDecoder::new(body), most).or_else(|why| match why {
        Unreadable::BadEncoding => read(flate2::read::DeflateDecoder::new(body), most),
        Unreadable::TooLarge => Err(why),
    })
}

fn read(decoder: impl Read, most: usize) -> Result<Vec<u8>, Unreadable> {
    let mut out = Vec::new();
    decoder
        .take(most as u64 + 1)
        .read_to_end(&mut out)
        .map_err(|_| Unreadable::BadEncoding)?;
    if out.len() > most {
        return Err(Unreadable::TooLarge);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn decoded(answer: &Answer) -> Result<std::borrow::Cow<'_, [u8]>, Unreadable> {
        super::decoded(answer, 1 << 20)
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&vec![0; 1 << 20]).expect("in memory");
        let bomb = answer("gzip", gzip.finish().expect("in memory"));
        assert!(super::decoded(&bomb, 1 << 20).is_ok());
        assert_eq!(
            super::decoded(&bomb, (1 << 20) - 1),
            Err(Unreadable::TooLarge)
        );
    }

    fn answer(encoding: &str, body: Vec<u8>) -> Answer {
        Answer {
            encoding: Some(encoding.to_owned()),
            body,
            ..Answer::default()
        }
    }

    #[test]
    fn unpacks_what_the_head_says() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(b"hello").expect("in memory");
        let packed = gzip.finish().expect("in memory");
        assert_eq!(
            decoded(&answer("gzip", packed)).as_deref(),
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
        assert_eq!(
            decoded(&answer("gzip", b"no".to_vec())),
            Err(Unreadable::BadEncoding)
        );
        assert_eq!(
            decoded(&answer("zstd", b"no".to_vec())),
            Err(Unreadable::BadEncoding)
        );
        assert_eq!(
            decoded(&answer("br", b"\xff\xff\xff".to_vec())),
            Err(Unreadable::BadEncoding)
        );
    }
}
