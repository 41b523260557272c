//! Releases responses and resets when they are due. Reads the clock immediately before each write.

use std::cmp::Reverse;

use super::{IN_A_ROW, Serve};
use crate::clock;
use crate::truth::answers::WholeResponse;
use crate::truth::conn::{Conn, Pending, What};
use crate::truth::journal::RequestEntry;
use crate::truth::ledger::LabLedger;
use crate::truth::mode::{ModeServer, When};

impl Serve {
    pub(super) fn release_due(&mut self) {
        for _ in 0..IN_A_ROW {
            match self.turns.peek() {
                Some(&Reverse((turn, _, token))) if turn <= self.now => {
                    self.turns.pop();
                    self.release(token);
                    self.settle(token);
                }
                _ => return,
            }
        }
    }

    pub(super) fn release(&mut self, token: u64) {
        while let Some(conn) = self.conns.get(token)
            && let Some(pending) = conn.next(self.now)
        {
            self.now = clock::monotonic_ns();
            let (ledger, server) = (&mut self.ledger, &mut self.server);
            let made;
            let answer = match pending.what {
                What::Ok => self.answers.ok(pending.keep_alive),
                What::Error => self.answers.error(pending.keep_alive),
                What::Reset(when) => {
                    let half = (when == When::Half).then(|| self.answers.ok(pending.keep_alive));
                    reset(conn, pending, half, self.now, ledger, server);
                    return;
                }
                What::Stats => {
                    let text = ledger.to_json().to_string();
                    made = WholeResponse::new(
                        200,
                        "application/json",
                        text.as_bytes(),
                        pending.keep_alive,
                    );
                    &made
                }
                What::Refusal(code) => {
                    let text = refusal(code);
                    made =
                        WholeResponse::new(code, "text/plain", text.as_bytes(), pending.keep_alive);
                    &made
                }
            };
            // Count before writing, so that a client with a response always finds it counted.
            if pending.entry.is_some() {
                ledger.answered(answer.code, self.now.saturating_sub(pending.turn));
            }
            let present = conn.write(&answer.bytes, answer.length(pending.is_head));
            if !pending.keep_alive {
                conn.close_writing();
            }
            if let Some(reported) = pending.entry {
                let reported = RequestEntry {
                    release: Some(self.now),
                    code: Some(answer.code),
                    gone: !present,
                    ..reported
                };
                ledger.released(reported, server);
            }
        }
    }
}

fn reset(
    conn: &mut Conn,
    pending: Pending,
    half: Option<&WholeResponse>,
    now: u64,
    ledger: &mut LabLedger,
    server: &mut ModeServer,
) {
    ledger.reset(now.saturating_sub(pending.turn));
    let gone = conn.socket.is_none();
    if let Some(answer) = half {
        conn.write(&answer.bytes, answer.half(pending.is_head));
    }
    conn.reset();
    let ended = |reported| RequestEntry {
        release: Some(now),
        code: Some(0),
        gone,
        ..reported
    };
    if let Some(reported) = pending.entry {
        ledger.released(ended(reported), server);
    }
    for reported in conn.queue.drain(..).filter_map(|after| after.entry) {
        ledger.swept_away(ended(reported));
    }
}

fn refusal(code: u16) -> &'static str {
    match code {
        404 => "there is nothing here; try /__lab/stats\n",
        431 => "the head of the request is too long\n",
        501 => "the only transfer coding that the lab supports is chunked\n",
        _ => "this is not an HTTP/1.1 request\n",
    }
}
