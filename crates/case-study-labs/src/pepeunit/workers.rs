//! Workers that handle one request at a time. Other requests queue.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};
use tokio::sync::Semaphore;

/// Time to handle a request, so that four workers handle about 400 requests/s.
const BUSY: Duration = Duration::from_millis(10);

pub(super) fn attach(routes: Router, workers: Option<u64>) -> Router {
    let Some(workers) = workers else {
        return routes;
    };
    let free = Arc::new(Semaphore::new(workers as usize));
    routes.route_layer(middleware::from_fn_with_state(free, work))
}

async fn work(State(free): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    let held = free.acquire_owned().await;
    tokio::time::sleep(BUSY).await;
    let response = next.run(request).await;
    drop(held);
    response
}
