//! The global `crypto`: random values, hashes and message authentication codes of WebCrypto.

use rquickjs::{
    ArrayBuffer, Class, Coerced, Ctx, Exception, Object, Promise, Result, Value as Js,
    object::Accessor, prelude::Func,
};

use super::{
    encoding::{View, bytes_of},
    errors::throw,
};
use crate::js::{
    edge::{Native, native_class, write_bytes},
    hashes,
};

/// Maximum number of random bytes per call, as defined by the standard.
const MOST_RANDOM: usize = 65_536;

/// Functions of `crypto.subtle` that are not supported.
const NOT_SUPPORTED: [&str; 6] = [
    "decrypt",
    "deriveBits",
    "deriveKey",
    "encrypt",
    "exportKey",
    "generateKey",
];

/// A key for message authentication codes.
struct HmacKey {
    hash: String,
    key: Vec<u8>,
}

type KeyInstance<'js> = Class<'js, Native<HmacKey>>;

native_class!(HmacKey, "CryptoKey", add_methods);

/// Adds the methods to the prototype.
fn add_methods<'js>(prototype: &Object<'js>) -> Result<()> {
    prototype.prop("type", Accessor::from(|| "secret").enumerable())?;
    Ok(())
}

/// Defines `crypto`.
pub fn define<'js>(ctx: &Ctx<'js>) -> Result<()> {
    let crypto = Object::new(ctx.clone())?;
    crypto.set("getRandomValues", Func::from(random_values))?;
    crypto.set("randomUUID", Func::from(random_uuid))?;
    let subtle = Object::new(ctx.clone())?;
    subtle.set("digest", Func::from(digest))?;
    subtle.set("importKey", Func::from(import_key))?;
    subtle.set("sign", Func::from(sign))?;
    subtle.set("verify", Func::from(verify))?;
    for name in NOT_SUPPORTED {
        let refuse = move |ctx: Ctx<'js>| -> Result<()> {
            let message = format!("crypto.subtle.{name}() is not supported: use k6/crypto");
            Err(throw(&ctx, &message))
        };
        subtle.set(name, Func::from(refuse))?;
    }
    crypto.set("subtle", subtle)?;
    ctx.globals().set("crypto", crypto)
}

fn random_values<'js>(ctx: Ctx<'js>, array: Js<'js>) -> Result<Js<'js>> {
    let is_buffer = array
        .as_object()
        .is_some_and(|object| ArrayBuffer::from_object(object.clone()).is_some());
    let Some(view) = View::new(&array)?.filter(|_| !is_buffer) else {
        let message = "getRandomValues() takes an array of integers, such as Uint8Array";
        return Err(Exception::throw_type(&ctx, message));
    };
    if view.length > MOST_RANDOM {
        let message = "getRandomValues() fills at most 65536 bytes";
        return Err(Exception::throw_dom(&ctx, "QuotaExceededError", message));
    }
    let mut bytes = vec![0; view.length];
    getrandom::fill(&mut bytes).map_err(|error| throw(&ctx, &error.to_string()))?;
    if !write_bytes(&view.buffer, view.offset, &bytes) {
        return Err(Exception::throw_type(&ctx, "the array was detached"));
    }
    Ok(array)
}

fn random_uuid(ctx: Ctx<'_>) -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| throw(&ctx, &error.to_string()))?;
    // Version 4, variant 1 (RFC 9562).
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    Ok(parts.join("-"))
}

/// Returns a promise that is already settled with a result.
fn settled<'js>(
    ctx: &Ctx<'js>,
    result: std::result::Result<Js<'js>, String>,
) -> Result<Promise<'js>> {
    let (promise, resolve, reject) = ctx.promise()?;
    match result {
        Ok(value) => resolve.call::<_, ()>((value,))?,
        Err(message) => {
            let error = Exception::from_message(ctx.clone(), &message)?;
            error.as_object().set("name", "NotSupportedError")?;
            reject.call::<_, ()>((error.into_object(),))?;
        }
    }
    Ok(promise)
}

