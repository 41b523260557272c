//! The signal handler of the process, with listeners. The first signal drains the run, the second
//! aborts it, and the third ends the process. Without a listener, the first signal ends the
//! process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::signal::unix::{Signal, SignalKind, signal};
use worker::stop::{Cause, StopHandle};

use crate::{exit, messages::SharedMessageSink};

const HANG_UP: u8 = 1;
const INTERRUPT: u8 = 2;
const TERMINATE: u8 = 15;
/// Number of signals that are handled before the process exits immediately.
const POLITE: u64 = 2;
/// Signal number of SIGXFSZ. It ends a process that reaches a file size limit (`ulimit -f`), unless
/// the signal is caught.
const FILE_SIZE: i32 = 25;

static LISTENERS: Mutex<Listeners> = Mutex::new(Listeners {
    all: Vec::new(),
    next: 0,
    catching: false,
});

struct Listeners {
    all: Vec<Listener>,
    next: u64,
    catching: bool,
}

struct Listener {
    number: u64,
    stop: StopHandle,
    sink: SharedMessageSink,
    /// Message to print before an immediate exit.
    last_words: String,
    came: u64,
}

/// Receives signals until it is dropped.
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

/// Passes SIGINT, SIGTERM and SIGHUP to this stop handle. `kept` is printed if the process exits
/// immediately.
///
/// # Errors
///
/// Fails if the handlers cannot be installed.
pub fn hear(
    stop: &StopHandle,
    last_words: String,
    sink: &SharedMessageSink,
) -> std::io::Result<SignalGuard> {
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
        sink: sink.clone(),
        last_words,
        came: 0,
    });
    Ok(SignalGuard(number))
}

fn came(number: u8) {
    let mut listeners = listeners();
    let Some(listener) = listeners.all.last_mut() else {
        // No run is active, so exit as if there were no handler.
        worker::exit_at_once(exit::of_signal(number));
    };
    listener.came += 1;
    if listener.came > POLITE {
        let last_words = &listener.last_words;
        let line = format_args!("stopped immediately; {last_words}");
        listener.sink.last_words(&line);
        worker::exit_at_once(exit::of_signal(number));
    }
    listener.stop.stop(Cause::Signal(number));
}

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
    // If the signal is caught, a write beyond the limit returns an error, as on a full disk. The
    // handler stays installed after this drop.
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

/// Returns whether the parent process ignores this signal, as `nohup` does. The signal must then
/// stay ignored.
fn is_ignored(number: u8) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return false;
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (number - 1)) != 0)
}
