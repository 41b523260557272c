//! Variables of templates and conditions.

use serde_json::{Map, Value};

pub trait Scope {
    /// The value of a top-level variable. `None` is undefined.
    fn get(&self, name: &str) -> Option<&Value>;

    /// Reports that an expression could not be evaluated.
    fn gave_up(&self, what: String) {
        drop(what);
    }
}

impl Scope for Map<String, Value> {
    fn get(&self, name: &str) -> Option<&Value> {
        Map::get(self, name)
    }
}
