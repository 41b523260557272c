//! An open WebSocket connection of a virtual user, with its samples.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

use ::k6::{
    metric::{self, MetricId},
    tags::Tags,
};

use super::super::host::{Host, HostSocket, SocketEvent};

/// Maximum number of pings that wait for their pongs.
const MOST_PINGS: usize = 1024;
/// Close code for a connection that the script leaves open.
const GOING_AWAY: u16 = 1001;

/// A session on a WebSocket connection. It ends when the connection is closed, when its call
/// returns, or with its iteration.
pub struct SocketSession {
    host: Rc<dyn Host>,
    /// Connection. `None` after the end.
    socket: RefCell<Option<Rc<dyn HostSocket>>>,
    tags: Tags,
    began_ns: u64,
    /// Whether the client started to close the connection. Later events are dropped.
    is_closing: Cell<bool>,
    /// Numbers and times of pings without a pong.
    pings: RefCell<VecDeque<(u64, u64)>>,
    last_ping: Cell<u64>,
}

impl SocketSession {
    /// Creates a session whose start precedes the opening of the connection. It reports each
    /// message when the message has been written.
    pub fn new(
        host: Rc<dyn Host>,
        socket: Rc<dyn HostSocket>,
        tags: Tags,
        began_ns: u64,
    ) -> SocketSession {
        let (own, of_messages) = (Rc::clone(&host), tags.clone());
        socket.on_sent(Box::new(move |messages| {
            for _ in 0..messages {
                report(&*own, &of_messages, metric::WS_MSGS_SENT, 1.0);
            }
        }));
        SocketSession {
            host,
            socket: RefCell::new(Some(socket)),
            tags,
            began_ns,
            is_closing: Cell::default(),
            pings: RefCell::default(),
            last_ping: Cell::default(),
        }
    }

    /// Returns the connection. `None` after the end.
    pub fn socket(&self) -> Option<Rc<dyn HostSocket>> {
        self.socket.borrow().clone()
    }

    pub fn host(&self) -> &dyn Host {
        &*self.host
    }

    fn report(&self, metric: MetricId, value: f64) {
        report(&*self.host, &self.tags, metric, value);
    }

    /// Sends a ping whose payload is its number.
    pub fn ping(&self) -> Result<(), String> {
        let Some(socket) = self.socket() else {
            return Ok(());
        };
        let number = self.last_ping.get() + 1;
        self.last_ping.set(number);
        socket.ping(number.to_string().as_bytes())?;
        let mut pings = self.pings.borrow_mut();
        pings.push_back((number, self.host.now_ns()));
        if pings.len() > MOST_PINGS {
            pings.pop_front();
        }
        Ok(())
    }

    /// Reports the samples of an event.
    pub fn received(&self, event: &SocketEvent) {
        match event {
            SocketEvent::Text(_) | SocketEvent::Binary(_) => {
                if !self.is_closing.get() {
                    self.report(metric::WS_MSGS_RECEIVED, 1.0);
                }
            }
            SocketEvent::Pong(payload) => self.pong(payload),
            SocketEvent::Ping => {}
            SocketEvent::Closed { .. } => self.end(),
        }
    }

    fn pong(&self, payload: &[u8]) {
        let text = std::str::from_utf8(payload).ok();
        let number = text.and_then(|text| text.parse::<u64>().ok());
        let Some(number) = number else {
            return;
        };
        let mut pings = self.pings.borrow_mut();
        let Some(place) = pings.iter().position(|(known, _)| *known == number) else {
            return;
        };
        let (_, sent_ns) = pings[place];
        // One pong may answer several pings.
        pings.drain(..=place);
        drop(pings);
        let took_ns = self.host.now_ns().saturating_sub(sent_ns);
        self.report(metric::WS_PING, took_ns as f64 / 1e6);
    }

    /// Starts to close the connection.
    pub fn close(&self, code: u16, reason: &str) {
        self.is_closing.set(true);
        if let Some(socket) = self.socket() {
            socket.close(code, reason);
        }
    }

    /// Ends the session, and closes the connection if it is open.
    pub fn end(&self) {
        let Some(socket) = self.socket.take() else {
            return;
        };
        socket.close(GOING_AWAY, "");
        let took_ns = self.host.now_ns().saturating_sub(self.began_ns);
        self.report(metric::WS_SESSION_DURATION, took_ns as f64 / 1e6);
    }
}

/// Reports a sample, even for an iteration that is being interrupted.
fn report(host: &dyn Host, tags: &Tags, metric: MetricId, value: f64) {
    host.samples().add(host.wall_ns(), tags, &[(metric, value)]);
}
