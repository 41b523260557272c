//! Encoding of multipart bodies, as browsers and Artillery's client do it. Templated files are read
//! for each request.

use std::{borrow::Cow, io::ErrorKind, path::Path};

use plan::{
    media,
    rng::Rng,
    scenario::{MultipartPart, PartContent},
};
use query::Scope;

/// Returns a random boundary.
pub fn boundary(rng: &mut Rng) -> String {
    format!(
        "--------------------------{:016x}{:08x}",
        rng.next_u64(),
        rng.next_u64() as u32
    )
}

/// Encodes the body. If a file cannot be read, returns the kind of error.
pub fn body(
    parts: &[MultipartPart],
    boundary: &str,
    scope: &dyn Scope,
    rng: &mut Rng,
) -> Result<Vec<u8>, ErrorKind> {
    let mut out = Vec::new();
    for part in parts {
        let content = content(&part.content, scope, rng)?;
        let name = quoted(&part.name);
        out.extend_from_slice(
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"").as_bytes(),
        );
        if let Some(name) = &content.file {
            out.extend_from_slice(format!("; filename=\"{}\"", quoted(name)).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        let text = part
            .content_type
            .as_ref()
            .map(|text| text.to_text(scope, rng));
        let by_name = || Some(media::content_type(content.file.as_deref()?).to_owned());
        if let Some(content_type) = text.or_else(by_name) {
            let content_type = quoted(&content_type);
            out.extend_from_slice(format!("Content-Type: {content_type}\r\n").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&content.bytes);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(out)
}

struct PartSource<'p> {
    file: Option<Cow<'p, str>>,
    bytes: Cow<'p, [u8]>,
}

fn content<'p>(
    content: &'p PartContent,
    scope: &dyn Scope,
    rng: &mut Rng,
) -> Result<PartSource<'p>, ErrorKind> {
    Ok(match content {
        PartContent::Text(template) => PartSource {
            file: None,
            bytes: template.to_text(scope, rng).into_bytes().into(),
        },
        PartContent::File { name, bytes } => PartSource {
            file: Some(name.into()),
            bytes: Cow::Borrowed(bytes),
        },
        PartContent::Named { folder, path } => {
            let path = folder.join(path.to_text(scope, rng));
            let name = path.file_name().unwrap_or(path.as_os_str());
            PartSource {
                file: Some(name.to_string_lossy().into_owned().into()),
                bytes: read(&path)?.into(),
            }
        }
    })
}

fn read(path: &Path) -> Result<Vec<u8>, ErrorKind> {
    let about = std::fs::metadata(path).map_err(|error| error.kind())?;
    match about {
        about if about.is_dir() => Err(ErrorKind::IsADirectory),
        about if !about.is_file() => Err(ErrorKind::InvalidInput),
        _ => std::fs::read(path).map_err(|error| error.kind()),
    }
}

fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use plan::{Template, rng::Purpose};
    use serde_json::Map;

    use super::*;

    #[test]
    fn parts_are_encoded() {
        let parts = [
            MultipartPart {
                name: "field".into(),
                content: PartContent::Text(Template::from("value1")),
                content_type: None,
            },
            MultipartPart {
                name: "a\"b".into(),
                content: PartContent::File {
                    name: "x.png".into(),
                    bytes: vec![0, 255].into(),
                },
                content_type: None,
            },
        ];
        let mut rng = Rng::keyed(0, Purpose::User, 0, 0);
        let bytes = body(&parts, "B", &Map::new(), &mut rng).unwrap();
        let expected = b"--B\r\nContent-Disposition: form-data; name=\"field\"\r\n\r\nvalue1\r\n\
            --B\r\nContent-Disposition: form-data; name=\"a%22b\"; filename=\"x.png\"\r\nContent-Type: image/png\r\n\r\n\x00\xff\r\n--B--\r\n";
        assert_eq!(bytes, expected);
        let drawn = boundary(&mut rng);
        assert_eq!(drawn.trim_start_matches('-').len(), 24);
        assert_eq!(drawn.len(), 50);
    }
}
