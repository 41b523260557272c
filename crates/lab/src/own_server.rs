//! Accepts connections on one thread, for labs that do not use axum.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::MissedTickBehavior;

use crate::{Bound, LabError, LabOptions, listen};

const FLUSH_EVERY: Duration = Duration::from_millis(500);
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// State shared by the connections of a lab.
pub(crate) trait LabState: Send + Sync + 'static {
    fn flush(&self);

    /// Completes the log. Fails if it is incomplete.
    fn finish(&self) -> Result<(), LabError>;
}

/// Binds a port and serves each connection with `serve`, which receives the connection's number.
/// Open connections are closed when the lab stops.
pub(crate) fn bind<S, F>(
    options: &LabOptions,
    scheme: &'static str,
    state: S,
    serve: fn(Arc<S>, TcpStream, u64) -> F,
) -> Result<Bound, LabError>
where
    S: LabState,
    F: Future<Output = ()> + Send + 'static,
{
    let (runtime, listener, address) = listen::with_runtime(options)?;
    let (stop, stopped) = oneshot::channel::<()>();
    Ok(Bound {
        scheme,
        address,
        sidecar: None,
        serve: Box::new(move || {
            let state = Arc::new(state);
            let stopped = async { drop(stopped.await) };
            runtime.block_on(accept(listener, &state, serve, stopped));
            drop(runtime);
            state.finish()
        }),
        stop: Box::new(move || drop(stop)),
    })
}

async fn accept<S, F>(
    listener: TcpListener,
    state: &Arc<S>,
    serve: fn(Arc<S>, TcpStream, u64) -> F,
    stop: impl Future<Output = ()>,
) where
    S: LabState,
    F: Future<Output = ()> + Send + 'static,
{
    let mut flush = tokio::time::interval(FLUSH_EVERY);
    flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = pin!(stop);
    let mut number = 0;
    loop {
        tokio::select! {
            () = &mut stop => break,
            _ = flush.tick() => state.flush(),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(serve(Arc::clone(state), stream, number));
                    number += 1;
                }
                // The process has probably reached its limit on open files. Connections wait in the
                // backlog.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}
