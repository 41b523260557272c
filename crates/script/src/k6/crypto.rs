//! The module `k6/crypto`: hashes, message authentication codes and random bytes.

use std::cell::RefCell;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD},
};
use rquickjs::{
    ArrayBuffer, Class, Coerced, Ctx, Object, Result, Value as Js,
    prelude::{Func, Opt, This},
};

use super::{encoding::bytes_of, errors::throw};
use crate::js::{
    edge::{Native, native_class},
    hashes,
    values::text_to_js,
};

/// Hashes that have their own function in the module.
const HASHES: [&str; 7] = [
    "md5",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "sha512_224",
    "sha512_256",
];

/// Hashes of k6 that Loadline does not support.
const NOT_SUPPORTED: [&str; 2] = ["md4", "ripemd160"];

/// Maximum number of random bytes per call.
const MOST_RANDOM: f64 = 16_777_216.0;

/// A hash or message authentication code to which data can be added.
struct Hasher {
    algorithm: String,
    key: Option<Vec<u8>>,
    content: RefCell<Vec<u8>>,
}

type HasherInstance<'js> = Class<'js, Native<Hasher>>;

native_class!(Hasher, "Hasher", add_methods);

/// Adds the methods to the prototype.
fn add_methods<'js>(prototype: &Object<'js>) -> Result<()> {
    let update = |ctx: Ctx<'js>, this: This<HasherInstance<'js>>, data: Js<'js>| -> Result<()> {
        let bytes = bytes_of(&ctx, &data)?;
        this.0.borrow().0.content.borrow_mut().extend(bytes);
        Ok(())
    };
    prototype.set("update", Func::from(update))?;
    let digest = |ctx: Ctx<'js>, this: This<HasherInstance<'js>>, output: Opt<Js<'js>>| {
        let this = this.0.borrow();
        let (hasher, content) = (&this.0, this.0.content.borrow());
        let digest = match &hasher.key {
            Some(key) => hashes::hmac(&hasher.algorithm, key, &content),
            None => hashes::digest(&hasher.algorithm, &content),
        };
        encoded(&ctx, digest.unwrap_or_default(), output.0)
    };
    prototype.set("digest", Func::from(digest))?;
    Ok(())
}

/// Creates the module.
pub fn module<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let module = Object::new(ctx.clone())?;
    for name in HASHES {
        let hash = move |ctx: Ctx<'js>, data: Js<'js>, output: Opt<Js<'js>>| {
            let digest = hashes::digest(name, &bytes_of(&ctx, &data)?);
            encoded(&ctx, digest.unwrap_or_default(), output.0)
        };
        module.set(name, Func::from(hash))?;
    }
    for name in NOT_SUPPORTED {
        let refuse = move |ctx: Ctx<'js>| -> Result<()> { Err(not_supported(&ctx, name)) };
        module.set(name, Func::from(refuse))?;
    }
    let create = |ctx: Ctx<'js>, name: Coerced<String>| hasher(&ctx, name.0, None);
    module.set("createHash", Func::from(create))?;
    let create = |ctx: Ctx<'js>, name: Coerced<String>, key: Js<'js>| {
        let key = bytes_of(&ctx, &key)?;
        hasher(&ctx, name.0, Some(key))
    };
    module.set("createHMAC", Func::from(create))?;
    let hmac = |ctx: Ctx<'js>,
                name: Coerced<String>,
                key: Js<'js>,
                data: Js<'js>,
                output: Opt<Js<'js>>| {
        check_algorithm(&ctx, &name.0)?;
        let (key, data) = (bytes_of(&ctx, &key)?, bytes_of(&ctx, &data)?);
        let code = hashes::hmac(&name.0, &key, &data);
        encoded(&ctx, code.unwrap_or_default(), output.0)
    };
    module.set("hmac", Func::from(hmac))?;
    module.set("randomBytes", Func::from(random_bytes))?;
    let hex = |ctx: Ctx<'js>, data: Js<'js>| Ok::<_, rquickjs::Error>(hex(&bytes_of(&ctx, &data)?));
    module.set("hexEncode", Func::from(hex))?;
    Ok(module)
}

fn not_supported(ctx: &Ctx<'_>, name: &str) -> rquickjs::Error {
    throw(ctx, &format!("the hash {name} is not supported"))
}

fn check_algorithm(ctx: &Ctx<'_>, name: &str) -> Result<()> {
    if NOT_SUPPORTED.contains(&name) {
        return Err(not_supported(ctx, name));
    }
    if HASHES.contains(&name) {
        return Ok(());
    }
    Err(throw(ctx, &format!("invalid algorithm: {name}")))
}

fn hasher<'js>(
    ctx: &Ctx<'js>,
    algorithm: String,
    key: Option<Vec<u8>>,
) -> Result<HasherInstance<'js>> {
    check_algorithm(ctx, &algorithm)?;
    let hasher = Hasher {
        algorithm,
        key,
        content: RefCell::default(),
    };
    Class::instance(ctx.clone(), Native(hasher))
}

fn random_bytes<'js>(ctx: Ctx<'js>, count: Coerced<f64>) -> Result<ArrayBuffer<'js>> {
    if !(1.0..=MOST_RANDOM).contains(&count.0) {
        return Err(throw(&ctx, "invalid size"));
    }
    let mut bytes = vec![0_u8; count.0 as usize];
    getrandom::fill(&mut bytes).map_err(|error| throw(&ctx, &error.to_string()))?;
    ArrayBuffer::new(ctx, bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn encoded<'js>(ctx: &Ctx<'js>, bytes: Vec<u8>, output: Option<Js<'js>>) -> Result<Js<'js>> {
    let output = output.filter(|output| !output.is_undefined());
    let output = output
        .map(|output| output.get::<Coerced<String>>())
        .transpose()?;
    let text = match output.as_ref().map_or("", |output| output.0.as_str()) {
        "hex" => hex(&bytes),
        "base64" => STANDARD.encode(&bytes),
        "base64url" => URL_SAFE.encode(&bytes),
        "base64rawurl" => URL_SAFE_NO_PAD.encode(&bytes),
        "binary" => return Ok(ArrayBuffer::new(ctx.clone(), bytes)?.into_value()),
        other => {
            let message = format!("invalid output encoding: {other}");
            return Err(throw(ctx, &message));
        }
    };
    text_to_js(ctx, &text)
}
