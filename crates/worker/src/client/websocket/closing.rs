//! The end of a connection: closed by the client, closed by the server, or lost.

use std::{rc::Rc, task::Poll};

use codec::websocket::{self, Close, FrameError};
use measure::{Fault, outcome::WebSocketFault};

use super::{
    ABNORMAL_CLOSURE, CLOSE_WAIT_NS, Claim, End, MAX_DISCARDED, MAX_UNREAD, NORMAL_CLOSURE,
    WebSocket, frame_fault,
};
use crate::deadlines::Limit;

impl WebSocket {
    /// Closes the connection, and waits up to a second for the server to close it too. Returns
    /// `false` if the run was aborted first.
    pub async fn close(mut self, code: u16, limit: &Rc<Limit>) -> bool {
        if self.ended.is_some() {
            return true;
        }
        self.begin_close(code, "");
        let until = self.worker.clock.now() + CLOSE_WAIT_NS;
        self.worker.deadlines.borrow_mut().limit(limit, until);
        self.await_close(limit).await;
        limit.disarm();
        !limit.is_aborted()
    }

    /// Closes the connection in the background.
    pub fn close_in_background(self) {
        self.close_in_background_with(NORMAL_CLOSURE, "");
    }

    /// Closes the connection in the background, with a code and a reason for the server. Data that
    /// still arrives is discarded without being counted, for at most a second and 1 MB.
    pub fn close_in_background_with(mut self, code: u16, reason: &str) {
        if self.ended.is_none() {
            // The task below never runs if the run ends now.
            self.begin_closing(code, reason);
        }
        let Some(limit) = self.closing.take() else {
            return;
        };
        self.keeps_control = false;
        self.counts_received = false;
        self.discards = self.discards.map(|left| left.min(MAX_DISCARDED));
        tokio::task::spawn_local(async move {
            self.await_close(&limit).await;
            limit.retire();
        });
    }

    pub(super) fn begin_close(&mut self, code: u16, reason: &str) {
        self.open = None;
        self.count(|counts| counts.closed_here += 1);
        self.queue_close(code, reason);
        self.discards = Some(MAX_UNREAD);
        self.ended = Some(End {
            fault: Fault::WebSocket(WebSocketFault::NotConnected),
            code: None,
        });
    }

    /// Queues a close frame. The code 1005 stands for a frame without a code.
    pub(super) fn queue_close(&mut self, code: u16, reason: &str) {
        let mask = self.mask();
        let close = (code != 1005).then_some(Close { code, reason });
        if websocket::write_close(self.out.buffer(), mask, close).is_err() {
            let _ = websocket::write_close(self.out.buffer(), mask, None);
        }
    }

    async fn await_close(&mut self, limit: &Limit) {
        std::future::poll_fn(|cx| {
            // Check the limit first, because a server may never stop sending.
            if limit.poll(cx).is_ready() {
                let _ = self.poll_write(cx);
                return Poll::Ready(());
            }
            let read = self.poll_messages(cx, &mut |_, _| Claim::Unclaimed);
            read.map(|_| ())
        })
        .await;
    }

    pub(super) fn closed_by_server(&mut self, code: u16) -> Fault {
        let fault = Fault::WebSocket(match code {
            1000 | 1001 | 1005 => WebSocketFault::Closed,
            _ => WebSocketFault::ClosedWithError,
        });
        // A connection that the client closed has already been counted.
        if self.ended.is_none() {
            self.open = None;
            self.count(|counts| *counts.closed_by_server.entry(code).or_default() += 1);
            self.queue_close(code, "");
        }
        self.ended = Some(End {
            fault,
            code: Some(code),
        });
        fault
    }

    pub(super) fn violated(&mut self, error: FrameError) -> Fault {
        self.queue_close(error.close_code(), "");
        self.lost(frame_fault(error))
    }

    /// Records that the connection ended without a close frame. Returns the fault for the step.
    pub(super) fn lost(&mut self, fault: Fault) -> Fault {
        let fault = match fault.class() {
            measure::NoAnswer::Reset => Fault::WebSocket(WebSocketFault::Lost),
            _ => fault,
        };
        if self.ended.is_none() {
            self.open = None;
            self.count(|counts| counts.lost += 1);
            self.ended = Some(End {
                fault,
                code: Some(ABNORMAL_CLOSURE),
            });
        }
        fault
    }
}
