//! The lab `mqtt`: a small broker for MQTT 3.1.1 and 5, with a third-party codec (mqtt-proto),
//! configurable faults and its own counts. It can also act as a fast sink that checks sequence
//! numbers. The same port serves `GET /__lab/stats`. It shares no code with the engine.

mod broker;
mod connection;
pub mod embedded;
mod faults;
mod framing;
mod gate;
mod sink;
mod topics;

use std::{cell::RefCell, net::TcpListener, rc::Rc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    time::Instant,
};

use crate::{Bound, LabEntry, LabError, LabKind, LabOptions, listen, plain_token};
use broker::{Broker, BrokerMessage};
use faults::Faults;
use sink::SinkCounts;

pub use gate::Gate;

const NAME: &str = "mqtt";

pub(crate) const LAB: LabEntry = LabEntry {
    name: NAME,
    help: "MQTT broker for 3.1.1 and 5 (counts over HTTP on the same port); mode=broker|sink, drop, duplicate, reorder=EVERY-Nth, refuse=EVERY-Nth, delay=TIME, throttle=MESSAGES/s, user=NAME:PASSWORD",
    extra: faults::OPTIONS,
    kind: LabKind::OwnLoop(bind),
    token: plain_token,
};

const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct BrokerState {
    faults: Faults,
    broker: RefCell<Broker>,
    sink: RefCell<SinkCounts>,
    gate: Option<Box<dyn Gate>>,
    later: Option<UnboundedSender<(Instant, BrokerMessage)>>,
}

impl BrokerState {
    fn deliver(&self, broker: &mut Broker, message: &BrokerMessage) {
        if let Some(gate) = self.gate.as_ref().filter(|_| self.later.is_none()) {
            gate.takes(&message.topic, &message.payload);
        }
        match &self.later {
            Some(later) => {
                let due = Instant::now() + self.faults.delay;
                let _ = later.send((due, message.clone()));
            }
            None => broker.deliver(message),
        }
    }
}

async fn answer(state: &BrokerState, asks: Option<UnboundedReceiver<embedded::Ask>>) {
    if let Some(mut asks) = asks {
        while let Some(to) = asks.recv().await {
            let _ = to.send(stats(state));
        }
    }
    std::future::pending().await
}

async fn deliver_later(
    state: &BrokerState,
    mut later: UnboundedReceiver<(Instant, BrokerMessage)>,
) {
    while let Some((due, message)) = later.recv().await {
        tokio::time::sleep_until(due).await;
        if let Some(gate) = &state.gate {
            gate.takes(&message.topic, &message.payload);
        }
        state.broker.borrow_mut().deliver(&message);
    }
}

fn bind(options: &LabOptions) -> Result<Bound, LabError> {
    let faults = Faults::read(NAME, options)?;
    if let Some(log) = &options.log {
        return Err(LabError::BadOption {
            lab: NAME,
            option: "--log".to_owned(),
            value: log.display().to_string(),
            advice: "messages are counted, not logged".to_owned(),
        });
    }
    let (listener, address) = listen::on(options)?;
    let (stop, stopped) = oneshot::channel::<()>();
    Ok(Bound {
        scheme: "http",
        address,
        sidecar: None,
        serve: Box::new(move || {
            let (state, delayed) = BrokerState::new(faults, None);
            serve(listener, state, delayed, None, stopped).map_err(LabError::Runtime)
        }),
        stop: Box::new(move || drop(stop)),
    })
}

impl BrokerState {
    fn new(
        faults: Faults,
        gate: Option<Box<dyn Gate>>,
    ) -> (BrokerState, UnboundedReceiver<(Instant, BrokerMessage)>) {
        let (later, delayed) = unbounded_channel();
        let state = BrokerState {
            later: (!faults.delay.is_zero()).then_some(later),
            broker: RefCell::new(Broker::default()),
            sink: RefCell::new(SinkCounts::default()),
            gate,
            faults,
        };
        (state, delayed)
    }
}

fn serve(
    listener: TcpListener,
    state: BrokerState,
    delayed: UnboundedReceiver<(Instant, BrokerMessage)>,
    asks: Option<UnboundedReceiver<embedded::Ask>>,
    stopped: oneshot::Receiver<()>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let local = tokio::task::LocalSet::new();
    let state = Rc::new(state);
    local.block_on(&runtime, async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::select! {
            _ = stopped => {}
            () = accept(&listener, &state) => {}
            () = deliver_later(&state, delayed), if state.later.is_some() => {}
            () = answer(&state, asks) => {}
        }
        Ok(())
    })
}

async fn accept(listener: &tokio::net::TcpListener, state: &Rc<BrokerState>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let state = Rc::clone(state);
                let _ = stream.set_nodelay(true);
                tokio::task::spawn_local(async move {
                    let _ = greet(stream, &state).await;
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn greet(stream: TcpStream, state: &Rc<BrokerState>) -> std::io::Result<()> {
    let mut first = [0];
    stream.peek(&mut first).await?;
    if first[0] != 0x10 {
        return send_stats(stream, state).await;
    }
    if state.faults.is_sink {
        return sink::serve(stream, state).await;
    }
    connection::serve(stream, state).await
}

async fn send_stats(mut stream: TcpStream, state: &BrokerState) -> std::io::Result<()> {
    let mut asked = Vec::new();
    let mut piece = [0; 1024];
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") && asked.len() < 16 << 10 {
        match stream.read(&mut piece).await? {
            0 => return Ok(()),
            n => asked.extend_from_slice(&piece[..n]),
        }
    }
    let (status, body) = if asked.starts_with(b"GET /__lab/stats ") {
        ("200 OK", stats(state).to_string())
    } else {
        let help =
            json!({ "error": "this is an MQTT broker: over HTTP there is GET /__lab/stats" });
        ("404 Not Found", help.to_string())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await
}

fn stats(state: &BrokerState) -> Value {
    if state.faults.is_sink {
        return state.sink.borrow().to_json();
    }
    state.broker.borrow().to_json()
}