/// Returns the name of a hash, as `hashes` expects it. An algorithm is a text or an object with
/// `name`.
fn hash_name(algorithm: &Js<'_>) -> Result<std::result::Result<String, String>> {
    let name = match algorithm.as_object() {
        Some(object) => object.get::<_, Coerced<String>>("name")?.0,
        None => algorithm.get::<Coerced<String>>()?.0,
    };
    Ok(match name.to_uppercase().as_str() {
        "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512" => Ok(name.to_lowercase().replace('-', "")),
        _ => Err(format!("the algorithm {name} is not supported")),
    })
}

fn digest<'js>(ctx: Ctx<'js>, algorithm: Js<'js>, data: Js<'js>) -> Result<Promise<'js>> {
    let content = bytes_of(&ctx, &data)?;
    let digest = match hash_name(&algorithm)? {
        Ok(name) => Ok(hashes::digest(&name, &content).unwrap_or_default()),
        Err(message) => Err(message),
    };
    let buffer = digest.map(|digest| ArrayBuffer::new(ctx.clone(), digest));
    match buffer {
        Ok(buffer) => settled(&ctx, Ok(buffer?.into_value())),
        Err(message) => settled(&ctx, Err(message)),
    }
}

/// Imports a key. Only raw keys for HMAC are supported.
fn import_key<'js>(
    ctx: Ctx<'js>,
    format: Coerced<String>,
    data: Js<'js>,
    algorithm: Js<'js>,
) -> Result<Promise<'js>> {
    let object = algorithm.as_object();
    let name = match object {
        Some(object) => object.get::<_, Coerced<String>>("name")?.0,
        None => algorithm.get::<Coerced<String>>()?.0,
    };
    let Some(object) = object.filter(|_| name.eq_ignore_ascii_case("hmac") && format.0 == "raw")
    else {
        let message = format!(
            "crypto.subtle.importKey() supports only raw keys for HMAC, not {} keys for {name}",
            format.0
        );
        return settled(&ctx, Err(message));
    };
    match hash_name(&object.get("hash")?)? {
        Ok(hash) => {
            let key = HmacKey {
                hash,
                key: bytes_of(&ctx, &data)?,
            };
            let key = Class::instance(ctx.clone(), Native(key))?;
            settled(&ctx, Ok(key.into_value()))
        }
        Err(message) => settled(&ctx, Err(message)),
    }
}

fn code(ctx: &Ctx<'_>, key: &Js<'_>, data: &Js<'_>) -> Result<Vec<u8>> {
    let Some(key) = key.as_object().and_then(KeyInstance::from_object) else {
        return Err(Exception::throw_type(ctx, "a key for HMAC is needed"));
    };
    let content = data_bytes(ctx, data)?;
    let key = key.borrow();
    Ok(hashes::hmac(&key.0.hash, &key.0.key, &content).unwrap_or_default())
}

fn data_bytes(ctx: &Ctx<'_>, data: &Js<'_>) -> Result<Vec<u8>> {
    match View::new(data)? {
        Some(view) => Ok(view.bytes()),
        None => {
            let message = "the data must be an ArrayBuffer or a view of one";
            Err(Exception::throw_type(ctx, message))
        }
    }
}

fn sign<'js>(ctx: Ctx<'js>, _: Js<'js>, key: Js<'js>, data: Js<'js>) -> Result<Promise<'js>> {
    let code = code(&ctx, &key, &data)?;
    let buffer = ArrayBuffer::new(ctx.clone(), code)?;
    settled(&ctx, Ok(buffer.into_value()))
}

fn verify<'js>(
    ctx: Ctx<'js>,
    _: Js<'js>,
    key: Js<'js>,
    signature: Js<'js>,
    data: Js<'js>,
) -> Result<Promise<'js>> {
    let is_valid = code(&ctx, &key, &data)? == data_bytes(&ctx, &signature)?;
    let value = Js::new_bool(ctx.clone(), is_valid);
    settled(&ctx, Ok(value))
}
