//! `loadline report RUN --server NAME=FILE.csv`: adds external metrics to a report without changing
//! the record.

use audit::external_metrics::{self, Offset};
use record::Run;

use crate::args;

pub fn add(run: &mut Run, args: &args::Report) -> Result<(), String> {
    let offset = offset(args.clock_offset.as_deref())?;
    if args.server.is_empty() && args.clock_offset.is_some() {
        return Err(
            "--clock-offset needs an external metrics file: add --server NAME=FILE.csv".to_owned(),
        );
    }
    let mut notes = Vec::new();
    for text in &args.server {
        let (name, file) = text
            .split_once('=')
            .ok_or_else(|| format!("--server: `{text}` is incomplete: use NAME=FILE.csv"))?;
        plan::server::check_name(name).map_err(|reason| format!("--server: {reason}"))?;
        if run.server.series.iter().any(|series| series.source == name) {
            return Err(format!(
                "--server: the name `{name}` is already in use: choose another name"
            ));
        }
        let held =
            formats::files::read(file).map_err(|reason| format!("--server: {file}: {reason}"))?;
        let held =
            String::from_utf8(held).map_err(|_| format!("--server: {file} is not a text file"))?;
        notes.push(
            external_metrics::add(run, name, file, &held, offset)
                .map_err(|reason| format!("--server: {reason}"))?,
        );
    }
    run.manifest.notes.extend(notes);
    Ok(())
}

fn offset(text: Option<&str>) -> Result<Offset, String> {
    let Some(text) = text.map(str::trim) else {
        return Ok(Offset::Given(0));
    };
    if text == "auto" {
        return Ok(Offset::Found);
    }
    let (sign, length) = text
        .strip_prefix('-')
        .map_or((1, text), |length| (-1, length));
    if length == "0" || length == "0s" {
        return Ok(Offset::Given(0));
    }
    let ns = plan::units::parse_duration(length)
        .ok()
        .and_then(|ns| i64::try_from(ns).ok());
    let wrong = || format!("--clock-offset: `{text}` is not an offset: use 2s, -2s or auto");
    ns.map(|ns| Offset::Given(sign * ns)).ok_or_else(wrong)
}
