//! What k6 scripts mean: options, scenarios and executors, metrics, thresholds, and the texts that
//! k6 prints.
//!
//! Contains only plain data and pure functions. `script` runs the JavaScript, and the front end
//! connects both with the engine.
//!
//! | step of a run | module |
//! |---|---|
//! | command line, environment, exported options | [`options`] |
//! | scenarios, virtual users over time, arrivals | [`scenario`] |
//! | metrics and tags of samples | [`metric`], [`tags`] |
//! | figures during the run | [`aggregate`], [`threshold`] |
//! | terminal, log | [`progress`], [`log`] |
//! | every sample | [`output`] |
//! | end of the run | [`summary`], [`exit`] |
//! | `archive`, `inspect` | [`archive`], [`inspect`] |

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod aggregate;
pub mod archive;
pub mod duration;
pub mod exit;
pub mod inspect;
pub mod log;
pub mod metric;
pub mod options;
pub mod output;
pub mod progress;
pub mod scenario;
pub mod summary;
pub mod tags;
pub mod text;
pub mod threshold;
