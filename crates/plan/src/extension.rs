//! Data that a front end attaches to a request step for its own hook. The data is serialized with
//! the plan. Only the front end interprets it.

use std::{any::Any, fmt, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A front end's data for one step. Copies of a plan share the data.
#[derive(Clone)]
pub struct Extension {
    data: Arc<dyn Any + Send + Sync>,
    json: Arc<Value>,
}

impl Extension {
    /// Wraps plain data. Fails if the data cannot be serialized.
    pub fn new<T: Any + Send + Sync + Serialize>(data: T) -> Result<Extension, serde_json::Error> {
        Ok(Extension {
            json: Arc::new(serde_json::to_value(&data)?),
            data: Arc::new(data),
        })
    }

    /// Returns the data if it has this type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.data.downcast_ref()
    }
}

impl PartialEq for Extension {
    fn eq(&self, other: &Extension) -> bool {
        self.json == other.json
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Extension").field(&self.json).finish()
    }
}

impl Serialize for Extension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_returned_for_its_type_only() {
        let extension = Extension::new(vec![1u8, 2]).expect("plain data");
        assert_eq!(extension.get::<Vec<u8>>(), Some(&vec![1, 2]));
        assert_eq!(extension.get::<String>(), None);
        assert_eq!(serde_json::to_string(&extension).ok(), Some("[1,2]".into()));
        assert_eq!(extension, Extension::new([1u64, 2]).expect("plain data"));
        assert_ne!(extension, Extension::new([1u64, 3]).expect("plain data"));
    }
}
