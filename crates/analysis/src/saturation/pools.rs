//! Pools of threads, connections or descriptors. A pair of metrics gives the size and the use. A
//! third metric may give the queue length.

use measure::TimeSpan;
use record::PoolFacts;

use super::{Limited, PoolLevel, watched::WatchedMetric};

pub const THREADS: &str = "thread pool";

const MANY_LOOKS: usize = 10;

struct Pair {
    resource: &'static str,
    is_reported: PoolFigure,
    level: &'static str,
    limit: &'static str,
    waiting: Option<&'static str>,
}

enum PoolFigure {
    Free,
    Used,
}

const fn pair(
    resource: &'static str,
    tells: PoolFigure,
    [level, limit]: [&'static str; 2],
    waiting: Option<&'static str>,
) -> Pair {
    Pair {
        resource,
        is_reported: tells,
        level,
        limit,
        waiting,
    }
}

pub(super) const CONNECTIONS: &str = "connection pool";
pub(super) const OF_DATABASE: &str = "database connections";
pub(super) const OF_REDIS: &str = "Redis clients";
const DECLARED: &str = "pool";
const DESCRIPTORS: &str = "descriptors";

const PAIRS: [Pair; 11] = [
    pair(
        THREADS,
        PoolFigure::Free,
        ["pool_capacity", "max_threads"],
        Some("backlog"),
    ),
    pair(
        THREADS,
        PoolFigure::Free,
        ["thread_pool_capacity", "max_threads"],
        Some("request_backlog"),
    ),
    pair(
        THREADS,
        PoolFigure::Used,
        [
            "tomcat_threads_busy_threads",
            "tomcat_threads_config_max_threads",
        ],
        None,
    ),
    pair(
        THREADS,
        PoolFigure::Used,
        ["jetty_threads_busy", "jetty_threads_config_max"],
        Some("jetty_threads_jobs"),
    ),
    pair(
        CONNECTIONS,
        PoolFigure::Used,
        ["hikaricp_connections_active", "hikaricp_connections_max"],
        Some("hikaricp_connections_pending"),
    ),
    pair(
        CONNECTIONS,
        PoolFigure::Used,
        ["jdbc_connections_active", "jdbc_connections_max"],
        None,
    ),
    pair(
        OF_DATABASE,
        PoolFigure::Used,
        ["numbackends", "max_connections"],
        None,
    ),
    pair(
        OF_DATABASE,
        PoolFigure::Used,
        ["connections-used", "connections-max"],
        None,
    ),
    pair(
        OF_REDIS,
        PoolFigure::Used,
        ["connected_clients", "maxclients"],
        None,
    ),
    pair(
        DESCRIPTORS,
        PoolFigure::Used,
        ["process_open_fds", "process_max_fds"],
        None,
    ),
    pair(
        DESCRIPTORS,
        PoolFigure::Used,
        ["process_files_open_files", "process_files_max_files"],
        None,
    ),
];

pub(super) fn left(size: f64, waits: bool) -> String {
    let waits = if waits { ", and requests wait" } else { "" };
    format!("0 of {size} left{waits}")
}

/// Returns whether two sources measured the same pool, with equal size and use. If the metrics are
/// constant, their names must also differ.
pub(super) fn is_one_pool(one: &Limited, other: &Limited) -> bool {
    /// Maximum time between two samples to compare. `AGREE` is the percentage of samples that must
    /// be equal.
    const APART_NS: u64 = 1_100_000_000;
    const AGREE: usize = 90;
    const LEAST: usize = 5;
    let (Some(mine), Some(others)) = (&one.pool, &other.pool) else {
        return false;
    };
    if one.resource != other.resource || one.source == other.source || one.size != other.size {
        return false;
    }
    let (mut count, mut agree) = (0, 0);
    let mut levels = std::collections::BTreeSet::new();
    for (at_ns, free) in &mine.free {
        let mut near = others
            .free
            .iter()
            .filter(|(at, _)| at.abs_diff(*at_ns) <= APART_NS)
            .peekable();
        if near.peek().is_none() {
            continue;
        }
        count += 1;
        agree += usize::from(near.any(|(_, other)| (other - free).abs() <= 1.0));
        levels.insert(*free as i64);
    }
    let is_alike = count >= LEAST && agree * 100 >= count * AGREE;
    is_alike && (levels.len() > 2 || one.metric != other.metric)
}

pub(super) fn limits(all: &[WatchedMetric], declared: &[PoolFacts]) -> Vec<Limited> {
    let known = PAIRS
        .iter()
        .flat_map(|pair| all.iter().filter_map(|one| known(pair, one, all)));
    let declared = declared.iter().flat_map(|facts| {
        let levels = all.iter().filter(|one| is_of(one, facts, &facts.pool.busy));
        levels.filter_map(|level| by_declaration(facts, level, all))
    });
    declared.chain(known).collect()
}

pub(super) fn unmatched(all: &[WatchedMetric], declared: &[PoolFacts]) -> Vec<String> {
    let mut missing = Vec::new();
    for facts in declared {
        let pool = &facts.pool;
        let names = [Some(&pool.busy), Some(&pool.limit), pool.waiting.as_ref()];
        for name in names.into_iter().flatten() {
            if !all.iter().any(|one| is_of(one, facts, name)) {
                missing.push(format!("server.{}.{name}", facts.source));
            }
        }
    }
    missing
}

fn is_of(one: &WatchedMetric, facts: &PoolFacts, metric: &str) -> bool {
    one.source == facts.source && one.metric == metric
}

fn by_declaration(
    facts: &PoolFacts,
    level: &WatchedMetric,
    all: &[WatchedMetric],
) -> Option<Limited> {
    // Use the metric of the same instance, or the only metric.
    let other = |name: &str| {
        let mut of_name = all.iter().filter(|one| is_of(one, facts, name));
        let same = of_name.clone().find(|one| one.of == level.of);
        same.or_else(|| of_name.next().filter(|_| of_name.next().is_none()))
    };
    let limit = other(&facts.pool.limit)?;
    let waiting = facts.pool.waiting.as_deref().and_then(other);
    pool(DECLARED, &PoolFigure::Used, level, limit, waiting)
}

fn known(pair: &Pair, level: &WatchedMetric, all: &[WatchedMetric]) -> Option<Limited> {
    let before = level.before(pair.level)?;
    let limit = level.sibling(all, before, pair.limit)?;
    let waiting = pair
        .waiting
        .and_then(|waiting| level.sibling(all, before, waiting));
    pool(pair.resource, &pair.is_reported, level, limit, waiting)
}

fn pool(
    resource: &'static str,
    tells: &PoolFigure,
    level: &WatchedMetric,
    limit: &WatchedMetric,
    waiting: Option<&WatchedMetric>,
) -> Option<Limited> {
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
        let left = match tells {
            PoolFigure::Free => value,
            PoolFigure::Used => there_are - value,
        };
        left <= 0.0
    };
    let levels = level.looks.iter();
    let levels = levels.map(|(at_ns, value)| match tells {
        PoolFigure::Free => (*at_ns, *value),
        PoolFigure::Used => (*at_ns, limit.at(*at_ns).unwrap_or(size) - value),
    });
    // A pool below its limit may appear full in several samples with a short queue, so a long queue
    // or more samples are required.
    let has_a_line = |stretch: TimeSpan| {
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
    let waits = stretch.is_some_and(|(stretch, _)| {
        let within = |at_ns: u64| stretch.from_ns <= at_ns && at_ns <= stretch.to_ns;
        let mut looks = waiting.iter().flat_map(|waiting| &waiting.looks);
        looks.any(|(at_ns, n)| within(*at_ns) && *n >= 1.0)
    });
    Some(Limited {
        resource,
        source: level.source.clone(),
        metric: level.metric.clone(),
        limit: left(size, waits),
        pool: Some(PoolLevel {
            waits,
            free: levels.collect(),
        }),
        size,
        stretch: stretch.map(|(stretch, _)| stretch),
    })
}
