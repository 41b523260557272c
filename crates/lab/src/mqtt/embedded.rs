//! A broker inside another lab, on its own port and thread. A [`Gate`] accepts or rejects clients
//! and messages.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::mpsc::{Sender, channel},
    thread::JoinHandle,
    time::Duration,
};

use serde_json::Value;
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};

use super::{BrokerState, Gate, faults::Faults, serve};
use crate::{LabError, LabOptions, listen, sidecar::Sidecar};

/// A broker whose port is bound but which does not serve yet.
pub struct EmbeddedBroker {
    scheme: &'static str,
    pub address: SocketAddr,
    listener: TcpListener,
    faults: Faults,
    gate: Box<dyn Gate>,
    counts: BrokerCounts,
    asks: UnboundedReceiver<Ask>,
}

#[derive(Clone)]
pub struct BrokerCounts(UnboundedSender<Ask>);

pub(super) type Ask = Sender<Value>;

const PATIENCE: Duration = Duration::from_secs(1);

impl BrokerCounts {
    #[must_use]
    pub fn now(&self) -> Value {
        let (to, answer) = channel();
        let _ = self.0.send(to);
        answer.recv_timeout(PATIENCE).unwrap_or_default()
    }
}

struct Serving {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// Binds a port for a broker with this gate and the fault options of the lab. Fails if the port is
/// in use or an option is invalid.
pub fn bind(
    lab: &'static str,
    options: &LabOptions,
    port: u16,
    gate: Box<dyn Gate>,
) -> Result<EmbeddedBroker, LabError> {
    let own = LabOptions {
        port,
        ..options.clone()
    };
    let (listener, address) = listen::on(&own)?;
    let (counts, asks) = unbounded_channel();
    Ok(EmbeddedBroker {
        scheme: "mqtt",
        address,
        listener,
        faults: Faults::read(lab, options)?,
        gate,
        counts: BrokerCounts(counts),
        asks,
    })
}

impl EmbeddedBroker {
    #[must_use]
    pub fn counts(&self) -> BrokerCounts {
        self.counts.clone()
    }

    fn begin(self) -> Result<Serving, LabError> {
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("lab-broker".to_owned());
        let serving = thread.spawn(move || {
            let (state, delayed) = BrokerState::new(self.faults, Some(self.gate));
            serve(self.listener, state, delayed, Some(self.asks), stopped)
        });
        Ok(Serving {
            stop: Some(stop),
            thread: Some(serving.map_err(LabError::Runtime)?),
        })
    }
}

impl From<EmbeddedBroker> for Sidecar {
    fn from(broker: EmbeddedBroker) -> Self {
        let (scheme, address) = (broker.scheme, broker.address);
        Sidecar::new(scheme, address, move || Ok(Box::new(broker.begin()?)))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
