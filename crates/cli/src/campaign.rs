//! Command line of `loadline campaign`.

use std::{io::IsTerminal, path::PathBuf};

use campaign::{CampaignOptions, NotBegun};
use session::exit;

use crate::{args, log};

pub fn command(args: &args::Campaign) -> u8 {
    let mut flags = Vec::new();
    for host in &args.allow_host {
        flags.extend(["--allow-host".to_owned(), host.clone()]);
    }
    for secret in &args.secret {
        flags.extend(["--secret".to_owned(), secret.clone()]);
    }
    if args.insecure {
        flags.push("--insecure".to_owned());
    }
    flags.extend(args.many.flags());
    let newest = || PathBuf::from("last");
    let wanted = CampaignOptions {
        file: args.file.clone(),
        target: args.target.clone(),
        seed: args.seed,
        folder: args.folder.clone(),
        resume: args
            .resume
            .clone()
            .map(|named| named.unwrap_or_else(newest)),
        flags,
        shows_runs: std::io::stderr().is_terminal(),
    };
    match campaign::conduct(&wanted, &log::sink()) {
        Ok(code) => code,
        Err(NotBegun::BadInput(lines)) => {
            lines.iter().for_each(log::error);
            exit::BAD_INPUT
        }
        Err(NotBegun::CouldNot(line)) => {
            log::error(line);
            exit::COULD_NOT_RUN
        }
    }
}
