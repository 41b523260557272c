//! When a lab (or a mock) that runs as a command ends: SIGTERM, SIGINT, or, if asked for, the end of standard input.
//! Only says when, on a thread that does nothing else; ending cleanly is the lab's part.

use std::io;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::LabError;

/// Everything that can ask the lab to end, already listened to.
pub struct Stop {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
    stdin_closed: Option<oneshot::Receiver<()>>,
}

impl Stop {
    /// Installs the handlers. From here on a signal is remembered, even if nobody waits yet.
    ///
    /// # Errors
    /// When the system gives no handler.
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

    /// Waits until it should end.
    pub fn wait_alone(self) {
        let (_never, ended) = oneshot::channel();
        self.wait(ended);
    }

    /// Waits until the lab should end, or until it has `ended` by itself.
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

/// Reads standard input to its end on a thread of its own: a read that cannot be cancelled must not hold up the loop or its
/// end. The thread lives as long as the process, which is over when the command is.
fn watch_stdin() -> io::Result<oneshot::Receiver<()>> {
    let (closed, receiver) = oneshot::channel();
    std::thread::Builder::new()
        .name("lab-stdin".to_owned())
        .spawn(move || {
            // An unreadable standard input is as good as a closed one.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            let _ = closed.send(());
        })?;
    Ok(receiver)
}
