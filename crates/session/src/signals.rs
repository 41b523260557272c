//! Signals: one catcher for the whole process, to which whatever runs at the moment says that it wants to hear. The first signal drains,
//! the second aborts, the third ends the process; where nothing runs, the first one does.

use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::{Cause, StopHandle};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{exit, messages::SharedVoice};

/// The number of SIGHUP.
const HANG_UP: u8 = 1;
/// The number of SIGINT.
const INTERRUPT: u8 = 2;
/// The number of SIGTERM.
const TERMINATE: u8 = 15;
/// So many signals are asked politely.
const POLITE: u64 = 2;
/// The number of SIGXFSZ, by which a file size limit (`ulimit -f`) ends a process that does not catch it.
const FILE_SIZE: i32 = 25;

/// Who wants to hear, the newest last: it alone is told.
static LISTENERS: Mutex<Listeners> = Mutex::new(Listeners {
    all: Vec::new(),
    next: 0,
    catching: false,
});

struct Listeners {
    all: Vec<Listener>,
    next: u64,
    /// Whether the catcher is there; it lives as long as the process.
    catching: bool,
}

struct Listener {
    number: u64,
    stop: StopHandle,
    voice: SharedVoice,
    /// What is said before the end at once.
    kept: String,
    came: u64,
}

/// Whoever holds this hears of signals; until it is dropped.
#[derive(Debug)]
pub struct SignalGuard(u64);

impl Drop for SignalGuard {
    fn drop(&mut self) {
        listeners().all.retain(|listener| listener.number != self.0);
    }
}

fn listeners() -> MutexGuard<'static, Listeners> {
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has SIGINT, SIGTERM and SIGHUP come to this run, or whatever else is under way, from now on. What of it is `kept` is said should the process end at once.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn hear(stop: &StopHandle, kept: String, voice: &SharedVoice) -> std::io::Result<SignalGuard> {
    let mut listeners = listeners();
    if !listeners.catching {
        catch()?;
        listeners.catching = true;
    }
    let number = listeners.next;
    listeners.next += 1;
    listeners.all.push(Listener {
        number,
        stop: stop.clone(),
        voice: voice.clone(),
        kept,
        came: 0,
    });
    Ok(SignalGuard(number))
}

/// A signal came.
fn came(number: u8) {
    let mut listeners = listeners();
    let Some(listener) = listeners.all.last_mut() else {
        // Nothing is under way that could be lost: as if nobody had ever listened.
        engine::exit_at_once(exit::of_signal(number));
    };
    listener.came += 1;
    if listener.came > POLITE {
        let kept = &listener.kept;
        let line = format_args!("ended at once; {kept}");
        listener.voice.last_words(&line);
        engine::exit_at_once(exit::of_signal(number));
    }
    listener.stop.stop(Cause::Signal(number));
}

/// Listens on a thread of its own, for as long as the process lives.
fn catch() -> std::io::Result<()> {
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
        .collect::<std::io::Result<Vec<(u8, Signal)>>>()?;
    // Caught, writing beyond the limit is an error like that of a full disk. The handler stays when this is dropped.
    drop(signal(SignalKind::from_raw(FILE_SIZE))?);
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
                came(number);
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
