//! Signatures with private keys: RSA and ECDSA.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING,
        ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
        RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
    },
};
use rquickjs::{Ctx, Result, TypedArray};

use super::{edge::bytes, native::throw_coded};

/// Signs data with a PEM key. `is_fixed` encodes ECDSA signatures as two numbers of fixed length
/// instead of ASN.1.
pub fn sign<'js>(
    ctx: Ctx<'js>,
    hash: String,
    pem: String,
    is_pss: bool,
    is_fixed: bool,
    content: TypedArray<'js, u8>,
) -> Result<TypedArray<'js, u8>> {
    match signed(&hash, &pem, is_pss, is_fixed, &bytes(&content)) {
        Ok(signature) => TypedArray::new(ctx, signature),
        Err(message) => Err(throw_coded(&ctx, "ERR_OSSL_UNSUPPORTED", message)),
    }
}

type Signed = std::result::Result<Vec<u8>, &'static str>;

fn signed(hash: &str, pem: &str, is_pss: bool, is_fixed: bool, content: &[u8]) -> Signed {
    let (kind, der) = key(pem).ok_or("the private key is not in PEM")?;
    let rsa = match kind {
        "RSA PRIVATE KEY" => RsaKeyPair::from_der(&der),
        "PRIVATE KEY" => RsaKeyPair::from_pkcs8(&der),
        _ => {
            return Err(
                "the private key must be in PKCS#8 (PRIVATE KEY) or PKCS#1 (RSA PRIVATE KEY)",
            );
        }
    };
    let random = SystemRandom::new();
    if let Ok(rsa) = rsa {
        let encoding: &dyn RsaEncoding = match (hash, is_pss) {
            ("sha256", false) => &RSA_PKCS1_SHA256,
            ("sha384", false) => &RSA_PKCS1_SHA384,
            ("sha512", false) => &RSA_PKCS1_SHA512,
            ("sha256", true) => &RSA_PSS_SHA256,
            ("sha384", true) => &RSA_PSS_SHA384,
            ("sha512", true) => &RSA_PSS_SHA512,
            _ => return Err("RSA signatures need SHA-256, SHA-384 or SHA-512"),
        };
        let mut signature = vec![0; rsa.public().modulus_len()];
        return match rsa.sign(encoding, &random, content, &mut signature) {
            Ok(()) => Ok(signature),
            Err(_) => Err("the data cannot be signed with this key"),
        };
    }
    let algorithm = match (hash, is_fixed) {
        ("sha256", false) => &ECDSA_P256_SHA256_ASN1_SIGNING,
        ("sha256", true) => &ECDSA_P256_SHA256_FIXED_SIGNING,
        ("sha384", false) => &ECDSA_P384_SHA384_ASN1_SIGNING,
        ("sha384", true) => &ECDSA_P384_SHA384_FIXED_SIGNING,
        _ => return Err("ECDSA signatures need SHA-256 or SHA-384"),
    };
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, &der, &random);
    let pair = pair.map_err(|_| {
        "the private key is neither RSA (2048 to 4096 bits) nor ECDSA on the curve of this hash"
    })?;
    match pair.sign(&random, content) {
        Ok(signature) => Ok(signature.as_ref().to_vec()),
        Err(_) => Err("the data cannot be signed with this key"),
    }
}

/// Returns the type and the content of the first key in a PEM text.
fn key(pem: &str) -> Option<(&str, Vec<u8>)> {
    let start = pem.find("-----BEGIN ")? + "-----BEGIN ".len();
    let (kind, rest) = pem[start..].split_once("-----")?;
    let (body, _) = rest.split_once("-----END ")?;
    let body: String = body.split_whitespace().collect();
    Some((kind, STANDARD.decode(body).ok()?))
}
