//! Parses command lines of wrk and wrk2: options, units and URL. Scripts are not read here.

mod options;
mod plan;
mod units;
mod url;
mod usage;

use std::path::PathBuf;

use options::{ScannedOption, Spec};
pub use url::{UrlParts, parts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persona {
    Wrk,
    Wrk2,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WrkCommand {
    pub persona: Persona,
    pub url: String,
    pub parts: UrlParts,
    pub threads: u64,
    pub connections: u64,
    pub duration_ns: u64,
    pub script: Option<PathBuf>,
    pub headers: Vec<(String, String)>,
    pub latency: bool,
    pub uncorrected: bool,
    pub batch_latency: bool,
    pub timeout_ns: u64,
    pub rate: Option<u64>,
    pub at_random: bool,
    /// File for the exact figures. This option does not exist in wrk.
    pub json: Option<PathBuf>,
    pub arguments: Vec<String>,
}

impl WrkCommand {
    #[must_use]
    pub fn connections_per_thread(&self) -> u64 {
        self.connections / self.threads.max(1)
    }

    /// Parses a header. Returns `None` unless it contains a colon followed by a space, because wrk
    /// drops such headers.
    #[must_use]
    pub fn header(text: &str) -> Option<(String, String)> {
        let (name, rest) = text.split_once(':')?;
        let value = rest.strip_prefix(' ')?;
        Some((name.to_owned(), value.to_owned()))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReadOutcome {
    pub out: String,
    pub err: String,
    /// Command to run. `None` if only text is printed, with exit code 1.
    pub command: Option<WrkCommand>,
}

const SECOND: u64 = 1_000_000_000;

#[must_use]
pub fn read(arguments: &[String], named: Persona) -> ReadOutcome {
    let scanned = options::scan(arguments, &SPECS);
    let of_wrk2 =
        |found: &ScannedOption| matches!(found, ScannedOption::Option('R' | 'D' | 'U' | 'B', _));
    let persona = if scanned.found.iter().any(of_wrk2) {
        Persona::Wrk2
    } else {
        named
    };
    let mut reading = ReadOutcome {
        out: String::new(),
        err: String::new(),
        command: None,
    };
    let mut wanted = CommandOptions::default();
    let understood = scanned
        .found
        .iter()
        .all(|found| wanted.take(found, persona, &mut reading));
    if understood {
        reading.command = wanted.finish(persona, scanned.operands, &mut reading.err);
    }
    if reading.command.is_none() {
        reading.out.push_str(&usage::text(persona));
    }
    reading
}

const fn spec(letter: char, long: &'static str, value: bool) -> Spec {
    Spec {
        letter,
        short: true,
        long: Some(long),
        value,
    }
}

const fn long_only(letter: char, long: &'static str, value: bool) -> Spec {
    Spec {
        short: false,
        ..spec(letter, long, value)
    }
}

const SPECS: [Spec; 15] = [
    spec('c', "connections", true),
    spec('d', "duration", true),
    spec('t', "threads", true),
    spec('s', "script", true),
    spec('H', "header", true),
    spec('L', "latency", false),
    spec('U', "u_latency", false),
    spec('B', "batch_latency", false),
    spec('T', "timeout", true),
    long_only('h', "help", false),
    spec('v', "version", false),
    spec('R', "rate", true),
    spec('D', "dist", true),
    long_only('j', "json", true),
    Spec {
        letter: 'r',
        short: true,
        long: None,
        value: true,
    },
];

struct CommandOptions {
    threads: u64,
    connections: u64,
    duration_s: u64,
    timeout_s: u64,
    rate: u64,
    at_random: bool,
    script: Option<PathBuf>,
    headers: Vec<(String, String)>,
    latency: bool,
    uncorrected: bool,
    batch_latency: bool,
    json: Option<PathBuf>,
}

impl Default for CommandOptions {
    fn default() -> Self {
        CommandOptions {
            threads: 2,
            connections: 10,
            duration_s: 10,
            timeout_s: 2,
            rate: 0,
            at_random: false,
            script: None,
            headers: Vec::new(),
            latency: false,
            uncorrected: false,
            batch_latency: false,
            json: None,
        }
    }
}

impl CommandOptions {
    fn take(&mut self, found: &ScannedOption, persona: Persona, reading: &mut ReadOutcome) -> bool {
        let (letter, value) = match found {
            ScannedOption::Option(letter, value) => (*letter, value.as_deref().unwrap_or_default()),
            ScannedOption::Wrong(message) => {
                reading.err.push_str(&format!("wrk: {message}\n"));
                return false;
            }
        };
        let number = |place: &mut u64, number: Option<u64>| {
            number.is_some_and(|n| {
                *place = n;
                true
            })
        };
        match letter {
            'c' => return number(&mut self.connections, units::metric(value)),
            't' => return number(&mut self.threads, units::metric(value)),
            'R' => return number(&mut self.rate, units::metric(value)),
            'd' => return number(&mut self.duration_s, units::seconds(value)),
            'T' => return number(&mut self.timeout_s, units::seconds(value)),
            'D' => match value {
                "fixed" => self.at_random = false,
                "exp" => self.at_random = true,
                other => {
                    let line = format!(
                        "-D {other} is not supported: use fixed, or exp for random intervals\n"
                    );
                    reading.err.push_str(&line);
                    return false;
                }
            },
            's' => self.script = Some(value.into()),
            'H' => self.headers.extend(WrkCommand::header(value)),
            'L' => self.latency = true,
            'U' => (self.latency, self.uncorrected) = (true, true),
            'B' => self.batch_latency = true,
            'j' => self.json = Some(value.into()),
            'v' => reading.out.push_str(&usage::version(persona)),
            _ => return false,
        }
        true
    }

    fn finish(
        self,
        persona: Persona,
        arguments: Vec<String>,
        err: &mut String,
    ) -> Option<WrkCommand> {
        let url = arguments.first()?.clone();
        if self.threads == 0 || self.duration_s == 0 {
            return None;
        }
        let Some(parts) = parts(&url) else {
            err.push_str(&format!("invalid URL: {url}\n"));
            return None;
        };
        if self.connections == 0 || self.connections < self.threads {
            err.push_str("number of connections must be >= threads\n");
            return None;
        }
        if persona == Persona::Wrk2 && self.rate == 0 {
            err.push_str("Throughput MUST be specified with the --rate or -R option\n");
            return None;
        }
        Some(WrkCommand {
            persona,
            url,
            parts,
            threads: self.threads,
            connections: self.connections,
            duration_ns: self.duration_s.saturating_mul(SECOND),
            script: self.script,
            headers: self.headers,
            latency: self.latency,
            uncorrected: self.uncorrected,
            batch_latency: self.batch_latency,
            timeout_ns: self.timeout_s.saturating_mul(SECOND),
            rate: (persona == Persona::Wrk2).then_some(self.rate),
            at_random: self.at_random,
            json: self.json,
            arguments,
        })
    }
}
