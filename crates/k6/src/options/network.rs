//! Options about host names and addresses.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use serde_json::{Value, json};

use super::value::{OptionValue, TextMap, split_list};
use crate::text::go_quote;

/// The addresses from `first` to `last`, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    first: IpAddr,
    last: IpAddr,
}

fn address_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    }
}

fn address_from_bits(like: IpAddr, bits: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(u32::try_from(bits).unwrap_or(u32::MAX))),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(bits)),
    }
}

impl AddressRange {
    /// Parses `10.0.0.0/8`, `10.0.0.1-10.0.0.9` or `10.0.0.1`.
    ///
    /// # Errors
    ///
    /// Fails for other texts.
    pub fn parse(text: &str) -> Result<AddressRange, String> {
        AddressRange::try_parse(text)
            .ok_or_else(|| format!("{} is not a valid address or CIDR", go_quote(text)))
    }

    fn try_parse(text: &str) -> Option<AddressRange> {
        if let Some((address, prefix)) = text.split_once('/') {
            return AddressRange::from_prefix(address.parse().ok()?, prefix.parse().ok()?);
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last): (IpAddr, IpAddr) =
            (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let is_valid = first.is_ipv4() == last.is_ipv4() && first <= last;
        is_valid.then_some(AddressRange { first, last })
    }

    fn from_prefix(address: IpAddr, prefix: u32) -> Option<AddressRange> {
        let length: u32 = if address.is_ipv4() { 32 } else { 128 };
        let host_bits = 128 - length + length.checked_sub(prefix)?;
        let host_mask = match host_bits - (128 - length) {
            128 => u128::MAX,
            bits => (1 << bits) - 1,
        };
        let bits = address_bits(address);
        Some(AddressRange {
            first: address_from_bits(address, bits & !host_mask),
            last: address_from_bits(address, bits | host_mask),
        })
    }

    /// Returns whether an address is in the range. An IPv4-mapped address counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && self.first <= address && address <= self.last
    }

    /// Returns the number of addresses. Saturates.
    #[must_use]
    pub fn count(&self) -> u128 {
        (address_bits(self.last) - address_bits(self.first)).saturating_add(1)
    }

    /// Returns the address at an index. `None` if the range is shorter.
    #[must_use]
    pub fn nth(&self, index: u128) -> Option<IpAddr> {
        (index < self.count()).then(|| {
            let bits = address_bits(self.first).saturating_add(index);
            address_from_bits(self.first, bits)
        })
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return self.first.fmt(f);
        }
        let size = self.count();
        let host_bits = size.trailing_zeros();
        let length = if self.first.is_ipv4() { 32 } else { 128 };
        if size.is_power_of_two() && address_bits(self.first).trailing_zeros() >= host_bits {
            return write!(f, "{}/{}", self.first, length - host_bits);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// Addresses to which requests are not allowed (`blacklistIPs`), or from which they are sent
/// (`localIPs`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressRanges(pub Vec<AddressRange>);

impl AddressRanges {
    /// Returns whether any of the ranges contains an address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|range| range.contains(address))
    }

    /// Returns the local address of a virtual user. Virtual users take the addresses of all ranges
    /// in turn. `None` if there are no ranges.
    #[must_use]
    pub fn for_vu(&self, vu_id: u64) -> Option<IpAddr> {
        let total = self
            .0
            .iter()
            .fold(0_u128, |sum, range| sum.saturating_add(range.count()));
        let mut index = u128::from(vu_id).checked_rem(total)?;
        for range in &self.0 {
            match index.checked_sub(range.count()) {
                Some(rest) => index = rest,
                None => return range.nth(index),
            }
        }
        None
    }
}

impl OptionValue for AddressRanges {
    fn from_json(value: &Value) -> Result<Option<AddressRanges>, String> {
        let texts = Vec::<String>::from_json(value)?.unwrap_or_default();
        let ranges = texts.iter().map(|text| AddressRange::parse(text.trim()));
        Ok(Some(AddressRanges(ranges.collect::<Result<_, _>>()?)))
    }

    fn from_text(text: &str) -> Result<AddressRanges, String> {
        let ranges = split_list(text).map(AddressRange::parse);
        Ok(AddressRanges(ranges.collect::<Result<_, _>>()?))
    }

    fn to_json(&self) -> Value {
        self.0.iter().map(ToString::to_string).collect()
    }
}

/// Host names to which requests are not allowed. `*` as the first label stands for one or more
/// labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostnamePatterns(Vec<String>);

impl HostnamePatterns {
    fn from_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Result<HostnamePatterns, String> {
        let patterns = texts.map(|text| {
            let rest = text.strip_prefix('*').unwrap_or(text);
            let is_valid = !text.is_empty()
                && !rest.contains('*')
                && (rest.len() == text.len() || rest.is_empty() || rest.starts_with('.'));
            if is_valid {
                Ok(text.to_lowercase())
            } else {
                Err(format!(
                    "{} is not a valid hostname pattern: `*` may only be the first label",
                    go_quote(text)
                ))
            }
        });
        patterns.collect::<Result<_, _>>().map(HostnamePatterns)
    }

    /// Adds patterns.
    pub(super) fn extend(&mut self, more: HostnamePatterns) {
        self.0.extend(more.0);
    }

    /// Returns the first pattern that matches a host.
    #[must_use]
    pub fn find(&self, host: &str) -> Option<&str> {
        let host = host.to_lowercase();
        let found = self.0.iter().find(|pattern| is_match(pattern, &host));
        found.map(String::as_str)
    }
}

fn is_match(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
        None => pattern == host,
    }
}

