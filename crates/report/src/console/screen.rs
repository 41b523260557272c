//! Terminal view of a running test, in at most sixteen lines. A pure function of a [`ScreenModel`]
//! and a width. The caller chooses colours and position.

use analysis::{
    summary::Figure,
    verdict::{Judged, Judgement},
};

use record::units::{self, count, rate, time};

use super::{
    screen_model::{Busy, ScreenModel},
    text::cut,
};

const NARROWEST: usize = 40;
const WIDEST: usize = 120;
const NODES: usize = 8;
const KEY: usize = 11;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextStyle {
    Plain,
    Title,
    Key,
    Good,
    Unsure,
    Bad,
}

pub type StyledLine = Vec<(TextStyle, String)>;

#[must_use]
pub fn screen(model: &ScreenModel, width: usize) -> Vec<StyledLine> {
    let width = width.min(WIDEST);
    let room = width.max(NARROWEST);
    let mut lines = vec![
        title(model, room),
        progress(model, room),
        arrivals(model),
        requests(model, room),
    ];
    lines.extend(times(model));
    lines.push(errors(model));
    lines.extend(labels(model, room));
    lines.push(generator(model));
    lines.extend(nodes(model));
    if !model.criteria.is_empty() {
        lines.push(criteria(&model.criteria));
    }
    lines.into_iter().map(|line| fit(line, width)).collect()
}

#[must_use]
pub fn plain(line: &StyledLine) -> String {
    let text: String = line.iter().map(|(_, text)| text.as_str()).collect();
    text.trim_end().to_owned()
}

fn title(model: &ScreenModel, room: usize) -> StyledLine {
    let title = cut(&model.title, room);
    let left = room.saturating_sub(title.chars().count() + 3);
    let load = if left < 10 {
        String::new()
    } else {
        format!(" · {}", begun(&model.load, left))
    };
    vec![(TextStyle::Title, title), (TextStyle::Plain, load)]
}

