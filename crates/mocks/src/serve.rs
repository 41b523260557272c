//! HTTP server of one mock. Paths below `/__mock/` control the mock itself.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request as HttpRequest, Response, header};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::clock;
use crate::deadlines::Deadlines;
use crate::log::Log;
use crate::state::{MockRequest, MockResponse, MockState, What, text_response};

const LARGEST: usize = 16 << 20;
const ACCEPT_PAUSE_NS: u64 = 20_000_000;

pub(crate) struct Site {
    pub(crate) name: String,
    pub(crate) broker_state: RefCell<MockState>,
    pub(crate) deadlines: Rc<Deadlines>,
    pub(crate) log: Option<Rc<RefCell<Log>>>,
}

#[derive(Debug)]
struct Reset;

impl fmt::Display for Reset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("reset")
    }
}

impl std::error::Error for Reset {}

pub(crate) async fn serve(listener: TcpListener, site: Rc<Site>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let site = Rc::clone(&site);
                tokio::task::spawn_local(async move {
                    let _ = connection(stream, site).await;
                });
            }
            // The process probably has too many open files. Connections wait in the backlog.
            Err(_) => {
                let again = clock::now_ns() + ACCEPT_PAUSE_NS;
                site.deadlines.until(again).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, site: Rc<Site>) -> Result<(), Box<dyn std::error::Error>> {
    stream.set_nodelay(true)?;
    let socket = Rc::new(stream.as_fd().try_clone_to_owned()?);
    let service = service_fn(move |request| {
        let (site, socket) = (Rc::clone(&site), Rc::clone(&socket));
        async move { answer(request, &site, &socket).await }
    });
    let mut http = http1::Builder::new();
    http.pipeline_flush(true);
    http.serve_connection(TokioIo::new(stream), service).await?;
    Ok(())
}

async fn answer(
    request: HttpRequest<Incoming>,
    site: &Site,
    socket: &OwnedFd,
) -> Result<Response<Full<Bytes>>, Reset> {
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, LARGEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => {
            return Ok(written(text_response(
                413,
                "the body is too large or incomplete",
            )));
        }
    };
    let target = head
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str());
    if let Some(asked) = target.strip_prefix("/__mock/") {
        return Ok(written(about(head.method.as_str(), asked, site)));
    }
    let arrival_ns = clock::now_ns();
    let request = MockRequest {
        method: head.method.as_str(),
        target,
        body: &body,
    };
    let fate = site.broker_state.borrow_mut().take(&request, arrival_ns);
    if matches!(fate.what, What::Silence) {
        site.broker_state.borrow_mut().ledger.silent(fate.route);
        std::future::pending::<Infallible>().await;
    }
    site.deadlines.until(fate.due_ns).await;
    let now_ns = clock::now_ns();
    let moments = [arrival_ns, fate.due_ns, now_ns];
    let code = match &fate.what {
        What::Answer(answer) => Some(answer.status),
        What::Reset | What::Silence => None,
    };
    // Count before writing, so that a client with a response always finds it counted.
    site.broker_state
        .borrow_mut()
        .ledger
        .released(fate.route, moments, code);
    if let Some(log) = &site.log {
        let id = head.headers.get("x-request-id");
        let id = id.and_then(|id| id.to_str().ok());
        log.borrow_mut().write(&site.name, id, moments, code);
    }
    match fate.what {
        What::Answer(answer) => Ok(written(answer)),
        What::Reset | What::Silence => {
            let no_linger = Some(std::time::Duration::ZERO);
            let _ = rustix::net::sockopt::set_socket_linger(socket, no_linger);
            Err(Reset)
        }
    }
}

fn about(method: &str, asked: &str, site: &Site) -> MockResponse {
    let reported = |value: serde_json::Value| MockResponse {
        status: 200,
        headers: vec![("content-type".into(), "application/json".into())],
        body: value.to_string().into(),
    };
    match (method, asked) {
        ("GET", "stats") => reported(site.broker_state.borrow().to_json()),
        ("POST", "begin") => {
            site.broker_state.borrow_mut().begin(clock::now_ns());
            reported(serde_json::json!({}))
        }
        _ => text_response(404, "available: GET /__mock/stats and POST /__mock/begin"),
    }
}

fn written(answer: MockResponse) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    let made = response.body(Full::new(answer.body));
    made.unwrap_or_else(|_| {
        let text = r#"{"error":"a header of this answer is no header"}"#;
        let mut refused = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
        *refused.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
        let kind = header::HeaderValue::from_static("application/json");
        refused.headers_mut().insert(header::CONTENT_TYPE, kind);
        refused
    })
}
