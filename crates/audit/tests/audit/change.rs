use audit::{
    check::{self, Audit, Severity},
    import::{self, PrintedFigure},
};

pub fn audit(text: &str) -> Audit {
    check::audit(&import::read(text).unwrap())
}

pub fn contradictions(text: &str) -> Vec<String> {
    let findings = audit(text).findings;
    findings
        .iter()
        .filter(|finding| finding.kind == Severity::Contradiction)
        .map(ToString::to_string)
        .collect()
}

pub fn figures(text: &str) -> Vec<PrintedFigure> {
    let import = import::read(text).unwrap();
    import::figures(&import.reports)
        .into_iter()
        .cloned()
        .collect()
}

pub fn named(text: &str, name: &str) -> Vec<PrintedFigure> {
    let mut figures = figures(text);
    figures.retain(|figure| figure.name == name);
    figures
}

pub fn last(text: &str, name: &str) -> PrintedFigure {
    let found = named(text, name).pop();
    assert!(found.is_some(), "no figure {name} in\n{text}");
    found.unwrap()
}

pub fn with(text: &str, figure: &PrintedFigure, value: f64) -> String {
    let (place, mut out) = (figure.place, String::new());
    for (i, line) in text.split_inclusive('\n').enumerate() {
        if i + 1 != place.line {
            out.push_str(line);
            continue;
        }
        let at = line.char_indices().nth(place.column - 1).unwrap().0;
        let old = number_at(&line[at..]);
        let decimals = old
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        out.push_str(&line[..at]);
        out.push_str(&format!("{value:.decimals$}"));
        out.push_str(&line[at + old.len()..]);
    }
    out
}

pub fn with_at_least(text: &str, figure: &PrintedFigure, value: f64) -> String {
    let step = step(text, figure);
    with(text, figure, (value / step).ceil() * step)
}

pub fn printed(text: &str, figure: &PrintedFigure) -> f64 {
    let line = text.lines().nth(figure.place.line - 1).unwrap();
    let at = line.char_indices().nth(figure.place.column - 1).unwrap().0;
    number_at(&line[at..]).parse().unwrap()
}

fn number_at(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    text[..end.unwrap_or(text.len())].trim_end_matches('.')
}

pub fn step(text: &str, figure: &PrintedFigure) -> f64 {
    let line = text.lines().nth(figure.place.line - 1).unwrap();
    let at = line.char_indices().nth(figure.place.column - 1).unwrap().0;
    let number = number_at(&line[at..]);
    let decimals = number.split_once('.').map_or(0, |(_, d)| d.len());
    10f64.powi(-i32::try_from(decimals).unwrap())
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Direction {
    Up,
    Down,
}

/// Checks that a change is found. `rounding` is the uncertainty from the last digits, and `more` is
/// the additional relative uncertainty from the tool's definition.
pub fn caught(
    text: &str,
    figure: &PrintedFigure,
    direction: Direction,
    rounding: f64,
    more: f64,
) -> Result<(), String> {
    let old = printed(text, figure);
    let change = old * (0.021 + more) + rounding * step(text, figure);
    let new = match direction {
        Direction::Up => old + change,
        Direction::Down => old - change,
    };
    if new < 0.0 {
        return Ok(());
    }
    let changed = with(text, figure, new);
    named_in(&changed, figure).map_err(|error| format!("from {old} to {new}: {error}"))
}

pub fn named_in(text: &str, figure: &PrintedFigure) -> Result<(), String> {
    let audit = audit(text);
    let is_named = audit.findings.iter().any(|finding| {
        let mut figures = finding.figures.iter();
        figures.any(|named| (named.line, named.column) == (figure.place.line, figure.place.column))
    });
    if is_named {
        return Ok(());
    }
    Err(format!(
        "{} at {:?} was not named:\n{}\n{text}",
        figure.name,
        figure.place,
        audit.text()
    ))
}
