//! Serves labs with axum: HTTP/1.1 with keep-alive on one thread, and a clean shutdown.

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

const FLUSH_EVERY: Duration = Duration::from_millis(500);
const GRACE: Duration = Duration::from_millis(500);
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

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
    let (runtime, listener, address) = listen::with_runtime(options)?;
    let (stop, stopped) = oneshot::channel::<()>();
    Ok(Bound {
        scheme: "http",
        address,
        sidecar: scheme_and_address,
        serve: Box::new(move || {
            let _sidecar = sidecar.map(Sidecar::begin).transpose()?;
            let stopped = async { drop(stopped.await) };
            if let Some(background) = background {
                runtime.spawn(background);
            }
            runtime.block_on(serve(listener, router, &tally, stopped));
            drop(runtime);
            tally.finish()
        }),
        stop: Box::new(move || drop(stop)),
    })
}

async fn serve(
    listener: TcpListener,
    router: Router,
    tally: &LabObserver,
    stop: impl Future<Output = ()>,
) {
    let service = TowerToHyperService::new(router.with_state(()));
    let connections = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    // Count requests of clients that disconnect right after sending. Without `half_close`, hyper
    // would sometimes drop them.
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
                        let _ = watched.await;
                    });
                }
                // The process has probably reached its limit on open files. Connections wait in the
                // backlog.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
}

fn prepare(stream: TcpStream) -> TokioIo<TcpStream> {
    let _ = stream.set_nodelay(true);
    TokioIo::new(stream)
}
