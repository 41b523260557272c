//! Streams the finished intervals as CSV. A separate thread reads them from the record at the
//! client's speed.

use std::{
    io::{self, BufWriter, Write},
    sync::Arc,
};

use axum::{
    body::Body,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use report::export;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::state::LatestState;

const PIECE: usize = 64 * 1024;
const PIECES: usize = 4;

/// Returns a response with all finished intervals.
pub async fn stream(newest: &Arc<LatestState>, seat: OwnedSemaphorePermit) -> Response {
    let mut states = newest.latest.watch();
    let Some(state) = newest.latest.newer(&mut states, None).await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let Some(dir) = &state.run.dir else {
        let reason = "there is no CSV: this run's record could not be written\n";
        return (StatusCode::NOT_FOUND, reason).into_response();
    };
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let disposition = format!("attachment; filename=\"{name}.csv\"");
    let (sender, receiver) = mpsc::channel(PIECES);
    tokio::task::spawn_blocking(move || {
        let mut out = BufWriter::with_capacity(PIECE, Pieces(&sender));
        let written = export::csv(&state.run, &mut out).and_then(|_| out.flush());
        if let Err(reason) = written {
            let _ = sender.blocking_send(Err(reason));
        }
        drop(seat);
    });
    let pieces = stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((piece, receiver))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

struct Pieces<'a>(&'a mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(piece)));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
