//! The cookie jar of one virtual user. Implements the parts of RFC 6265 that tests need. The caller
//! supplies the time in seconds since 1970.

use std::net::IpAddr;

use plan::{CookiePrefixes, CookieRules};

use super::{cookie_date, url::Origin};

/// The cookies of a virtual user.
#[derive(Debug, Clone, Default)]
pub struct Jar {
    cookies: Vec<Cookie>,
    rules: CookieRules,
    served: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Cookie {
    name: String,
    value: String,
    domain: String,
    host_only: bool,
    path: String,
    secure: bool,
    /// Expiry in seconds since 1970. `None` means that the cookie lasts as long as the virtual
    /// user.
    expires_s: Option<i64>,
}

impl Cookie {
    fn is_expired(&self, now_s: i64) -> bool {
        self.expires_s.is_some_and(|end| end <= now_s)
    }

    /// Returns whether a request to this URL sends the cookie. Ignores the expiry.
    fn applies_to(&self, origin: &Origin, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or("/");
        (if self.host_only {
            self.domain == origin.host
        } else {
            domain_matches(&origin.host, &self.domain)
        }) && path_matches(path, &self.path)
            && (!self.secure || origin.tls)
    }

    /// Returns whether both cookies have the same name, domain and path. A jar keeps only one such
    /// cookie.
    fn replaces(&self, other: &Cookie) -> bool {
        self.name == other.name && self.domain == other.domain && self.path == other.path
    }
}

impl Jar {
    /// Creates an empty jar.
    #[must_use]
    pub fn new(rules: CookieRules) -> Jar {
        Jar {
            cookies: Vec::new(),
            rules,
            served: false,
        }
    }

