//! Reasons why work on the index failed.

use rusqlite::ErrorCode;

pub(crate) enum FileError {
    Damaged,
    Other(String),
}

impl From<rusqlite::Error> for FileError {
    fn from(error: rusqlite::Error) -> FileError {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => FileError::Damaged,
            Some(ErrorCode::Unknown) | None => match error {
                rusqlite::Error::SqliteFailure(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..) => FileError::Damaged,
                error => FileError::Other(error.to_string()),
            },
            Some(_) => FileError::Other(error.to_string()),
        }
    }
}
