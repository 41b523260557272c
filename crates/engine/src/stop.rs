//! How a run is told to end: first no new arrivals and a drain, then at once. Signals and stop rules both come here.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU8, AtomicU64, Ordering},
};

/// The number of SIGHUP.
const HANG_UP: u8 = 1;
/// The number of SIGINT.
const INTERRUPT: u8 = 2;
/// The number of SIGTERM.
const TERMINATE: u8 = 15;

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

    /// Has SIGINT, SIGTERM and SIGHUP come to this handle from now on, and to no other: the first one drains, the second one aborts, and
    /// from the third one on `last` is called with its number.
    ///
    /// # Errors
    /// When the handlers cannot be installed.
    pub fn on_signals(&self, last: impl Fn(u8) + Send + 'static) -> std::io::Result<()> {
        let mut listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner);
        let listens_already = listener.is_some();
        *listener = Some(Listener {
            handle: self.clone(),
            last: Box::new(last),
            came: 0,
        });
        if listens_already {
            return Ok(());
        }
        listen().inspect_err(|_| *listener = None)
    }
}

/// Whom signals are for. One at a time: of what came before the load, and of what comes behind it, nobody waits any more.
static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);

struct Listener {
    handle: StopHandle,
    last: Box<dyn Fn(u8) + Send>,
    came: u64,
}

impl Listener {
    fn hear(&mut self, number: u8) {
        self.came += 1;
        if self.came > 2 {
            (self.last)(number);
        }
        let signal = &self.handle.0.signal;
        let _ = signal.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        self.handle.stop();
    }
}

/// Listens on a thread of its own, for as long as the process lives.
fn listen() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let guard = runtime.enter();
    let mut numbers = vec![INTERRUPT, TERMINATE];
    if !is_ignored(HANG_UP) {
        numbers.push(HANG_UP);
    }
    let listen = |n: u8| Ok((n, signal(SignalKind::from_raw(n.into()))?));
    let mut signals = numbers
        .into_iter()
        .map(listen)
        .collect::<std::io::Result<Vec<_>>>()?;
    drop(guard);
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(move || {
        runtime.block_on(async move {
            loop {
                let number = std::future::poll_fn(|cx| {
                    let mut listening = signals.iter_mut();
                    let came = listening.find_map(|(number, signal)| {
                        signal.poll_recv(cx).is_ready().then_some(*number)
                    });
                    came.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
                })
                .await;
                let mut listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(listener) = listener.as_mut() {
                    listener.hear(number);
                }
            }
        });
    })?;
    Ok(())
}

/// Whether whoever started the process had it ignore a signal, as `nohup` does: then it stays so.
fn is_ignored(number: u8) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return false;
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (number - 1)) != 0)
}
