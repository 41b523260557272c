//! Text encodings of `Buffer` and `TextDecoder`.

use base64::{
    Engine as _, alphabet,
    engine::{
        DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig,
        general_purpose::{STANDARD, URL_SAFE_NO_PAD},
    },
};
use rquickjs::{Ctx, Exception, Result, TypedArray};

use super::edge::bytes;

type Bytes<'js> = TypedArray<'js, u8>;

/// Encodes text. Throws if the encoding is unknown.
pub fn encode<'js>(ctx: Ctx<'js>, text: String, encoding: String) -> Result<Bytes<'js>> {
    let bytes = match encoding.as_str() {
        "utf8" => text.into_bytes(),
        "hex" => from_hex(&text),
        "base64" => from_base64(&text),
        "latin1" => text.chars().map(|c| c as u32 as u8).collect(),
        "utf16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ => return Err(unknown(&ctx, &encoding)),
    };
    TypedArray::new(ctx, bytes)
}

/// Decodes bytes. Invalid UTF-8 becomes replacement characters.
pub fn decode<'js>(ctx: Ctx<'js>, content: Bytes<'js>, encoding: String) -> Result<String> {
    let bytes = bytes(&content);
    Ok(match encoding.as_str() {
        "utf8" => String::from_utf8_lossy(&bytes).into_owned(),
        "hex" => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        "base64" => STANDARD.encode(&bytes),
        "base64url" => URL_SAFE_NO_PAD.encode(&bytes),
        "latin1" => bytes.iter().map(|byte| char::from(*byte)).collect(),
        "ascii" => bytes.iter().map(|byte| char::from(byte & 0x7f)).collect(),
        "utf16le" => {
            let units = bytes
                .chunks_exact(2)
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            String::from_utf16_lossy(&units.collect::<Vec<_>>())
        }
        _ => return Err(unknown(&ctx, &encoding)),
    })
}

fn unknown(ctx: &Ctx<'_>, encoding: &str) -> rquickjs::Error {
    Exception::throw_type(ctx, &format!("Unknown encoding: {encoding}"))
}

/// Reads hexadecimal digits up to the first other character, as Node.js does.
fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .map_while(|c| c.to_digit(16))
        .map(|d| d as u8)
        .collect();
    digits
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// Decodes both base64 alphabets and skips other characters, as Node.js does.
fn from_base64(text: &str) -> Vec<u8> {
    let known = text
        .bytes()
        .take_while(|c| *c != b'=')
        .filter_map(|c| match c {
            b'-' => Some(b'+'),
            b'_' => Some(b'/'),
            c => (c.is_ascii_alphanumeric() || c == b'+' || c == b'/').then_some(c),
        });
    let mut known: Vec<u8> = known.collect();
    if known.len() % 4 == 1 {
        known.pop();
    }
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let engine = GeneralPurpose::new(&alphabet::STANDARD, lenient);
    engine.decode(known).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_and_hex_are_read_like_in_node() {
        assert_eq!(from_base64("YWI/Pg=="), b"ab?>");
        assert_eq!(from_base64("YWI_ Pg"), b"ab?>");
        assert_eq!(from_hex("6a6bxx6c"), b"jk");
    }
}