impl OptionValue for HostnamePatterns {
    fn from_json(value: &Value) -> Result<Option<HostnamePatterns>, String> {
        let texts = Vec::<String>::from_json(value)?.unwrap_or_default();
        HostnamePatterns::from_texts(texts.iter().map(String::as_str)).map(Some)
    }

    fn from_text(text: &str) -> Result<HostnamePatterns, String> {
        HostnamePatterns::from_texts(split_list(text))
    }

    fn to_json(&self) -> Value {
        self.0.iter().map(String::as_str).collect()
    }
}

/// The address of a host name that replaces the result of DNS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostTarget {
    /// Address.
    pub address: IpAddr,
    /// Port. `None` means the port of the URL.
    pub port: Option<u16>,
}

impl HostTarget {
    fn parse(text: &str) -> Result<HostTarget, String> {
        if let Ok(address) = text.trim_matches(['[', ']']).parse() {
            return Ok(HostTarget {
                address,
                port: None,
            });
        }
        match text.parse::<SocketAddr>() {
            Ok(socket) => Ok(HostTarget {
                address: socket.ip(),
                port: Some(socket.port()),
            }),
            Err(_) => Err(format!("{} is not a valid address", go_quote(text))),
        }
    }
}

/// Option `hosts`: addresses by `host`, `host:port` or `*.domain`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(Vec<(String, HostTarget, String)>);

impl Hosts {
    fn from_map(map: &TextMap) -> Result<Hosts, String> {
        let entries = map.0.iter().map(|(name, text)| {
            let target = HostTarget::parse(text)?;
            Ok((name.to_lowercase(), target, text.clone()))
        });
        entries.collect::<Result<_, String>>().map(Hosts)
    }

    /// Finds the address of a host: `host:port` takes precedence over `host`, which takes
    /// precedence over the longest `*.domain`.
    #[must_use]
    pub fn find(&self, host: &str, port: u16) -> Option<HostTarget> {
        let host = host.to_lowercase();
        let with_port = format!("{host}:{port}");
        let exact = |name: &str| self.0.iter().find(|(own, ..)| own == name);
        let wildcard = || {
            let matches = self.0.iter().filter(|(own, ..)| {
                own.starts_with('*') && (is_match(own, &with_port) || is_match(own, &host))
            });
            matches.max_by_key(|(own, ..)| own.len())
        };
        let found = exact(&with_port).or_else(|| exact(&host)).or_else(wildcard);
        found.map(|(_, target, _)| *target)
    }
}

impl OptionValue for Hosts {
    fn from_json(value: &Value) -> Result<Option<Hosts>, String> {
        let map = TextMap::from_json(value)?.unwrap_or_default();
        Hosts::from_map(&map).map(Some)
    }

    fn from_text(text: &str) -> Result<Hosts, String> {
        Hosts::from_map(&TextMap::from_text(text)?)
    }

    fn to_json(&self) -> Value {
        let pairs = self.0.iter();
        Value::Object(
            pairs
                .map(|(name, _, text)| (name.clone(), json!(text)))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_ranges_contain_their_bounds() {
        let range = AddressRange::parse("10.0.0.0/8").unwrap();
        assert!(range.contains("10.255.255.255".parse().unwrap()));
        assert!(range.contains("::ffff:10.0.0.1".parse().unwrap()));
        assert!(!range.contains("11.0.0.0".parse().unwrap()));
        assert_eq!(range.to_string(), "10.0.0.0/8");
        let all = AddressRange::parse("::/0").unwrap();
        assert!(all.contains("ff::1".parse().unwrap()));
        assert_eq!(all.count(), u128::MAX);
        for text in ["", "10.0.0.0/33", "10.0.0.9-10.0.0.1", "::1-10.0.0.1", "x"] {
            assert!(AddressRange::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn virtual_users_share_local_addresses_in_turn() {
        let ranges = AddressRanges::from_text("10.0.0.1-10.0.0.2,10.1.0.0/31").unwrap();
        let addresses: Vec<_> = (1..6).map(|vu| ranges.for_vu(vu).unwrap()).collect();
        let expected = ["10.0.0.2", "10.1.0.0", "10.1.0.1", "10.0.0.1", "10.0.0.2"];
        assert_eq!(
            addresses,
            expected.map(|text| text.parse::<IpAddr>().unwrap())
        );
        assert_eq!(AddressRanges::default().for_vu(1), None);
    }

    #[test]
    fn star_is_the_first_label_only() {
        let patterns = HostnamePatterns::from_text("*.example.com,other.net").unwrap();
        assert_eq!(patterns.find("A.Example.com"), Some("*.example.com"));
        assert_eq!(patterns.find("example.com"), None);
        assert!(HostnamePatterns::from_text("a.*.com").is_err());
        assert!(HostnamePatterns::from_text("*a.com").is_err());
    }

    #[test]
    fn hosts_prefer_exact_names() {
        let hosts = json!({
            "a.test": "1.2.3.4", "a.test:8443": "1.2.3.5:443",
            "*.test": "1.2.3.6", "*.b.test": "[::1]:80"
        });
        let hosts = Hosts::from_json(&hosts).unwrap().unwrap();
        let find = |host, port| {
            hosts
                .find(host, port)
                .map(|target| target.address.to_string())
        };
        assert_eq!(find("A.test", 80).as_deref(), Some("1.2.3.4"));
        assert_eq!(find("a.test", 8443).as_deref(), Some("1.2.3.5"));
        assert_eq!(find("c.test", 80).as_deref(), Some("1.2.3.6"));
        assert_eq!(find("c.b.test", 80).as_deref(), Some("::1"));
        assert_eq!(find("other", 80), None);
        assert!(Hosts::from_json(&json!({"a": "b"})).is_err());
    }
}
