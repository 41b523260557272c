//! Handling of values that is common to both ways of building a request.

use codec::Origin;

pub(super) fn plain_origin(tls: bool, authority: &str) -> Option<Origin> {
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, if tls { 443 } else { 80 }),
    };
    // A host of digits and dots may be an abbreviated IPv4 address, which URLs normalize.
    let canonical = host.ends_with(|c: char| c.is_ascii_alphabetic())
        || host.parse::<std::net::Ipv4Addr>().is_ok();
    (!host.is_empty() && canonical).then(|| Origin {
        tls,
        host: host.to_owned(),
        port,
    })
}

pub(super) fn is_falsy(json: &str) -> bool {
    matches!(json, "0" | "\"\"" | "false" | "null")
}
