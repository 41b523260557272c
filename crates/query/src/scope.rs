//! Where templates and conditions find their variables. Who keeps them, and for how long, is not known here.

use serde_json::{Map, Value};

/// Variables by name.
pub trait Scope {
    /// The value of a top-level variable; none when it is undefined.
    fn get(&self, name: &str) -> Option<&Value>;

    /// Hears that an expression could not be given a value: what, and why.
    fn gave_up(&self, what: String) {
        drop(what);
    }
}

impl Scope for Map<String, Value> {
    fn get(&self, name: &str) -> Option<&Value> {
        Map::get(self, name)
    }
}
