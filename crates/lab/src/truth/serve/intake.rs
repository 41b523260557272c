//! Accepts connections, reads requests, and determines the arrival time and result of each request.

use std::cmp::Reverse;
use std::io;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};

use super::{ACCEPT_PAUSE, IN_A_ROW, LISTENER, Serve};
use crate::clock;
use crate::truth::answers::CONTINUE;
use crate::truth::conn::{Brought, Conn, Intake, Pending, What};
use crate::truth::journal::RequestEntry;
use crate::truth::mode::{Decision, Fate};
use crate::truth::reader::{FinishedRequest, ReadRefusal, Target};

impl Serve {
    pub(super) fn accept(&mut self) -> io::Result<()> {
        for _ in 0..IN_A_ROW {
            let Some(listener) = &self.listener else {
                return Ok(());
            };
            match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => {
                    let _ = sockopt::set_tcp_nodelay(&socket, true);
                    let token = self.conns.insert(|number| Conn::new(number, socket));
                    if let Some(conn) = self.conns.get(token)
                        && let Some(socket) = &conn.socket
                        && self.poll.add(socket, token, conn.interest).is_err()
                    {
                        self.conns.remove(token);
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => {
                    self.accept_again = Some(self.now + ACCEPT_PAUSE);
                    return self.poll.change(listener, LISTENER, EventFlags::empty());
                }
            }
        }
        Ok(())
    }

    pub(super) fn accept_again_if_due(&mut self) -> io::Result<()> {
        if self.accept_again.is_some_and(|moment| moment <= self.now)
            && let Some(listener) = &self.listener
        {
            self.accept_again = None;
            self.poll.change(listener, LISTENER, EventFlags::IN)?;
        }
        Ok(())
    }

    pub(super) fn serve(&mut self, token: u64, flags: EventFlags) {
        let Some(conn) = self.conns.get(token) else {
            return;
        };
        if flags.contains(EventFlags::OUT) {
            conn.write_rest();
        }
        if conn.intake != Intake::Ended {
            self.read(token);
        } else if flags.intersects(EventFlags::HUP | EventFlags::ERR) {
            conn.vanish();
        }
        self.release(token);
        self.settle(token);
    }

    fn read(&mut self, token: u64) {
        let Some(conn) = self.conns.get(token) else {
            return;
        };
        let Brought::Bytes(n) = conn.read(&mut self.buffer) else {
            return;
        };
        self.now = clock::monotonic_ns();
        if conn.intake == Intake::Discard {
            return;
        }
        let bytes = self.buffer.get(..n).unwrap_or_default();
        let wants_ids = self.ledger.wants_ids();
        let fed = conn.reader.feed(bytes, wants_ids, &mut self.requests);
        let mut requests = std::mem::take(&mut self.requests);
        for request in requests.drain(..) {
            self.arrive(token, request);
        }
        self.requests = requests;
        let Some(conn) = self.conns.get(token) else {
            return;
        };
        if let Err(ReadRefusal(code)) = fed {
            conn.intake = Intake::Discard;
            self.enqueue(token, self.now, |turn| Pending {
                turn,
                what: What::Refusal(code),
                is_head: false,
                keep_alive: false,
                entry: None,
            });
        } else if conn.reader.wants_continue() && conn.queue.is_empty() && !conn.muted {
            conn.send(CONTINUE);
        }
    }

    fn arrive(&mut self, token: u64, request: FinishedRequest) {
        let Some(conn) = self.conns.get(token) else {
            return;
        };
        if conn.intake == Intake::Discard {
            return;
        }
        if !request.keep_alive {
            conn.intake = Intake::Discard;
        }
        let (what, due, reported) = match request.target {
            Target::Stats => (What::Stats, self.now, None),
            Target::Unknown => (What::Refusal(404), self.now, None),
            Target::Any => {
                let arrival = self.now;
                self.last_arrival = arrival;
                self.ledger.received(arrival);
                let decision = self.server.arrive(arrival);
                let reported = entry(request.id, conn.number, arrival, &decision);
                match decided(decision.fate).filter(|_| !conn.muted) {
                    Some((what, due)) => (what, due, Some(reported)),
                    None => {
                        conn.muted = true;
                        self.ledger.never(RequestEntry {
                            due: None,
                            ..reported
                        });
                        return;
                    }
                }
            }
        };
        self.enqueue(token, due, |turn| Pending {
            turn,
            what,
            is_head: request.is_head,
            keep_alive: request.keep_alive,
            entry: reported,
        });
    }

    fn enqueue(&mut self, token: u64, due: u64, make: impl FnOnce(u64) -> Pending) {
        // Ignore requests after one that is never answered, because HTTP/1.1 responses must be in
        // order.
        let Some(conn) = self.conns.get(token).filter(|conn| !conn.muted) else {
            return;
        };
        let turn = due.max(conn.last_turn);
        conn.last_turn = turn;
        conn.queue.push_back(make(turn));
        if turn > self.now {
            self.turns.push(Reverse((turn, self.turns_set, token)));
            self.turns_set += 1;
        }
    }
}

fn entry(id: Option<Box<[u8]>>, conn: u64, arrival: u64, decision: &Decision) -> RequestEntry {
    RequestEntry {
        id,
        n: decision.n,
        conn,
        arrival,
        service: decision.service,
        due: decided(decision.fate).map(|(_, due)| due),
        release: None,
        code: None,
        gone: false,
    }
}

fn decided(fate: Fate) -> Option<(What, u64)> {
    match fate {
        Fate::Answer { due } => Some((What::Ok, due)),
        Fate::Error { due } => Some((What::Error, due)),
        Fate::Reset { due, when } => Some((What::Reset(when), due)),
        Fate::Never => None,
    }
}
