//! The global `crypto`: random values and hashes of WebCrypto.

use rquickjs::{
    ArrayBuffer, Coerced, Ctx, Exception, Object, Promise, Result, Value as Js, prelude::Func,
};

use super::{
    encoding::{View, bytes_of},
    errors::throw,
};
use crate::js::{edge::write_bytes, hashes};

/// Maximum number of random bytes of one call, in the standard.
const MOST_RANDOM: usize = 65_536;

/// Functions of `crypto.subtle` that are not supported.
const NOT_SUPPORTED: [&str; 9] = [
    "decrypt",
    "deriveBits",
    "deriveKey",
    "encrypt",
    "exportKey",
    "generateKey",
    "importKey",
    "sign",
    "verify",
];

/// Defines `crypto`.
pub fn define<'js>(ctx: &Ctx<'js>) -> Result<()> {
    let crypto = Object::new(ctx.clone())?;
    crypto.set("getRandomValues", Func::from(random_values))?;
    crypto.set("randomUUID", Func::from(random_uuid))?;
    let subtle = Object::new(ctx.clone())?;
    subtle.set("digest", Func::from(digest))?;
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

fn digest<'js>(ctx: Ctx<'js>, algorithm: Js<'js>, data: Js<'js>) -> Result<Promise<'js>> {
    let (promise, resolve, reject) = ctx.promise()?;
    let name = match algorithm.as_object() {
        Some(object) => object.get::<_, Coerced<String>>("name")?.0,
        None => algorithm.get::<Coerced<String>>()?.0,
    };
    let name = name.to_lowercase().replace('-', "");
    let digest = match name.as_str() {
        "sha1" | "sha256" | "sha384" | "sha512" => hashes::digest(&name, &bytes_of(&ctx, &data)?),
        _ => None,
    };
    match digest {
        Some(digest) => resolve.call::<_, ()>((ArrayBuffer::new(ctx, digest)?.into_value(),))?,
        None => {
            let message = format!("the hash {name} is not supported");
            let error = Exception::from_message(ctx, &message)?;
            error.as_object().set("name", "NotSupportedError")?;
            reject.call::<_, ()>((error.into_object(),))?;
        }
    }
    Ok(promise)
}
