//! A downstream service of an instance, given as a URL or a delay.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Method, Request, Uri, header};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use lab::clock;
use lab::draw::{Draws, For};
use lab::timer::Timer;

const LARGEST: usize = 1 << 20;

#[derive(Debug)]
pub(super) enum CallError {
    Refused,
    NoAnswer,
    TimedOut,
}

pub(super) struct Downstream {
    pub(super) name: &'static str,
    kind: DownstreamKind,
}

enum DownstreamKind {
    Delay(Delay),
    Service(RemoteService),
}

pub(super) struct Delay {
    pub(super) timer: Arc<Timer>,
    pub(super) mean_ns: u64,
    pub(super) spread: f64,
    pub(super) draws: Draws,
    pub(super) drawn: AtomicU64,
}

pub(super) struct RemoteService {
    address: SocketAddr,
    host: String,
    base: String,
    patience: Duration,
    idle: Mutex<Vec<SendRequest<Body>>>,
}

impl Downstream {
    pub(super) fn delay(name: &'static str, delay: Delay) -> Self {
        Self {
            name,
            kind: DownstreamKind::Delay(delay),
        }
    }

    pub(super) fn service(name: &'static str, service: RemoteService) -> Self {
        Self {
            name,
            kind: DownstreamKind::Service(service),
        }
    }

    pub(super) async fn call(
        &self,
        method: &Method,
        path: &str,
        body: &Bytes,
    ) -> Result<(), CallError> {
        match &self.kind {
            DownstreamKind::Delay(delay) => {
                delay.wait().await;
                Ok(())
            }
            DownstreamKind::Service(service) => service.call(method, path, body).await,
        }
    }
}

impl Delay {
    async fn wait(&self) {
        let begun = clock::monotonic_ns();
        let n = self.drawn.fetch_add(1, Relaxed);
        let ns = drawn(self.draws, n, self.mean_ns, self.spread);
        self.timer.until(begun.saturating_add(ns)).await;
    }
}

/// Returns the n-th duration drawn from a log-normal distribution.
pub(super) fn drawn(draws: Draws, n: u64, mean_ns: u64, spread: f64) -> u64 {
    let variance = spread.mul_add(spread, 1.0).ln();
    let radius = (-2.0 * (1.0 - draws.uniform(n, For::Service)).ln()).sqrt();
    let normal = radius * (std::f64::consts::TAU * draws.uniform(n, For::Share)).cos();
    let factor = variance.sqrt().mul_add(normal, -variance / 2.0).exp();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "never negative, and the cast saturates"
    )]
    let ns = (mean_ns as f64 * factor).round() as u64;
    ns
}

impl RemoteService {
    pub(super) fn at(url: &str, patience: Duration) -> Result<Self, String> {
        let form = "use NAME=URL with a URL of the form http://HOST:PORT";
        let uri: Uri = url.parse().map_err(|_| form.to_owned())?;
        let host = uri.host().filter(|_| uri.scheme_str() == Some("http"));
        let host = host.ok_or(form)?;
        let port = uri.port_u16().unwrap_or(80);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let mut addresses = (bare, port)
            .to_socket_addrs()
            .map_err(|cause| format!("{host} cannot be resolved: {cause}"))?;
        Ok(Self {
            address: addresses
                .next()
                .ok_or_else(|| format!("{host} has no address"))?,
            host: format!("{host}:{port}"),
            base: uri.path().trim_end_matches('/').to_owned(),
            patience,
            idle: Mutex::default(),
        })
    }

    async fn call(&self, method: &Method, path: &str, body: &Bytes) -> Result<(), CallError> {
        let asked = self.ask(method, path, body);
        let status = match tokio::time::timeout(self.patience, asked).await {
            Ok(Some(status)) => status,
            Ok(None) => return Err(CallError::NoAnswer),
            Err(_) => return Err(CallError::TimedOut),
        };
        if status >= 400 {
            return Err(CallError::Refused);
        }
        Ok(())
    }

    async fn ask(&self, method: &Method, path: &str, body: &Bytes) -> Option<u16> {
        loop {
            let idle = self.idle().pop();
            let is_kept = idle.is_some();
            let mut connection = match idle {
                Some(idle) => idle,
                None => self.connect().await?,
            };
            if connection.ready().await.is_err() {
                if is_kept {
                    continue;
                }
                return None;
            }
            let request = Request::builder()
                .method(method)
                .uri(format!("{}{path}", self.base))
                .header(header::HOST, &self.host)
                .header(header::CONTENT_TYPE, "application/json");
            let request = request.body(Body::from(body.clone())).ok()?;
            match connection.send_request(request).await {
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    to_bytes(Body::new(answer.into_body()), LARGEST)
                        .await
                        .ok()?;
                    if !connection.is_closed() {
                        self.idle().push(connection);
                    }
                    return Some(status);
                }
                Err(error) if is_kept && error.is_canceled() => {}
                Err(_) => return None,
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<SendRequest<Body>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Option<SendRequest<Body>> {
        let stream = TcpStream::connect(self.address).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Some(sender)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_have_the_mean_and_the_spread_that_were_asked_for() {
        const N: u64 = 200_000;
        let all: Vec<f64> = (0..N)
            .map(|n| drawn(Draws::new(5), n, 1_100_000_000, 0.3) as f64)
            .collect();
        let mean = all.iter().sum::<f64>() / N as f64;
        let variance = all.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>() / N as f64;
        // Five standard errors equal 0.0034 of the mean.
        assert!((mean / 1.1e9 - 1.0).abs() < 0.004, "{mean}");
        assert!((variance.sqrt() / mean - 0.3).abs() < 0.01, "{variance}");
        let constant = (0..9).map(|n| drawn(Draws::new(5), n, 1_000, 0.0));
        assert!(constant.eq([1_000; 9]));
    }

    #[test]
    fn a_service_has_a_url_of_http() {
        let service = |url| RemoteService::at(url, Duration::from_secs(1));
        let at = service("http://127.0.0.1:81/base/").unwrap();
        assert_eq!(
            (at.host.as_str(), at.base.as_str()),
            ("127.0.0.1:81", "/base")
        );
        assert_eq!(service("http://[::1]").unwrap().address.port(), 80);
        for wrong in ["", "127.0.0.1:80", "https://127.0.0.1", "/path", "ftp://a"] {
            assert!(service(wrong).is_err(), "{wrong}");
        }
    }
}
