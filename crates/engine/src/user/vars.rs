//! Variables of a virtual user, in addition to the plan's constants.

use std::{cell::RefCell, rc::Rc};

use plan::{
    RowOrder,
    rng::{Purpose, Rng},
};
use query::{Scope, path::Slots};
use serde_json::{Map, Value};

use super::script::ScriptUser;
use crate::program::Program;

/// The variables of one virtual user.
#[derive(Clone)]
pub struct Vars<'a> {
    own: NamedValues,
    constants: &'a Map<String, Value>,
    /// Names of variables that changed since the last call of a script. `None` without a script.
    changed: Option<Vec<String>>,
    /// The script's data for the user. Templates call its functions. `None` before the first call
    /// of the script.
    pub(super) script: Option<Rc<dyn ScriptUser>>,
    /// Error of a function that a template called, until [`Vars::take_thrown`] returns it.
    thrown: RefCell<Option<String>>,
    /// Why an expression could not be evaluated, until [`Vars::take_gave_up`] returns it.
    gave_up: RefCell<Option<String>>,
}

/// Values by name, in order of creation. Lookups search linearly, because users have few variables
/// and hashing is slower.
#[derive(Debug, Clone, Default)]
struct NamedValues(Vec<(String, Value)>);

impl NamedValues {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value)
    }

    fn insert(&mut self, name: &str, value: Value) {
        *self.slot(name) = value;
    }

    fn remove(&mut self, name: &str) {
        self.0.retain(|(own, _)| own != name);
    }
}

impl Slots for NamedValues {
    fn known(&mut self, name: &str) -> Option<&mut Value> {
        let mut own = self.0.iter_mut();
        own.find(|(own, _)| own == name).map(|(_, value)| value)
    }

