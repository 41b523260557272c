//! The module `k6/encoding`, and the globals `TextEncoder` and `TextDecoder`.

use base64::{
    Engine as _,
    engine::general_purpose::{
        GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD,
    },
};
use rquickjs::{
    ArrayBuffer, Class, Coerced, Ctx, Exception, Object, Result, TypedArray, Value as Js,
    function::Constructor,
    object::Accessor,
    prelude::{Func, Opt, This},
};

use super::errors::throw;
use crate::js::{
    edge::{Native, buffer_bytes, native_class},
    values::{text_of, text_to_js},
};

/// Creates the module.
pub fn module<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let module = Object::new(ctx.clone())?;
    let encode = |ctx: Ctx<'js>, input: Js<'js>, name: Opt<Js<'js>>| -> Result<String> {
        Ok(engine(name.0)?.encode(bytes_of(&ctx, &input)?))
    };
    module.set("b64encode", Func::from(encode))?;
    let decode = |ctx: Ctx<'js>, input: Js<'js>, name: Opt<Js<'js>>, format: Opt<Js<'js>>| {
        let decoded = engine(name.0)?.decode(bytes_of(&ctx, &input)?);
        let bytes =
            decoded.map_err(|error| throw(&ctx, &format!("illegal base64 data: {error}")))?;
        let format = format.0.filter(|format| !format.is_undefined());
        match format
            .map(|format| format.get::<Coerced<String>>())
            .transpose()?
        {
            Some(format) if format.0 == "s" => text_to_js(&ctx, &String::from_utf8_lossy(&bytes)),
            _ => Ok(ArrayBuffer::new(ctx, bytes)?.into_value()),
        }
    };
    module.set("b64decode", Func::from(decode))?;
    Ok(module)
}

fn engine(name: Option<Js<'_>>) -> Result<GeneralPurpose> {
    let name = name.filter(|name| !name.is_undefined());
    let name = name.map(|name| name.get::<Coerced<String>>()).transpose()?;
    Ok(match name.as_ref().map_or("std", |name| name.0.as_str()) {
        "rawstd" => STANDARD_NO_PAD,
        "url" => URL_SAFE,
        "rawurl" => URL_SAFE_NO_PAD,
        // As in k6, other names mean the default.
        _ => STANDARD,
    })
}

/// Returns the bytes of a text, an `ArrayBuffer` or a view of one.
///
/// # Errors
///
/// Throws for other values.
pub fn bytes_of<'js>(ctx: &Ctx<'js>, value: &Js<'js>) -> Result<Vec<u8>> {
    if let Some(text) = value.as_string() {
        return Ok(text_of(text).into_bytes());
    }
    if let Some(view) = View::new(value)? {
        return Ok(view.bytes());
    }
    let message = "invalid type, expected string, []byte or ArrayBuffer";
    Err(throw(ctx, message))
}

/// A range of an `ArrayBuffer`.
pub struct View<'js> {
    pub buffer: ArrayBuffer<'js>,
    pub offset: usize,
    pub length: usize,
}

impl<'js> View<'js> {
    /// Returns the range of an `ArrayBuffer`, a typed array or a `DataView`. `None` for other
    /// values.
    pub fn new(value: &Js<'js>) -> Result<Option<View<'js>>> {
        let Some(object) = value.as_object() else {
            return Ok(None);
        };
        if let Some(buffer) = ArrayBuffer::from_object(object.clone()) {
            let length = buffer.len();
            return Ok(Some(View {
                buffer,
                offset: 0,
                length,
            }));
        }
        let inner: Js<'js> = object.get("buffer")?;
        let inner = inner.into_object().and_then(ArrayBuffer::from_object);
        let Some(buffer) = inner else {
            return Ok(None);
        };
        let (offset, length): (Coerced<f64>, Coerced<f64>) =
            (object.get("byteOffset")?, object.get("byteLength")?);
        Ok(Some(View {
            buffer,
            offset: offset.0 as usize,
            length: length.0 as usize,
        }))
    }

    /// Copies the bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let all = buffer_bytes(&self.buffer);
        let end = self.offset.saturating_add(self.length);
        all.get(self.offset..end).unwrap_or_default().to_vec()
    }
}

