//! Tables of the index: runs, tags, fingerprints, rows, times. Other tools can read them, too.

use decisions::run_index::{IndexedRow, IndexedRun, QUANTILES, RowTimes};
use record::{Model, RunState};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::{
    RunNames,
    file_error::FileError,
    text::{from_word, span, value, word},
};

const VERSION: i64 = 2;

const TABLES: &str = "
create table runs (
    run text primary key, began_ns integer not null, began_utc text not null, name text not null, target text not null,
    revision text, load text not null, model text not null, state text not null, elapsed_ns integer not null,
    measurement text, criteria text, exit_code integer not null, fault text, headline_time text not null, headline_of text
);
create table tags (run text not null, tag text not null, primary key (run, tag));
create table fingerprint (run text not null, place integer not null, name text not null, value text not null, primary key (run, place));
create table rows (
    run text not null, place integer not null, kind text not null, label text not null, count integer not null,
    error_share real, per_second real, primary key (run, place)
);
create table times (
    run text not null, place integer not null, time text not null, mean_ns real, p50_ns real, p90_ns real, p95_ns real,
    p99_ns real, p999_ns real, max_ns real, primary key (run, place, time)
);
";

const FROM_VERSION_1: &str = "
alter table likeness rename to fingerprint;
alter table fingerprint rename column what to name;
";

const OF_RUNS: [&str; 5] = ["runs", "tags", "fingerprint", "rows", "times"];

pub(crate) struct Index {
    connection: Connection,
}

impl Index {
    pub fn open(mut connection: Connection) -> Result<Index, FileError> {
        let version = |connection: &Connection| -> Result<i64, FileError> {
            Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
        };
        if version(&connection)? == 0 {
            let making = begin(&mut connection)?;
            if version(&making)? == 0 {
                making.execute_batch(TABLES)?;
                making.pragma_update(None, "user_version", VERSION)?;
            }
            making.commit()?;
        }
        if version(&connection)? == 1 {
            let renaming = begin(&mut connection)?;
            if version(&renaming)? == 1 {
                renaming.execute_batch(FROM_VERSION_1)?;
                renaming.pragma_update(None, "user_version", VERSION)?;
            }
            renaming.commit()?;
        }
        match version(&connection)? {
            VERSION => Ok(Index { connection }),
            newer => Err(FileError::Other(format!(
                "was written by a newer Loadline (table version {newer}, supported up to {VERSION}): update Loadline"
            ))),
        }
    }

    pub fn is_whole(&self) -> bool {
        let found = self
            .connection
            .query_row("pragma quick_check(1)", [], |row| row.get::<_, String>(0));
        found.is_ok_and(|found| found == "ok") && self.runs().is_ok()
    }

