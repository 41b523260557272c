//! Reads `-F` options: the parts of a multipart form.

use std::path::Path;

use formats::{document::SyntaxError, files::ReadFile};

use super::{
    command::{BodyPiece, refused},
    data_file::file,
    shell::Word,
};
use crate::{
    draft::{DraftPart, PartContent},
    placeholders,
    unknowns::Unknowns,
};

const TYPES: [(&str, &str); 10] = [
    ("gif", "image/gif"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("pdf", "application/pdf"),
    ("xml", "application/xml"),
];

pub fn parts(
    all: &[BodyPiece],
    unknowns: &mut Unknowns,
    read: ReadFile<'_>,
) -> Result<Vec<DraftPart>, SyntaxError> {
    all.iter()
        .map(|BodyPiece { how, word }| part(*how == "form-string", word, unknowns, read))
        .collect()
}

fn part(
    is_literal: bool,
    word: &Word,
    unknowns: &mut Unknowns,
    read: ReadFile<'_>,
) -> Result<DraftPart, SyntaxError> {
    let Some((name, rest)) = word.text.split_once('=') else {
        return Err(refused(
            word.mark,
            "this is not a form part: use 'name=value'",
        ));
    };
    if name.is_empty() || placeholders::has_variables(name) {
        return Err(refused(
            word.mark,
            "form parts in plans need a name and cannot be nested: use 'name=value'",
        ));
    }
    let plain = |text: &str, unknowns: &mut Unknowns| {
        let value = unknowns.json(name, &text.into(), "the form");
        PartContent::Text(query::value::text(Some(&value)))
    };
    if is_literal {
        return Ok(DraftPart {
            name: name.to_owned(),
            content: plain(rest, unknowns),
            kind: None,
        });
    }
    let (sign, rest) = match rest.strip_prefix(['@', '<']) {
        Some(after) => (rest.chars().next(), after),
        None => (None, rest),
    };
    let (value, after) = first(rest, sign.is_some(), word)?;
    let settings = options(after, word)?;
    if settings.filename.is_some() && sign != Some('@') {
        return Err(refused(
            word.mark,
            "a form value in a plan cannot have a filename: remove it",
        ));
    }
    let content = match sign {
        Some('@') => {
            let names = [Some(&value), settings.filename.as_ref()];
            let is_made = |name: &&String| placeholders::has_variables(name) || name.contains("{{");
            if value == "-" || value.is_empty() || names.iter().flatten().any(is_made) {
                let reason = "write a literal file name, not - or a variable: a plan reads the file before the run";
                return Err(refused(word.mark, reason));
            }
            PartContent::File {
                path: value,
                called: settings.filename,
            }
        }
        Some(_) => plain(&file(&value, word, read)?, unknowns),
        None => plain(&value, unknowns),
    };
    let kind = settings.kind.or_else(|| own_kind(&content));
    Ok(DraftPart {
        name: name.to_owned(),
        content,
        kind,
    })
}

fn own_kind(content: &PartContent) -> Option<String> {
    let PartContent::File { path, called } = content else {
        return None;
    };
    let name = called.as_deref().unwrap_or(path);
    let end = Path::new(name).extension().and_then(|end| end.to_str());
    let end = end.unwrap_or_default().to_ascii_lowercase();
    let known = TYPES.iter().find(|(known, _)| *known == end);
    let kind = known.map_or("application/octet-stream", |(_, kind)| kind);
    (plan::media::content_type(name) != kind).then(|| kind.to_owned())
}

fn first<'t>(text: &'t str, is_file: bool, word: &Word) -> Result<(String, &'t str), SyntaxError> {
    if let Some(inside) = text.strip_prefix('"') {
        let mut value = String::new();
        let mut letters = inside.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => return Ok((value, &inside[at + 1..])),
                '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
                _ => value.push(letter),
            }
        }
        return Err(refused(word.mark, "this \" is not closed: close the quote"));
    }
    let end = text.find(';').unwrap_or(text.len());
    let (value, after) = text.split_at(end);
    if is_file && value.contains(',') {
        return Err(refused(
            word.mark,
            "several files in one part are not supported: use a separate -F for each file",
        ));
    }
    Ok((value.to_owned(), after))
}

#[derive(Default)]
struct Said {
    kind: Option<String>,
    filename: Option<String>,
}

fn options(text: &str, word: &Word) -> Result<Said, SyntaxError> {
    let mut settings = Said::default();
    let mut rest = text;
    while let Some(after) = rest.strip_prefix(';') {
        let after = after.trim_start();
        let (place, inside) = match after.split_once('=') {
            Some(("type", inside)) => (&mut settings.kind, inside),
            Some(("filename", inside)) => (&mut settings.filename, inside),
            _ => {
                let reason = "after ; only type= or filename= is allowed: give a value that contains ; with --form-string";
                return Err(refused(word.mark, reason));
            }
        };
        let (value, more) = first(inside, false, word)?;
        *place = Some(value);
        rest = more;
    }
    if rest.is_empty() {
        Ok(settings)
    } else {
        Err(refused(
            word.mark,
            "there is text after the closing quote: remove it",
        ))
    }
}
