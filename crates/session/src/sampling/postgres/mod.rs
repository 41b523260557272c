//! Samples a PostgreSQL database: counters, sessions, locks, connections. Keeps one connection open
//! and reconnects if it is lost.

mod wire;

use std::time::Duration;

use plan::server::{MetricSource, postgres::Database};
use record::server::{Descriptor, MetricReading};
use wire::{Connection, TextRow};

use super::{Sampler, exposition};

const PATIENCE: Duration = Duration::from_secs(2);

/// Name and unit of the columns of `COUNTERS`, in order.
const SUMS: [(&str, &str); 13] = [
    ("commits", ""),
    ("rollbacks", ""),
    ("blocks-hit", ""),
    ("blocks-read", ""),
    ("tuples-returned", ""),
    ("tuples-fetched", ""),
    ("tuples-inserted", ""),
    ("tuples-updated", ""),
    ("tuples-deleted", ""),
    ("deadlocks", ""),
    ("conflicts", ""),
    ("temp-bytes", "B"),
    ("temp-files", ""),
];
/// Names of the columns of `SESSIONS`, in order.
const SESSIONS: [&str; 5] = [
    "active",
    "idle",
    "idle-in-transaction",
    "waiting-on-locks",
    "hidden",
];
/// Names of the columns of `LOCKS`, in order.
const LOCKS: [&str; 2] = ["locks-granted", "locks-waiting"];
/// Names of the columns of `CONNECTIONS`, in order.
const CONNECTIONS: [&str; 2] = ["connections-used", "connections-max"];
const HIT_SHARE: &str = "hit-share";
const WAITING: &str = "waiting";

/// The statements run in one transaction, so that all values are from one point in time. A timeout
/// limits them on a busy server.
const QUESTION: &str = "BEGIN READ ONLY; SET LOCAL statement_timeout = 1500;
SELECT xact_commit, xact_rollback, blks_hit, blks_read, tup_returned, tup_fetched, tup_inserted, tup_updated, tup_deleted,
  deadlocks, conflicts, temp_bytes, temp_files FROM pg_stat_database WHERE datname = current_database();
SELECT count(*) FILTER (WHERE state = 'active'), count(*) FILTER (WHERE state = 'idle'),
  count(*) FILTER (WHERE state LIKE 'idle in transaction%'), count(*) FILTER (WHERE wait_event_type = 'Lock'),
  count(*) FILTER (WHERE state IS NULL AND backend_type IS NULL)
  FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
SELECT wait_event_type, count(*) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND wait_event_type IS NOT NULL
  GROUP BY 1 ORDER BY 1;
SELECT count(*) FILTER (WHERE granted), count(*) FILTER (WHERE NOT granted) FROM pg_locks
  WHERE pid <> pg_backend_pid() AND (database IS NULL OR database = (SELECT oid FROM pg_database WHERE datname = current_database()));
SELECT sum(numbackends), current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
  - coalesce(current_setting('reserved_connections', true)::int, 0) FROM pg_stat_database;
COMMIT";
const FIRST: usize = 2;

pub(super) struct Postgres {
    source: MetricSource,
    database: Database,
    connection: Option<Connection>,
    /// Wait events seen so far. An event without waiting sessions is reported as 0.
    kinds: Vec<String>,
    before: Option<(f64, f64)>,
}

impl Postgres {
    /// Creates the sampler for the database in a URL.
    pub fn new(source: MetricSource, url: &str) -> Result<Postgres, String> {
        Ok(Postgres {
            source,
            database: Database::of_url(url)?,
            connection: None,
            kinds: Vec::new(),
            before: None,
        })
    }

    /// Polls before the run. Returns a warning, if there is one.
    pub fn probe(&mut self) -> Result<Option<String>, String> {
        let readings = self.ask()?;
        let mut hidden = readings.iter().filter(|one| one.of.metric == "hidden");
        let hidden = hidden.find(|one| one.value > 0.0);
        Ok(hidden.map(|one| {
            format!(
                "{} of its sessions are hidden from {}: grant pg_monitor to this user",
                one.value, self.database.user
            )
        }))
    }