    pub fn names(&self) -> Result<RunNames, FileError> {
        let mut asked = self.connection.prepare("select run from runs")?;
        let names = asked.query_map([], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    pub fn add(&mut self, past: &IndexedRun) -> Result<(), FileError> {
        let adding = begin(&mut self.connection)?;
        for table in OF_RUNS {
            adding.execute(&format!("delete from {table} where run = ?"), [&past.run])?;
        }
        add(&adding, past)?;
        Ok(adding.commit()?)
    }

    pub fn runs(&self) -> Result<Vec<IndexedRun>, FileError> {
        let mut asked = self.connection.prepare(
            "select run, began_ns, began_utc, name, target, revision, load, model, state, elapsed_ns, measurement, criteria, \
             exit_code, fault, headline_time, headline_of from runs order by began_ns, run",
        )?;
        let runs = asked.query_map([], |row| {
            Ok(IndexedRun {
                run: row.get(0)?,
                began_ns: row.get::<_, i64>(1)?.cast_unsigned(),
                began_utc: row.get(2)?,
                name: row.get(3)?,
                tags: Vec::new(),
                target: row.get(4)?,
                revision: row.get(5)?,
                load: row.get(6)?,
                model: value(row.get(7)?).unwrap_or(Model::Open),
                state: value(row.get(8)?).unwrap_or(RunState::Interrupted),
                elapsed_ns: row.get::<_, i64>(9)?.cast_unsigned(),
                measurement: row.get(10)?,
                criteria: row.get::<_, Option<String>>(11)?.and_then(value),
                exit_code: row.get(12)?,
                fault: row.get(13)?,
                fingerprint: Vec::new(),
                headline: (span(row.get(14)?), row.get(15)?),
                rows: Vec::new(),
                recorded: false,
            })
        })?;
        let mut runs: Vec<IndexedRun> = runs.collect::<Result<_, _>>()?;
        for past in &mut runs {
            self.complete(past)?;
        }
        Ok(runs)
    }

    fn complete(&self, past: &mut IndexedRun) -> Result<(), FileError> {
        let run = past.run.clone();
        let mut tags = self
            .connection
            .prepare_cached("select tag from tags where run = ? order by rowid")?;
        let tags = tags.query_map([&run], |row| row.get(0))?;
        past.tags = tags.collect::<Result<_, _>>()?;
        let mut fingerprint = self
            .connection
            .prepare_cached("select name, value from fingerprint where run = ? order by place")?;
        let fingerprint = fingerprint.query_map([&run], |row| Ok((row.get(0)?, row.get(1)?)))?;
        past.fingerprint = fingerprint.collect::<Result<_, _>>()?;
        let mut rows = self.connection.prepare_cached(
            "select kind, label, count, error_share, per_second from rows where run = ? order by place",
        )?;
        let rows = rows.query_map([&run], |row| {
            Ok(IndexedRow {
                subject: from_word(row.get(0)?),
                label: row.get(1)?,
                count: row.get::<_, i64>(2)?.cast_unsigned(),
                error_share: row.get(3)?,
                per_second: row.get(4)?,
                times: Vec::new(),
            })
        })?;
        past.rows = rows.collect::<Result<_, _>>()?;
        let mut times = self.connection.prepare_cached(
            "select place, time, mean_ns, max_ns, p50_ns, p90_ns, p95_ns, p99_ns, p999_ns from times where run = ? order by rowid",
        )?;
        let times = times.query_map([&run], |row| {
            let mut percentiles = [None; QUANTILES.len()];
            for (i, percentile) in percentiles.iter_mut().enumerate() {
                *percentile = row.get(4 + i)?;
            }
            let times = RowTimes {
                span: span(row.get(1)?),
                mean: row.get(2)?,
                max: row.get(3)?,
                percentiles,
            };
            Ok((row.get::<_, u32>(0)? as usize, times))
        })?;
        for times in times {
            let (place, times) = times?;
            if let Some(row) = past.rows.get_mut(place) {
                row.times.push(times);
            }
        }
        Ok(())
    }
}

/// Starts an exclusive transaction. Only this call waits for other processes.
fn begin(connection: &mut Connection) -> Result<Transaction<'_>, FileError> {
    Ok(connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

fn add(to: &Transaction<'_>, past: &IndexedRun) -> Result<(), FileError> {
    to.execute(
        "insert into runs values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            past.run,
            past.began_ns.cast_signed(),
            past.began_utc,
            past.name,
            past.target,
            past.revision,
            past.load,
            word(&past.model),
            word(&past.state),
            past.elapsed_ns.cast_signed(),
            past.measurement,
            past.criteria.as_ref().map(word),
            past.exit_code,
            past.fault,
            word(&past.headline.0),
            past.headline.1,
        ],
    )?;
    for tag in &past.tags {
        to.execute(
            "insert or ignore into tags values (?, ?)",
            params![past.run, tag],
        )?;
    }
    for (place, (what, is)) in (0u32..).zip(&past.fingerprint) {
        to.execute(
            "insert into fingerprint values (?, ?, ?, ?)",
            params![past.run, place, what, is],
        )?;
    }
    for (place, row) in (0u32..).zip(&past.rows) {
        to.execute(
            "insert into rows values (?, ?, ?, ?, ?, ?, ?)",
            params![
                past.run,
                place,
                word(&row.subject),
                row.label,
                row.count.cast_signed(),
                row.error_share,
                row.per_second
            ],
        )?;
        for times in &row.times {
            let [p50, p90, p95, p99, p999] = times.percentiles;
            to.execute(
                "insert into times values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    past.run,
                    place,
                    word(&times.span),
                    times.mean,
                    p50,
                    p90,
                    p95,
                    p99,
                    p999,
                    times.max
                ],
            )?;
        }
    }
    Ok(())
}
