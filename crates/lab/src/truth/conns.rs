//! Maps unique tokens to connections, so that a late event of a closed connection finds no entry.

use super::conn::Conn;

#[derive(Default)]
pub(super) struct Conns {
    slots: Vec<Slot>,
    free: Vec<u32>,
    accepted: u64,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    conn: Option<Box<Conn>>,
}

impl Conns {
    pub(super) fn insert(&mut self, make: impl FnOnce(u64) -> Conn) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let conn = make(self.accepted);
        self.accepted += 1;
        let slot = &mut self.slots[index as usize];
        slot.conn = Some(Box::new(conn));
        u64::from(slot.generation) << 32 | u64::from(index)
    }

    pub(super) fn get(&mut self, token: u64) -> Option<&mut Conn> {
        self.slot(token)?.conn.as_deref_mut()
    }

    pub(super) fn remove(&mut self, token: u64) {
        let Some(slot) = self.slot(token) else {
            return;
        };
        slot.conn = None;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index(token));
    }

    pub(super) fn tokens(&self) -> Vec<u64> {
        let tokens = self.slots.iter().zip(0_u64..);
        tokens
            .filter(|(slot, _)| slot.conn.is_some())
            .map(|(slot, index)| u64::from(slot.generation) << 32 | index)
            .collect()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Conn> {
        self.slots
            .iter_mut()
            .filter_map(|slot| slot.conn.as_deref_mut())
    }

    fn slot(&mut self, token: u64) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(index(token) as usize)?;
        (u64::from(slot.generation) == token >> 32).then_some(slot)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "only the low half of the token is used"
)]
fn index(token: u64) -> u32 {
    token as u32
}
