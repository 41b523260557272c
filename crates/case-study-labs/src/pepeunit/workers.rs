//! A server of so many workers, each of which does one thing at a time: what is too much waits in line.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};
use tokio::sync::Semaphore;

/// How long a request keeps a worker busy: four of them do about 400 a second.
const BUSY: Duration = Duration::from_millis(10);

/// Has so many workers answer all routes that are there so far; none: as many as there are requests.
pub(super) fn attach(routes: Router, workers: Option<u64>) -> Router {
    let Some(workers) = workers else {
        return routes;
    };
    let free = Arc::new(Semaphore::new(workers as usize));
    routes.route_layer(middleware::from_fn_with_state(free, work))
}

async fn work(State(free): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    // It is never closed.
    let held = free.acquire_owned().await;
    tokio::time::sleep(BUSY).await;
    let response = next.run(request).await;
    drop(held);
    response
}
