//! Variables that templates and conditions can use.

use serde_json::{Map, Value};

pub trait Scope {
    fn get(&self, name: &str) -> Option<&Value>;

    fn gave_up(&self, what: String) {
        drop(what);
    }
}

impl Scope for Map<String, Value> {
    fn get(&self, name: &str) -> Option<&Value> {
        Map::get(self, name)
    }
}