    /// Merges the changes that `other` made since it was copied from `begun`.
    pub fn merge_fork(&mut self, begun: &Jar, other: Jar) {
        self.served |= other.served;
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

    /// Returns whether no cookie can be sent. `sets` is `true` for a step that sets cookies itself.
    #[must_use]
    pub fn is_empty(&self, sets: bool) -> bool {
        self.cookies.is_empty() || (self.rules.local && !sets && !self.served)
    }

    /// Stores the cookie of a `Set-Cookie` header. Returns `false` if the value is malformed.
    pub fn set(&mut self, header: &str, origin: &Origin, request_path: &str, now_s: i64) -> bool {
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
            expires_s: None,
        };
        let mut aged = None;
        for attribute in parts {
            let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            match key.trim().to_ascii_lowercase().as_str() {
                "domain" => {
                    let domain = value.trim().trim_start_matches('.').to_ascii_lowercase();
                    if !domain.is_empty() {
                        // A server must not set cookies for other sites.
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
                    let age = value.trim().parse::<i64>().ok();
                    aged = age.map(|age| {
                        if age > 0 {
                            now_s.saturating_add(age)
                        } else {
                            i64::MIN
                        }
                    });
                }
                "expires" => cookie.expires_s = cookie_date::parse(value),
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
        // Max-Age takes precedence over Expires.
        cookie.expires_s = aged.or(cookie.expires_s);
        if cookie.is_expired(now_s) {
            self.forget(&cookie);
        } else {
            self.keep(cookie);
        }
        self.served = true;
        true
    }

    fn forget(&mut self, cookie: &Cookie) {
        self.cookies.retain(|c| !c.replaces(cookie));
    }

    fn keep(&mut self, cookie: Cookie) {
        match self.cookies.iter_mut().find(|c| c.replaces(&cookie)) {
            Some(known) => *known = cookie,
            None => self.cookies.push(cookie),
        }
    }

    /// Sets a cookie that the test file defines, for the host of this URL.
    pub fn put(&mut self, name: &str, value: &str, origin: &Origin, request_path: &str) {
        // Text after a semicolon would be parsed as an attribute.
        let value = value.split(';').next().unwrap_or_default().trim();
        let path = if self.rules.local {
            default_path(request_path)
        } else {
            self.cookies
                .retain(|c| !(c.name == name && c.domain == origin.host));
            "/".to_owned()
        };
        self.keep(Cookie {
            name: name.to_owned(),
            value: value.to_owned(),
            domain: origin.host.clone(),
            host_only: true,
            path,
            secure: false,
            expires_s: None,
        });
    }

    /// Removes the cookies that a request would send. If `name` is `None`, removes cookies of any
    /// name.
    pub fn remove(&mut self, origin: &Origin, path: &str, name: Option<&str>) {
        self.cookies.retain(|cookie| {
            !cookie.applies_to(origin, path) || name.is_some_and(|name| cookie.name != name)
        });
    }

    /// Returns the value of the `Cookie` header for a request at `now_s`. `None` if no cookie
    /// applies.
    #[must_use]
    pub fn header(&self, origin: &Origin, path: &str, now_s: i64) -> Option<String> {
        let fits = |c: &&Cookie| c.applies_to(origin, path) && !c.is_expired(now_s);
        let mut fitting: Vec<&Cookie> = self.cookies.iter().filter(fits).collect();
        // Cookies with longer paths come first, then older cookies.
        fitting.sort_by_key(|c| std::cmp::Reverse(c.path.len()));
        let pairs: Vec<String> = fitting
            .into_iter()
            .map(|c| match c.name.as_str() {
                "" => c.value.clone(),
                name => format!("{name}={}", c.value),
            })
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

/// Returns whether a cookie meets the requirements of its `__Secure-` or `__Host-` prefix.
fn keeps_promise(cookie: &Cookie, tls: bool) -> bool {
    let secure = cookie.secure && tls;
    match cookie.name.as_str() {
        name if name.starts_with("__Host-") => secure && cookie.host_only && cookie.path == "/",
        name if name.starts_with("__Secure-") => secure,
        _ => true,
    }
}

/// Returns whether a host belongs to a domain. An IP address matches only itself.
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

    const NOW: i64 = 1_800_000_000;

    fn origin(host: &str) -> Origin {
        Origin {
            tls: false,
            host: host.to_owned(),
            port: 80,
        }
    }

    #[test]
    fn cookies_are_sent_to_matching_urls() {
        let mut jar = Jar::default();
        let host = origin("www.a.test");
        assert!(jar.set("sid=abc; Path=/; HttpOnly", &host, "/login", NOW));
        assert!(jar.set("deep=1", &host, "/x/y", NOW));
        assert!(jar.set("wide=2; Domain=a.test; Path=/", &host, "/", NOW));
        assert!(jar.set("tls=3; Secure; Path=/", &host, "/", NOW));
        assert!(jar.set("evil=4; Domain=b.test", &host, "/", NOW));
        assert!(!jar.set("nonsense", &host, "/", NOW));
        assert_eq!(
            jar.header(&host, "/", NOW).as_deref(),
            Some("sid=abc; wide=2")
        );
        assert_eq!(
            jar.header(&host, "/x/z?q", NOW).as_deref(),
            Some("deep=1; sid=abc; wide=2")
        );
        assert_eq!(
            jar.header(&origin("m.a.test"), "/", NOW).as_deref(),
            Some("wide=2")
        );
        assert_eq!(jar.header(&origin("xa.test"), "/", NOW), None);
        jar.set("sid=new; Path=/", &host, "/", NOW);
        jar.set("wide=; Domain=a.test; Path=/; Max-Age=0", &host, "/", NOW);
        assert_eq!(jar.header(&host, "/", NOW).as_deref(), Some("sid=new"));
        jar.put("mine", "yes1", &host, "/x/y");
        assert_eq!(
            jar.header(&host, "/", NOW).as_deref(),
            Some("sid=new; mine=yes1")
        );
    }

    #[test]
    fn step_cookies_follow_artillery() {
        let host = origin("a.test");
        let mut jar = Jar::new(CookieRules {
            local: true,
            ..CookieRules::default()
        });
        jar.put("a", "1", &host, "/p/q/r?x=/y/z");
        let header = |jar: &Jar, path: &str| jar.header(&host, path, NOW).unwrap_or_default();
        assert_eq!(header(&jar, "/p/q/s"), "a=1");
        assert_eq!(header(&jar, "/p/q"), "a=1");
        assert_eq!(header(&jar, "/p/t"), "");
        jar.put("top", "2", &host, "/any");
        jar.put("a", "3", &host, "/p/q/r");
        assert_eq!(header(&jar, "/p/q/s"), "a=3; top=2");
        assert!(jar.is_empty(false) && !jar.is_empty(true));
        assert!(jar.set("s=1; Path=/", &host, "/p/q/r", NOW));
        assert!(!jar.is_empty(false));
    }

    #[test]
    fn removed_cookies_are_not_sent() {
        let host = origin("a.test");
        let mut jar = Jar::default();
        for pair in ["a=1; Path=/", "b=1; Path=/", "c=1; Path=/other"] {
            assert!(jar.set(pair, &host, "/", NOW));
        }
        jar.remove(&host, "/x", Some("a"));
        assert_eq!(jar.header(&host, "/", NOW).as_deref(), Some("b=1"));
        jar.remove(&host, "/", None);
        assert_eq!(jar.header(&host, "/other", NOW).as_deref(), Some("c=1"));
    }

    #[test]
    fn new_value_keeps_position() {
        let host = origin("a.test");
        let mut jar = Jar::default();
        for pair in ["a=1", "b=1", "a=2"] {
            assert!(jar.set(pair, &host, "/", NOW));
        }
        assert_eq!(jar.header(&host, "/", NOW).as_deref(), Some("a=2; b=1"));
    }

    #[test]
    fn jar_follows_its_rules() {
        let host = origin("www.test");
        let mut jar = Jar::default();
        assert!(jar.set("a=1; Domain=test", &host, "/", NOW));
        assert!(jar.set(
            "b=2; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60",
            &host,
            "/",
            NOW
        ));
        assert!(jar.set("__Secure-c=3", &host, "/", NOW));
        assert!(jar.set("d=4; Domain=0.0.1", &origin("127.0.0.1"), "/", NOW));
        assert_eq!(jar.header(&host, "/", NOW).as_deref(), Some("b=2"));
        assert_eq!(jar.header(&origin("127.0.0.1"), "/", NOW), None);
        let rules = CookieRules {
            loose: true,
            reject_public_suffixes: false,
            prefixes: CookiePrefixes::Strict,
            local: false,
        };
        let mut jar = Jar::new(rules);
        assert!(jar.set("a=1; Domain=test", &host, "/", NOW));
        assert!(jar.set("nameless", &host, "/", NOW));
        assert!(!jar.set("__Secure-c=3", &host, "/", NOW));
        assert_eq!(
            jar.header(&host, "/", NOW).as_deref(),
            Some("a=1; nameless")
        );
    }

    #[test]
    fn cookies_expire_at_their_date() {
        let host = origin("www.a.test");
        let mut jar = Jar::default();
        jar.set(
            "empty=; Expires=Fri, 31 Dec 2100 23:59:59 GMT",
            &host,
            "/",
            NOW,
        );
        jar.set(
            "past=1; Expires=Wed, 21 Oct 2015 07:28:00 GMT",
            &host,
            "/",
            NOW,
        );
        jar.set(
            "soon=1; Max-Age=60; Expires=Wed, 21 Oct 2015 07:28:00 GMT",
            &host,
            "/",
            NOW,
        );
        jar.set("no-date=1; Expires=1970", &host, "/", NOW);
        let header = |at: i64| jar.header(&host, "/", at);
        assert_eq!(header(NOW).as_deref(), Some("empty=; soon=1; no-date=1"));
        assert_eq!(
            header(NOW + 59).as_deref(),
            Some("empty=; soon=1; no-date=1")
        );
        assert_eq!(header(NOW + 60).as_deref(), Some("empty=; no-date=1"));
        jar.set(
            "empty=1; Expires=Wed, 21-Oct-2015 07:28:00 GMT",
            &host,
            "/",
            NOW,
        );
        assert_eq!(
            jar.header(&host, "/", NOW + 60).as_deref(),
            Some("no-date=1")
        );
    }

    #[test]
    fn changes_of_a_copied_jar_are_merged() {
        let host = origin("www.a.test");
        let mut jar = Jar::default();
        jar.set("sid=1", &host, "/", NOW);
        jar.set("gone=1", &host, "/", NOW);
        let begun = jar.clone();
        let (mut one, mut other) = (jar.clone(), jar.clone());
        one.set("sid=2", &host, "/", NOW);
        one.set("gone=; Max-Age=0", &host, "/", NOW);
        other.set("more=3", &host, "/", NOW);
        jar.merge_fork(&begun, one);
        jar.merge_fork(&begun, other);
        assert_eq!(
            jar.header(&host, "/", NOW).as_deref(),
            Some("sid=2; more=3")
        );
    }
}
