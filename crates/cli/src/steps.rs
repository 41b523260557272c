//! Formats the step trace of one iteration.

use record::units;
use report::printable;
use worker::step_trace::{RequestTrace, StepTrace};

const BELOW: &str = "                 ";
const LONGEST: usize = 300;
const LINES: usize = 12;

pub fn text(walked: &StepTrace) -> String {
    match walked {
        StepTrace::Request(asked) => request(asked),
        StepTrace::Thinks(ns) => format!("   -  {:>9}  think\n", units::duration(*ns)),
        StepTrace::Goes(what, how) => {
            format!("   -  {:>9}  {}: {how}\n", "", printable::name(what))
        }
        StepTrace::GroupBegins(name) => {
            format!("   -  {:>9}  group {} begins\n", "", printable::name(name))
        }
        StepTrace::GroupEnds {
            name,
            took_ns,
            paused_ns,
            failed,
        } => {
            let how = if *failed {
                "fails with an error"
            } else {
                "ends"
            };
            let pauses = if *paused_ns == 0 {
                String::new()
            } else {
                format!(", {} of it pauses", units::time(*paused_ns))
            };
            let (took, name) = (units::time(*took_ns), printable::name(name));
            format!("   -  {took:>9}  group {name} {how}{pauses}\n")
        }
        StepTrace::LeftOut(what, reason) => {
            format!(
                "   -  {:>9}  {}  skipped: {reason}\n",
                "",
                printable::name(what)
            )
        }
    }
}

fn request(asked: &RequestTrace) -> String {
    let status = asked
        .status
        .map_or("-".to_owned(), |status| status.to_string());
    let name = asked
        .name
        .as_deref()
        .map_or(String::new(), |name| format!("{name}  "));
    let what = format!("{} {name}{}", asked.method, asked.url);
    let mut out = format!(
        "{status:>4}  {:>9}  {}\n",
        units::time(asked.took_ns),
        printable::name(&what)
    );
    let mut line = |mark: &str, text: &str| {
        let text = shortened(&printable::name(text));
        out += &format!("{BELOW}{mark} {text}\n");
    };
    for found in &asked.found {
        line(if found.holds { "✓" } else { "✗" }, &found.text);
    }
    if let Some(reason) = &asked.failed {
        line("✗", reason);
    }
    if let Some(body) = &asked.body {
        let body = printable::lines(body);
        let lines = body.lines().take(LINES);
        for text in lines.filter(|text| !text.trim().is_empty()) {
            out += &format!("{BELOW}  {}\n", shortened(text));
        }
        let more = body.lines().count().saturating_sub(LINES);
        if more > 0 {
            out += &format!("{BELOW}  … {more} more lines\n");
        }
    }
    out
}

fn shortened(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST).map(|(at, _)| at);
    end.map_or_else(|| text.to_owned(), |end| format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    use worker::step_trace::CheckResult;

    use super::*;

    #[test]
    fn checks_are_printed_below_their_request() {
        let found = |holds, text: &str| CheckResult {
            holds,
            text: text.into(),
        };
        let asked = RequestTrace {
            name: Some("Create".into()),
            method: "POST".into(),
            url: "http://127.0.0.1:1/orders".into(),
            status: Some(201),
            took_ns: 5_700_000,
            found: vec![
                found(true, "id = 7"),
                found(false, "status is 201, expected 200"),
            ],
            failed: None,
            body: Some("{\n\n\x1b[2J}".into()),
        };
        let reported = text(&StepTrace::Request(Box::new(asked)));
        assert_eq!(
            reported,
            " 201    5.70 ms  POST Create  http://127.0.0.1:1/orders\n                 ✓ id = 7\n                 ✗ status is 201, expected 200\n                   {\n                   \\x1b[2J}\n"
        );
        assert_eq!(
            text(&StepTrace::Thinks(2_000_000_000)),
            "   -        2 s  think\n"
        );
    }
}
