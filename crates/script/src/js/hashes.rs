//! Hashes and message authentication codes, by the names that scripts use.

use hmac::{Hmac, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

/// Returns the hash of bytes. `None` if the algorithm is unknown.
pub fn digest(name: &str, content: &[u8]) -> Option<Vec<u8>> {
    Some(match name {
        "md5" => Md5::digest(content).to_vec(),
        "sha1" => Sha1::digest(content).to_vec(),
        "sha224" => Sha224::digest(content).to_vec(),
        "sha256" => Sha256::digest(content).to_vec(),
        "sha384" => Sha384::digest(content).to_vec(),
        "sha512" => Sha512::digest(content).to_vec(),
        "sha512_224" => Sha512_224::digest(content).to_vec(),
        "sha512_256" => Sha512_256::digest(content).to_vec(),
        _ => return None,
    })
}

/// Returns the message authentication code of bytes. `None` if the algorithm is unknown.
pub fn hmac(name: &str, key: &[u8], content: &[u8]) -> Option<Vec<u8>> {
    macro_rules! mac {
        ($hash:ty) => {{
            // A key may have any length.
            let mut mac = Hmac::<$hash>::new_from_slice(key).ok()?;
            mac.update(content);
            mac.finalize().into_bytes().to_vec()
        }};
    }
    Some(match name {
        "md5" => mac!(Md5),
        "sha1" => mac!(Sha1),
        "sha224" => mac!(Sha224),
        "sha256" => mac!(Sha256),
        "sha384" => mac!(Sha384),
        "sha512" => mac!(Sha512),
        "sha512_224" => mac!(Sha512_224),
        "sha512_256" => mac!(Sha512_256),
        _ => return None,
    })
}
