//! Supplies the requests of a thread from its Lua state. This is the hot path between the batch
//! driver and a script. Keeps only those parts of a response that the script's `response` function
//! can access.

use std::{
    borrow::Cow,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
};

use codec::reply::{Keep, Reply};
use engine::driver::batch::{Batch, BatchSource};

use super::{
    Hooks, Machine,
    ffi::{Header, LuaValue},
    host::{ScriptState, lock},
    requests::{self, Requests},
};

const MS: f64 = 1_000_000.0;

#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Hook {
    Request = 1,
    Response,
    Delay,
}

pub struct LuaSource {
    shared: Arc<ScriptState>,
    thread: usize,
    /// Lua state of the thread. `None` only if it could not be created.
    machine: Option<Machine>,
    hooks: Hooks,
    /// Assumed result for bytes whose requests cannot be counted.
    usual: Requests,
    found: Requests,
    fixed: Vec<u8>,
    /// Last `response` function that was found, and the parts of a response that it needs.
    looked_at: (usize, Keep),
}

impl LuaSource {
    pub(super) fn new(
        shared: &Arc<ScriptState>,
        thread: usize,
        hooks: Hooks,
        usual: Requests,
    ) -> LuaSource {
        let machine = shared
            .threads
            .get(thread)
            .and_then(|thread| lock(&thread.machine).take());
        let mut source = LuaSource {
            shared: Arc::clone(shared),
            thread,
            machine,
            hooks,
            usual,
            found: Requests::default(),
            fixed: Vec::new(),
            looked_at: (0, Keep::Nothing),
        };
        if !hooks.request {
            source.found.clone_from(&source.usual);
            let mut fixed = Vec::new();
            source.ask(&mut fixed);
            if requests::count(&fixed, &mut source.found).is_none() {
                source.found.clone_from(&source.usual);
            }
            source.fixed = fixed;
        }
        source
    }

    /// Requests the next bytes from the script. Returns `false` if the script failed.
    #[inline]
    fn ask(&self, bytes: &mut Vec<u8>) -> bool {
        let Some(machine) = &self.machine else {
            return false;
        };
        self.enters(Hook::Request);
        let asked = machine
            .state
            .bytes(machine.request, machine.usual_request, bytes);
        self.leaves();
        self.went_well(asked)
    }

    #[inline]
    fn went_well<T>(&self, result: Result<T, String>) -> bool {
        match result {
            Ok(_) => true,
            Err(reason) => {
                let fatal = lock(&self.shared.fatal).clone();
                self.shared.fail(fatal.unwrap_or(reason));
                false
            }
        }
    }

    /// Records which hook is running, so that the watchdog can report it. This is a plain store to
    /// the thread's own cell.
    #[inline]
    fn enters(&self, hook: Hook) {
        let cell = &self.shared.threads[self.thread].hook;
        cell.store(hook as u8, Ordering::Relaxed);
    }

    #[inline]
    fn leaves(&self) {
        let cell = &self.shared.threads[self.thread].hook;
        cell.store(0, Ordering::Relaxed);
    }

    #[inline]
    fn is_stopped(&self) -> bool {
        self.shared.threads[self.thread]
            .stopped
            .load(Ordering::Relaxed)
    }

    /// Returns the parts of a response that the script's `response` function can access.
    #[inline]
    fn wanted(&mut self) -> Keep {
        let Some(machine) = self.machine.as_ref().filter(|_| self.hooks.response) else {
            return Keep::Nothing;
        };
        let Some(identity) = machine.state.identity(machine.response) else {
            return Keep::Nothing;
        };
        if self.looked_at.0 != identity {
            let parameters = machine.state.call(machine.calls, c"parameters", &[], 1);
            let keep = match parameters.as_deref() {
                Ok([LuaValue::Number(n)]) if (0.0..=1.0).contains(n) => Keep::Status,
                Ok([LuaValue::Number(n)]) if *n == 2.0 => Keep::Head,
                _ => Keep::Body,
            };
            self.looked_at = (identity, keep);
        }
        self.looked_at.1
    }
}

