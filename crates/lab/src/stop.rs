//! Detects when the command `lab` or `mock` must end: on SIGTERM, on SIGINT or, if requested, at
//! the end of standard input.

use std::io;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::LabError;

pub struct Stop {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
    stdin_closed: Option<oneshot::Receiver<()>>,
}

impl Stop {
    /// Installs the signal handlers. No later signal is lost, even before anything waits for it.
    /// Fails if the system refuses.
    pub fn listen(until_stdin_closes: bool) -> Result<Self, LabError> {
        Self::try_listen(until_stdin_closes).map_err(LabError::Runtime)
    }

    fn try_listen(until_stdin_closes: bool) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let context = runtime.enter();
        let terminate = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        let stdin_closed = until_stdin_closes.then(watch_stdin).transpose()?;
        drop(context);
        Ok(Self {
            runtime,
            terminate,
            interrupt,
            stdin_closed,
        })
    }

    pub fn wait_alone(self) {
        let (_never, ended) = oneshot::channel();
        self.wait(ended);
    }

    pub(crate) fn wait(mut self, ended: oneshot::Receiver<()>) {
        let stdin_closed = async {
            match self.stdin_closed {
                Some(closed) => drop(closed.await),
                None => std::future::pending().await,
            }
        };
        self.runtime.block_on(async {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
                () = stdin_closed => {}
                _ = ended => {}
            }
        });
    }
}

fn watch_stdin() -> io::Result<oneshot::Receiver<()>> {
    let (closed, receiver) = oneshot::channel();
    std::thread::Builder::new()
        .name("lab-stdin".to_owned())
        .spawn(move || {
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            let _ = closed.send(());
        })?;
    Ok(receiver)
}
