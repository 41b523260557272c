//! Labs on axum: serves connections and ends cleanly, HTTP/1.1 with keep-alive on one thread.
//! Knows nothing of any lab's routes. Labs whose timing matters do without this file.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::MissedTickBehavior;

use crate::log::RequestLog;
use crate::observe::{self, LabObserver};
use crate::sidecar::Sidecar;
use crate::{Bound, LabError, LabOptions, Routes, listen};

/// How often the log is flushed; the promise is "at least once a second".
const FLUSH_EVERY: Duration = Duration::from_millis(500);
/// How long answers under way may take when the lab ends; the promise is "within a second".
const GRACE: Duration = Duration::from_millis(500);
/// How long to leave `accept` alone when the process is out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Opens what the lab needs and takes its port.
pub(crate) fn bind(
    options: &LabOptions,
    routes: fn(&LabOptions) -> Result<Routes, LabError>,
) -> Result<Bound, LabError> {
    let log = options.log.as_deref().map(RequestLog::create).transpose()?;
    let tally = Arc::new(LabObserver::new(log));
    let mut routes = routes(options)?;
    let sidecar = routes.sidecar.take();
    let scheme_and_address = sidecar
        .as_ref()
        .map(|sidecar| (sidecar.scheme, sidecar.address));
    let background = routes.background.take();
    let router = observe::attach(routes, &tally);
    let (listener, address) = listen::on(options)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(LabError::Runtime)?;
    let context = runtime.enter();
    let listener = TcpListener::from_std(listener).map_err(LabError::Runtime)?;
    drop(context);
    let (stop, stopped) = oneshot::channel::<()>();
    Ok(Bound {
        address,
        sidecar: scheme_and_address,
        serve: Box::new(move || {
            // It ends with the other end of its handle.
            let _sidecar = sidecar.map(Sidecar::begin).transpose()?;
            // Both a message and a sender that is gone mean "stop".
            let stopped = async { drop(stopped.await) };
            if let Some(background) = background {
                runtime.spawn(background);
            }
            runtime.block_on(serve(listener, router, &tally, stopped));
            // Connections that outlived the grace end here, before the log is closed.
            drop(runtime);
            tally.finish()
        }),
        stop: Box::new(move || drop(stop)),
    })
}

/// Serves until `stop` is ready; then takes no new connections, closes idle ones and gives answers under way a short while.
async fn serve(
    listener: TcpListener,
    router: Router,
    tally: &LabObserver,
    stop: impl Future<Output = ()>,
) {
    let service = TowerToHyperService::new(router.with_state(()));
    let connections = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    // A client may vanish right after sending (kill -9 of a load generator). What it sent was received, so it is served and
    // counted like any other; without half_close hyper would drop such a request or not, depending on who is scheduled first.
    http.half_close(true).pipeline_flush(true);

    let mut flush = tokio::time::interval(FLUSH_EVERY);
    flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            _ = flush.tick(), if tally.logs() => tally.flush(),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let connection = http.serve_connection(prepare(stream), service.clone());
                    let watched = connections.watch(connection);
                    tokio::spawn(async move {
                        // How a connection ends is its client's affair.
                        let _ = watched.await;
                    });
                }
                // Mostly "too many open files"; the waiting connections stay in the backlog.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
}

fn prepare(stream: TcpStream) -> TokioIo<TcpStream> {
    // Fails only on a connection that is already gone, which serving it will find out.
    let _ = stream.set_nodelay(true);
    TokioIo::new(stream)
}
