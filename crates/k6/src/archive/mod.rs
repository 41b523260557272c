//! Archives: a test with all its files in one tar file.
//!
//! Entry points: [`Archive::to_bytes`] and [`Archive::read`].

mod tar;

use serde_json::{Map, Value, json};

use tar::TarEntry;

/// A file that the script loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveFile {
    /// Name in the archive: `file/home/me/lib.js` or `https/example.com/lib.js`.
    pub name: String,
    /// Content of the file.
    pub content: Vec<u8>,
}

/// A test with all its files.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    /// Options of the test, in the form that scripts use.
    pub options: Value,
    /// URL of the main script.
    pub filename: String,
    /// URL of the working directory.
    pub pwd: String,
    /// Variables for `__ENV`.
    pub env: Vec<(String, String)>,
    /// Compatibility mode: `extended` or `base`.
    pub compatibility_mode: String,
    /// Content of the main script.
    pub script: Vec<u8>,
    /// Other files of the test.
    pub files: Vec<ArchiveFile>,
}

/// Returns the name of a file in the archive. `url` is for example `file:///home/me/lib.js`.
#[must_use]
pub fn name_of_url(url: &str) -> String {
    match url.strip_prefix("file:///") {
        Some(path) => format!("file/{path}"),
        None => url.replacen("://", "/", 1),
    }
}

/// Returns the URL of a file by its name in the archive.
#[must_use]
pub fn url_of_name(name: &str) -> String {
    match name.strip_prefix("file/") {
        Some(path) => format!("file:///{path}"),
        None => name.replacen('/', "://", 1),
    }
}

impl Archive {
    /// Returns whether a file is a tar file instead of a script.
    #[must_use]
    pub fn is_archive(bytes: &[u8]) -> bool {
        bytes.get(257..262) == Some(b"ustar")
    }

    /// Returns the archive as a tar file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let env = self.env.iter();
        let env: Map<_, _> = env
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        let metadata = json!({
            "type": "js",
            "options": self.options,
            "filename": self.filename,
            "pwd": self.pwd,
            "env": env,
            "compatibilityMode": self.compatibility_mode,
            "k6version": "2.2.0",
            "goos": std::env::consts::OS,
            "dependencies": {},
        });
        let mut bytes = Vec::new();
        tar::append(
            &mut bytes,
            "metadata.json",
            format!("{metadata:#}").as_bytes(),
        );
        tar::append(&mut bytes, "data", &self.script);
        for file in &self.files {
            tar::append(&mut bytes, &file.name, &file.content);
        }
        tar::finish(&mut bytes);
        bytes
    }

    /// Reads a tar file.
    ///
    /// # Errors
    ///
    /// Returns a text if the file is not a tar file, or if it does not contain a test.
    pub fn read(bytes: &[u8]) -> Result<Archive, String> {
        let mut metadata = None;
        let mut script = None;
        let mut files = Vec::new();
        for TarEntry { name, content } in tar::entries(bytes)? {
            match name.as_str() {
                "metadata.json" => metadata = Some(content),
                "data" => script = Some(content.to_vec()),
                _ if name.starts_with("file/") || name.starts_with("https/") => {
                    files.push(ArchiveFile {
                        name,
                        content: content.to_vec(),
                    });
                }
                // Other names belong to other versions of k6.
                _ => {}
            }
        }
        let metadata = metadata.ok_or("the archive has no metadata.json")?;
        let metadata: Value = serde_json::from_slice(metadata)
            .map_err(|error| format!("metadata.json of the archive is not valid: {error}"))?;
        let text = |key: &str| {
            let value = metadata.get(key).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        if text("type") != "js" {
            return Err(format!(
                "archives of type '{}' are not supported",
                text("type")
            ));
        }
        let env = metadata.get("env").and_then(Value::as_object);
        let env = env.into_iter().flatten().map(|(name, value)| {
            let value = value.as_str().map(|text| (name.clone(), text.to_owned()));
            value.ok_or_else(|| format!("variable '{name}' of the archive is not a text"))
        });
        Ok(Archive {
            options: metadata.get("options").cloned().unwrap_or(Value::Null),
            filename: text("filename"),
            pwd: text("pwd"),
            env: env.collect::<Result<_, _>>()?,
            compatibility_mode: text("compatibilityMode"),
            script: script.ok_or("the archive has no main script `data`")?,
            files,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn archive() -> Archive {
        Archive {
            options: json!({"vus": 3}),
            filename: "file:///home/me/a.js".to_owned(),
            pwd: "file:///home/me/".to_owned(),
            env: vec![("A".to_owned(), "b".to_owned())],
            compatibility_mode: "extended".to_owned(),
            script: b"export default function () {}".to_vec(),
            files: vec![
                ArchiveFile {
                    name: "file/home/me/lib.js".to_owned(),
                    content: vec![0; 1_000],
                },
                ArchiveFile {
                    name: format!("https/example.com/{}/lib.js", "long/".repeat(80)),
                    content: Vec::new(),
                },
            ],
        }
    }

    #[test]
    fn archives_are_read_as_written() {
        let bytes = archive().to_bytes();
        assert_eq!(bytes.len() % 512, 0);
        assert!(Archive::is_archive(&bytes));
        assert_eq!(Archive::read(&bytes), Ok(archive()));
    }

    #[test]
    fn names_in_archives_and_urls_are_the_same_files() {
        for (url, name) in [
            ("file:///home/me/lib.js", "file/home/me/lib.js"),
            ("https://example.com/lib.js", "https/example.com/lib.js"),
        ] {
            assert_eq!(name_of_url(url), name);
            assert_eq!(url_of_name(name), url);
        }
    }

    #[test]
    fn files_that_are_no_archives_are_refused() {
        for bytes in [&b""[..], b"export default 1", &[0; 2048], &[7; 2048]] {
            assert!(Archive::read(bytes).is_err());
        }
        let bytes = archive().to_bytes();
        assert!(Archive::read(&bytes[..600]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(
            position in 0_usize..4_000,
            byte in any::<u8>(),
            length in 0_usize..6_000,
        ) {
            let mut bytes = archive().to_bytes();
            if let Some(own) = bytes.get_mut(position) {
                *own = byte;
            }
            bytes.truncate(length);
            let _ = Archive::read(&bytes);
        }
    }
}
