//! Emulates glibc's `getopt_long`: options at any position, `--`, joined short options, and
//! abbreviated long options.

#[derive(Debug, Clone, Copy)]
pub(super) struct Spec {
    pub letter: char,
    pub short: bool,
    pub long: Option<&'static str>,
    pub value: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScannedOption {
    Option(char, Option<String>),
    Wrong(String),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scanned {
    pub found: Vec<ScannedOption>,
    pub operands: Vec<String>,
}

pub(super) fn scan(arguments: &[String], specs: &[Spec]) -> Scanned {
    let mut scanned = Scanned::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            scanned.operands.extend(rest.cloned());
            break;
        }
        if let Some(long) = argument.strip_prefix("--") {
            scanned.found.push(long_option(long, specs, &mut rest));
        } else if argument.len() > 1 && argument.starts_with('-') {
            short_options(&argument[1..], specs, &mut rest, &mut scanned.found);
        } else {
            scanned.operands.push(argument.clone());
        }
    }
    scanned
}

type Rest<'a> = std::slice::Iter<'a, String>;

fn long_option(text: &str, specs: &[Spec], rest: &mut Rest<'_>) -> ScannedOption {
    let (name, given) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let spec = match find(name, specs) {
        Ok(spec) => spec,
        Err(wrong) => return ScannedOption::Wrong(wrong),
    };
    let full = spec.long.unwrap_or_default();
    match (spec.value, given) {
        (false, None) => ScannedOption::Option(spec.letter, None),
        (false, Some(_)) => {
            ScannedOption::Wrong(format!("option '--{full}' doesn't allow an argument"))
        }
        (true, Some(value)) => ScannedOption::Option(spec.letter, Some(value)),
        (true, None) => match rest.next() {
            Some(value) => ScannedOption::Option(spec.letter, Some(value.clone())),
            None => ScannedOption::Wrong(format!("option '--{full}' requires an argument")),
        },
    }
}

fn find<'a>(name: &str, specs: &'a [Spec]) -> Result<&'a Spec, String> {
    let begin = |spec: &&&Spec| spec.long.is_some_and(|long| long.starts_with(name));
    let fitting: Vec<&Spec> = specs.iter().filter(|spec| begin(&spec)).collect();
    if let Some(exact) = fitting.iter().find(|spec| spec.long == Some(name)) {
        return Ok(exact);
    }
    match fitting.as_slice() {
        [only] => Ok(only),
        [] => Err(format!("unrecognized option '--{name}'")),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|spec| format!("'--{}'", spec.long.unwrap_or_default()))
                .collect();
            Err(format!(
                "option '--{name}' is ambiguous; possibilities: {}",
                names.join(" ")
            ))
        }
    }
}

fn short_options(
    letters: &str,
    specs: &[Spec],
    rest: &mut Rest<'_>,
    found: &mut Vec<ScannedOption>,
) {
    for (at, letter) in letters.char_indices() {
        let spec = specs
            .iter()
            .find(|spec| spec.short && spec.letter == letter);
        let Some(spec) = spec else {
            found.push(ScannedOption::Wrong(format!(
                "invalid option -- '{letter}'"
            )));
            continue;
        };
        if !spec.value {
            found.push(ScannedOption::Option(letter, None));
            continue;
        }
        let joined = &letters[at + letter.len_utf8()..];
        let value = if joined.is_empty() {
            rest.next().cloned()
        } else {
            Some(joined.to_owned())
        };
        found.push(match value {
            Some(value) => ScannedOption::Option(letter, Some(value)),
            None => ScannedOption::Wrong(format!("option requires an argument -- '{letter}'")),
        });
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: [Spec; 4] = [
        Spec {
            letter: 't',
            short: true,
            long: Some("threads"),
            value: true,
        },
        Spec {
            letter: 'T',
            short: true,
            long: Some("timeout"),
            value: true,
        },
        Spec {
            letter: 'L',
            short: true,
            long: Some("latency"),
            value: false,
        },
        Spec {
            letter: 'h',
            short: false,
            long: Some("help"),
            value: false,
        },
    ];

    fn scan(line: &[&str]) -> Scanned {
        let arguments: Vec<String> = line.iter().map(|s| (*s).to_owned()).collect();
        super::scan(&arguments, &SPECS)
    }

    fn option(letter: char, value: Option<&str>) -> ScannedOption {
        ScannedOption::Option(letter, value.map(ToOwned::to_owned))
    }

    #[test]
    fn options_may_be_anywhere_joined_or_separate() {
        for line in [
            &["-t12", "URL", "-L"][..],
            &["URL", "-t", "12", "-L"],
            &["--threads=12", "--lat", "URL"],
            &["--thr", "12", "URL", "--latency"],
        ] {
            let scanned = scan(line);
            assert_eq!(
                scanned.found,
                [option('t', Some("12")), option('L', None)],
                "{line:?}"
            );
            assert_eq!(scanned.operands, ["URL"]);
        }
        assert_eq!(
            scan(&["-Lt5"]).found,
            [option('L', None), option('t', Some("5"))]
        );
    }

    #[test]
    fn two_dashes_end_the_options_and_one_is_an_operand() {
        let scanned = scan(&["-L", "-", "--", "-t", "x"]);
        assert_eq!(scanned.found, [option('L', None)]);
        assert_eq!(scanned.operands, ["-", "-t", "x"]);
        assert_eq!(scan(&["-t", "--"]).found, [option('t', Some("--"))]);
    }

    #[test]
    fn what_is_wrong_is_said_as_the_c_library_says_it() {
        for (line, message) in [
            (&["--foo"][..], "unrecognized option '--foo'"),
            (&["-h"], "invalid option -- 'h'"),
            (&["-t"], "option requires an argument -- 't'"),
            (&["--threads"], "option '--threads' requires an argument"),
            (
                &["--latency=3"],
                "option '--latency' doesn't allow an argument",
            ),
            (
                &["--t", "3"],
                "option '--t' is ambiguous; possibilities: '--threads' '--timeout'",
            ),
        ] {
            assert_eq!(scan(line).found, [ScannedOption::Wrong(message.to_owned())]);
        }
    }
}
