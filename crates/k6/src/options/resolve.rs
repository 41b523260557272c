//! The option `dns`: how host names are resolved to addresses.

use serde_json::{Value, json};

use super::value::{OptionValue, split_list, wrong_type};
use crate::{duration::DurationNs, text::go_quote};

/// The option `dns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dns {
    /// How long results are cached. `None` means forever, and 0 means not at all.
    pub ttl: Option<DurationNs>,
    /// How one of several addresses is selected.
    pub select: DnsSelect,
    /// Which kinds of addresses are allowed or preferred.
    pub policy: DnsPolicy,
}

/// How one of several addresses is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsSelect {
    /// The first one.
    First,
    /// A random one.
    Random,
    /// The addresses in turn.
    RoundRobin,
}

/// Which kinds of addresses are allowed or preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsPolicy {
    /// IPv4 if available.
    PreferIpv4,
    /// IPv6 if available.
    PreferIpv6,
    /// Only IPv4.
    OnlyIpv4,
    /// Only IPv6.
    OnlyIpv6,
    /// Both, without a preference.
    Any,
}

const SELECTS: [(&str, DnsSelect); 3] = [
    ("first", DnsSelect::First),
    ("random", DnsSelect::Random),
    ("roundRobin", DnsSelect::RoundRobin),
];
const POLICIES: [(&str, DnsPolicy); 5] = [
    ("preferIPv4", DnsPolicy::PreferIpv4),
    ("preferIPv6", DnsPolicy::PreferIpv6),
    ("onlyIPv4", DnsPolicy::OnlyIpv4),
    ("onlyIPv6", DnsPolicy::OnlyIpv6),
    ("any", DnsPolicy::Any),
];

fn find_word<T: Copy>(words: &[(&str, T)], text: &str, key: &str) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| format!("{} is not a valid DNS {key}", go_quote(text)))
}

pub(super) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    let found = words.iter().find(|(_, own)| own == value);
    found.map_or("", |(word, _)| word)
}

impl Default for Dns {
    fn default() -> Dns {
        Dns {
            ttl: Some(DurationNs::from_secs(300)),
            select: DnsSelect::Random,
            policy: DnsPolicy::PreferIpv4,
        }
    }
}

impl Dns {
    fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        match key {
            "ttl" => self.ttl = parse_ttl(text)?,
            "select" => self.select = find_word(&SELECTS, text, key)?,
            "policy" => self.policy = find_word(&POLICIES, text, key)?,
            _ => return Err(format!("unknown DNS option {}", go_quote(key))),
        }
        Ok(())
    }
}

fn parse_ttl(text: &str) -> Result<Option<DurationNs>, String> {
    if text == "inf" {
        return Ok(None);
    }
    let ttl = DurationNs::parse(text).map_err(|error| error.to_string())?;
    match ttl.0 {
        ..0 => Err(format!("the DNS ttl cannot be negative: {text}")),
        _ => Ok(Some(ttl)),
    }
}

impl OptionValue for Dns {
    fn from_json(value: &Value) -> Result<Option<Dns>, String> {
        let object = value
            .as_object()
            .ok_or_else(|| wrong_type(value, "an object"))?;
        let mut dns = Dns::default();
        for (key, item) in object {
            match item {
                Value::Null => {}
                Value::String(text) => dns.set(key, text)?,
                Value::Number(number) if key == "ttl" => dns.set(key, &number.to_string())?,
                _ => return Err(wrong_type(item, &format!("a string for {}", go_quote(key)))),
            }
        }
        Ok(Some(dns))
    }

    fn from_text(text: &str) -> Result<Dns, String> {
        let mut dns = Dns::default();
        for part in split_list(text) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("{} is not a pair `key=value`", go_quote(part)))?;
            dns.set(key, value)?;
        }
        Ok(dns)
    }

    fn to_json(&self) -> Value {
        json!({
            "ttl": self.ttl.map_or_else(|| "inf".to_owned(), |ttl| ttl.to_string()),
            "select": word_of(&SELECTS, &self.select),
            "policy": word_of(&POLICIES, &self.policy),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dns_takes_defaults_for_missing_parts() {
        let dns = Dns::from_text("ttl=inf,select=first").unwrap();
        assert_eq!(dns.ttl, None);
        assert_eq!(dns.policy, DnsPolicy::PreferIpv4);
        assert!(Dns::from_text("select=x").is_err());
        assert!(Dns::from_text("ttl").is_err());
    }
}
