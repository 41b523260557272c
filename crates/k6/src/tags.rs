//! Tags of samples.

use std::{cell::RefCell, collections::HashMap, hash::BuildHasher, sync::Arc};

use foldhash::fast::FixedState;

/// Maximum number of sets that a [`TagCache`] remembers.
const MAX_CACHED: usize = 4_096;

/// The tags of a sample, sorted by name. Copies share their content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Tags(Arc<Vec<(Arc<str>, Arc<str>)>>);

impl Tags {
    /// Returns the value of a tag.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.binary_search_by(|(own, _)| (**own).cmp(name));
        found.ok().map(|index| &*self.0[index].1)
    }

    /// Returns a copy with a tag added or changed. An empty value removes the tag.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Tags {
        let mut tags = self.clone();
        tags.set(name, value);
        tags
    }

    /// Sets a tag. An empty value removes it.
    pub fn set(&mut self, name: &str, value: &str) {
        let tags = Arc::make_mut(&mut self.0);
        match tags.binary_search_by(|(own, _)| (**own).cmp(name)) {
            Ok(index) if value.is_empty() => {
                tags.remove(index);
            }
            Ok(index) => tags[index].1 = value.into(),
            Err(_) if value.is_empty() => {}
            Err(index) => tags.insert(index, (name.into(), value.into())),
        }
    }

    /// Returns the address of the content. It identifies equal tags as long as one copy exists.
    #[must_use]
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Returns all tags, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// Caches tag sets, because most samples of a script have the same tags. Virtual users that share a
/// cache also share the sets.
#[derive(Debug, Default)]
pub struct TagCache {
    root: Tags,
    known: RefCell<HashMap<u64, KnownSet, FixedState>>,
}

/// A set that was created from another set.
#[derive(Debug)]
struct KnownSet {
    /// Original set. Keeping it alive prevents reuse of its address.
    base: Tags,
    added: Vec<(Box<str>, Box<str>)>,
    result: Tags,
}

impl KnownSet {
    fn is_from(&self, base: &Tags, added: &[(&str, &str)]) -> bool {
        let pairs = self.added.iter().map(|(name, value)| (&**name, &**value));
        self.base.address() == base.address() && pairs.eq(added.iter().copied())
    }
}

impl TagCache {
    /// Returns the empty set, from which all other sets are created.
    #[must_use]
    pub fn root(&self) -> &Tags {
        &self.root
    }

    /// Returns a set with tags added or changed. An empty value removes a tag. Allocates nothing if
    /// the same set was requested before.
    #[must_use]
    pub fn with(&self, base: &Tags, added: &[(&str, &str)]) -> Tags {
        if added.is_empty() {
            return base.clone();
        }
        let key = FixedState::default().hash_one((base.address(), added));
        let mut known = self.known.borrow_mut();
        if let Some(found) = known.get(&key).filter(|found| found.is_from(base, added)) {
            return found.result.clone();
        }
        let mut result = base.clone();
        for (name, value) in added {
            result.set(name, value);
        }
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        let owned = added
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        let set = KnownSet {
            base: base.clone(),
            added: owned.collect(),
            result: result.clone(),
        };
        known.insert(key, set);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_returns_the_same_set_again() {
        let cache = TagCache::default();
        let base = cache.with(cache.root(), &[("scenario", "s")]);
        let tags = cache.with(&base, &[("status", "200"), ("group", "")]);
        assert_eq!(tags, base.with("status", "200"));
        let again = cache.with(&base, &[("status", "200"), ("group", "")]);
        assert_eq!(again.address(), tags.address());
        let other = cache.with(&base, &[("status", "404"), ("group", "")]);
        assert_eq!(other.get("status"), Some("404"));
        // The cache drops sets, and creates them again.
        for number in 0..2 * MAX_CACHED {
            let text = number.to_string();
            let tags = cache.with(&base, &[("number", &text)]);
            assert_eq!(tags, base.with("number", &text));
        }
        assert!(cache.known.borrow().len() <= MAX_CACHED);
    }

    #[test]
    fn tags_are_sorted_and_replaced() {
        let tags = Tags::default().with("url", "u").with("method", "GET");
        let tags = tags.with("url", "v").with("empty", "");
        assert_eq!(
            tags.iter().collect::<Vec<_>>(),
            [("method", "GET"), ("url", "v")]
        );
        assert_eq!(tags.get("url"), Some("v"));
        assert_eq!(tags.with("url", "").get("url"), None);
    }
}
