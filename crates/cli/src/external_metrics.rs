//! The flag `loadline report --server NAME=FILE.csv`, which adds external metrics to the report of
//! a run or of a campaign, without changing the record.

use audit::external_metrics::{self, ExternalMetrics, OfferedLoad, Offset};
use campaign::External;
use record::Run;

use crate::args;

pub fn read(args: &args::Report) -> Result<External, String> {
    let offset = offset(args.clock_offset.as_deref())?;
    if args.server.is_empty() && args.clock_offset.is_some() {
        return Err(
            "--clock-offset needs an external metrics file: add --server NAME=FILE.csv".to_owned(),
        );
    }
    let mut files: Vec<ExternalMetrics> = Vec::new();
    for text in &args.server {
        let (name, file) = text
            .split_once('=')
            .ok_or_else(|| format!("--server: `{text}` is incomplete: use NAME=FILE.csv"))?;
        plan::server::check_name(name).map_err(|reason| format!("--server: {reason}"))?;
        if files.iter().any(|known| known.source() == name) {
            return Err(format!("--server: {}", external_metrics::is_taken(name)));
        }
        let held =
            formats::files::read(file).map_err(|reason| format!("--server: {file}: {reason}"))?;
        let held =
            String::from_utf8(held).map_err(|_| format!("--server: {file} is not a text file"))?;
        let metrics = ExternalMetrics::read(name, file, &held);
        files.push(metrics.map_err(|reason| format!("--server: {reason}"))?);
    }
    Ok(External { files, offset })
}

pub fn add(run: &mut Run, args: &args::Report) -> Result<(), String> {
    let External { files, offset } = read(args)?;
    let mut load = OfferedLoad::default();
    load.add(run);
    let first_utc = run.manifest.start.utc.clone();
    let mut notes = Vec::new();
    for mut metrics in files {
        let because = |reason: String| format!("--server: {reason}");
        metrics.check_name(run).map_err(because)?;
        metrics.set_offset(offset, &load).map_err(because)?;
        metrics.add_to(run);
        notes.push(metrics.note(&first_utc).map_err(because)?);
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
    let wrong = || {
        format!(
            "--clock-offset: `{text}` is not a valid offset: use a duration such as 2s or -2s, or auto"
        )
    };
    ns.map(|ns| Offset::Given(sign * ns)).ok_or_else(wrong)
}
