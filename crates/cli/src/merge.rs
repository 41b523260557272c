//! The command `loadline merge`, which merges the parts of a run and shows the result.

use record::{Merged, Run, RunLocation, Truncation, units};
use report::console;
use session::{derived_files, exit, exports::Exports};

use crate::{args, error::CommandError, front_ends, log, messages, rerender};

pub fn command(args: &args::Merge) -> u8 {
    merge(args).unwrap_or_else(CommandError::print)
}

fn merge(args: &args::Merge) -> Result<u8, CommandError> {
    let exports = Exports::of_finished_run(args.export.iter().map(String::as_str));
    let exports = exports.map_err(CommandError::bad_input)?;
    log::makes_way(args.json.as_deref());
    let suffix = (session::inputs::now_wall_ns() >> 10) as u16;
    let place = RunLocation::new(Some(rerender::runs(args.runs.as_deref())), suffix);
    let gathered = record::merge(&args.parts, &place);
    let Merged { mut run, missing } = gathered.map_err(|lines| CommandError {
        lines,
        code: exit::COULD_NOT_RUN,
    })?;
    if let Some((ledger, counts)) = messages::found_of(&run)
        && let Err(failure) = run.write_findings(&ledger, &serde_json::json!({ "mqtt": counts }))
    {
        log::warning(format_args!(
            "the record does not contain the results of MQTT messages: {failure}"
        ));
    }
    let sink = log::sink();
    let page = audit::page(&run);
    if let Some(frontend) = front_ends::named(&run.manifest.frontend) {
        log::out(&frontend.printed(&run));
    }
    log::summary(&console::summary_in(
        &page.summary,
        log::columns(),
        console::Detail::of(args.verbose),
    ));
    let derived = derived_files::derive(&run, &page, &sink);
    rerender::report_is_in(derived.report.as_deref());
    derived_files::index(&run, &page, &sink);
    let json_written = derived_files::write_json(&page, args.json.as_deref(), &sink);
    let exported = exports.write(&run, &page.summary, &sink);
    if let Some(failure) = incomplete(&run, &missing) {
        log::error(format_args!("INCOMPLETE: {failure}"));
        return Ok(exit::COULD_NOT_RUN);
    }
    let ended = run.manifest.end.as_ref();
    if let Some(failure) = ended
        .and_then(|end| end.reason.as_ref())
        .filter(|_| is_fault(&run))
    {
        log::error(format_args!("the run ended early: {failure}"));
        return Ok(exit::COULD_NOT_RUN);
    }
    Ok(if json_written && exported {
        exit::of_record(page.summary.exit_code, &run)
    } else {
        exit::COULD_NOT_RUN
    })
}

fn incomplete(run: &Run, missing: &[u64]) -> Option<String> {
    if !missing.is_empty() {
        let numbers: Vec<String> = missing
            .iter()
            .map(|index| (index + 1).to_string())
            .collect();
        return Some(format!(
            "of {} parts {} missing: {}",
            run.manifest.processes.unwrap_or(0),
            if missing.len() == 1 {
                "one is"
            } else {
                "some are"
            },
            numbers.join(", ")
        ));
    }
    if let Some(torn) = run.lost().next() {
        return Some(format!(
            "part {} did not finish, and its record does not give a reason",
            torn.share.number()
        ));
    }
    if let Some((number, cut)) = short_part(run) {
        let of = cut.of_ns.map(units::moment);
        let of = of.map_or_else(String::new, |of| format!(" of {of}"));
        return Some(format!(
            "the record of part {number} ends at {}{of}: copy it again from its machine",
            units::moment(cut.at_ns)
        ));
    }
    let damage = run.damage.first()?;
    Some(format!(
        "{damage}: copy the parts again from their machines"
    ))
}

fn short_part(run: &Run) -> Option<(u64, Truncation)> {
    run.cut?;
    let parts = run.dir.as_ref()?.join("parts");
    run.processes.iter().find_map(|process| {
        let folder = process.share.index.to_string();
        let part = Run::open(&parts.join(folder)).ok()?;
        Some((process.share.number(), part.cut?))
    })
}

fn is_fault(run: &Run) -> bool {
    let end = run.manifest.end.as_ref();
    end.is_some_and(|end| end.cause.as_deref() == Some("fault"))
}
