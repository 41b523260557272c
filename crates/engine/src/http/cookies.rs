//! The cookies of one virtual user: what servers set, and what goes back to whom. The part of RFC 6265 that tests need;
//! dates are left to the server: a cookie that is set to expire in the past by `Max-Age` or to an empty value with
//! `Expires` is removed, others live as long as their user.

use std::net::IpAddr;

use plan::{CookiePrefixes, CookieRules};

use super::url::Origin;

/// The cookies of one virtual user.
#[derive(Debug, Clone, Default)]
pub struct Jar {
    cookies: Vec<Cookie>,
    rules: CookieRules,
}

#[derive(Debug, Clone, PartialEq)]
struct Cookie {
    name: String,
    value: String,
    domain: String,
    host_only: bool,
    path: String,
    secure: bool,
}

impl Cookie {
    /// Whether a jar holds only one of the two.
    fn replaces(&self, other: &Cookie) -> bool {
        self.name == other.name && self.domain == other.domain && self.path == other.path
    }
}

impl Jar {
    /// An empty jar.
    #[must_use]
    pub fn new(rules: CookieRules) -> Jar {
        Jar {
            cookies: Vec::new(),
            rules,
        }
    }

    /// Takes over what has changed in another jar since it began as a copy of one: what it merely still holds may be older than
    /// what came to this one meanwhile.
    pub fn adopt(&mut self, begun: &Jar, other: Jar) {
        for cookie in &begun.cookies {
            if !other.cookies.iter().any(|c| c.replaces(cookie)) {
                self.forget(cookie);
            }
        }
        for cookie in other.cookies {
            if !begun.cookies.contains(&cookie) {
                self.keep(cookie);
            }
        }
    }

    /// Whether there is nothing to send to anyone.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Takes a `Set-Cookie` value from an answer; false when it is malformed.
    pub fn set(&mut self, header: &str, origin: &Origin, request_path: &str) -> bool {
        let mut parts = header.split(';');
        let pair = parts.next().unwrap_or_default();
        let (name, value) = match pair.split_once('=') {
            Some((name, value)) => (name.trim(), value.trim()),
            None => ("", pair.trim()),
        };
        if name.is_empty() && (!self.rules.loose || value.is_empty()) {
            return false;
        }
        let mut cookie = Cookie {
            name: name.to_owned(),
            value: value.to_owned(),
            domain: origin.host.clone(),
            host_only: true,
            path: default_path(request_path),
            secure: false,
        };
        let (mut expired, mut aged) = (false, None);
        for attribute in parts {
            let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            match key.trim().to_ascii_lowercase().as_str() {
                "domain" => {
                    let domain = value.trim().trim_start_matches('.').to_ascii_lowercase();
                    if !domain.is_empty() {
                        // Nobody sets cookies for strangers.
                        let too_wide = self.rules.reject_public_suffixes
                            && !domain.contains('.')
                            && domain != origin.host;
                        if too_wide || !domain_matches(&origin.host, &domain) {
                            return true;
                        }
                        cookie.domain = domain;
                        cookie.host_only = false;
                    }
                }
                "path" if value.trim().starts_with('/') => cookie.path = value.trim().to_owned(),
                "secure" => cookie.secure = true,
                "max-age" => {
                    aged = value.trim().parse::<i64>().ok().map(|seconds| seconds <= 0);
                }
                "expires" => expired |= cookie.value.is_empty() || value.contains("1970"),
                _ => {}
            }
        }
        if !keeps_promise(&cookie, origin.tls) {
            match self.rules.prefixes {
                CookiePrefixes::Silent => return true,
                CookiePrefixes::Strict => return false,
                CookiePrefixes::Ignored => {}
            }
        }
        // Of two ends that differ, the one in seconds counts.
        if aged.unwrap_or(expired) {
            self.forget(&cookie);
        } else {
            self.keep(cookie);
        }
        true
    }

    fn forget(&mut self, cookie: &Cookie) {
        self.cookies.retain(|c| !c.replaces(cookie));
    }

    fn keep(&mut self, cookie: Cookie) {
        self.forget(&cookie);
        self.cookies.push(cookie);
    }

    /// Sets a cookie that the test file names, for this URL's host and every path.
    pub fn put(&mut self, name: &str, value: &str, origin: &Origin) {
        self.cookies
            .retain(|c| !(c.name == name && c.domain == origin.host));
        self.cookies.push(Cookie {
            name: name.to_owned(),
            value: value.to_owned(),
            domain: origin.host.clone(),
            host_only: true,
            path: "/".to_owned(),
            secure: false,
        });
    }