    fn ask(&mut self) -> Result<Vec<MetricReading>, String> {
        // Retry once, because the server may have restarted or closed an idle connection.
        let had_one = self.connection.is_some();
        let answers = match self.answers() {
            Err(reason) if had_one && reason != "no answer in time" => self.answers(),
            other => other,
        }?;
        let [counters, sessions, waits, locks, connections] = answers
            .get(FIRST..FIRST + 5)
            .ok_or("the response is incomplete")?
        else {
            return Err("the response is incomplete".to_owned());
        };
        let counters = numbers(counters);
        let mut readings = named(
            &SUMS.map(|(name, unit)| Descriptor::counter(name, unit)),
            &counters,
        );
        readings.push(self.hit_share(&counters));
        readings.extend(levels(&SESSIONS, sessions));
        readings.extend(self.waits(waits));
        readings.extend(levels(&LOCKS, locks));
        readings.extend(levels(&CONNECTIONS, connections));
        Ok(readings)
    }

    fn answers(&mut self) -> Result<Vec<Vec<TextRow>>, String> {
        // Drop the connection on an error, because its state is then unknown.
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.database, PATIENCE)?,
        };
        let answers = connection.ask(QUESTION)?;
        self.connection = Some(connection);
        Ok(answers)
    }

    fn hit_share(&mut self, counters: &[f64]) -> MetricReading {
        let number = |name: &str| {
            let place = SUMS.iter().position(|(known, _)| *known == name);
            place
                .and_then(|place| counters.get(place))
                .copied()
                .unwrap_or(f64::NAN)
        };
        let now = (number("blocks-hit"), number("blocks-read"));
        let before = self.before.replace(now);
        let share = before.map(|before| {
            let (hit, read) = (now.0 - before.0, now.1 - before.1);
            if hit + read > 0.0 && hit >= 0.0 && read >= 0.0 {
                100.0 * hit / (hit + read)
            } else {
                f64::NAN
            }
        });
        MetricReading {
            of: Descriptor::gauge(HIT_SHARE, "%"),
            value: share.unwrap_or(f64::NAN),
        }
    }

    /// Returns the number of waiting sessions by wait event. Events that occurred earlier are
    /// reported as 0.
    fn waits(&mut self, rows: &[TextRow]) -> Vec<MetricReading> {
        let count = |row: &TextRow| row.get(1).cloned().flatten()?.parse::<f64>().ok();
        let by_kind = |kind: &str| {
            let mut rows = rows.iter();
            rows.find(|row| row.first().and_then(Option::as_deref) == Some(kind))
                .and_then(count)
        };
        for kind in rows.iter().filter_map(|row| row.first().cloned().flatten()) {
            if !self.kinds.contains(&kind) {
                self.kinds.push(kind);
            }
        }
        let reading = |kind: &String| MetricReading {
            of: Descriptor::gauge(WAITING, "").with_instance(kind),
            value: by_kind(kind).unwrap_or(0.0),
        };
        self.kinds.iter().map(reading).collect()
    }
}

impl Sampler for Postgres {
    fn source(&self) -> &str {
        &self.source.name
    }

    fn metrics(&self) -> Vec<Descriptor> {
        let sums = SUMS.map(|(name, unit)| Descriptor::counter(name, unit));
        let share = Descriptor::gauge(HIT_SHARE, "%");
        let levels = SESSIONS.iter().chain(&LOCKS).chain(&CONNECTIONS);
        let levels = levels.map(|name| Descriptor::gauge(name, ""));
        let all = sums.into_iter().chain([share]).chain(levels);
        all.filter(|of| self.source.wants(&of.metric)).collect()
    }

    fn is_all_known(&self) -> bool {
        false
    }

    fn look(&mut self) -> Result<Vec<MetricReading>, String> {
        Ok(exposition::wanted(self.ask()?, &self.source))
    }
}

fn numbers(rows: &[TextRow]) -> Vec<f64> {
    let row = rows.first().map_or(&[][..], Vec::as_slice);
    let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
    row.iter()
        .map(|text| number(text).unwrap_or(f64::NAN))
        .collect()
}

fn levels(names: &[&str], rows: &[TextRow]) -> Vec<MetricReading> {
    let all: Vec<Descriptor> = names
        .iter()
        .map(|name| Descriptor::gauge(name, ""))
        .collect();
    named(&all, &numbers(rows))
}

fn named(all: &[Descriptor], values: &[f64]) -> Vec<MetricReading> {
    let values = values.iter().copied().chain(std::iter::repeat(f64::NAN));
    let pairs = all.iter().cloned().zip(values);
    pairs
        .map(|(of, value)| MetricReading { of, value })
        .collect()
}
