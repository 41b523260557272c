//! Variables that templates and conditions can use.

use serde_json::{Map, Value};

pub trait Scope {
    fn get(&self, name: &str) -> Option<&Value>;

    fn gave_up(&self, what: String) {
        drop(what);
    }

    /// Calls a script function and returns its result as text. `None` if there is no such function.
    fn call(&self, name: &str, arguments: &[Option<i64>]) -> Option<String> {
        let _ = (name, arguments);
        None
    }
}

impl Scope for Map<String, Value> {
    fn get(&self, name: &str) -> Option<&Value> {
        Map::get(self, name)
    }
}
