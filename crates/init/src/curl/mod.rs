//! Converts curl command lines, given as words or pasted text, to a draft.

mod command;
mod data_file;
mod form;
mod options;
mod request;
pub(crate) mod shell;
mod travel;

use std::path::Path;

use formats::{LoadErrors, document::Mark, files::ReadFile};
use plan::{At, Problem};

use crate::{
    draft::{self, Draft, DraftRequest, DraftStep},
    placeholders,
    unknowns::Unknowns,
};
use command::CurlCommand;
use shell::{Token, Word};

const PROMPTS: [&str; 3] = ["$", "%", "#"];

#[derive(Clone, Copy)]
enum ErrorSource<'a> {
    File(&'a str),
    Words,
}

impl ErrorSource<'_> {
    fn problem(self, mark: Mark, message: String) -> LoadErrors {
        LoadErrors::from(match self {
            ErrorSource::File(name) => Problem {
                at: Some(At {
                    file: name.to_owned(),
                    line: mark.line,
                    column: mark.column,
                }),
                message,
            },
            ErrorSource::Words => {
                Problem::anywhere(format!("curl, argument {}: {message}", mark.column))
            }
        })
    }
}

pub fn from_words(words: &[String], read: ReadFile<'_>) -> Result<Draft, LoadErrors> {
    let words = words.iter().enumerate().map(|(number, text)| Word {
        text: text.clone(),
        mark: Mark {
            file: 0,
            line: 1,
            column: number + 1,
        },
    });
    let words: Vec<Word> = words.collect();
    if let Some(word) = words
        .iter()
        .find(|word| placeholders::is_foreign(&word.text))
    {
        return Err(ErrorSource::Words.problem(
            word.mark,
            "this contains U+FDD0 or U+FDD1, which are not allowed: remove them".to_owned(),
        ));
    }
    let end = Mark {
        file: 0,
        line: 1,
        column: words.len(),
    };
    let commands =
        command::read(&words, end).map_err(|e| ErrorSource::Words.problem(e.mark, e.message))?;
    draft(&commands, ErrorSource::Words, Unknowns::default(), read)
}

pub fn from_text(name: &str, text: &str, read: ReadFile<'_>) -> Result<Draft, LoadErrors> {
    let source = ErrorSource::File(name);
    let mut unknowns = Unknowns::default();
    let tokens = shell::tokens(0, text, &mut |name| {
        unknowns.environment(name, "as in the shell where the command was written")
    })
    .map_err(|e| source.problem(e.mark, e.message))?;
    let mut commands = Vec::new();
    for line in lines(tokens) {
        let Some((first, rest)) = line.split_first() else {
            continue;
        };
        if first.text != "curl" && !first.text.ends_with("/curl") {
            let text = format!(
                "`{}` is not a curl command: start it with `curl`",
                placeholders::replaced(&shortened(&first.text), "…")
            );
            return Err(source.problem(first.mark, text));
        }
        commands.extend(
            command::read(rest, first.mark).map_err(|e| source.problem(e.mark, e.message))?,
        );
    }
    if commands.is_empty() {
        return Err(source.problem(
            Mark::start_of(0),
            "the file contains no curl command".to_owned(),
        ));
    }
    draft(&commands, source, unknowns, read)
}

fn lines(tokens: Vec<Token>) -> Vec<Vec<Word>> {
    let mut lines = vec![Vec::new()];
    let mut piped = false;
    for token in tokens {
        match token {
            Token::End => {
                piped = false;
                lines.push(Vec::new());
            }
            Token::Pipe => piped = true,
            Token::Word(word) if !piped => lines
                .last_mut()
                .into_iter()
                .for_each(|line| line.push(word.clone())),
            Token::Word(_) => {}
        }
    }
    for line in &mut lines {
        let is_before =
            |word: &Word| PROMPTS.contains(&word.text.as_str()) || is_assignment(&word.text);
        let before = line.iter().take_while(|word| is_before(word)).count();
        line.drain(..before);
        if line.first().is_some_and(|word| word.text == "export") {
            line.clear();
        }
    }
    lines
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

fn draft(
    commands: &[CurlCommand],
    source: ErrorSource<'_>,
    unknowns: Unknowns,
    read: ReadFile<'_>,
) -> Result<Draft, LoadErrors> {
    let from = match source {
        ErrorSource::File(name) => {
            let name = if name == "-" { "standard input" } else { name };
            let s = if commands.len() == 1 { "" } else { "s" };
            format!("{} curl command{s} in {name}", commands.len())
        }
        ErrorSource::Words => "a curl command".to_owned(),
    };
    let mut draft = Draft {
        from,
        unknowns,
        ..Draft::default()
    };
    let mut requests = Vec::new();
    for command in commands {
        let made = request::draft(command, &mut draft.unknowns, read);
        let (address, mut request) = made.map_err(|e| source.problem(e.mark, e.message))?;
        if draft.target.is_empty() {
            draft.stem = draft::stem_of_host(&address.host);
            draft.name = placeholders::replaced(&address.host, "…");
            draft.target.clone_from(&address.origin);
        }
        if address.origin != draft.target {
            request.url = format!("{}{}", address.origin, request.url);
        }
        requests.push(request);
    }
    settings(&mut draft, &mut requests, commands);
    let steps = requests.into_iter();
    draft.set_steps(
        steps
            .map(|request| DraftStep::Request(Box::new(request)))
            .collect(),
    );
    travel::take_over(commands, &mut draft.http).map_err(|e| source.problem(e.mark, e.message))?;
    if draft.http.insecure && draft.http.authorities.take().is_some() {
        let text = "--cacert is omitted, because -k disables verification.";
        draft.remarks.push(text.to_owned());
    }
    if draft.http.unix.is_some() && !draft.http.resolve.is_empty() {
        draft.http.resolve.clear();
        let text = "--resolve is omitted, because all connections use the socket.";
        draft.remarks.push(text.to_owned());
    }
    if let ErrorSource::File(name) = source {
        let path = Path::new(name);
        if let Some(stem) = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .filter(|_| name != "-")
        {
            draft.stem = draft::stem(stem);
        }
    }
    let mut passed: Vec<&str> = commands
        .iter()
        .flat_map(|command| command.passed.iter().map(String::as_str))
        .collect();
    passed.sort_unstable();
    passed.dedup();
    if !passed.is_empty() {
        draft.remarks.push(format!(
            "Ignored, because they do not affect the request: {}",
            passed.join(" ")
        ));
    }
    Ok(draft)
}

fn settings(draft: &mut Draft, requests: &mut [DraftRequest], commands: &[CurlCommand]) {
    draft.http.insecure = commands.iter().any(|command| command.insecure);
    draft.http.timeout = commands.iter().find_map(|command| command.max_time.clone());
    draft.http.max_redirects = commands.iter().find_map(|command| command.max_redirects);
    if commands.iter().all(|command| !command.follow) {
        draft.http.no_redirects = Some("as curl does without -L");
        draft.http.max_redirects = None;
        return;
    }
    for (request, command) in requests.iter_mut().zip(commands) {
        if !command.follow {
            request.follow = Some(false);
        }
    }
}
