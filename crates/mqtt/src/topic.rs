//! Topics and filters: validation, matching, and groups of shared subscriptions.

/// Returns whether a topic contains wildcards.
#[inline]
#[must_use]
pub fn has_wildcard(topic: &[u8]) -> bool {
    topic.iter().any(|byte| matches!(byte, b'+' | b'#'))
}

/// Returns why a filter is invalid. `None` if it is valid.
#[must_use]
pub fn filter_fault(filter: &str) -> Option<&'static str> {
    let (group, filter) = match filter.strip_prefix("$share/") {
        Some(shared) => match shared.split_once('/') {
            Some((group, filter)) => (Some(group), filter),
            None => return Some("a shared subscription must be $share/GROUP/FILTER"),
        },
        None => (None, filter),
    };
    if group.is_some_and(|group| group.is_empty() || has_wildcard(group.as_bytes())) {
        return Some("the group of a shared subscription must be a name without + and #");
    }
    if filter.is_empty() {
        return Some("it is empty");
    }
    if filter.contains('\0') {
        return Some("it contains U+0000");
    }
    let mut levels = filter.split('/').peekable();
    while let Some(level) = levels.next() {
        if level.contains('#') && (level != "#" || levels.peek().is_some()) {
            return Some("# must be the only character of the last level");
        }
        if level.contains('+') && level != "+" {
            return Some("+ must be the only character of its level");
        }
    }
    None
}

/// Splits a subscription into its group, if it is shared, and its filter.
#[must_use]
pub fn shared(filter: &str) -> (Option<&str>, &str) {
    match filter
        .strip_prefix("$share/")
        .and_then(|shared| shared.split_once('/'))
    {
        Some((group, filter)) => (Some(group), filter),
        None => (None, filter),
    }
}

/// Returns whether a filter, given without its group, matches a topic.
#[must_use]
pub fn matches(filter: &str, topic: &str) -> bool {
    // Wildcards at the start do not match the server's own topics, such as `$SYS`.
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let mut topic = topic.split('/');
    let mut filter = filter.split('/');
    loop {
        match (filter.next(), topic.next()) {
            (Some("#"), _) => return true,
            (Some("+"), Some(_)) => {}
            (Some(wanted), Some(level)) if wanted == level => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_as_specified() {
        let yes = [
            ("sport/tennis/player1/#", "sport/tennis/player1"),
            ("sport/tennis/player1/#", "sport/tennis/player1/score/x"),
            ("#", "a/b"),
            ("sport/+", "sport/"),
            ("+/+", "/finance"),
            ("/+", "/finance"),
            ("$SYS/#", "$SYS/a"),
            ("$SYS/+", "$SYS/a"),
            ("a//b", "a//b"),
        ];
        let no = [
            ("sport/+", "sport"),
            ("+", "/finance"),
            ("#", "$SYS/a"),
            ("+/a", "$SYS/a"),
            ("a", "A"),
            ("a", "/a"),
            ("a/+/c", "a/b/d"),
        ];
        for (filter, topic) in yes {
            assert!(matches(filter, topic), "{filter} {topic}");
        }
        for (filter, topic) in no {
            assert!(!matches(filter, topic), "{filter} {topic}");
        }
    }

    #[test]
    fn invalid_filters_are_reported() {
        for right in ["a/b", "#", "+", "a/+/#", "$share/g/a/+", "/"] {
            assert_eq!(filter_fault(right), None, "{right}");
        }
        for wrong in [
            "",
            "a#",
            "a/#/b",
            "a+",
            "$share/g",
            "$share//a",
            "$share/+/a",
            "$share/g/",
            "a\0",
        ] {
            assert!(filter_fault(wrong).is_some(), "{wrong}");
        }
        assert_eq!(shared("$share/g/a/b"), (Some("g"), "a/b"));
        assert_eq!(shared("a/b"), (None, "a/b"));
    }
}
