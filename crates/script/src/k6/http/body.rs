//! Bodies of requests: texts, bytes, forms and files.

use std::rc::Rc;

use ::k6::log::Level;
use rquickjs::{
    ArrayBuffer, Class, Coerced, Ctx, Object, Result, Value as Js,
    object::Accessor,
    prelude::{Func, Opt, This},
};

use super::{
    super::{errors::throw, state::State},
    params::{set_header_if_absent, type_name},
};
use crate::js::{
    edge::{Native, buffer_bytes, native_class},
    values::{text_of, text_to_js},
};

/// The result of `http.file`.
pub struct FileData {
    data: Vec<u8>,
    is_text: bool,
    filename: String,
    content_type: String,
}

type FileInstance<'js> = Class<'js, Native<FileData>>;

native_class!(FileData, "FileData", add_methods);

/// Adds the methods to the prototype.
fn add_methods<'js>(prototype: &Object<'js>) -> Result<()> {
    let data = |ctx: Ctx<'js>, this: This<FileInstance<'js>>| {
        let this = this.0.borrow();
        match this.0.is_text {
            true => text_to_js(&ctx, &String::from_utf8_lossy(&this.0.data)),
            false => Ok(ArrayBuffer::new_copy(ctx.clone(), &this.0.data)?.into_value()),
        }
    };
    prototype.prop("data", Accessor::from(data).enumerable())?;
    let name = |this: This<FileInstance<'js>>| this.0.borrow().0.filename.clone();
    prototype.prop("filename", Accessor::from(name).enumerable())?;
    let content_type = |this: This<FileInstance<'js>>| this.0.borrow().0.content_type.clone();
    prototype.prop("content_type", Accessor::from(content_type).enumerable())?;
    Ok(())
}

/// Adds `file` to the module.
pub fn define<'js>(module: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let own = Rc::clone(state);
    let file = move |ctx: Ctx<'js>,
                     data: Js<'js>,
                     filename: Opt<Coerced<String>>,
                     content_type: Opt<Coerced<String>>| {
        let Some((data, is_text)) = content(&data) else {
            let message = format!(
                "invalid type {}, expected string or ArrayBuffer",
                type_name(&data)
            );
            return Err(throw(&ctx, &message));
        };
        let wall_ns = own.host.as_ref().map_or(0, |host| host.wall_ns());
        let given = |text: Opt<Coerced<String>>| text.0.map(|text| text.0);
        let file = FileData {
            data,
            is_text,
            filename: given(filename).unwrap_or_else(|| wall_ns.to_string()),
            content_type: given(content_type)
                .unwrap_or_else(|| "application/octet-stream".to_owned()),
        };
        Class::instance(ctx, Native(file))
    };
    module.set("file", Func::from(file))
}

/// Returns the bytes of a text or an `ArrayBuffer`, and whether the value was a text.
fn content(value: &Js<'_>) -> Option<(Vec<u8>, bool)> {
    if let Some(text) = value.as_string() {
        return Some((text_of(text).into_bytes(), true));
    }
    let buffer = ArrayBuffer::from_object(value.as_object()?.clone())?;
    Some((buffer_bytes(&buffer), false))
}

/// Reads a body, and adds the implied `Content-Type` to the headers.
pub fn read<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    value: &Js<'js>,
    headers: &mut Vec<(String, String)>,
) -> Result<Option<Vec<u8>>> {
    if value.is_null() || value.is_undefined() {
        return Ok(None);
    }
    if let Some((bytes, _)) = content(value) {
        return Ok(Some(bytes));
    }
    let is_plain = |object: &&Object<'js>| !object.is_function() && !object.is_array();
    let Some(object) = value.as_object().filter(is_plain).filter(|o| !is_view(o)) else {
        let message = format!("unknown request body type {}", type_name(value));
        return Err(throw(ctx, &message));
    };
    let mut fields = Vec::new();
    for entry in object.props::<String, Js<'js>>() {
        let (name, value) = entry?;
        fields.push((name, value));
    }
    let is_file = |value: &Js<'js>| file_of(value).is_some();
    if fields.iter().any(|(_, value)| is_file(value)) {
        return multipart(&fields, headers).map(Some);
    }
    fields.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut form = String::new();
    for (name, value) in &fields {
        if let Some(array) = value.as_array() {
            for item in array.iter::<Js<'js>>() {
                codec::url::push_pair(&mut form, name, &field_text(state, name, &item?)?);
            }
        } else {
            codec::url::push_pair(&mut form, name, &field_text(state, name, value)?);
        }
    }
    set_header_if_absent(headers, "Content-Type", "application/x-www-form-urlencoded");
    Ok(Some(form.into_bytes()))
}

/// Returns whether an object is a typed array, which is not accepted.
fn is_view(object: &Object<'_>) -> bool {
    let length: Option<Js<'_>> = object.get("BYTES_PER_ELEMENT").ok();
    length.is_some_and(|length| length.is_number())
}

fn file_of<'js>(value: &Js<'js>) -> Option<FileInstance<'js>> {
    FileInstance::from_object(value.as_object()?)
}

/// Returns the text of a form field. An object has none.
fn field_text(state: &State, name: &str, value: &Js<'_>) -> Result<String> {
    if value.is_null() || value.is_undefined() {
        return Ok(String::new());
    }
    if value.is_object() {
        let message = format!("the form field '{name}' is an object, so its value is empty");
        state.log(Level::Warning, &message, &[]);
        return Ok(String::new());
    }
    Ok(value.get::<Coerced<String>>()?.0)
}

fn multipart(fields: &[(String, Js<'_>)], headers: &mut Vec<(String, String)>) -> Result<Vec<u8>> {
    let mut random = [0; 30];
    getrandom::fill(&mut random).map_err(|_| rquickjs::Error::Unknown)?;
    let boundary: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut body = Vec::new();
    for (name, value) in fields {
        let name = quoted(name);
        body.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        if let Some(file) = file_of(value) {
            let file = file.borrow();
            let head = format!(
                "Content-Disposition: form-data; name=\"{name}\"; filename=\"{}\"\r\n\
                 Content-Type: {}\r\n\r\n",
                quoted(&file.0.filename),
                file.0.content_type.replace(['\r', '\n'], " ")
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(&file.0.data);
        } else {
            let head = format!("Content-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(value.get::<Coerced<String>>()?.0.as_bytes());
        }
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let content_type = format!("multipart/form-data; boundary={boundary}");
    set_header_if_absent(headers, "Content-Type", &content_type);
    Ok(body)
}

/// Escapes a text for use in quotation marks in a part's head.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
