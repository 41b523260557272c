//! Multipart bodies: parts between boundaries, as browsers and Artillery's client write them.

use plan::{
    rng::Rng,
    scenario::{Part, PartContent},
};
use query::Scope;

/// A boundary that no body holds by chance.
pub fn boundary(rng: &mut Rng) -> String {
    // Twelve bytes, as Artillery's client draws them.
    format!(
        "--------------------------{:016x}{:08x}",
        rng.next_u64(),
        rng.next_u64() as u32
    )
}

/// The body.
pub fn body(parts: &[Part], boundary: &str, scope: &dyn Scope, rng: &mut Rng) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        let name = quoted(&part.name);
        out.extend_from_slice(
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"").as_bytes(),
        );
        if let PartContent::File { name, .. } = &part.content {
            out.extend_from_slice(format!("; filename=\"{}\"", quoted(name)).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        if let Some(content_type) = &part.content_type {
            out.extend_from_slice(format!("Content-Type: {content_type}\r\n").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        match &part.content {
            PartContent::File { bytes, .. } => out.extend_from_slice(bytes),
            PartContent::Text(template) => {
                out.extend_from_slice(template.to_text(scope, rng).as_bytes());
            }
        }
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    out
}

/// What would end a quoted name, as browsers escape it.
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
    fn parts_as_they_go_onto_the_wire() {
        let parts = [
            Part {
                name: "field".into(),
                content: PartContent::Text(Template::from("value1")),
                content_type: None,
            },
            Part {
                name: "a\"b".into(),
                content: PartContent::File {
                    name: "x.png".into(),
                    bytes: vec![0, 255].into(),
                },
                content_type: Some("image/png".into()),
            },
        ];
        let mut rng = Rng::keyed(0, Purpose::User, 0, 0);
        let bytes = body(&parts, "B", &Map::new(), &mut rng);
        let expected = b"--B\r\nContent-Disposition: form-data; name=\"field\"\r\n\r\nvalue1\r\n\
            --B\r\nContent-Disposition: form-data; name=\"a%22b\"; filename=\"x.png\"\r\nContent-Type: image/png\r\n\r\n\x00\xff\r\n--B--\r\n";
        assert_eq!(bytes, expected);
        let drawn = boundary(&mut rng);
        assert_eq!(drawn.trim_start_matches('-').len(), 24);
        assert_eq!(drawn.len(), 50);
    }
}
