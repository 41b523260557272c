//! Serves HTTP on a low-priority thread with a separate runtime until a run has ended.

use std::{
    future::Future,
    io,
    net::{SocketAddr, TcpListener},
    thread::JoinHandle,
    time::Duration,
};

use axum::{Router, serve::ListenerExt};

use crate::messages::SharedMessageSink;

/// Maximum time to send the end of the run to clients.
const GRACE: Duration = Duration::from_secs(1);
/// Priority below that of the collector. A page may be late, but a record may not.
const NICENESS: i32 = 15;

/// A port with its routes.
pub(crate) struct HttpServer {
    pub listener: TcpListener,
    pub routes: Router,
}

/// Opens a port. `flag` is the flag that requests it.
pub(crate) fn bind(flag: &str, address: SocketAddr) -> Result<TcpListener, String> {
    let listener = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|reason| {
        format!(
            "{flag}: cannot listen on {address}: {reason}; use another port, or 0 for any free one"
        )
    })
}

pub(crate) fn local(listener: &TcpListener) -> Result<SocketAddr, String> {
    listener.local_addr().map_err(|reason| reason.to_string())
}

/// Lowers the priority of the calling thread.
pub(crate) fn lower_priority() {
    let thread = rustix::thread::gettid();
    let _ = rustix::process::setpriority_process(Some(thread), NICENESS);
}

/// Serves on a thread until `ended` is ready, and at most a second longer. Failures cause warnings
/// about `what`.
pub(crate) fn serve<E>(
    what: &'static str,
    servers: Vec<HttpServer>,
    ended: impl Fn() -> E + Send + 'static,
    sink: &SharedMessageSink,
) -> io::Result<JoinHandle<()>>
where
    E: Future<Output = ()> + Send + 'static,
{
    let sink = sink.clone();
    let thread = std::thread::Builder::new().name("live".into());
    thread.spawn(move || {
        lower_priority();
        if let Err(reason) = run(what, servers, ended, &sink) {
            sink.warning(&format_args!("{what} is not available: {reason}"));
        }
    })
}

fn run<E>(
    what: &'static str,
    servers: Vec<HttpServer>,
    ended: impl Fn() -> E,
    sink: &SharedMessageSink,
) -> io::Result<()>
where
    E: Future<Output = ()> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let serve = |server| tokio::spawn(serve_one(what, server, ended(), sink.clone()));
        let serving: Vec<_> = servers.into_iter().map(serve).collect();
        ended().await;
        let all = async {
            for server in serving {
                let _ = server.await;
            }
        };
        let _ = tokio::time::timeout(GRACE, all).await;
    });
    runtime.shutdown_background();
    Ok(())
}

async fn serve_one(
    what: &str,
    server: HttpServer,
    ended: impl Future<Output = ()> + Send + 'static,
    sink: SharedMessageSink,
) {
    let listener = match tokio::net::TcpListener::from_std(server.listener) {
        Ok(listener) => listener.tap_io(|stream| drop(stream.set_nodelay(true))),
        Err(reason) => {
            return sink.warning(&format_args!("{what} is not available: {reason}"));
        }
    };
    let served = axum::serve(listener, server.routes)
        .with_graceful_shutdown(ended)
        .await;
    if let Err(reason) = served {
        sink.warning(&format_args!("{what} stopped: {reason}"));
    }
}
