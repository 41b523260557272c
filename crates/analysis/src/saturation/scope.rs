//! Decides by kind, holder and name whether instances share a resource or have separate ones.

use super::{Reached, pools};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceScope {
    Instance,
    Shared(String),
}

const SHARED: [&str; 15] = [
    "lock",
    "mutex",
    "database",
    "db",
    "rds",
    "sql",
    "postgres",
    "mysql",
    "mariadb",
    "oracle",
    "mongo",
    "redis",
    "memcached",
    "elasticsearch",
    "kafka",
];

impl ResourceScope {
    pub fn from_reached(reached: &Reached) -> ResourceScope {
        match reached.resource.as_str() {
            pools::CONNECTIONS => {
                return ResourceScope::Shared(format!(
                    "the {}, shared by all instances",
                    reached.resource
                ));
            }
            pools::OF_DATABASE | pools::OF_REDIS => {
                return ResourceScope::Shared(format!("the {}", reached.resource));
            }
            _ => {}
        }
        if let Some(holder) = reached.held_by.as_ref().filter(|holder| is_shared(holder)) {
            return ResourceScope::Shared(format!(
                "{holder}, which holds the {}",
                reached.resource
            ));
        }
        if is_shared(&reached.source) {
            return ResourceScope::Shared(format!(
                "the {} of {}",
                reached.resource, reached.source
            ));
        }
        ResourceScope::Instance
    }
}

fn is_shared(name: &str) -> bool {
    let name = name.to_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.into_iter().any(|word| {
        SHARED
            .iter()
            .any(|known| word.starts_with(known) || (word.len() > 5 && word.ends_with(known)))
            && !word.contains("block")
            && !word.contains("clock")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(resource: &str, source: &str, held_by: Option<&str>) -> ResourceScope {
        ResourceScope::from_reached(&Reached {
            resource: resource.into(),
            source: source.into(),
            metric: "m".into(),
            limit: "0 of 8 left".into(),
            instances: 2,
            all_instances: 2,
            at_ns: 0,
            held_ns: 1,
            issued_per_second: None,
            cause: None,
            held_by: held_by.map(Into::into),
        })
    }

    #[test]
    fn instance_resources_differ_from_shared_ones() {
        for (resource, source, held_by) in [
            (pools::THREADS, "puma", Some("lorota and chip")),
            (pools::THREADS, "puma", None),
            (pools::THREADS, "puma", Some("blocking io")),
            ("CPU", "feedback", None),
        ] {
            assert_eq!(reached(resource, source, held_by), ResourceScope::Instance);
        }
        for (resource, source, held_by) in [
            (pools::THREADS, "puma", Some("the lock orders")),
            (pools::THREADS, "puma", Some("primary_db")),
            (pools::THREADS, "puma", Some("lorota and usersdb")),
            (pools::CONNECTIONS, "app", None),
            (pools::OF_REDIS, "app", None),
            ("CPU", "postgres-1", None),
            ("CPU", "DB", None),
        ] {
            assert!(
                matches!(reached(resource, source, held_by), ResourceScope::Shared(_)),
                "{resource} {source} {held_by:?}"
            );
        }
    }
}
