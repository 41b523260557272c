//! The command `loadline export`, which writes files for other tools to show runs.

use std::path::Path;

use session::exit;

use crate::{args, log};

pub fn command(args: &args::Export) -> u8 {
    match &args.what {
        args::ExportCommand::GrafanaDashboard(dashboard) => write(&dashboard.output),
    }
}

fn write(output: &Path) -> u8 {
    let text = format!("{:#}\n", report::export::grafana_dashboard());
    if log::is_stdout(output) {
        log::out(&text);
        return exit::PASS;
    }
    match std::fs::write(output, text) {
        Ok(()) => exit::PASS,
        Err(error) => {
            log::error(format_args!("cannot write {}: {error}", output.display()));
            exit::COULD_NOT_RUN
        }
    }
}
