//! Reads the body of every request to its end before the lab sees the request.
//! Otherwise a lab that refuses early (401, 404, 405) leaves a body unread that arrives in a later packet, and the HTTP library
//! then closes the connection: the client's next request would fail, now and then, for no reason that the client could name.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use hyper::body::{Body as HttpBody, Frame};

/// What axum's extractors accept as well.
const MAX_BODY: usize = 2 * 1024 * 1024;

/// The same request with its body in memory. A body that breaks off or is too large fails when the lab reads it, so that each
/// lab can refuse it in its own form.
pub(crate) async fn read_whole(request: Request) -> Request {
    if request.body().is_end_stream() {
        return request;
    }
    let (head, body) = request.into_parts();
    let body = match to_bytes(body, MAX_BODY).await {
        Ok(bytes) => Body::from(bytes),
        Err(error) => Body::new(Unreadable(Some(error.into_inner()))),
    };
    Request::from_parts(head, body)
}

/// A body that has failed already.
struct Unreadable(Option<BoxError>);

impl HttpBody for Unreadable {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(self.0.take().map(Err))
    }
}
