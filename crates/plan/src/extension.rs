//! What a front door keeps with a request step for a hook of its own: data of whatever type, which is written down with the plan and
//! which nobody else looks into. It does nothing by itself.

use std::{any::Any, fmt, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A door's data of a step. There is one copy of it, however often a plan is copied.
#[derive(Clone)]
pub struct Extension {
    data: Arc<dyn Any + Send + Sync>,
    shown: Arc<Value>,
}

impl Extension {
    /// Of plain data.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn of<T: Any + Send + Sync + Serialize>(data: T) -> Result<Extension, serde_json::Error> {
        Ok(Extension {
            shown: Arc::new(serde_json::to_value(&data)?),
            data: Arc::new(data),
        })
    }

    /// The data, for whoever knows of what type it is.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.data.downcast_ref()
    }
}

impl PartialEq for Extension {
    /// By what is written down of it.
    fn eq(&self, other: &Extension) -> bool {
        self.shown == other.shown
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Extension").field(&self.shown).finish()
    }
}

impl Serialize for Extension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shown.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_owner_reads_it() {
        let extension = Extension::of(vec![1u8, 2]).expect("plain data");
        assert_eq!(extension.get::<Vec<u8>>(), Some(&vec![1, 2]));
        assert_eq!(extension.get::<String>(), None);
        assert_eq!(serde_json::to_string(&extension).ok(), Some("[1,2]".into()));
        assert_eq!(extension, Extension::of([1u64, 2]).expect("plain data"));
        assert_ne!(extension, Extension::of([1u64, 3]).expect("plain data"));
    }
}