    /// The value of the Cookie header for a request; none when there is nothing to send.
    #[must_use]
    pub fn header(&self, origin: &Origin, path: &str) -> Option<String> {
        let path = path.split('?').next().unwrap_or("/");
        let fits = |c: &&Cookie| {
            (if c.host_only {
                c.domain == origin.host
            } else {
                domain_matches(&origin.host, &c.domain)
            }) && path_matches(path, &c.path)
                && (!c.secure || origin.tls)
        };
        let pairs: Vec<String> = self
            .cookies
            .iter()
            .filter(fits)
            .map(|c| match c.name.as_str() {
                "" => c.value.clone(),
                name => format!("{name}={}", c.value),
            })
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

/// Whether a cookie is what the prefix of its name says.
fn keeps_promise(cookie: &Cookie, tls: bool) -> bool {
    let secure = cookie.secure && tls;
    match cookie.name.as_str() {
        name if name.starts_with("__Host-") => secure && cookie.host_only && cookie.path == "/",
        name if name.starts_with("__Secure-") => secure,
        _ => true,
    }
}

/// Whether a host lies in a domain; an address lies in none but itself.
fn domain_matches(host: &str, domain: &str) -> bool {
    host == domain
        || (host.parse::<IpAddr>().is_err()
            && host
                .strip_suffix(domain)
                .is_some_and(|rest| rest.ends_with('.')))
}

fn path_matches(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'))
}

fn default_path(request_path: &str) -> String {
    let path = request_path.split('?').next().unwrap_or("/");
    match path.rfind('/') {
        Some(0) | None => "/".to_owned(),
        Some(last) => path[..last].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(host: &str) -> Origin {
        Origin {
            tls: false,
            host: host.to_owned(),
            port: 80,
        }
    }

    #[test]
    fn what_goes_back_to_whom() {
        let mut jar = Jar::default();
        let host = origin("www.a.test");
        assert!(jar.set("sid=abc; Path=/; HttpOnly", &host, "/login"));
        assert!(jar.set("deep=1", &host, "/x/y"));
        assert!(jar.set("wide=2; Domain=a.test; Path=/", &host, "/"));
        assert!(jar.set("tls=3; Secure; Path=/", &host, "/"));
        assert!(jar.set("evil=4; Domain=b.test", &host, "/"));
        assert!(!jar.set("nonsense", &host, "/"));
        assert_eq!(jar.header(&host, "/").as_deref(), Some("sid=abc; wide=2"));
        assert_eq!(
            jar.header(&host, "/x/z?q").as_deref(),
            Some("sid=abc; deep=1; wide=2")
        );
        assert_eq!(
            jar.header(&origin("m.a.test"), "/").as_deref(),
            Some("wide=2")
        );
        assert_eq!(jar.header(&origin("xa.test"), "/"), None);
        jar.set("sid=new; Path=/", &host, "/");
        jar.set("wide=; Domain=a.test; Path=/; Max-Age=0", &host, "/");
        assert_eq!(jar.header(&host, "/").as_deref(), Some("sid=new"));
        jar.put("mine", "yes1", &host);
        assert_eq!(
            jar.header(&host, "/").as_deref(),
            Some("sid=new; mine=yes1")
        );
    }

    #[test]
    fn rules_of_the_jar() {
        let host = origin("www.test");
        let mut jar = Jar::default();
        assert!(jar.set("a=1; Domain=test", &host, "/"));
        assert!(jar.set(
            "b=2; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60",
            &host,
            "/"
        ));
        assert!(jar.set("__Secure-c=3", &host, "/"));
        assert!(jar.set("d=4; Domain=0.0.1", &origin("127.0.0.1"), "/"));
        assert_eq!(jar.header(&host, "/").as_deref(), Some("b=2"));
        assert_eq!(jar.header(&origin("127.0.0.1"), "/"), None);
        let rules = CookieRules {
            loose: true,
            reject_public_suffixes: false,
            prefixes: CookiePrefixes::Strict,
        };
        let mut jar = Jar::new(rules);
        assert!(jar.set("a=1; Domain=test", &host, "/"));
        assert!(jar.set("nameless", &host, "/"));
        assert!(!jar.set("__Secure-c=3", &host, "/"));
        assert_eq!(jar.header(&host, "/").as_deref(), Some("a=1; nameless"));
    }

    #[test]
    fn copies_give_back_what_they_got() {
        let host = origin("www.a.test");
        let mut jar = Jar::default();
        jar.set("sid=1", &host, "/");
        jar.set("gone=1", &host, "/");
        let begun = jar.clone();
        let (mut one, mut other) = (jar.clone(), jar.clone());
        one.set("sid=2", &host, "/");
        one.set("gone=; Max-Age=0", &host, "/");
        other.set("more=3", &host, "/");
        jar.adopt(&begun, one);
        // The other one still has what this one has replaced.
        jar.adopt(&begun, other);
        assert_eq!(jar.header(&host, "/").as_deref(), Some("sid=2; more=3"));
    }
}
