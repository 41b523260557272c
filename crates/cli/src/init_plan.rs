//! Command line of `loadline init`.

use std::{
    ffi::OsString,
    fs::OpenOptions,
    io::{ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use formats::{LoadErrors, files};
use init::{Draft, SourceText};
use session::exit;

use crate::{args, error::CommandError, log, urls};

const STDIN: &str = "-";

pub fn command(args: &args::Init) -> u8 {
    match draft(args).and_then(|draft| written(args, draft)) {
        Ok(()) => exit::PASS,
        Err(stop) => {
            stop.lines.iter().for_each(log::error);
            stop.code
        }
    }
}

/// Inserts `--` before curl's arguments, so that clap does not parse them.
pub fn set_apart(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    if arguments.get(1).is_none_or(|command| command != "init") {
        return arguments;
    }
    let mut at = 2;
    while let Some(argument) = arguments.get(at) {
        if argument == "curl" {
            arguments.insert(at, "--".into());
            break;
        }
        let takes_value = ["-o", "--output", "--environment"]
            .iter()
            .any(|flag| argument == flag);
        if !takes_value && !argument.to_string_lossy().starts_with('-') {
            break;
        }
        at += if takes_value { 2 } else { 1 };
    }
    arguments
}

fn draft(args: &args::Init) -> Result<Draft, CommandError> {
    if args.source == "curl" {
        refuse_environment(args)?;
        return Ok(init::curl::from_words(&args.arguments, &files::from_disk)?);
    }
    if let Some(more) = args.arguments.first() {
        return Err(CommandError::bad_input(format!(
            "`{more}`: a plan is created from one source; write curl's arguments after `curl`"
        )));
    }
    if args.source == STDIN {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|reason| CommandError::bad_input(format!("standard input: {reason}")))?;
        return from_bytes(STDIN, bytes, args);
    }
    let source = urls::with_scheme(&args.source);
    if source.contains("://") {
        refuse_environment(args)?;
        return Ok(init::from_url(&source)?);
    }
    let bytes = formats::files::read(&source).map_err(|reason| match reason.kind() {
        ErrorKind::NotFound => CommandError::bad_input(format!(
            "{source}: no such file; for a URL, add https:// at the start"
        )),
        _ => CommandError::bad_input(format!("{source}: {reason}")),
    })?;
    from_bytes(&source, bytes, args)
}

fn refuse_environment(args: &args::Init) -> Result<(), CommandError> {
    match &args.environment {
        None => Ok(()),
        Some(_) => Err(CommandError::bad_input(
            "--environment needs a Postman collection as the source: remove it",
        )),
    }
}

fn from_bytes(name: &str, bytes: Vec<u8>, args: &args::Init) -> Result<Draft, CommandError> {
    let text = decoded(name, bytes)?;
    let source = SourceText { name, text: &text };
    let Some(path) = &args.environment else {
        return Ok(init::from_source(source, None, &files::from_disk)?);
    };
    let environment = path.display().to_string();
    let bytes = files::read(path)
        .map_err(|reason| CommandError::bad_input(format!("{environment}: {reason}")))?;
    let values = decoded(&environment, bytes)?;
    let values = SourceText {
        name: &environment,
        text: &values,
    };
    Ok(init::from_source(source, Some(values), &files::from_disk)?)
}

fn decoded(name: &str, bytes: Vec<u8>) -> Result<String, CommandError> {
    let text = files::text(bytes);
    Ok(text.map_err(|reason| LoadErrors::from(reason.problem(name.to_owned())))?)
}

fn written(args: &args::Init, draft: Draft) -> Result<(), CommandError> {
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(draft.file_name()));
    let to_stdout = log::is_stdout(&path);
    let name = if to_stdout {
        draft.file_name()
    } else {
        path.display().to_string()
    };
    let in_short = draft.in_short();
    let exports: Vec<String> = draft
        .unknowns()
        .iter()
        .map(|unknown| {
            format!(
                "loadline: set before the run: export {}=…   # {}",
                unknown.env, unknown.what
            )
        })
        .collect();
    let text = draft.text(&word(&name));
    if to_stdout {
        log::document(&text);
    } else {
        write(&path, &text, args.force)?;
    }
    exports.iter().for_each(log::say);
    if to_stdout {
        log::say(format_args!("loadline: {in_short}"));
        return Ok(());
    }
    let name = word(&name);
    log::say(format_args!(
        "loadline: {name}: {in_short}. Next: loadline run {name} --once, then loadline run {name}"
    ));
    Ok(())
}

fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    if name.chars().all(is_plain) {
        return name.to_owned();
    }
    let name = name.replace(char::is_control, "?");
    format!("'{}'", name.replace('\'', r"'\''"))
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), CommandError> {
    let mut options = OpenOptions::new();
    options.write(true);
    // Renaming is atomic, and a file that was created in the meantime is kept.
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let rendered = path.display();
    let mut file = options.open(path).map_err(|reason| match reason.kind() {
        ErrorKind::AlreadyExists => CommandError::bad_input(format!(
            "{rendered} already exists: use --force to overwrite it, or -o FILE for another file"
        )),
        _ => CommandError::could_not_run(format!("{rendered}: {reason}")),
    })?;
    file.write_all(text.as_bytes())
        .map_err(|reason| CommandError::could_not_run(format!("{rendered}: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_after_curl_belong_to_curl() {
        let apart = |line: &str| {
            let words = set_apart(line.split(' ').map(OsString::from));
            words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (line, expected) in [
            ("loadline init curl -o x", "loadline init -- curl -o x"),
            (
                "loadline init -o p.yml --force curl -k",
                "loadline init -o p.yml --force -- curl -k",
            ),
            (
                "loadline init -o curl https://a",
                "loadline init -o curl https://a",
            ),
            ("loadline init a.har -o curl", "loadline init a.har -o curl"),
            ("loadline run curl", "loadline run curl"),
            ("loadline init --", "loadline init --"),
        ] {
            assert_eq!(apart(line), expected);
        }
    }
}
