//! Stores patients in SQLite, in memory or in a file, over one connection.

use std::collections::HashSet;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Result, Row as SqlRow, Transaction};

use super::names::fold;
use super::totals::Totals;

/// Names are folded before they are stored, so that byte order is search order.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS patient (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        version INTEGER NOT NULL,
        resource TEXT  -- NULL: deleted
    );
    CREATE TABLE IF NOT EXISTS name (
        folded TEXT NOT NULL,
        patient INTEGER NOT NULL,
        PRIMARY KEY (folded, patient)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS name_of_patient ON name (patient);
";

const STATEMENTS: usize = 32;

pub(super) struct PatientRow {
    key: i64,
    pub(super) version: u64,
    pub(super) resource: Option<String>,
}

pub(super) struct SearchPage {
    pub(super) total: u64,
    pub(super) page: Vec<(String, String)>,
}

pub(super) struct Store {
    db: Connection,
    /// Number of rows. Includes deleted patients, whose rows are kept.
    held: u64,
    /// Number of patients that are not deleted. It is stored because counting 50,000 rows takes a
    /// millisecond.
    live: u64,
    totals: Totals,
}

impl Store {
    pub(super) fn open(file: Option<&str>) -> Result<Self> {
        let db = match file {
            None => Connection::open_in_memory()?,
            Some(file) => Connection::open(file)?,
        };
        // The counts require exclusive access, so opening a second lab on the same file fails here.
        db.busy_timeout(Duration::ZERO)?;
        db.execute_batch("PRAGMA locking_mode = EXCLUSIVE;")?;
        // This mode may lose recent data in a power failure but does not wait for the disk.
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        db.execute_batch(SCHEMA)?;
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        // count(resource) excludes deleted patients.
        let (held, live) =
            db.query_row("SELECT count(*), count(resource) FROM patient", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        Ok(Self {
            db,
            held,
            live,
            totals: Totals::default(),
        })
    }

    pub(super) fn held(&self) -> u64 {
        self.held
    }

    pub(super) fn ping(&self) -> Result<()> {
        self.db
            .prepare_cached("SELECT key FROM patient LIMIT 1")?
            .exists([])
            .map(drop)
    }

    pub(super) fn row(&self, id: &str) -> Result<Option<PatientRow>> {
        self.db
            .prepare_cached("SELECT key, version, resource FROM patient WHERE id = ?")?
            .query_row([id], |row| {
                Ok(PatientRow {
                    key: row.get(0)?,
                    version: row.get(1)?,
                    resource: row.get(2)?,
                })
            })
            .optional()
    }

    pub(super) fn insert(&mut self, id: &str, resource: &str, names: &[String]) -> Result<()> {
        let change = self.db.transaction()?;
        let key = change
            .prepare_cached("INSERT INTO patient (id, version, resource) VALUES (?, 1, ?)")?
            .insert([id, resource])?;
        add_names(&change, key, names)?;
        change.commit()?;
        self.held += 1;
        self.live += 1;
        self.totals.add(names);
        Ok(())
    }

    pub(super) fn replace(
        &mut self,
        row: &PatientRow,
        resource: &str,
        names: &[String],
    ) -> Result<()> {
        self.change(row, Some(resource), names)?;
        self.live += u64::from(row.resource.is_none());
        Ok(())
    }

    pub(super) fn delete(&mut self, row: &PatientRow) -> Result<()> {
        self.change(row, None, &[])?;
        self.live -= u64::from(row.resource.is_some());
        Ok(())
    }

    fn change(&mut self, row: &PatientRow, resource: Option<&str>, names: &[String]) -> Result<()> {
        let change = self.db.transaction()?;
        change
            .prepare_cached("UPDATE patient SET version = version + 1, resource = ? WHERE key = ?")?
            .execute((resource, row.key))?;
        let former: Vec<String> = change
            .prepare_cached("DELETE FROM name WHERE patient = ? RETURNING folded")?
            .query_map([row.key], |row| row.get(0))?
            .collect::<Result<_>>()?;
        add_names(&change, row.key, names)?;
        change.commit()?;
        self.totals.remove(&former);
        self.totals.add(names);
        Ok(())
    }

    /// Searches by prefix, ordered by name. Without a name, the oldest patients come first.
    pub(super) fn search(&mut self, name: Option<&str>, limit: u32) -> Result<SearchPage> {
        let Some(name) = name else {
            return self.first(limit);
        };
        let from = fold(name);
        // No character sorts after U+10FFFF, so the range covers the prefix.
        let to = format!("{from}\u{10ffff}");
        let page = self.page(&from, &to, limit)?;
        let total = match self.totals.get(&from) {
            Some(total) => total,
            None => {
                let total = self.count(&from, &to)?;
                self.totals.keep(from, total);
                total
            }
        };
        Ok(SearchPage { total, page })
    }

    fn count(&self, from: &str, to: &str) -> Result<u64> {
        self.db
            .prepare_cached(
                "SELECT count(DISTINCT patient) FROM name WHERE folded >= ? AND folded < ?",
            )?
            .query_row([from, to], |row| row.get(0))
    }

    fn page(&self, from: &str, to: &str, limit: u32) -> Result<Vec<(String, String)>> {
        let mut matches = self.db.prepare_cached(
            "SELECT p.id, p.resource, p.key FROM name n CROSS JOIN patient p ON p.key = n.patient
             WHERE n.folded >= ? AND n.folded < ? ORDER BY n.folded, n.patient",
        )?;
        let mut rows = matches.query([from, to])?;
        let mut page = Vec::new();
        // A patient may match by several names. `DISTINCT` would read all matches first.
        let mut seen = HashSet::<i64>::new();
        while page.len() < limit as usize
            && let Some(row) = rows.next()?
        {
            if seen.insert(row.get(2)?) {
                page.push(id_and_resource(row)?);
            }
        }
        Ok(page)
    }

    fn first(&self, limit: u32) -> Result<SearchPage> {
        let page = self
            .db
            .prepare_cached(
                "SELECT id, resource FROM patient WHERE resource IS NOT NULL ORDER BY key LIMIT ?",
            )?
            .query_map([limit], id_and_resource)?
            .collect::<Result<_>>()?;
        Ok(SearchPage {
            total: self.live,
            page,
        })
    }
}

fn add_names(change: &Transaction<'_>, key: i64, names: &[String]) -> Result<()> {
    let mut insert = change.prepare_cached("INSERT INTO name (folded, patient) VALUES (?, ?)")?;
    for name in names {
        insert.execute((name, key))?;
    }
    Ok(())
}

fn id_and_resource(row: &SqlRow<'_>) -> Result<(String, String)> {
    Ok((row.get(0)?, row.get(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| fold(name)).collect()
    }

    #[test]
    fn a_kept_total_follows_every_change() {
        let mut store = Store::open(None).unwrap();
        for n in 0..600 {
            store
                .insert(&format!("p{n}"), "{}", &names(&["Smith", "Smyth"]))
                .unwrap();
        }
        let total = |store: &mut Store| {
            let found = store.search(Some("sM"), 1).unwrap();
            let counted = store.count("sm", "sn").unwrap();
            assert_eq!(found.total, counted, "kept and counted");
            assert_eq!(store.totals.get("sm"), Some(counted), "it is kept");
            counted
        };
        assert_eq!(total(&mut store), 600);
        store.insert("new", "{}", &names(&["Smart"])).unwrap();
        store.insert("other", "{}", &names(&["Brown"])).unwrap();
        assert_eq!(total(&mut store), 601);
        let row = |store: &Store, id| store.row(id).unwrap().unwrap();
        let changes = [
            ("p0", names(&["Brown"]), 600),
            ("p1", names(&["Smyth"]), 600),
            ("other", names(&["Brown", "Smee"]), 601),
        ];
        for (id, names, expected) in changes {
            let former = row(&store, id);
            store.replace(&former, "{}", &names).unwrap();
            assert_eq!(total(&mut store), expected);
        }
        for (id, expected) in [("p2", 600), ("p0", 600)] {
            let former = row(&store, id);
            store.delete(&former).unwrap();
            assert_eq!(total(&mut store), expected);
        }
        assert_eq!(store.search(None, 0).unwrap().total, 600);
    }
}
