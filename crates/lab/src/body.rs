//! Reads the whole request body before the lab handles the request. Without this, an early refusal
//! (401, 404, 405) would leave part of the body unread. The HTTP library would then close the
//! connection, and the client's next request would fail.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use hyper::body::{Body as HttpBody, Frame};

const MAX_BODY: usize = 2 * 1024 * 1024;

/// Returns the request with its body in memory. If the body is incomplete or too large, reading it
/// later fails.
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
