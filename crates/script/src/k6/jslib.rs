//! Libraries of jslib.k6.io that are part of Loadline, so that they need no network.

/// Names and sources. Every published version has the newest behaviour.
const LIBRARIES: [(&str, &str); 0] = [];

/// Returns the source of a library by its URL.
pub fn find(url: &str) -> Option<&'static str> {
    let path = url.strip_prefix("https://jslib.k6.io/")?;
    let mut parts = path.split('/');
    let (name, version, file) = (parts.next()?, parts.next()?, parts.next()?);
    let is_version = version.starts_with(|c: char| c.is_ascii_digit());
    if parts.next().is_some() || !is_version || file != "index.js" {
        return None;
    }
    let library = LIBRARIES.iter().find(|(known, _)| *known == name)?;
    Some(library.1)
}
