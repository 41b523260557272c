//! Tunnels through a proxy with `CONNECT`, even for plain HTTP, as in Artillery's client.

use measure::{Fault, outcome::ProtocolFault};
use plan::Proxy;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::fault::socket_fault;
use codec::{Origin, encode};

/// Maximum size of the proxy's response, in bytes.
const MOST: usize = 16 << 10;

/// Requests a tunnel to an origin from a proxy. Fails if the proxy refuses or sends an invalid
/// response.
pub async fn tunnel(stream: &mut TcpStream, proxy: &Proxy, origin: &Origin) -> Result<(), Fault> {
    let request = request(proxy, origin);
    let written = stream.write_all(&request).await;
    written.map_err(|e| socket_fault(&e))?;
    let mut answer = Vec::with_capacity(256);
    loop {
        let n = stream.read_buf(&mut answer).await;
        match n.map_err(|e| socket_fault(&e))? {
            0 => return Err(Fault::ClosedEarly),
            _ if answer.len() > MOST => return Err(Fault::Protocol(ProtocolFault::HeadTooLarge)),
            _ => {}
        }
        if let Some(outcome) = connected(&answer) {
            return outcome;
        }
    }
}

fn request(proxy: &Proxy, origin: &Origin) -> Vec<u8> {
    let host = if origin.host.contains(':') {
        format!("[{}]:{}", origin.address(), origin.port)
    } else {
        format!("{}:{}", origin.host, origin.port)
    };
    let mut request = format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n").into_bytes();
    if let Some((user, password)) = &proxy.credentials {
        let line = format!("Proxy-Authorization: {}\r\n", encode::basic(user, password));
        request.extend_from_slice(line.as_bytes());
    }
    request.extend_from_slice(b"\r\n");
    request
}

/// Parses the part of the proxy's response received so far. Returns `None` if the response is
/// incomplete.
fn connected(answer: &[u8]) -> Option<Result<(), Fault>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut headers);
    match head.parse(answer) {
        Ok(httparse::Status::Partial) => None,
        // A server sends no bytes before it receives a request.
        Ok(httparse::Status::Complete(length)) => Some(match head.code {
            Some(200..=299) if length == answer.len() => Ok(()),
            Some(200..=299) => Err(Fault::Protocol(ProtocolFault::Trailing)),
            _ => Err(Fault::Proxy),
        }),
        Err(_) => Some(Err(Fault::Protocol(ProtocolFault::StatusLine))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_request_and_response_are_handled() {
        let proxy = Proxy {
            host: "p".into(),
            port: 3128,
            credentials: Some(("u".into(), "p".into())),
        };
        let origin = Origin {
            tls: true,
            host: "::1".into(),
            port: 443,
        };
        assert_eq!(
            request(&proxy, &origin),
            b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\nProxy-Authorization: Basic dTpw\r\n\r\n"
        );
        assert_eq!(connected(b"HTTP/1.1 200 Conn"), None);
        assert_eq!(connected(b"HTTP/1.1 200 OK\r\n\r\n"), Some(Ok(())));
        assert_eq!(
            connected(b"HTTP/1.1 407 No\r\n\r\n"),
            Some(Err(Fault::Proxy))
        );
        let trailing = Fault::Protocol(ProtocolFault::Trailing);
        assert_eq!(
            connected(b"HTTP/1.1 200 OK\r\n\r\nmore"),
            Some(Err(trailing))
        );
        assert!(matches!(connected(b"SSH-2.0\r\n\r\n"), Some(Err(_))));
    }
}
