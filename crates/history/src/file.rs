//! Opens or creates the index file, and replaces a damaged one.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::Connection;

use crate::{IndexError, file_error::FileError, tables::Index};

pub const FILE: &str = "history.sqlite";
const LOCK: &str = ".history.lock";
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `work` on the index. If the index is damaged, renames it, creates a new one, and returns
/// the new name of the damaged file.
pub(crate) fn with<T>(
    runs: &Path,
    mut what: impl FnMut(&mut Index) -> Result<T, FileError>,
) -> Result<(T, Option<PathBuf>), IndexError> {
    let path = runs.join(FILE);
    let failed = |reason: String| IndexError {
        path: path.clone(),
        reason,
    };
    let mut once = || open(&path).and_then(|mut index| what(&mut index));
    match once() {
        Ok(done) => return Ok((done, None)),
        Err(FileError::Other(reason)) => return Err(failed(reason)),
        Err(FileError::Damaged) => {}
    }
    let aside = put_aside(runs, &path).map_err(|error| failed(format!("is damaged: {error}")))?;
    match once() {
        Ok(done) => Ok((done, aside)),
        Err(FileError::Other(reason)) => Err(failed(reason)),
        Err(FileError::Damaged) => Err(failed("is damaged".to_owned())),
    }
}

fn open(path: &Path) -> Result<Index, FileError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    Index::open(connection)
}

fn put_aside(runs: &Path, path: &Path) -> std::io::Result<Option<PathBuf>> {
    let lock = File::create(runs.join(LOCK))?;
    lock.lock()?;
    let is_whole = open(path).is_ok_and(|index| index.is_whole());
    if is_whole {
        return Ok(None);
    }
    let aside = (1u32..).map(|n| runs.join(format!("{FILE}.damaged-{n}")));
    let mut free = aside.filter(|aside| !aside.exists());
    let aside = free.next().unwrap_or_else(|| runs.join("history.damaged"));
    fs::rename(path, &aside)?;
    let _ = fs::remove_file(runs.join(format!("{FILE}-journal")));
    Ok(Some(aside))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use decisions::run_index::{IndexedRow, IndexedRun, RowSubject, RowTimes};
    use plan::criteria::SpanFilter;
    use record::{Model, RunState};

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir();
            let folder = folder.join(format!("loadline-index-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn past(number: u64) -> IndexedRun {
        let times = |span: SpanFilter| RowTimes {
            span,
            mean: Some(1.5),
            percentiles: [Some(1.0), None, Some(3.0), Some(4.0), None],
            max: Some(9.0),
        };
        let row = |of: RowSubject, label: &str, times: Vec<RowTimes>| IndexedRow {
            subject: of,
            label: label.to_owned(),
            count: 100,
            error_share: Some(0.25),
            per_second: None,
            times,
        };
        IndexedRun {
            run: format!("run-{number:04}"),
            began_ns: 1_000 + number,
            began_utc: "2026-11-24T13:58:22.000Z".into(),
            name: "shop ‹redacted:abcdef›".into(),
            tags: vec!["z".into(), "a".into()],
            target: "http://127.0.0.1:1".into(),
            revision: Some("abc".into()),
            load: "100/s".into(),
            model: Model::Closed,
            state: RunState::Interrupted,
            elapsed_ns: 7,
            measurement: None,
            criteria: Some(analysis::verdict::Judgement::Fail),
            exit_code: 1,
            fault: Some("it was ended early".into()),
            fingerprint: vec![("load".into(), "100/s".into())],
            headline: (SpanFilter::Iteration, Some("browse".into())),
            rows: vec![
                row(
                    RowSubject::All,
                    "",
                    vec![times(SpanFilter::Service), times(SpanFilter::Response)],
                ),
                row(
                    RowSubject::Endpoint,
                    "GET /",
                    vec![times(SpanFilter::Service)],
                ),
                row(
                    RowSubject::Iteration,
                    "browse",
                    vec![times(SpanFilter::Iteration)],
                ),
            ],
            recorded: false,
        }
    }

    fn all(runs: &Path) -> (Vec<IndexedRun>, Option<PathBuf>) {
        with(runs, |index| index.runs()).unwrap()
    }

    #[test]
    fn what_is_put_in_comes_out_again_in_the_order_of_time() {
        let folder = Folder::new("whole");
        for number in [3, 1, 2, 3] {
            with(&folder.0, |index| index.add(&past(number))).unwrap();
        }
        assert_eq!(all(&folder.0), ([1, 2, 3].map(past).to_vec(), None));
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let folder = Folder::new("many");
        let runs = &folder.0;
        std::thread::scope(|threads| {
            for writer in 0..8u64 {
                threads.spawn(move || {
                    for i in 0..10 {
                        with(runs, |index| index.add(&past(10 * writer + i))).unwrap();
                    }
                });
            }
        });
        assert_eq!(all(runs), ((0..80).map(past).collect(), None));
    }

    #[test]
    fn damaged_index_is_replaced_by_one_process() {
        let folder = Folder::new("damaged");
        let runs = &folder.0;
        fs::write(
            runs.join(FILE),
            "this is no database, and long enough to be seen as none",
        )
        .unwrap();
        let asides = std::thread::scope(|threads| {
            let writers = (0..6u64).map(|number| {
                threads.spawn(move || with(runs, |index| index.add(&past(number))).unwrap().1)
            });
            let writers: Vec<_> = writers.collect();
            let asides = writers.into_iter().map(|writer| writer.join().unwrap());
            asides.flatten().collect::<Vec<PathBuf>>()
        });
        assert_eq!(asides, [runs.join("history.sqlite.damaged-1")]);
        assert_eq!(all(runs), ((0..6).map(past).collect(), None));
    }

    #[test]
    fn an_index_with_a_torn_page_is_put_aside() {
        let folder = Folder::new("torn");
        let runs = &folder.0;
        for number in 0..40 {
            with(runs, |index| index.add(&past(number))).unwrap();
        }
        let path = runs.join(FILE);
        let length = fs::metadata(&path).unwrap().len();
        let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(4096)).unwrap();
        file.write_all(&vec![0xa5; usize::try_from(length).unwrap() - 4096])
            .unwrap();
        let (runs_left, aside) = all(runs);
        assert_eq!((runs_left.len(), aside.is_some()), (0, true));
    }

    #[test]
    fn index_of_version_1_is_converted() {
        let folder = Folder::new("older");
        drop(with(&folder.0, |index| index.runs()).unwrap());
        let connection = Connection::open(folder.0.join(FILE)).unwrap();
        connection
            .execute_batch(
                "alter table fingerprint rename column name to what;
                 alter table fingerprint rename to likeness;",
            )
            .unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        drop(connection);
        assert_eq!(with(&folder.0, |index| index.runs()).unwrap().0.len(), 0);
    }

    #[test]
    fn a_newer_index_is_left_as_it_is() {
        let folder = Folder::new("newer");
        let connection = Connection::open(folder.0.join(FILE)).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        let error = with(&folder.0, |index| index.runs()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("newer Loadline (table version 99"),
            "{error}"
        );
        assert!(folder.0.join(FILE).exists());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_one_line() {
        let error = with(Path::new("/proc/no-such-folder"), |index| index.runs()).unwrap_err();
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}
