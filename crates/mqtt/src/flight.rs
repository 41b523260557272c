//! Packet identifiers in use. They are assigned in sequence, so an entry can be found by index.

use std::collections::{BTreeMap, VecDeque};

const IDENTIFIERS: u32 = 65_535;
/// Maximum length of the window of identifiers. Older entries move to `aside`.
const STRETCH: usize = 32_768;

/// The entries in flight, by identifier and in order of their start.
#[derive(Debug, Clone)]
pub struct Flight<T> {
    first: u16,
    /// Window of consecutive identifiers. `None` marks a finished entry.
    stretch: VecDeque<Option<T>>,
    aside: BTreeMap<u16, (u64, T)>,
    set_aside: u64,
    in_flight: usize,
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Flight {
            first: 1,
            stretch: VecDeque::new(),
            aside: BTreeMap::new(),
            set_aside: 0,
            in_flight: 0,
        }
    }
}

#[inline]
fn advance(identifier: u16, steps: usize) -> u16 {
    let at = (u32::from(identifier) - 1 + steps as u32) % IDENTIFIERS;
    (at + 1) as u16
}

impl<T> Flight<T> {
    /// Adds an entry under the next free identifier. Returns `None` if all identifiers are in use.
    #[inline]
    pub fn begin(&mut self, what: T) -> Option<u16> {
        if self.in_flight >= IDENTIFIERS as usize {
            return None;
        }
        loop {
            if self.stretch.len() == STRETCH {
                self.move_on();
            }
            let identifier = advance(self.first, self.stretch.len());
            if !self.aside.is_empty() && self.aside.contains_key(&identifier) {
                self.stretch.push_back(None);
                self.trim();
                continue;
            }
            self.stretch.push_back(Some(what));
            self.in_flight += 1;
            return Some(identifier);
        }
    }

    /// Returns the entry with this identifier.
    #[inline]
    pub fn get_mut(&mut self, identifier: u16) -> Option<&mut T> {
        match self.place(identifier) {
            Some(place) if self.stretch[place].is_some() => self.stretch[place].as_mut(),
            _ => self.aside.get_mut(&identifier).map(|(_, what)| what),
        }
    }

    /// Removes and returns the entry with this identifier.
    #[inline]
    pub fn end(&mut self, identifier: u16) -> Option<T> {
        let mut what = match self.place(identifier) {
            Some(place) => self.stretch[place].take(),
            None => None,
        };
        match what {
            Some(_) => self.trim(),
            None => what = self.aside.remove(&identifier).map(|(_, what)| what),
        }
        self.in_flight -= usize::from(what.is_some());
        what
    }

    /// Returns all entries in order of their start.
    #[must_use]
    pub fn in_order(&self) -> Vec<(u16, &T)> {
        let mut aside: Vec<_> = self.aside.iter().collect();
        aside.sort_by_key(|(_, (since, _))| *since);
        let aside = aside.into_iter().map(|(id, (_, what))| (*id, what));
        let stretch = self.stretch.iter().enumerate();
        let stretch =
            stretch.filter_map(|(at, what)| Some((advance(self.first, at), what.as_ref()?)));
        aside.chain(stretch).collect()
    }

    #[inline]
    fn place(&self, identifier: u16) -> Option<usize> {
        if identifier == 0 {
            return None;
        }
        let steps = u32::from(identifier) + IDENTIFIERS - u32::from(self.first);
        let place = (steps % IDENTIFIERS) as usize;
        (place < self.stretch.len()).then_some(place)
    }

    #[inline]
    fn trim(&mut self) {
        while let Some(None) = self.stretch.front() {
            self.stretch.pop_front();
            self.first = advance(self.first, 1);
        }
    }

    #[cold]
    fn move_on(&mut self) {
        if let Some(Some(what)) = self.stretch.pop_front() {
            self.aside.insert(self.first, (self.set_aside, what));
            self.set_aside += 1;
        }
        self.first = advance(self.first, 1);
        self.trim();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn identifiers_wrap_past_zero() {
        let mut flight = Flight::default();
        for n in 0..200_000u32 {
            let id = flight.begin(n).unwrap();
            assert_eq!(u32::from(id), n % IDENTIFIERS + 1);
            assert_eq!(flight.end(id), Some(n));
        }
        assert_eq!(flight.end(7), None);
        assert!(flight.in_order().is_empty());
    }

    #[test]
    fn all_identifiers_are_usable_without_duplicates() {
        let mut flight = Flight::default();
        let ids: Vec<u16> = (0..IDENTIFIERS).filter_map(|n| flight.begin(n)).collect();
        assert_eq!(ids.len(), IDENTIFIERS as usize);
        assert_eq!(flight.begin(0), None);
        let order: Vec<u32> = flight.in_order().iter().map(|(_, n)| **n).collect();
        assert!(order.is_sorted());
        assert_eq!(flight.end(500), Some(499));
        assert_eq!(flight.begin(70_000), Some(500));
        assert_eq!(flight.in_flight, IDENTIFIERS as usize);
    }

    #[test]
    fn entry_that_never_ends_does_not_block() {
        let mut flight = Flight::default();
        let stuck = flight.begin(0).unwrap();
        for n in 1..300_000u32 {
            let id = flight.begin(n).unwrap();
            assert_ne!(id, stuck);
            assert_eq!(flight.end(id), Some(n));
        }
        assert_eq!(flight.get_mut(stuck), Some(&mut 0));
        assert_eq!(flight.end(stuck), Some(0));
    }

    proptest! {
        #[test]
        fn entries_are_found_until_they_end(steps in prop::collection::vec((any::<bool>(), any::<u16>()), 0..400)) {
            let (mut flight, mut known) = (Flight::default(), Vec::<(u16, usize)>::new());
            for (n, (is_begin, which)) in steps.into_iter().enumerate() {
                if is_begin || known.is_empty() {
                    let id = flight.begin(n).unwrap();
                    prop_assert!(known.iter().all(|(other, _)| *other != id));
                    known.push((id, n));
                } else {
                    let (id, n) = known.remove(usize::from(which) % known.len());
                    prop_assert_eq!(flight.get_mut(id).copied(), Some(n));
                    prop_assert_eq!(flight.end(id), Some(n));
                    prop_assert_eq!(flight.end(id), None);
                }
                prop_assert_eq!(flight.in_flight, known.len());
                let order: Vec<_> = flight.in_order().into_iter().map(|(id, n)| (id, *n)).collect();
                prop_assert_eq!(&order, &known);
            }
        }
    }
}
