//! The broker as a part of another lab: on a port and a thread of its own, with an owner who decides about its clients.

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

use super::{Desk, Gate, faults::Faults, serve};
use crate::{LabError, Options, beside, listen};

/// A broker whose port is taken.
pub(crate) struct Beside {
    pub scheme: &'static str,
    pub address: SocketAddr,
    listener: TcpListener,
    faults: Faults,
    gate: Box<dyn Gate>,
    told: Told,
    asks: UnboundedReceiver<Ask>,
}

/// Asks the broker what it has counted, from another thread.
#[derive(Clone)]
pub(crate) struct Told(UnboundedSender<Ask>);

/// Where the answer goes.
pub(super) type Ask = Sender<Value>;

/// A broker that does not answer for so long is over.
const PATIENCE: Duration = Duration::from_secs(1);

impl Told {
    pub fn of(beside: &Beside) -> Told {
        beside.told.clone()
    }

    pub fn now(&self) -> Value {
        let (to, answer) = channel();
        // Nobody is there before it begins and behind its end.
        let _ = self.0.send(to);
        answer.recv_timeout(PATIENCE).unwrap_or_default()
    }
}

/// A broker that serves; it ends when this is dropped.
pub(crate) struct Serving {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// Takes a port for a broker of this owner, with the faults that the lab's options ask for.
pub(crate) fn beside(
    lab: &'static str,
    options: &Options,
    port: u16,
    gate: Box<dyn Gate>,
) -> Result<Beside, LabError> {
    let own = Options {
        port,
        ..options.clone()
    };
    let (listener, address) = listen::on(&own)?;
    let (told, asks) = unbounded_channel();
    Ok(Beside {
        scheme: "mqtt",
        address,
        listener,
        faults: Faults::read(lab, options)?,
        gate,
        told: Told(told),
        asks,
    })
}

impl Beside {
    /// Serves on a thread of its own.
    pub fn begin(self) -> Result<Serving, LabError> {
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("lab-broker".to_owned());
        let serving = thread.spawn(move || {
            let desk = Desk::new(self.faults, Some(self.gate));
            serve(self.listener, desk, Some(self.asks), stopped)
        });
        Ok(Serving {
            stop: Some(stop),
            thread: Some(serving.map_err(LabError::Runtime)?),
        })
    }
}

impl From<Beside> for beside::Beside {
    fn from(broker: Beside) -> Self {
        let (scheme, address) = (broker.scheme, broker.address);
        beside::Beside::new(scheme, address, move || Ok(Box::new(broker.begin()?)))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Whatever ended it, its clients have noticed.
            let _ = thread.join();
        }
    }
}