/// `TextEncoder`, which has no state.
struct TextEncoder;

/// `TextDecoder` of an encoding.
struct TextDecoder {
    encoding: &'static str,
    is_fatal: bool,
}

native_class!(TextEncoder, "TextEncoder", |prototype| {
    prototype.prop("encoding", Accessor::from(|| "utf-8").enumerable())?;
    prototype.set("encode", Func::from(encode))
});

native_class!(TextDecoder, "TextDecoder", |prototype| {
    prototype.prop("encoding", Accessor::from(encoding_of).enumerable())?;
    prototype.prop("fatal", Accessor::from(is_fatal).enumerable())?;
    prototype.set("decode", Func::from(decode))
});

fn encode<'js>(
    ctx: Ctx<'js>,
    text: Opt<Coerced<rquickjs::String<'js>>>,
) -> Result<TypedArray<'js, u8>> {
    let text = text.0.map_or(String::new(), |text| text_of(&text.0));
    TypedArray::new(ctx, text.into_bytes())
}

fn encoding_of(this: This<Class<'_, Native<TextDecoder>>>) -> &'static str {
    this.0.borrow().0.encoding
}

fn is_fatal(this: This<Class<'_, Native<TextDecoder>>>) -> bool {
    this.0.borrow().0.is_fatal
}

fn new_decoder<'js>(
    ctx: Ctx<'js>,
    label: Opt<Js<'js>>,
    options: Opt<Js<'js>>,
) -> Result<Class<'js, Native<TextDecoder>>> {
    let label = label.0.filter(|label| !label.is_undefined());
    let label = label
        .map(|label| label.get::<Coerced<String>>())
        .transpose()?;
    let label = label.map_or("utf-8".to_owned(), |label| label.0.to_lowercase());
    let encoding = match label.trim() {
        "utf-8" | "utf8" => "utf-8",
        "utf-16le" | "utf-16" => "utf-16le",
        other => {
            let message = format!("The encoding '{other}' is not supported");
            return Err(Exception::throw_range(&ctx, &message));
        }
    };
    let is_fatal = match options.0.and_then(Js::into_object) {
        Some(options) => options.get::<_, Coerced<bool>>("fatal")?.0,
        None => false,
    };
    Class::instance(ctx, Native(TextDecoder { encoding, is_fatal }))
}

fn decode<'js>(
    ctx: Ctx<'js>,
    this: This<Class<'js, Native<TextDecoder>>>,
    input: Opt<Js<'js>>,
) -> Result<String> {
    let bytes = match input.0.filter(|input| !input.is_undefined()) {
        Some(input) => match View::new(&input)? {
            Some(view) => view.bytes(),
            None => {
                let message = "TextDecoder.decode takes an ArrayBuffer or a view of one";
                return Err(Exception::throw_type(&ctx, message));
            }
        },
        None => Vec::new(),
    };
    let this = this.0.borrow();
    let text = match this.0.encoding {
        "utf-16le" => {
            let units = bytes.chunks_exact(2);
            let units: Vec<u16> = units
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                .collect();
            String::from_utf16_lossy(&units)
        }
        _ => match std::str::from_utf8(&bytes) {
            Ok(text) => text.to_owned(),
            Err(_) if this.0.is_fatal => {
                let message = "The encoded data was not valid for encoding utf-8";
                return Err(Exception::throw_type(&ctx, message));
            }
            Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
        },
    };
    Ok(text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text))
}

/// Defines the globals.
pub fn define<'js>(ctx: &Ctx<'js>) -> Result<()> {
    let create = |ctx: Ctx<'js>| Class::instance(ctx, Native(TextEncoder));
    let encoder = Constructor::new_class::<Native<TextEncoder>, _, _>(ctx.clone(), create)?;
    ctx.globals().set("TextEncoder", encoder)?;
    let decoder = Constructor::new_class::<Native<TextDecoder>, _, _>(ctx.clone(), new_decoder)?;
    ctx.globals().set("TextDecoder", decoder)
}
