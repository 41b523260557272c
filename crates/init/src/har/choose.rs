//! Selects the recorded requests to the service. Omits assets, preflight requests and third
//! parties.

use std::collections::BTreeSet;

use url::Url;

use super::entry::HarEntry;

const FILES: [&str; 22] = [
    "png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "bmp", "css", "js", "mjs", "map",
    "woff", "woff2", "ttf", "otf", "eot", "mp4", "webm", "mp3", "wasm",
];
const KINDS: [&str; 8] = [
    "image",
    "font",
    "stylesheet",
    "script",
    "media",
    "texttrack",
    "manifest",
    "ping",
];
const SHARED: [&str; 8] = ["co", "com", "org", "net", "ac", "gov", "edu", "gob"];

#[derive(Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    pub files: usize,
    pub others: usize,
    pub hosts: BTreeSet<String>,
    pub preflights: usize,
    pub unanswered: usize,
    pub incomplete: usize,
}

pub fn choose(mut entries: Vec<HarEntry>) -> (Vec<HarEntry>, LeftOut) {
    let mut left = LeftOut::default();
    if entries.iter().all(|entry| entry.time.is_some()) {
        entries.sort_by(|a, b| began(a).total_cmp(&began(b)));
    }
    entries.retain(|entry| {
        let reason = if entry.method == "options" {
            &mut left.preflights
        } else if entry.has_response && entry.status < 200 {
            &mut left.unanswered
        } else if is_file(entry) {
            &mut left.files
        } else {
            return true;
        };
        *reason += 1;
        false
    });
    let main = entries
        .iter()
        .find(|entry| entry.mime.starts_with("text/html"))
        .or(entries.first());
    let main = main
        .map(|entry| entry.address.host.clone())
        .unwrap_or_default();
    entries.retain(|entry| {
        let is_of_it = belongs(&entry.address.host, &main);
        if !is_of_it {
            left.others += 1;
            left.hosts.insert(entry.address.host.clone());
        }
        is_of_it
    });
    (followed(entries), left)
}

fn began(entry: &HarEntry) -> f64 {
    entry.time.map_or(0.0, |(began, _)| began)
}

fn is_file(entry: &HarEntry) -> bool {
    if entry.method != "get" {
        return false;
    }
    let mime = entry.mime.split(';').next().unwrap_or_default().trim();
    let families = [
        "image/",
        "font/",
        "audio/",
        "video/",
        "text/css",
        "application/font",
        "application/wasm",
    ];
    if KINDS.contains(&entry.kind.as_str())
        || families.iter().any(|family| mime.starts_with(family))
        || mime.ends_with("javascript")
    {
        return true;
    }
    let path = entry.address.path.split('?').next().unwrap_or_default();
    let end = path
        .rsplit_once('.')
        .map(|(_, end)| end.to_ascii_lowercase());
    let says_otherwise = mime.ends_with("json") || mime.ends_with("html") || mime.ends_with("xml");
    !says_otherwise && end.is_some_and(|end| FILES.contains(&end.as_str()))
}

fn belongs(host: &str, main: &str) -> bool {
    let is_below = |host: &str, name: &str| {
        host == name
            || host
                .strip_suffix(name)
                .is_some_and(|rest| rest.ends_with('.'))
    };
    let name = main.strip_prefix("www.").unwrap_or(main);
    if is_below(host, name) {
        return true;
    }
    let is_address = main.starts_with('[') || main.parse::<std::net::Ipv4Addr>().is_ok();
    let Some((_, parent)) = name.split_once('.').filter(|_| !is_address) else {
        return false;
    };
    let first = parent.split('.').next().unwrap_or_default();
    parent.contains('.') && !SHARED.contains(&first) && is_below(host, parent)
}

/// Removes entries that are the targets of redirects, because plans follow redirects.
fn followed(entries: Vec<HarEntry>) -> Vec<HarEntry> {
    let mut steps: Vec<HarEntry> = Vec::new();
    let mut open: Vec<(usize, Url)> = Vec::new();
    for entry in entries {
        let url = Url::parse(&entry.url).ok();
        let waiting = open.iter().position(|(_, wanted)| {
            entry.method == "get"
                && url
                    .as_ref()
                    .is_some_and(|url| without_fragment(url) == without_fragment(wanted))
        });
        let leads = (300..400)
            .contains(&entry.status)
            .then(|| url?.join(entry.redirect.as_deref()?).ok())
            .flatten();
        let step = match waiting {
            Some(at) => {
                let (step, _) = open.remove(at);
                let first = &mut steps[step];
                first.status = entry.status;
                first.answer = entry.answer;
                first.mime = entry.mime;
                first.sets.extend(entry.sets);
                first.time = first
                    .time
                    .zip(entry.time)
                    .map(|((began, _), (_, ended))| (began, ended));
                step
            }
            None => {
                steps.push(entry);
                steps.len() - 1
            }
        };
        open.extend(leads.map(|url| (step, url)));
    }
    steps
}

fn without_fragment(url: &Url) -> &str {
    &url[..url::Position::AfterQuery]
}

#[cfg(test)]
mod tests {
    use super::belongs;

    #[test]
    fn subdomains_and_siblings_belong_to_the_service() {
        for (host, main) in [
            ("shop.example", "shop.example"),
            ("api.shop.example", "www.shop.example"),
            ("api.shop.example", "app.shop.example"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert!(belongs(host, main), "{host} {main}");
        }
        for (host, main) in [
            ("evil-shop.example", "shop.example"),
            ("stats.example", "shop.example"),
            ("other.co.uk", "shop.co.uk"),
            ("127.0.0.2", "127.0.0.1"),
            ("10.0.0.1", "127.0.0.1"),
        ] {
            assert!(!belongs(host, main), "{host} {main}");
        }
    }
}
