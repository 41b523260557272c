//! Tags of samples.

use std::sync::Arc;

/// Names and values that describe a sample, sorted by name. Copies share their content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Tags(Arc<Vec<(Arc<str>, Arc<str>)>>);

impl Tags {
    /// Returns the value of a tag.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.binary_search_by(|(own, _)| (**own).cmp(name));
        found.ok().map(|index| &*self.0[index].1)
    }

    /// Returns a copy with one more tag, or with another value of it. An empty value removes it.
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

    /// Returns the address of the content, by which copies of the same tags are recognised while
    /// one of them exists.
    #[must_use]
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Returns the tags sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
