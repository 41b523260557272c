//! Pools: of threads, of connections, of descriptors. Each is known by a pair of metrics of one source, what is used (or free) and how
//! much there is, and where there is one by a third: how many wait.

use super::{
    Limited,
    watched::{Stretch, Watched},
};

/// Threads of a server.
pub const THREADS: &str = "thread pool";

/// So many looks in a row at a full pool, whoever waits.
const MANY_LOOKS: usize = 10;

/// How a pool tells of itself.
struct Pair {
    resource: &'static str,
    tells: Tells,
    /// The last words of the metric that says how much is used, or free.
    level: &'static str,
    /// Of the one that says how much there is.
    limit: &'static str,
    /// Of the one that says how many wait, where there is one.
    waiting: Option<&'static str>,
}

enum Tells {
    Free,
    Used,
}

const fn pair(
    resource: &'static str,
    tells: Tells,
    [level, limit]: [&'static str; 2],
    waiting: Option<&'static str>,
) -> Pair {
    Pair {
        resource,
        tells,
        level,
        limit,
        waiting,
    }
}

/// Connections of one instance to something behind it.
pub(super) const CONNECTIONS: &str = "connection pool";
/// Connections that a database takes of all.
pub(super) const OF_DATABASE: &str = "connections of the database";
/// Connections that Redis takes of all.
pub(super) const OF_REDIS: &str = "clients of Redis";
const DESCRIPTORS: &str = "descriptors";

/// Puma by its own words and by its exporters'; Tomcat, Jetty, Hikari by Micrometer's; databases; processes.
const PAIRS: [Pair; 11] = [
    pair(
        THREADS,
        Tells::Free,
        ["pool_capacity", "max_threads"],
        Some("backlog"),
    ),
    pair(
        THREADS,
        Tells::Free,
        ["thread_pool_capacity", "max_threads"],
        Some("request_backlog"),
    ),
    pair(
        THREADS,
        Tells::Used,
        [
            "tomcat_threads_busy_threads",
            "tomcat_threads_config_max_threads",
        ],
        None,
    ),
    pair(
        THREADS,
        Tells::Used,
        ["jetty_threads_busy", "jetty_threads_config_max"],
        Some("jetty_threads_jobs"),
    ),
    pair(
        CONNECTIONS,
        Tells::Used,
        ["hikaricp_connections_active", "hikaricp_connections_max"],
        Some("hikaricp_connections_pending"),
    ),
    pair(
        CONNECTIONS,
        Tells::Used,
        ["jdbc_connections_active", "jdbc_connections_max"],
        None,
    ),
    pair(
        OF_DATABASE,
        Tells::Used,
        ["numbackends", "max_connections"],
        None,
    ),
    pair(
        OF_DATABASE,
        Tells::Used,
        ["connections-used", "connections-max"],
        None,
    ),
    pair(
        OF_REDIS,
        Tells::Used,
        ["connected_clients", "maxclients"],
        None,
    ),
    pair(
        DESCRIPTORS,
        Tells::Used,
        ["process_open_fds", "process_max_fds"],
        None,
    ),
    pair(
        DESCRIPTORS,
        Tells::Used,
        ["process_files_open_files", "process_files_max_files"],
        None,
    ),
];

/// Every pool that tells of itself.
pub(super) fn of(all: &[Watched]) -> Vec<Limited> {
    PAIRS
        .iter()
        .flat_map(|pair| all.iter().filter_map(|one| pool(pair, one, all)))
        .collect()
}

fn pool(pair: &Pair, level: &Watched, all: &[Watched]) -> Option<Limited> {
    let before = level.before(pair.level)?;
    let limit = level.beside(all, before, pair.limit)?;
    let waiting = pair
        .waiting
        .and_then(|waiting| level.beside(all, before, waiting));
    let size = limit
        .looks
        .iter()
        .map(|(_, value)| *value)
        .fold(0.0, f64::max);
    if size <= 0.0 {
        return None;
    }
    let is_full = |at_ns: u64, value: f64| {
        let there_are = limit.at(at_ns).unwrap_or(size);
        let left = match pair.tells {
            Tells::Free => value,
            Tells::Used => there_are - value,
        };
        // Where it is told who waits, a full pool that nobody waits for is just enough.
        left <= 0.0 && waiting.is_none_or(|waiting| waiting.at(at_ns).is_some_and(|n| n >= 1.0))
    };
    // A pool that is nearly busy enough is full with a short line now and then, for some looks in a row even: a long line, or more looks.
    let has_a_line = |stretch: Stretch| {
        let Some(waiting) = waiting else { return false };
        let is_long = |at_ns: u64, n: f64| {
            stretch.from_ns <= at_ns && at_ns <= stretch.to_ns && n >= (size / 2.0).max(1.0)
        };
        waiting.lasting(is_long).is_some()
    };
    let stretch = level
        .runs(is_full)
        .into_iter()
        .find(|(stretch, looks)| *looks >= MANY_LOOKS || has_a_line(*stretch));
    let waits = if waiting.is_some() {
        ", and requests wait"
    } else {
        ""
    };
    Some(Limited {
        resource: pair.resource,
        source: level.source.clone(),
        metric: level.metric.clone(),
        limit: format!("0 of {size} left{waits}"),
        size,
        stretch: stretch.map(|(stretch, _)| stretch),
    })
}
