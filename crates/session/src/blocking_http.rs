//! Blocking HTTP/1.1 client for setup calls and metrics. Opens a new connection for each request.
//! Never used for the load.

use std::{
    io::{Read, Write},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, StreamOwned, pki_types::ServerName};

use crate::bounded::{self, Deadline, io_error_text};

/// Default time limit of an exchange, including the name lookup.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST: usize = 256 << 20;

/// A server that the client connects to.
#[derive(Clone)]
pub struct Base {
    tls: Option<Arc<ClientConfig>>,
    patience: Duration,
    most: usize,
    /// Host and port, as in a URL.
    pub authority: String,
    host: String,
    port: u16,
    credentials: Option<String>,
}

/// A request of the blocking client.
pub struct BlockingRequest<'a> {
    /// HTTP method.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// Additional headers.
    pub headers: &'a [(&'a str, &'a str)],
    /// Content type and body. `None` sends no body.
    pub body: Option<(&'a str, &'a [u8])>,
}

/// A complete response of the blocking client.
pub struct BlockingResponse {
    /// HTTP status code.
    pub status: u16,
    /// Body, with chunked encoding removed.
    pub body: Vec<u8>,
    /// Target of a redirect, as the server sent it.
    pub location: Option<String>,
}

impl Base {
    /// Creates a server from `host` or `host:port`.
    ///
    /// # Errors
    ///
    /// Fails if `authority` is invalid or TLS is not available.
    pub fn new(is_secure: bool, authority: &str) -> Result<Base, String> {
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let port = port
                    .parse()
                    .map_err(|_| format!("`{authority}`: the port is not a number"))?;
                (host, port)
            }
            _ => (authority, if is_secure { 443 } else { 80 }),
        };
        if host.is_empty() || host.contains('/') {
            return Err(format!(
                "`{authority}` is not a valid host: use example.com or example.com:8080"
            ));
        }
        let tls = is_secure.then(|| worker::net::tls::config(&plan::Http::default()));
        Ok(Base {
            tls: tls.transpose()?,
            patience: PATIENCE,
            most: MOST,
            authority: authority.to_owned(),
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            credentials: None,
        })
    }

    /// Splits an absolute URL, possibly with credentials, into the server and the path with query.
    ///
    /// # Errors
    ///
    /// Fails if the URL is invalid.
    pub fn of_url(url: &str) -> Result<(Base, String), String> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        if !matches!(scheme, "http" | "https") {
            let url = match plan::server::password_of(url) {
                Some(password) => url.replace(password, "‹redacted›"),
                None => url.to_owned(),
            };
            return Err(format!("`{url}` is not an http:// or https:// URL"));
        }
        let login = plan::server::credentials_of(authority)?;
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let base = Base {
            credentials: login.map(|(user, password)| {
                format!("Basic {}", BASE64.encode(format!("{user}:{password}")))
            }),
            ..Base::new(scheme == "https", host)?
        };
        Ok((base, path.to_owned()))
    }

    /// Sets the time limit of an exchange, including the name lookup.
    #[must_use]
    pub fn patient_for(self, patience: Duration) -> Base {
        Base { patience, ..self }
    }

    /// Sets the maximum size of a response in bytes.
    #[must_use]
    pub fn at_most(self, most: usize) -> Base {
        Base { most, ..self }
    }

    /// Sends the request and waits for the complete response.
    ///
    /// # Errors
    ///
    /// Fails if there is no complete response.
    pub fn send(&self, request: &BlockingRequest<'_>) -> Result<BlockingResponse, String> {
        let whole = self.carry(request);
        whole.map_err(|reason| {
            let path = request.path.split('?').next().unwrap_or_default();
            format!("{} {}{path}: {reason}", request.method, self.authority)
        })
    }

    fn carry(&self, request: &BlockingRequest<'_>) -> Result<BlockingResponse, String> {
        let deadline = Deadline::default();
        deadline.set(self.patience);
        let stream = bounded::connect(&self.host, self.port, &deadline)?;
        let Some(config) = &self.tls else {
            return exchange(stream, &self.head(request), request, self.most);
        };
        let name = ServerName::try_from(self.host.clone()).map_err(|e| e.to_string())?;
        let connection = ClientConnection::new(Arc::clone(config), name);
        let connection = connection.map_err(|e| e.to_string())?;
        exchange(
            StreamOwned::new(connection, stream),
            &self.head(request),
            request,
            self.most,
        )
    }

    fn head(&self, request: &BlockingRequest<'_>) -> String {
        let BlockingRequest { method, path, .. } = request;
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
            self.authority
        );
        let is_accept = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case("accept");
        if !request.headers.iter().any(is_accept) {
            head += "accept: application/json\r\n";
        }
        if let Some(credentials) = &self.credentials {
            head += &format!("authorization: {credentials}\r\n");
        }
        for (name, value) in request.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let (kind, length) = request
            .body
            .map_or(("", 0), |(kind, body)| (kind, body.len()));
        if !kind.is_empty() {
            head += &format!("content-type: {kind}\r\n");
        }
        head + &format!("content-length: {length}\r\n\r\n")
    }
}