fn begun(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let cut: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

fn progress(model: &ScreenModel, room: usize) -> StyledLine {
    let whole = |ns: u64| units::duration((ns + 500_000_000) / 1_000_000_000 * 1_000_000_000);
    let elapsed = whole(model.elapsed_ns);
    if model.end_ns == 0 {
        return vec![(TextStyle::Plain, elapsed)];
    }
    let (head, phase) = match &model.phase {
        _ if model.elapsed_ns > model.end_ns + 1_000_000_000 => {
            let head = format!("{elapsed}, load finished");
            (head, "  waiting for requests in flight".to_owned())
        }
        phase => {
            let phase = phase.as_ref().map(|(name, number, of)| match name {
                name if name.is_empty() => format!("  phase {number} of {of}"),
                name => format!("  {} ({number} of {of})", cut(name, 24)),
            });
            let head = format!("{elapsed} of {}", whole(model.end_ns));
            (head, phase.unwrap_or_default())
        }
    };
    let head = format!("{head:<width$}  ", width = KEY + 7);
    let length = room.saturating_sub(head.chars().count() + phase.chars().count());
    let share = (model.elapsed_ns as f64 / model.end_ns as f64).min(1.0);
    let full = (share * length as f64).round() as usize;
    vec![
        (TextStyle::Plain, head),
        (TextStyle::Good, "█".repeat(full)),
        (TextStyle::Key, "░".repeat(length - full)),
        (TextStyle::Plain, phase),
    ]
}

fn nodes(model: &ScreenModel) -> Vec<StyledLine> {
    let rendered = model.nodes.iter().take(NODES);
    let mut lines: Vec<StyledLine> = rendered
        .map(|line| vec![(TextStyle::Plain, line.clone())])
        .collect();
    let more = model.nodes.len().saturating_sub(NODES);
    if more > 0 {
        lines.push(vec![(
            TextStyle::Key,
            format!("and {} more nodes", count(more as u64)),
        )]);
    }
    lines
}

fn arrivals(model: &ScreenModel) -> StyledLine {
    let (due, started, skipped) = model.arrivals;
    let mut text = match model.planned {
        Some(planned) => format!("{} planned · {} due · ", count(planned), count(due)),
        None => String::new(),
    };
    text.push_str(&format!("{} started", count(started)));
    if skipped > 0 {
        text.push_str(&format!(" · {} skipped", count(skipped)));
    }
    let (_, users) = model.in_flight_now;
    let s = if users == 1 { "" } else { "s" };
    text.push_str(&format!(" · {} user{s} running", count(users)));
    keyed("Arrivals", text)
}

fn requests(model: &ScreenModel, room: usize) -> StyledLine {
    let (in_flight, _) = model.in_flight_now;
    let now = model.rates.last().copied().unwrap_or(0.0);
    let text = format!(
        "{} sent · {} in flight · {}/s  ",
        count(model.issued),
        count(in_flight),
        rate(now)
    );
    let left = room.saturating_sub(KEY + text.chars().count());
    let mut line = keyed("Requests", text);
    line.push((TextStyle::Good, sparkline(&model.rates, left)));
    line
}

fn sparkline(figures: &[f64], room: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let rendered = &figures[figures.len().saturating_sub(room)..];
    let most = rendered.iter().copied().fold(0.0, f64::max);
    let bar = |figure: &f64| {
        let share = if most > 0.0 { figure / most } else { 0.0 };
        BARS[((share * 7.0).round() as usize).min(7)]
    };
    rendered.iter().map(bar).collect()
}

fn times(model: &ScreenModel) -> [StyledLine; 2] {
    let name = match model.time {
        "response" => "Response",
        "iteration" => "Iteration",
        _ => "Service",
    };
    let row = |key: &str, when: &str, figures: Option<[Figure; 4]>| {
        let rendered = figures.map_or_else(Default::default, |f| f.map(Some));
        let pieces = ["p50", "p95", "p99", "max"].iter().zip(rendered);
        let pieces = pieces.map(|(name, figure)| {
            let figure = figure.map_or_else(|| "–".to_owned(), |figure| figure.value());
            format!("{name} {figure:<11}")
        });
        let pieces: Vec<String> = pieces.collect();
        keyed(key, format!("{when}  {}", pieces.join(" ")))
    };
    [row(name, "now", model.now), row("", "run", model.so_far)]
}

fn errors(model: &ScreenModel) -> StyledLine {
    if model.errors == 0 {
        return keyed("Errors", "0".to_owned());
    }
    let share = units::share(model.errors as f64 / model.ended.max(1) as f64);
    let causes = model.causes.iter();
    let causes: Vec<String> = causes
        .map(|(n, reason)| format!("{} × {reason}", count(*n)))
        .collect();
    let text = format!("{} ({share}): {}", count(model.errors), causes.join(" · "));
    vec![key("Errors"), (TextStyle::Bad, text)]
}

fn labels(model: &ScreenModel, room: usize) -> Vec<StyledLine> {
    if model.labels.is_empty() {
        return Vec::new();
    }
    let figures = |cells: [&str; 4]| {
        let [count, per_second, errors, p95] = cells;
        format!("{count:>12}{per_second:>10}{errors:>10}{p95:>12}")
    };
    let heads = figures(["requests", "now /s", "errors", "p95"]);
    let width = room.saturating_sub(heads.chars().count() + 1);
    let mut lines = vec![vec![(
        TextStyle::Key,
        format!("{:<width$}{heads}", "Label"),
    )]];
    let line = |busy: &Busy| {
        let p95 = busy.p95.map_or_else(|| "–".to_owned(), |p95| p95.value());
        let cells = [
            count(busy.count),
            rate(busy.per_second),
            count(busy.errors),
            p95,
        ];
        let text = figures(cells.each_ref().map(String::as_str));
        let name = format!("{:<width$}", cut(&busy.text, width));
        vec![(TextStyle::Plain, name), (TextStyle::Plain, text)]
    };
    lines.extend(model.labels.iter().map(line));
    lines
}

fn generator(model: &ScreenModel) -> StyledLine {
    let mut line = vec![key("Generator")];
    let Some((verdict, lateness)) = &model.measurement else {
        line.push((TextStyle::Plain, "too early".to_owned()));
        return line;
    };
    let style = match verdict.as_str() {
        "VALID" => TextStyle::Good,
        "DEGRADED" => TextStyle::Unsure,
        _ => TextStyle::Bad,
    };
    line.push((style, verdict.clone()));
    let lateness = lateness.map_or_else(String::new, |ns| format!(" · lateness p99 {}", time(ns)));
    let rest = format!(" so far{lateness} · CPU {}", units::share(model.cpu));
    line.push((TextStyle::Plain, rest));
    line
}

fn criteria(criteria: &[Judged]) -> StyledLine {
    let mut sorted: Vec<&Judged> = criteria.iter().collect();
    sorted.sort_by_key(|judged| match judged.judgement {
        Judgement::Fail => 0,
        Judgement::Inconclusive => 1,
        Judgement::Pass => 2,
    });
    let mut line = vec![key("Criteria")];
    for (i, judged) in sorted.into_iter().enumerate() {
        let (style, word) = match judged.judgement {
            Judgement::Pass => (TextStyle::Good, "PASS"),
            Judgement::Fail => (TextStyle::Bad, "FAIL"),
            Judgement::Inconclusive => (TextStyle::Unsure, "INCONCLUSIVE"),
        };
        if i > 0 {
            line.push((TextStyle::Plain, " · ".to_owned()));
        }
        line.push((style, word.to_owned()));
        let measured = judged.measured.as_ref();
        let measured = measured.map_or_else(String::new, |measured| format!(", {measured}"));
        line.push((TextStyle::Plain, format!(" {}{measured}", judged.text)));
    }
    line
}

fn key(name: &str) -> (TextStyle, String) {
    (TextStyle::Key, format!("{name:<KEY$}"))
}

fn keyed(name: &str, text: String) -> StyledLine {
    vec![key(name), (TextStyle::Plain, text)]
}

fn fit(line: StyledLine, width: usize) -> StyledLine {
    let mut left = width;
    let whole: usize = line.iter().map(|(_, text)| text.chars().count()).sum();
    let mut fitted = StyledLine::new();
    for (style, text) in line {
        let mut text: String = text
            .chars()
            .map(|c| if c.is_control() { '·' } else { c })
            .take(left)
            .collect();
        left -= text.chars().count();
        if left == 0 && whole > width && !text.is_empty() {
            text.pop();
            text.push('…');
        }
        fitted.push((style, text));
        if left == 0 {
            break;
        }
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_figures_are_at_the_right() {
        assert_eq!(sparkline(&[0.0, 50.0, 100.0], 10), "▁▅█");
        assert_eq!(sparkline(&[100.0, 0.0, 0.0], 2), "▁▁");
        assert_eq!(sparkline(&[1.0], 0), "");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_nor_does_it_command_it() {
        let model = ScreenModel {
            title: "a \x1b[2J title ".repeat(20),
            ..ScreenModel::default()
        };
        for width in [1, 20, 80, 300] {
            for line in screen(&model, width) {
                let text = plain(&line);
                assert!(text.chars().count() <= width.min(WIDEST), "{text}");
                assert!(!text.contains('\x1b'));
            }
        }
    }
}
