//! Serves the lab's connections.

use std::future::poll_fn;
use std::sync::Arc;

use axum::Router;
use axum::http::{Request, Response, StatusCode};
use axum::routing::get;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::counts::Counts;
use super::settings::Http2Config;
use crate::draw::Draws;
use crate::own_server::LabState;
use crate::timer::Timer;
use crate::{LabError, clock};

const WINDOW: u32 = 16 << 20;

pub(super) struct Http2State {
    pub(super) config: Http2Config,
    pub(super) counts: Counts,
    pub(super) seed: u64,
    pub(super) timer: Timer,
}

impl LabState for Http2State {
    fn flush(&self) {
        self.counts.flush();
    }

    fn finish(&self) -> Result<(), LabError> {
        self.counts.finish()
    }
}

/// Serves one connection. Without TLS, its first bytes determine the protocol.
pub(super) async fn connection(state: Arc<Http2State>, stream: TcpStream, number: u64) {
    let Some(tls) = &state.config.tls else {
        let mut first = [0; 3];
        match stream.peek(&mut first).await {
            Ok(0) | Err(_) => {}
            Ok(length) if b"PRI".starts_with(&first[..length]) => {
                serve_h2(state, stream, number).await;
            }
            Ok(_) => serve_http1(state, stream).await,
        }
        return;
    };
    match tls.accept(stream).await {
        Ok(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
            serve_h2(state, stream, number).await;
        }
        Ok(stream) => serve_http1(state, stream).await,
        Err(_) => state.counts.totals().tls_failures += 1,
    }
}

async fn serve_http1(
    state: Arc<Http2State>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) {
    let stats = async move || axum::Json(state.counts.to_json());
    let other = async || {
        (
            StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            "this lab speaks HTTP/2\n",
        )
    };
    let routes: Router = Router::new()
        .route("/__lab/stats", get(stats))
        .fallback(other);
    let service = TowerToHyperService::new(routes);
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn serve_h2(
    state: Arc<Http2State>,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    number: u64,
) {
    let handshake = h2::server::Builder::new()
        .max_concurrent_streams(state.config.max_streams)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .handshake::<_, Bytes>(stream);
    let Ok(mut connection) = handshake.await else {
        return;
    };
    state.counts.totals().connections += 1;
    let mut requests = 0;
    while let Some(Ok((request, respond))) = connection.accept().await {
        requests += 1;
        if state.config.goaway_after == Some(requests) {
            connection.graceful_shutdown();
            state.counts.totals().goaways += 1;
        }
        tokio::spawn(answer(Arc::clone(&state), request, respond, number));
    }
}

/// A stream in progress, which is logged when it ends or the lab stops.
struct OpenStream {
    state: Arc<Http2State>,
    id: Option<String>,
    n: u64,
    connection: u64,
    stream: u32,
    arrival_ns: u64,
    release_ns: Option<u64>,
    code: Option<u16>,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.state.counts.totals().open -= 1;
        self.state.counts.log(&json!({
            "id": self.id,
            "arrival_ns": self.arrival_ns,
            "release_ns": self.release_ns,
            "code": self.code,
            "n": self.n,
            "conn": self.connection,
            "stream": self.stream,
        }));
    }
}

async fn answer(
    state: Arc<Http2State>,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    connection: u64,
) {
    let (head, body) = request.into_parts();
    let id = head.headers.get("x-request-id");
    let mut open = OpenStream {
        n: state.counts.received(connection),
        id: id.map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
        connection,
        stream: respond.stream_id().as_u32(),
        arrival_ns: clock::monotonic_ns(),
        release_ns: None,
        code: None,
        state,
    };
    let state = Arc::clone(&open.state);
    if Draws::new(state.seed).is_of(state.config.refuse, open.n) {
        respond.send_reset(Reason::REFUSED_STREAM);
        state.counts.totals().refused += 1;
        return;
    }
    let handled = async {
        let bytes = read_body(body).await?;
        open.arrival_ns = clock::monotonic_ns();
        state.counts.totals().body_bytes += bytes;
        state
            .timer
            .until(open.arrival_ns + state.config.service_ns)
            .await;
        Ok::<(), h2::Error>(())
    };
    let is_open = tokio::select! {
        handled = handled => handled.is_ok(),
        _ = poll_fn(|context| respond.poll_reset(context)) => false,
    };
    if is_open {
        open.release_ns = Some(clock::monotonic_ns());
    }
    if is_open && send(&mut respond, &state.config.body).is_ok() {
        open.code = Some(200);
        state.counts.totals().answered += 1;
    } else {
        state.counts.totals().cancelled += 1;
    }
}

async fn read_body(mut body: RecvStream) -> Result<u64, h2::Error> {
    let mut bytes = 0;
    while let Some(data) = body.data().await {
        let length = data?.len();
        bytes += length as u64;
        body.flow_control().release_capacity(length)?;
    }
    Ok(bytes)
}

fn send(respond: &mut SendResponse<Bytes>, body: &Bytes) -> Result<(), h2::Error> {
    let mut response = Response::new(());
    let headers = response.headers_mut();
    headers.insert(
        "content-type",
        axum::http::HeaderValue::from_static("text/plain"),
    );
    headers.insert("content-length", body.len().into());
    let mut stream = respond.send_response(response, body.is_empty())?;
    if !body.is_empty() {
        stream.send_data(body.clone(), true)?;
    }
    Ok(())
}