impl BatchSource for LuaSource {
    fn next(&mut self, _: usize, batch: &mut Batch) -> bool {
        if self.is_stopped() {
            return false;
        }
        if self.hooks.request {
            if !self.ask(&mut batch.bytes) {
                return false;
            }
            let counted = requests::count(&batch.bytes, &mut self.found);
            let found = if counted.is_some() {
                &self.found
            } else {
                &self.usual
            };
            batch.answers = found.count;
            if !(found.heads.is_empty() && batch.heads.is_empty()) {
                batch.heads.clone_from(&found.heads);
            }
        } else if batch.bytes.is_empty() {
            if self.fixed.is_empty() {
                return false;
            }
            batch.bytes.clone_from(&self.fixed);
            batch.answers = self.found.count;
            batch.heads.clone_from(&self.found.heads);
        }
        batch.keep = self.wanted();
        true
    }

    fn pause_ns(&mut self, _: usize) -> Option<u64> {
        let machine = self.machine.as_ref().filter(|_| self.hooks.delay)?;
        self.enters(Hook::Delay);
        let asked = machine.state.number(machine.delay);
        self.leaves();
        match asked {
            Ok(ms) => Some((ms.trunc().max(0.0) * MS) as u64),
            Err(reason) => {
                self.shared.fail(reason);
                // Send no requests while the other threads stop.
                Some(u64::MAX)
            }
        }
    }

    fn address(&mut self) -> Option<SocketAddr> {
        *lock(&self.shared.threads.get(self.thread)?.address)
    }

    fn answered(&mut self, _: usize, reply: &Reply) -> bool {
        let keep = self.wanted();
        if let Some(machine) = self.machine.as_ref().filter(|_| keep > Keep::Nothing) {
            self.enters(Hook::Response);
            let mut headers = headers_of(&reply.head);
            let reported = machine.state.call_response(
                machine.response,
                reply.status,
                (keep >= Keep::Head).then_some(&mut headers),
                (keep == Keep::Body).then_some(&reply.body),
            );
            self.leaves();
            if !self.went_well(reported) {
                return false;
            }
        }
        !self.is_stopped()
    }

    fn keep(&mut self) -> Keep {
        self.wanted()
    }
}

impl Drop for LuaSource {
    fn drop(&mut self) {
        // Put the state back for `done`, which may read the globals of threads.
        if let Some(thread) = self.shared.threads.get(self.thread) {
            *lock(&thread.machine) = self.machine.take();
        }
    }
}

fn headers_of(head: &[u8]) -> impl Iterator<Item = Header<'_>> {
    let mut lines = head.split(|b| *b == b'\n').skip(1).peekable();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            let Some(colon) = memchr::memchr(b':', line) else {
                continue;
            };
            let mut value = Cow::Borrowed(line[colon + 1..].trim_ascii());
            while let Some(more) = lines.next_if(|line| matches!(line.first(), Some(b' ' | b'\t')))
            {
                let value = value.to_mut();
                value.push(b' ');
                value.extend_from_slice(more.trim_ascii());
            }
            return Some((&line[..colon], value));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_keep_case_and_are_trimmed() {
        let head =
            b"HTTP/1.1 200 OK\r\nX-A: 1\r\n a:b\r\n\t c\r\nx-b:  two words \r\nEmpty:\r\n\r\n";
        let found: Vec<_> = headers_of(head).collect();
        let found: Vec<(&[u8], &[u8])> = found.iter().map(|(n, v)| (*n, &**v)).collect();
        let wanted: [(&[u8], &[u8]); 3] = [
            (b"X-A", b"1 a:b c"),
            (b"x-b", b"two words"),
            (b"Empty", b""),
        ];
        assert_eq!(found, wanted);
    }
}
