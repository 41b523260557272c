//! How a run is told to end: first no new arrivals and a drain, then at once. Signals and stop rules both come here.

use std::sync::{
    Arc,
    atomic::{AtomicU8, AtomicU64, Ordering},
};

/// The number of SIGINT.
const INTERRUPT: u8 = 2;

/// How urgently the run shall end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Urgency {
    /// It runs.
    None,
    /// No new arrivals; what is under way may finish.
    Drain,
    /// What is under way is given up.
    Abort,
}

/// Tells a run to end. Cheap to copy; workers look at it a hundred times a second.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    urgency: AtomicU8,
    signal: AtomicU8,
    /// When the first stop came, in nanoseconds from the start of the test plus one; 0: never.
    at: AtomicU64,
    /// Why it came, where it was no signal.
    reason: std::sync::OnceLock<&'static str>,
}

impl StopHandle {
    /// Asks for an end; asking a second time makes it urgent.
    pub fn stop(&self) {
        let first = self
            .0
            .urgency
            .compare_exchange(
                0,
                Urgency::Drain as u8,
                Ordering::Relaxed,
                Ordering::Relaxed,
            )
            .is_ok();
        if !first {
            self.0
                .urgency
                .store(Urgency::Abort as u8, Ordering::Relaxed);
        }
    }

    /// Asks for an end as Ctrl-C does, for a reason that is told instead of the signal's name. Asking again changes nothing: a
    /// button that is pressed twice is no hurry.
    pub fn ask(&self, reason: &'static str) {
        let none = Urgency::None as u8;
        let drain = Urgency::Drain as u8;
        let urgency = &self.0.urgency;
        let first = urgency.compare_exchange(none, drain, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_ok() {
            let _ = self.0.reason.set(reason);
            self.0.signal.store(INTERRUPT, Ordering::Relaxed);
        }
    }

    /// Ends the run at once, because something has failed.
    pub fn fail(&self, reason: &'static str) {
        let _ = self.0.reason.set(reason);
        self.0
            .urgency
            .store(Urgency::Abort as u8, Ordering::Relaxed);
    }

    /// Why the run was ended, where it was no signal.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        self.0.reason.get().copied()
    }

    /// How urgent it is.
    #[must_use]
    pub fn urgency(&self) -> Urgency {
        match self.0.urgency.load(Ordering::Relaxed) {
            0 => Urgency::None,
            1 => Urgency::Drain,
            _ => Urgency::Abort,
        }
    }

    /// The number of the signal that asked, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<u8> {
        Some(self.0.signal.load(Ordering::Relaxed)).filter(|n| *n > 0)
    }

    pub(crate) fn noticed(&self, now_ns: u64) {
        let _ = self
            .0
            .at
            .compare_exchange(0, now_ns + 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// When workers noticed the first request to stop, in nanoseconds from the start of the test.
    #[must_use]
    pub fn noticed_at(&self) -> Option<u64> {
        self.0.at.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Listens for SIGINT and SIGTERM on a thread of its own, for as long as the process lives: the first one drains, the
    /// second one aborts.
    ///
    /// # Errors
    /// When the handlers cannot be installed.
    pub fn on_signals(&self) -> std::io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let guard = runtime.enter();
        let (mut interrupt, mut terminate) = (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        );
        drop(guard);
        let handle = self.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                runtime.block_on(async move {
                    loop {
                        let number = std::future::poll_fn(|cx| {
                            if interrupt.poll_recv(cx).is_ready() {
                                return std::task::Poll::Ready(INTERRUPT);
                            }
                            terminate.poll_recv(cx).map(|_| 15)
                        })
                        .await;
                        let _ = handle.0.signal.compare_exchange(
                            0,
                            number,
                            Ordering::Relaxed,
                            Ordering::Relaxed,
                        );
                        handle.stop();
                    }
                });
            })?;
        Ok(())
    }
}
