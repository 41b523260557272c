//! Method, headers and body of a curl command.

use formats::{document::SyntaxError, files::ReadFile};

use super::{
    command::{BodyPiece, CurlCommand, refused},
    data_file::file,
    form,
    shell::Word,
};
use crate::{
    address::{self, Address},
    body,
    draft::{DraftBody, DraftRequest},
    headers::{self, HeaderUse},
    placeholders,
    unknowns::Unknowns,
};

const BODY: &str = "the body";

pub fn draft(
    command: &CurlCommand,
    unknowns: &mut Unknowns,
    read: ReadFile<'_>,
) -> Result<(Address, DraftRequest), SyntaxError> {
    let Some(url) = &command.url else {
        return Err(refused(
            command.mark,
            "this curl command has no URL: add one",
        ));
    };
    let mut address = address::read(&url.text).map_err(|reason| refused(url.mark, &reason))?;
    let mut data = data(&command.data, read)?;
    let mut query = Vec::new();
    for word in &command.url_query {
        query.push(urlencoded(word, read)?);
    }
    if command.get {
        query.extend(data.take());
    }
    for more in query {
        address
            .path
            .push(if address.path.contains('?') { '&' } else { '?' });
        address.path.push_str(&more);
    }
    let mut request = DraftRequest {
        method: method(command, data.is_some() || !command.parts.is_empty())?,
        url: body::path(&address.path, unknowns),
        ..DraftRequest::default()
    };
    if let (Some(part), Some(_)) = (command.parts.first(), command.data.first()) {
        let reason = "a request can have only one body: use -F or -d, not both";
        return Err(refused(part.word.mark, reason));
    }
    let parts = form::parts(&command.parts, unknowns, read)?;
    let is_json = command.data.iter().any(|data| data.how == "json");
    headers(command, &mut request, unknowns)?;
    user(command, &address, &mut request, unknowns);
    let has = |request: &DraftRequest, name: &str| {
        request
            .headers
            .iter()
            .any(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    if data.is_some() && !has(&request, "content-type") && !removes(command, "content-type") {
        let kind = if is_json {
            "application/json"
        } else {
            "application/x-www-form-urlencoded"
        };
        request
            .headers
            .push(("content-type".to_owned(), kind.to_owned()));
    }
    if is_json && !has(&request, "accept") {
        request
            .headers
            .push(("accept".to_owned(), "application/json".to_owned()));
    }
    if command.compressed && !has(&request, "accept-encoding") {
        request
            .headers
            .push(("accept-encoding".to_owned(), "gzip, deflate, br".to_owned()));
    }
    if !parts.is_empty() {
        request
            .headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        request.body = DraftBody::Multipart(parts);
    }
    if let Some(text) = data {
        write_body(&text, command, &mut request, unknowns);
    }
    Ok((address, request))
}

fn write_body(
    text: &str,
    command: &CurlCommand,
    request: &mut DraftRequest,
    unknowns: &mut Unknowns,
) {
    request.body = body::draft(text, &mut request.headers, unknowns, BODY);
    let is_form = request
        .headers
        .iter()
        .any(|(name, kind)| name == "content-type" && kind.ends_with("urlencoded"));
    if is_form && text.trim_start().starts_with(['{', '[']) && !has_content_type(command) {
        let text = "curl sends -d as a form. If the service expects JSON, use content-type: application/json";
        request.comments.push(text.to_owned());
    }
    if request.body == DraftBody::None {
        request
            .headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    }
}

fn has_content_type(command: &CurlCommand) -> bool {
    let mut headers = command.headers.iter();
    headers.any(|word| word.text.to_ascii_lowercase().starts_with("content-type:"))
}

fn removes(command: &CurlCommand, name: &str) -> bool {
    let mut headers = command.headers.iter();
    headers.any(|word| {
        word.text
            .trim()
            .strip_suffix(':')
            .is_some_and(|known| known.eq_ignore_ascii_case(name))
    })
}

fn method(command: &CurlCommand, has_body: bool) -> Result<String, SyntaxError> {
    let Some(word) = &command.method else {
        return Ok(match (command.head, has_body) {
            (true, _) => "head",
            (false, true) => "post",
            (false, false) => "get",
        }
        .to_owned());
    };
    let method = word.text.to_ascii_lowercase();
    if formats::methods::METHODS.contains(&method.as_str()) {
        return Ok(method);
    }
    let rendered = placeholders::replaced(&word.text, "…");
    Err(refused(
        word.mark,
        &format!("`{rendered}` is not a method that plans support: use, for example, PUT"),
    ))
}

fn headers(
    command: &CurlCommand,
    request: &mut DraftRequest,
    unknowns: &mut Unknowns,
) -> Result<(), SyntaxError> {
    for word in &command.headers {
        if word.text.starts_with('@') {
            return Err(refused(
                word.mark,
                "headers are not read from files: use a separate -H for each header",
            ));
        }
        let (name, value) = match (word.text.split_once(':'), word.text.strip_suffix(';')) {
            (Some((name, value)), _) => (name.trim_end(), value.trim()),
            (None, Some(name)) => (name, ""),
            (None, None) => {
                return Err(refused(
                    word.mark,
                    "this is not a header: use 'Name: value'",
                ));
            }
        };
        if !headers::is_name(name) || value.contains(|c: char| c.is_control()) {
            return Err(refused(
                word.mark,
                "this is not a header: use 'Name: value'",
            ));
        }
        if value.is_empty() && word.text.contains(':')
            || headers::of_curl(name, value) == HeaderUse::No
        {
            continue;
        }
        let value = unknowns.header(name, value, "");
        headers::join(&mut request.headers, name, value);
    }
    for word in &command.cookies {
        if !word.text.contains('=') && !placeholders::has_variables(&word.text) {
            return Err(refused(
                word.mark,
                "cookies are not read from files: use -b 'name=value'",
            ));
        }
        let value = unknowns.header("cookie", &word.text, "");
        headers::join(&mut request.headers, "cookie", value);
    }
    if let Some(word) = &command.bearer {
        let value = unknowns.header("authorization", &format!("Bearer {}", word.text), "");
        headers::join(&mut request.headers, "authorization", value);
    }
    Ok(())
}

fn user(
    command: &CurlCommand,
    address: &Address,
    request: &mut DraftRequest,
    unknowns: &mut Unknowns,
) {
    let given = command
        .user
        .as_ref()
        .map(|word| match word.text.split_once(':') {
            Some((name, password)) => (name.to_owned(), Some(password.to_owned())),
            None => (word.text.clone(), None),
        });
    let is_said = request
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if let Some((name, password)) = given.or_else(|| address.user.clone()).filter(|_| !is_said) {
        request.auth = Some(body::user(&name, password.as_deref(), unknowns));
    }
}

fn data(pieces: &[BodyPiece], read: ReadFile<'_>) -> Result<Option<String>, SyntaxError> {
    let mut whole: Option<String> = None;
    for BodyPiece { how, word } in pieces {
        let text = match *how {
            "data-urlencode" => urlencoded(word, read)?,
            "data-raw" => word.text.clone(),
            how => match word.text.strip_prefix('@') {
                Some(path) => {
                    let text = file(path, word, read)?;
                    // curl removes line breaks from text files.
                    if matches!(how, "data" | "data-ascii") {
                        text.replace(['\r', '\n', '\0'], "")
                    } else {
                        text
                    }
                }
                None => word.text.clone(),
            },
        };
        whole = Some(match whole {
            None => text,
            Some(before) if *how == "json" => before + &text,
            Some(before) => format!("{before}&{text}"),
        });
    }
    Ok(whole)
}

fn urlencoded(word: &Word, read: ReadFile<'_>) -> Result<String, SyntaxError> {
    let text = &word.text;
    let Some(at) = text.find(['=', '@']) else {
        return Ok(address::encoded(text));
    };
    let (name, rest) = text.split_at(at);
    let content = if let Some(path) = rest.strip_prefix('@') {
        file(path, word, read)?
    } else {
        rest[1..].to_owned()
    };
    let content = address::encoded(&content);
    Ok(if name.is_empty() {
        content
    } else {
        format!("{name}={content}")
    })
}
