//! A minimal reader and writer for tar files: regular files with names of any length.

const BLOCK: usize = 512;
const NAME: usize = 100;
const SIZE_AT: usize = 124;
const CHECKSUM_AT: usize = 148;
const TYPE_AT: usize = 156;
const PREFIX_AT: usize = 345;
/// Maximum length of a name to accept.
const MAX_NAME: usize = 1 << 16;

/// A regular file in a tar file.
pub(super) struct TarEntry<'a> {
    pub name: String,
    pub content: &'a [u8],
}

/// Appends a file. Long names get a header in the format of POSIX.1-2001.
pub(super) fn append(bytes: &mut Vec<u8>, name: &str, content: &[u8]) {
    if name.len() > NAME {
        append_record(
            bytes,
            "PaxHeaders/path",
            b'x',
            pax_record("path", name).as_bytes(),
        );
    }
    append_record(bytes, name, b'0', content);
}

/// Appends the end marker of a tar file.
pub(super) fn finish(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
}

fn append_record(bytes: &mut Vec<u8>, name: &str, kind: u8, content: &[u8]) {
    let mut header = [0_u8; BLOCK];
    let name = name.as_bytes();
    let mut put = |at: usize, text: &[u8]| {
        if let Some(field) = header.get_mut(at..at + text.len()) {
            field.copy_from_slice(text);
        }
    };
    put(0, name.get(..NAME).unwrap_or(name));
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(SIZE_AT, format!("{:011o}\0", content.len()).as_bytes());
    put(136, b"00000000000\0");
    put(CHECKSUM_AT, b"        ");
    put(TYPE_AT, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    if let Some(field) = header.get_mut(CHECKSUM_AT..CHECKSUM_AT + 8) {
        field.copy_from_slice(sum.as_bytes());
    }
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
}

/// Returns `LENGTH KEY=VALUE\n`, where the length includes itself.
fn pax_record(key: &str, value: &str) -> String {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len() + 1;
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    format!("{length}{rest}")
}

/// Returns the regular files.
///
/// # Errors
///
/// Returns a text if a header is damaged or the file ends early.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<TarEntry<'_>>, String> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    let mut long_name: Option<String> = None;
    while let Some((header, after)) = rest.split_at_checked(BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            return Ok(entries);
        }
        check_sum(header)?;
        let size = octal(header.get(SIZE_AT..SIZE_AT + 12).unwrap_or_default())
            .and_then(|size| usize::try_from(size).ok())
            .ok_or("the archive has a file without a valid size")?;
        let (content, after) = after
            .split_at_checked(size)
            .ok_or("the archive ends within a file")?;
        let padding = size.next_multiple_of(BLOCK) - size;
        rest = after.get(padding..).unwrap_or_default();
        match header.get(TYPE_AT) {
            Some(b'x') => long_name = pax_path(content).or(long_name),
            Some(b'L') => long_name = text(content),
            Some(b'0' | 0) => {
                let own = long_name.take().or_else(|| name_of(header));
                let name = own.ok_or("the archive has a file without a valid name")?;
                let name = name.trim_start_matches("./").trim_start_matches('/');
                entries.push(TarEntry {
                    name: name.to_owned(),
                    content,
                });
            }
            _ => long_name = None,
        }
    }
    Err("the file is not a complete tar archive".to_owned())
}

fn check_sum(header: &[u8]) -> Result<(), String> {
    let field = CHECKSUM_AT..CHECKSUM_AT + 8;
    let bytes = header.iter().enumerate();
    let sum: u64 = bytes
        .map(|(at, byte)| u64::from(if field.contains(&at) { b' ' } else { *byte }))
        .sum();
    match octal(header.get(field).unwrap_or_default()) == Some(sum) {
        true => Ok(()),
        false => Err("the file is not a tar archive, or it is damaged".to_owned()),
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(digits.trim_matches(['\0', ' ']), 8).ok()
}

fn text(field: &[u8]) -> Option<String> {
    let end = field.iter().position(|byte| *byte == 0);
    let bytes = field.get(..end.unwrap_or(field.len()))?;
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.is_empty() && text.len() <= MAX_NAME).then(|| text.to_owned())
}

fn name_of(header: &[u8]) -> Option<String> {
    let name = text(header.get(..NAME)?)?;
    let prefix = text(header.get(PREFIX_AT..PREFIX_AT + 155)?);
    let is_ustar = header.get(257..262) == Some(b"ustar");
    match prefix.filter(|_| is_ustar) {
        Some(prefix) => Some(format!("{prefix}/{name}")),
        None => Some(name),
    }
}

/// Returns the value of `path` in records `LENGTH KEY=VALUE\n`.
fn pax_path(content: &[u8]) -> Option<String> {
    let mut rest = std::str::from_utf8(content).ok()?;
    while let Some((length, _)) = rest.split_once(' ') {
        let length: usize = length.parse().ok()?;
        let (record, after) = rest.split_at_checked(length)?;
        let (_, pair) = record.split_once(' ')?;
        if let Some(path) = pair.strip_prefix("path=") {
            return Some(path.trim_end_matches('\n').to_owned());
        }
        if length == 0 {
            return None;
        }
        rest = after;
    }
    None
}
