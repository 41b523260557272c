//! Matches topics against filters. Shares no code with the engine, so that tests can compare both
//! implementations.

pub(super) fn split(filter: &str) -> (Option<&str>, &str) {
    let shared = filter.strip_prefix("$share/");
    match shared.and_then(|rest| rest.split_once('/')) {
        Some((group, filter)) => (Some(group), filter),
        None => (None, filter),
    }
}

pub(super) fn passes(filter: &str, topic: &str) -> bool {
    let wild_first = filter.starts_with('#') || filter.starts_with('+');
    if wild_first && topic.starts_with('$') {
        return false;
    }
    let filter: Vec<&str> = filter.split('/').collect();
    let topic: Vec<&str> = topic.split('/').collect();
    for (level, wanted) in filter.iter().enumerate() {
        match (*wanted, topic.get(level)) {
            ("#", _) => return true,
            ("+", Some(_)) => {}
            (wanted, Some(has)) if wanted == *has => {}
            _ => return false,
        }
    }
    filter.len() == topic.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_wildcards_match() {
        for (filter, topic) in [
            ("a/#", "a"),
            ("a/+", "a/"),
            ("#", "x/y"),
            ("$SYS/#", "$SYS/a"),
        ] {
            assert!(passes(filter, topic), "{filter} {topic}");
        }
        for (filter, topic) in [
            ("a/+", "a"),
            ("+", "a/b"),
            ("#", "$SYS/a"),
            ("a/b", "a/b/c"),
        ] {
            assert!(!passes(filter, topic), "{filter} {topic}");
        }
        assert_eq!(split("$share/g/a/b"), (Some("g"), "a/b"));
    }
}