fn exchange(
    mut stream: impl Read + Write,
    head: &str,
    request: &BlockingRequest<'_>,
    most: usize,
) -> Result<BlockingResponse, String> {
    let mut out = head.as_bytes().to_vec();
    out.extend_from_slice(request.body.map_or(&[][..], |(_, body)| body));
    stream
        .write_all(&out)
        .and_then(|()| stream.flush())
        .map_err(|e| io_error_text(&e))?;
    let (mut came, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let n = match stream.read(&mut piece) {
            Ok(n) => n,
            // Some servers end TLS without `close_notify`, so treat this as the end.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => 0,
            Err(error) => return Err(io_error_text(&error)),
        };
        came.extend_from_slice(&piece[..n]);
        if let Some(answer) = answer(&came, n == 0)? {
            return Ok(answer);
        }
        if n == 0 {
            return Err("the connection closed before the end of the response".to_owned());
        }
        if came.len() > most {
            return Err(format!(
                "the response is larger than the limit of {} MB",
                most >> 20
            ));
        }
    }
}

fn answer(bytes: &[u8], is_over: bool) -> Result<Option<BlockingResponse>, String> {
    let Some(head_end) = bytes.windows(4).position(|at| at == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]);
    let body = &bytes[head_end + 4..];
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1."));
    let status = status.and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or("the response is not valid HTTP")?;
    let header = |wanted: &str| {
        let mut all = head.split("\r\n").filter_map(|line| line.split_once(':'));
        all.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.trim().to_owned())
    };
    let whole =
        if header("transfer-encoding").is_some_and(|how| how.eq_ignore_ascii_case("chunked")) {
            unchunked(body)?
        } else if let Some(length) = header("content-length") {
            let length: usize = length
                .parse()
                .map_err(|_| "the response has an invalid length")?;
            body.get(..length).map(<[u8]>::to_vec)
        } else if status == 204 {
            Some(Vec::new())
        } else {
            is_over.then(|| body.to_vec())
        };
    let location = header("location");
    Ok(whole.map(|body| BlockingResponse {
        status,
        body,
        location,
    }))
}

fn unchunked(mut rest: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut whole = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|at| at == b"\r\n") else {
            return Ok(None);
        };
        let size = String::from_utf8_lossy(&rest[..end]);
        let size = size.split(';').next().unwrap_or_default().trim().to_owned();
        let size =
            usize::from_str_radix(&size, 16).map_err(|_| "the response has an invalid chunk")?;
        let Some(chunk) = rest[end + 2..].get(..size) else {
            return Ok(None);
        };
        if size == 0 {
            return Ok(Some(whole));
        }
        whole.extend_from_slice(chunk);
        rest = rest.get(end + 4 + size..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str, is_over: bool) -> Option<String> {
        let answer = answer(text.as_bytes(), is_over).unwrap();
        answer.map(|answer| String::from_utf8(answer.body).unwrap())
    }

    #[test]
    fn answers_are_whole_or_none() {
        let counted = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab";
        assert_eq!(body(counted, false), None);
        assert_eq!(body(&format!("{counted}c"), false).unwrap(), "abc");
        let chunked =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n";
        assert_eq!(body(chunked, false), None);
        assert_eq!(body(&format!("{chunked}0\r\n\r\n"), false).unwrap(), "abc");
        let to_the_end = "HTTP/1.0 200 OK\r\n\r\nabc";
        assert_eq!(body(to_the_end, false), None);
        assert_eq!(body(to_the_end, true).unwrap(), "abc");
        assert_eq!(body("HTTP/1.1 204 No Content\r\n\r\n", false).unwrap(), "");
        let endless = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nab";
        assert_eq!(body(endless, false), None);
        assert!(answer(b"220 smtp\r\n\r\n", true).is_err());
    }
}
