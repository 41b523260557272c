//! Reads the output of wrk, which may contain several runs.

use super::{
    figure::PrintedFigure,
    lines::{NumberedLine, Word},
    model::{Bound, Failures, LatencyStats, PrintedReport, ReportedSpan, Tool},
    number::{self, Rounding, binary, metric, percent, plain, time, word as figure},
    wrk2,
};

/// Default timeout of wrk. Slower responses are counted without their latency.
const TIMEOUT_S: f64 = 2.0;

#[must_use]
pub fn read(lines: &[NumberedLine]) -> Vec<PrintedReport> {
    let mut runs: Vec<PrintedReport> = Vec::new();
    let mut hdr = wrk2::SectionReader::default();
    for line in lines {
        let words = line.words();
        let Some(first) = words.first() else { continue };
        let begins = first.text == "Running" && words.iter().any(|w| w.text == "test");
        let headless = line.text.contains("Thread Stats")
            && runs.last().is_none_or(|run| run.per_thread.is_some());
        if begins || headless {
            if let Some(run) = runs.last_mut() {
                hdr.end(run);
            }
            runs.push(PrintedReport::new(
                Tool::Wrk,
                line.text.trim(),
                line.place(),
            ));
        }
        let Some(run) = runs.last_mut() else { continue };
        if begins {
            run.planned = words.get(1).and_then(|word| planned(*word));
        } else if !hdr.line(run, line, &words) {
            row(run, &words);
        }
    }
    if let Some(run) = runs.last_mut() {
        hdr.end(run);
    }
    runs.retain(|run| run.all.latency.is_some() || run.all.requests.is_some());
    for run in &mut runs {
        finish(run);
    }
    runs
}

fn planned(word: Word<'_>) -> Option<PrintedFigure> {
    figure("duration", word, Rounding::Nearest, time)
}

fn row(run: &mut PrintedReport, words: &[Word<'_>]) {
    let name = |i: usize| words.get(i).map_or("", |word| word.text);
    let read =
        |i: usize, what: &str, rounding, scale| figure(what, *words.get(i)?, rounding, scale);
    let is_row = words.len() >= 4 && (name(1).contains("nan") || number::scan(name(1)).is_some());
    match (name(0), name(1)) {
        ("Latency", _) if is_row => {
            run.all.latency = Some(statistics("Latency", &words[1..], time, run));
        }
        ("Req/Sec", _) if is_row => {
            run.per_thread = Some(statistics("Req/Sec", &words[1..], metric, run));
        }
        (_, "threads") if name(2) == "and" => {
            run.threads = read(0, "threads", Rounding::Exact, plain);
            run.bound = read(3, "connections", Rounding::Exact, plain).map(connections);
        }
        (_, "requests") if name(2) == "in" => counted(run, words),
        ("Requests/sec:", _) => {
            run.all.rate = read(1, "Requests/sec", Rounding::Nearest, plain);
        }
        ("Transfer/sec:", _) => {
            run.transfer = read(1, "Transfer/sec", Rounding::Nearest, binary);
        }
        ("Non-2xx", "or") => {
            let last = words.len() - 1;
            run.all.failures = read(last, "Non-2xx or 3xx responses", Rounding::Exact, plain);
        }
        ("Socket", "errors:") => errors(run, words),
        (share, _) if share.ends_with('%') && words.len() == 2 => quantile(run, words),
        _ => {}
    }
}

fn counted(run: &mut PrintedReport, words: &[Word<'_>]) {
    let word = |i: usize| {
        words.get(i).map(|word| Word {
            text: word.text.trim_end_matches(','),
            place: word.place,
        })
    };
    run.all.requests = word(0).and_then(|w| figure("requests", w, Rounding::Exact, plain));
    let seconds = word(3).and_then(|w| figure("run time", w, Rounding::Nearest, time));
    run.span = seconds.map(ReportedSpan::from_seconds);
    run.bytes = word(4).and_then(|w| figure("read", w, Rounding::Nearest, binary));
}

/// Reads the table `Avg Stdev Max +/- Stdev`. `-nan` means that a value is missing.
fn statistics(
    name: &str,
    words: &[Word<'_>],
    scale: fn(&str) -> Option<f64>,
    run: &PrintedReport,
) -> LatencyStats {
    let read = |i: usize, what: &str, scale: fn(&str) -> Option<f64>| {
        let word = words.get(i)?;
        figure(format!("{name} {what}"), *word, Rounding::Nearest, scale)
    };
    let known = run.all.latency.clone().filter(|_| name == "Latency");
    LatencyStats {
        name: name.to_owned(),
        mean: read(0, "Avg", scale),
        stdev: read(1, "Stdev", scale),
        max: read(2, "Max", scale),
        within: read(3, "+/- Stdev", percent),
        ..known.unwrap_or_default()
    }
}

fn quantile(run: &mut PrintedReport, words: &[Word<'_>]) {
    let (Some(latency), [share, value]) = (&mut run.all.latency, words) else {
        return;
    };
    let Some(percent) = share.text.strip_suffix('%') else {
        return;
    };
    let Ok(share) = percent.parse::<f64>() else {
        return;
    };
    let name = format!("Latency {percent}%");
    if let (0.0..=100.0, Some(figure)) = (share, figure(name, *value, Rounding::Nearest, time)) {
        latency.percentiles.push((share / 100.0, figure));
    }
}

fn errors(run: &mut PrintedReport, words: &[Word<'_>]) {
    for pair in words.get(2..).unwrap_or_default().chunks(2) {
        let [name, count] = pair else { return };
        let count = Word {
            text: count.text.trim_end_matches(','),
            ..*count
        };
        if let Some(count) = figure(name.text, count, Rounding::Exact, plain) {
            run.all.errors.push(Failures {
                count,
                unanswered: None,
            });
        }
    }
}

fn connections(figure: PrintedFigure) -> Bound {
    Bound {
        figure,
        what: "connections",
        // The corrected values that wrk adds often change the mean by half.
        contradicts_above: 2.0,
        because: "wrk adds samples that it did not measure to its latency table before it prints the table",
        mean: None,
        should_be_full: false,
    }
}

fn finish(run: &mut PrintedReport) {
    let no_rate = run
        .per_thread
        .as_ref()
        .is_some_and(|row| row.mean.is_none());
    let has_latency = run.all.latency.as_ref().is_some_and(|l| l.mean.is_some());
    if run.tool == Tool::Wrk && no_rate && has_latency {
        // wrk2 samples rates only after the first ten seconds.
        run.tool = Tool::Wrk2;
    }
    if run.tool == Tool::Wrk2 {
        wrk2::finish(run);
    } else {
        run.cut_at_s = Some(TIMEOUT_S);
        if let (Some(latency), Some(n)) = (&mut run.all.latency, &run.all.requests) {
            latency.count.get_or_insert_with(|| n.clone());
        }
    }
}
