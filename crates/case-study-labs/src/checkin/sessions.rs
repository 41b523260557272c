//! Sessions and their progress. IDs are derived from the seed and a number, so they are
//! reproducible.

use std::collections::HashMap;

use serde_json::{Value, json};

use lab::random::{mix, seed_or_fresh};

const MOST: usize = 4_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Done {
    CheckIn,
    PreCheckIn,
    Demographics,
}

#[derive(Default)]
struct Session {
    uuid: Box<str>,
    done: [bool; 3],
}

pub(super) struct Sessions {
    seed: u64,
    opened: HashMap<u64, Session>,
    done: [u64; 3],
}

impl Sessions {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed: seed_or_fresh(seed),
            opened: HashMap::new(),
            done: [0; 3],
        }
    }

    pub(super) fn open(&mut self, uuid: &str) -> Option<String> {
        let n = self.opened.len();
        if n >= MOST {
            return None;
        }
        // IDs are unique because `mix` is a bijection.
        let id = mix(self.seed.wrapping_add(n as u64));
        let session = Session {
            uuid: uuid.into(),
            ..Session::default()
        };
        self.opened.insert(id, session);
        Some(format!("{id:016x}"))
    }

    pub(super) fn uuid(&self, id: &str) -> Option<&str> {
        self.opened
            .get(&number_of(id)?)
            .map(|session| &*session.uuid)
    }

    pub(super) fn mark(&mut self, id: &str, what: Done) -> bool {
        let session = number_of(id).and_then(|id| self.opened.get_mut(&id));
        let Some(session) = session else {
            return false;
        };
        let was = std::mem::replace(&mut session.done[what as usize], true);
        self.done[what as usize] += u64::from(!was);
        true
    }

    pub(super) fn state(&self, id: &str) -> Option<Value> {
        let session = self.opened.get(&number_of(id)?)?;
        let [checked_in, pre_checked_in, confirmed] = session.done;
        Some(json!({
            "uuid": &session.uuid,
            "checkedIn": checked_in,
            "preCheckedIn": pre_checked_in,
            "demographicsConfirmed": confirmed,
        }))
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "sessions": self.opened.len(),
            "check_ins": self.done[Done::CheckIn as usize],
            "pre_check_ins": self.done[Done::PreCheckIn as usize],
            "demographics": self.done[Done::Demographics as usize],
        })
    }
}

fn number_of(id: &str) -> Option<u64> {
    let is_one = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(id, 16).ok().filter(|_| is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_in_a_session_is_counted_once() {
        let mut sessions = Sessions::new(1);
        let id = sessions.open("u-1").unwrap();
        let other = sessions.open("u-2").unwrap();
        assert_ne!(id, other);
        assert_eq!(sessions.uuid(&other), Some("u-2"));
        assert!(sessions.mark(&id, Done::CheckIn) && sessions.mark(&id, Done::CheckIn));
        assert!(
            !sessions.mark("none", Done::CheckIn)
                && !sessions.mark("+000000000000001", Done::CheckIn)
        );
        assert_eq!(sessions.state(&id).unwrap()["checkedIn"], true);
        assert_eq!(sessions.state(&other).unwrap()["checkedIn"], false);
        assert_eq!(sessions.to_json()["check_ins"], 1);
        assert_eq!(sessions.to_json()["sessions"], 2);
    }
}
