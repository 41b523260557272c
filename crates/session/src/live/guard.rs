//! Protects the live view and the endpoint against other websites: requests from their pages
//! (`Origin`) and DNS rebinding (`Host`).

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

#[derive(Debug, Clone)]
pub struct AllowedNames {
    hosts: Vec<String>,
    port: u16,
    /// Whether to accept any port, because a tunnel may have changed it.
    any_port: bool,
}

impl AllowedNames {
    pub fn exactly(port: u16) -> AllowedNames {
        AllowedNames {
            hosts: vec!["127.0.0.1".into(), "localhost".into()],
            port,
            any_port: false,
        }
    }

    pub fn of_this_machine(port: u16) -> AllowedNames {
        let mut names = AllowedNames::exactly(port);
        names.hosts.push("[::1]".into());
        names.any_port = true;
        names
    }

    fn has(&self, authority: &str) -> bool {
        let own_port = self.port.to_string();
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ => (authority, "80"),
        };
        let fits = self.any_port || port == own_port;
        fits && self
            .hosts
            .iter()
            .any(|known| host.eq_ignore_ascii_case(known))
    }

    fn allow(&self, headers: &HeaderMap) -> bool {
        let one = |name| {
            let mut values = headers.get_all(name).iter();
            let first = values
                .next()
                .map(|value| value.to_str().unwrap_or_default());
            if values.next().is_some() {
                Some("")
            } else {
                first
            }
        };
        let host = one(header::HOST).is_some_and(|host| self.has(host));
        let origin = one(header::ORIGIN).is_none_or(|origin| {
            origin
                .strip_prefix("http://")
                .is_some_and(|authority| self.has(authority))
        });
        host && origin
    }
}

pub async fn local(State(names): State<AllowedNames>, request: Request, next: Next) -> Response {
    if names.allow(request.headers()) {
        next.run(request).await
    } else {
        let reason = "available only to browsers and programs on this machine: open the address that Loadline printed\n";
        (StatusCode::FORBIDDEN, reason).into_response()
    }
}

/// Returns whether a request to change something comes from the live view's own page, or from a
/// program that sends the required header.
pub fn is_meant(headers: &HeaderMap) -> bool {
    let is = |name: &str, wanted: &str| headers.get(name).is_some_and(|value| value == wanted);
    is("sec-fetch-site", "same-origin")
        || !headers.contains_key("sec-fetch-site") && headers.contains_key(header::ORIGIN)
        || headers.contains_key("x-loadline")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_this_machine_under_its_own_name() {
        let names = AllowedNames::exactly(4711);
        let allowed: [&[_]; 4] = [
            &[("host", "127.0.0.1:4711")],
            &[("host", "LocalHost:4711")],
            &[
                ("host", "127.0.0.1:4711"),
                ("origin", "http://127.0.0.1:4711"),
            ],
            &[
                ("host", "localhost:4711"),
                ("origin", "http://localhost:4711"),
            ],
        ];
        for pairs in allowed {
            assert!(names.allow(&headers(pairs)), "{pairs:?}");
        }
        let refused: [&[_]; 9] = [
            &[],
            &[("host", "127.0.0.1")],
            &[("host", "127.0.0.1:4712")],
            &[("host", "rebound.test:4711")],
            &[("host", "127.0.0.1.rebound.test:4711")],
            &[("host", "127.0.0.1:4711"), ("host", "rebound.test:4711")],
            &[
                ("host", "127.0.0.1:4711"),
                ("origin", "http://rebound.test:4711"),
            ],
            &[
                ("host", "127.0.0.1:4711"),
                ("origin", "https://127.0.0.1:4711"),
            ],
            &[("host", "127.0.0.1:4711"), ("origin", "null")],
        ];
        for pairs in refused {
            assert!(!names.allow(&headers(pairs)), "{pairs:?}");
        }
    }

    #[test]
    fn a_tunnel_may_change_the_port_of_the_endpoint() {
        let names = AllowedNames::of_this_machine(9464);
        for host in ["127.0.0.1:9000", "localhost", "[::1]:9464", "[::1]"] {
            assert!(names.allow(&headers(&[("host", host)])), "{host}");
        }
        assert!(!names.allow(&headers(&[("host", "rebound.test:9464")])));
    }

    #[test]
    fn a_stop_is_meant_by_our_page_or_by_a_program_that_says_so() {
        assert!(is_meant(&headers(&[("sec-fetch-site", "same-origin")])));
        assert!(is_meant(&headers(&[("origin", "http://127.0.0.1:4711")])));
        assert!(is_meant(&headers(&[("x-loadline", "stop")])));
        assert!(!is_meant(&headers(&[])));
        assert!(!is_meant(&headers(&[("sec-fetch-site", "cross-site")])));
        let same_site = [
            ("sec-fetch-site", "same-site"),
            ("origin", "http://localhost:4711"),
        ];
        assert!(!is_meant(&headers(&same_site)));
    }
}
