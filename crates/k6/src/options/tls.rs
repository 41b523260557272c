//! The options `tlsVersion` and `tlsAuth`.

use serde_json::{Value, json};

use super::{
    resolve::word_of,
    value::{OptionValue, read_member, wrong_type},
};
use crate::text::go_quote;

/// A TLS version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.0.
    Tls10,
    /// TLS 1.1.
    Tls11,
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

const TLS_VERSIONS: [(&str, TlsVersion); 4] = [
    ("tls1.0", TlsVersion::Tls10),
    ("tls1.1", TlsVersion::Tls11),
    ("tls1.2", TlsVersion::Tls12),
    ("tls1.3", TlsVersion::Tls13),
];

impl TlsVersion {
    fn parse(text: &str) -> Result<TlsVersion, String> {
        let found = TLS_VERSIONS.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, version)| *version)
            .ok_or_else(|| format!("unknown TLS version {}", go_quote(text)))
    }
}

/// The option `tlsVersion`: the range of allowed versions. `None` means no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TlsVersions {
    /// Lowest allowed version.
    pub min: Option<TlsVersion>,
    /// Highest allowed version.
    pub max: Option<TlsVersion>,
}

impl TlsVersions {
    /// Whether a version is within the bounds.
    #[must_use]
    pub fn allows(&self, version: TlsVersion) -> bool {
        self.min.is_none_or(|min| min <= version) && self.max.is_none_or(|max| version <= max)
    }
}

impl OptionValue for TlsVersions {
    fn from_json(value: &Value) -> Result<Option<TlsVersions>, String> {
        if let Some(object) = value.as_object() {
            let bound = |name| match read_member::<String>(object, name)?.as_deref() {
                None | Some("") => Ok(None),
                Some(text) => TlsVersion::parse(text).map(Some),
            };
            return Ok(Some(TlsVersions {
                min: bound("min")?,
                max: bound("max")?,
            }));
        }
        match value.as_str() {
            Some(text) => TlsVersions::from_text(text).map(Some),
            None => Err(wrong_type(value, "a TLS version or an object")),
        }
    }

    fn from_text(text: &str) -> Result<TlsVersions, String> {
        let version = Some(TlsVersion::parse(text)?);
        Ok(TlsVersions {
            min: version,
            max: version,
        })
    }

    fn to_json(&self) -> Value {
        let name = |bound: Option<TlsVersion>| {
            bound.map_or("", |version| word_of(&TLS_VERSIONS, &version))
        };
        json!({ "min": name(self.min), "max": name(self.max) })
    }
}

/// A client certificate of the option `tlsAuth`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsAuth {
    /// Domains for which the certificate is used. Empty means all domains.
    pub domains: Vec<String>,
    /// Certificate chain (PEM).
    pub cert: String,
    /// Private key (PEM).
    pub key: String,
    /// Password of the key. Empty if it has none.
    pub password: String,
}

impl OptionValue for Vec<TlsAuth> {
    fn from_json(value: &Value) -> Result<Option<Vec<TlsAuth>>, String> {
        let list = value
            .as_array()
            .ok_or_else(|| wrong_type(value, "a list of certificates"))?;
        let certificates = list.iter().map(|item| {
            let object = item
                .as_object()
                .ok_or_else(|| wrong_type(item, "an object"))?;
            Ok(TlsAuth {
                domains: read_member(object, "domains")?.unwrap_or_default(),
                cert: read_member(object, "cert")?.unwrap_or_default(),
                key: read_member(object, "key")?.unwrap_or_default(),
                password: read_member(object, "password")?.unwrap_or_default(),
            })
        });
        certificates.collect::<Result<_, String>>().map(Some)
    }

    fn from_text(text: &str) -> Result<Vec<TlsAuth>, String> {
        let value = Value::from_text(text)?;
        Ok(Vec::<TlsAuth>::from_json(&value)?.unwrap_or_default())
    }

    fn to_json(&self) -> Value {
        let certificates = self.iter().map(|auth| {
            json!({
                "domains": auth.domains,
                "cert": auth.cert,
                "key": auth.key,
                "password": auth.password,
            })
        });
        certificates.collect()
    }
}