    fn slot(&mut self, name: &str) -> &mut Value {
        let at = self.0.iter().position(|(own, _)| own == name);
        let at = at.unwrap_or_else(|| {
            self.0.push((name.to_owned(), Value::Null));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

impl Scope for Vars<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.own.get(name).or_else(|| self.constants.get(name))
    }

    fn gave_up(&self, what: String) {
        self.gave_up.replace(Some(what));
    }

    fn call(&self, name: &str, arguments: &[Option<i64>]) -> Option<String> {
        let result = self.script.as_ref()?.call(name, arguments, self);
        result.unwrap_or_else(|error| {
            self.thrown.replace(Some(error));
            None
        })
    }
}

impl<'a> Vars<'a> {
    /// Creates the initial variables of an arrival. Table rows and randomly chosen values depend
    /// only on (seed, number).
    pub fn new(program: &'a Program, seed: u64, number: u64) -> Vars<'a> {
        let mut own = NamedValues::default();
        for (index, payload) in program.payloads.iter().enumerate() {
            take_row(payload, index as u64, number, seed, &mut own);
        }
        for (index, (name, values)) in program.choices.iter().enumerate() {
            let pick = Rng::keyed(seed, Purpose::Variable, number, index as u64)
                .below(values.len() as u64);
            if let Some(value) = values.get(pick as usize) {
                own.insert(name, value.clone());
            }
        }
        let mut vars = Vars {
            own,
            constants: &program.constants,
            changed: None,
            script: None,
            thrown: RefCell::default(),
            gave_up: RefCell::default(),
        };
        if program.uses_uuid {
            let uuid = Value::String(uuid(seed, number));
            vars.own.insert("$uuid", uuid);
        }
        vars
    }

    /// Returns why the last expression could not be evaluated, and clears it.
    pub fn take_gave_up(&self) -> Option<String> {
        self.gave_up.take()
    }

    /// Returns the error of the last function that a template called, and clears it.
    pub(super) fn take_thrown(&self) -> Option<String> {
        self.script.as_ref()?;
        self.thrown.take()
    }

    /// Sets a top-level variable.
    pub fn set(&mut self, name: &str, value: Value) {
        self.own.insert(name, value);
        self.has_changed(name);
    }

    /// Starts to track which variables change, for [`Vars::take_changed`].
    pub fn track_changes(&mut self) {
        self.changed = Some(Vec::new());
    }

    /// Returns the variables that changed since the last call, by the first part of their path.
    pub fn take_changed(&mut self) -> Vec<String> {
        self.changed
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Returns the variables that [`Vars::take_changed`] would return, without clearing them.
    #[must_use]
    pub fn changed(&self) -> &[String] {
        self.changed.as_deref().unwrap_or_default()
    }

    fn has_changed(&mut self, name: &str) {
        if let Some(changed) = &mut self.changed
            && !changed.iter().any(|known| known == name)
        {
            changed.push(name.to_owned());
        }
    }

    /// Sets a variable to the value that a script assigned.
    pub fn adopt(&mut self, name: &str, value: Value) {
        self.own.insert(name, value);
    }

    /// Removes a variable that a script removed. A constant keeps its value.
    pub fn forget(&mut self, name: &str) {
        self.own.remove(name);
    }

    /// Returns all variables. Those in `first` come first, even if they are not set. The others
    /// follow in order of creation.
    pub fn all<'v>(&'v self, first: &'v [&'v str]) -> Vec<(&'v str, Option<&'v Value>)> {
        let named = first.iter().copied();
        let constants = self.constants.keys().map(String::as_str);
        let own = self.own().map(|(name, _)| name.as_str());
        let mut all: Vec<(&str, Option<&Value>)> = Vec::new();
        for name in named.chain(constants).chain(own) {
            if !all.iter().any(|(known, _)| *known == name) {
                all.push((name, self.get(name)));
            }
        }
        all
    }

    /// Returns whether the user has set this variable. Returns `false` for a constant.
    pub fn is_set(&self, name: &str) -> bool {
        self.own.get(name).is_some()
    }

    /// Sets a variable by path. A constant is copied before it is changed.
    pub fn store(&mut self, path: &query::path::Path, value: Value) {
        let root = path.root();
        if path.rest().next().is_some()
            && !self.is_set(root)
            && let Some(constant) = self.constants.get(root)
        {
            self.own.insert(root, constant.clone());
        }
        path.set(&mut self.own, value);
        self.has_changed(root);
    }

    /// Returns the user's own variables (captured, chosen, or from tables), without constants.
    pub fn own(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.own.0.iter().map(|(name, value)| (name, value))
    }

    /// Returns the user's own variables, without constants.
    pub fn into_own(self) -> Map<String, Value> {
        self.own.0.into_iter().collect()
    }

    /// Merges the changes that `other` made since it was copied from `begun`.
    pub fn merge_fork(&mut self, begun: &Vars<'_>, other: Vars<'_>) {
        for (name, value) in other.own.0 {
            if begun.own.get(&name) != Some(&value) {
                self.own.insert(&name, value);
                self.has_changed(&name);
            }
        }
    }

    /// Makes a variable undefined. A constant, or a part of a variable, becomes empty text instead.
    pub fn unset(&mut self, path: &query::path::Path) {
        let root = path.root();
        if path.rest().next().is_some() || self.constants.contains_key(root) {
            self.store(path, Value::String(String::new()));
        } else {
            self.own.remove(root);
            self.has_changed(root);
        }
    }

    /// Returns the list in a variable. `None` if the value is not a list.
    pub fn list(&self, path: &str) -> Option<Vec<Value>> {
        let path = query::path::Path::parse(path);
        match path.get(self)?.into_owned() {
            Value::Array(list) => Some(list),
            _ => None,
        }
    }
}

fn take_row(payload: &plan::Payload, index: u64, number: u64, seed: u64, into: &mut NamedValues) {
    let rows = payload.rows.len() as u64;
    if rows == 0 {
        return;
    }
    let row = match payload.order {
        RowOrder::Sequence => number % rows,
        RowOrder::Random => Rng::keyed(seed, Purpose::Row, number, index).below(rows),
    };
    for (field, cell) in payload.fields.iter().zip(&payload.rows[row as usize]) {
        if !field.is_empty() {
            into.insert(field, cell.clone());
        }
    }
}

/// Returns a version-4 UUID derived from (seed, number).
#[must_use]
pub fn uuid(seed: u64, number: u64) -> String {
    let mut rng = Rng::keyed(seed, Purpose::User, number, 1);
    let (a, b) = (rng.next_u64(), rng.next_u64());
    let version = (a & 0xffff_ffff_ffff_0fff) | 0x4000;
    let variant = (b & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    let (a, b, c) = (version >> 32, (version >> 16) & 0xffff, version & 0xffff);
    format!(
        "{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}",
        variant >> 48,
        variant & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_version_four() {
        let text = uuid(1, 2);
        let parts: Vec<usize> = text.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(text.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&text.as_bytes()[19]));
        assert_ne!(uuid(1, 2), uuid(1, 3));
    }
}
