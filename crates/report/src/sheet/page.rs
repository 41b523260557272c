//! Renders a report as a self-contained page without scripts. The page has the same frame as the
//! page of a run.

use std::fmt::Write;

use super::{Block, Brief, SheetTable, VerdictBadge, VerdictTone, is_verdict, written};
use crate::{
    markdown::table::{CodeSpan, code_span},
    svg::File,
    xml::{attribute, text},
};

const STYLE: [&str; 4] = [
    include_str!("../../../../web/src/style/frame.css"),
    include_str!("../../../../web/src/style/head.css"),
    include_str!("../../../../web/src/style/print.css"),
    include_str!("sheet.css"),
];

const MARK: &str = "<svg class=\"mark\" viewBox=\"0 0 32 24\" aria-hidden=\"true\"><circle cx=\"16\" cy=\"12\" r=\"9\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.5\"/><path d=\"M2 12h28\" stroke=\"currentColor\" stroke-width=\"2.5\"/></svg>";

const GOOD: &str = "M4 8.5l2.7 2.7L12 5.5";
const BAD: &str = "M4.8 4.8l6.4 6.4M11.2 4.8l-6.4 6.4";
const UNSURE: &str = "M5.7 6.2c0-3 4.6-2.9 4.6-.1 0 1.8-2.3 1.9-2.3 3.5M8 11.9v.1";

pub(super) fn render(title: &str, blocks: &[Block<'_>]) -> String {
    let mut page = PageBuilder::default();
    blocks.iter().for_each(|block| page.add(block));
    let contents = page.contents();
    let PageBuilder {
        top,
        mut main,
        open,
        ..
    } = page;
    if open {
        main += "</section>\n";
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<div class=\"page\">\n\
         <header class=\"top\"><div class=\"brand\">{MARK}<span>Loadline</span></div>\n{top}</header>\n\
         {contents}<main>\n{main}</main>\n</div>\n</body>\n</html>\n",
        text(title),
        STYLE.concat()
    )
}

/// A page under construction. Blocks before the first heading form the first screen.
#[derive(Default)]
struct PageBuilder {
    top: String,
    main: String,
    headings: Vec<String>,
    /// Whether a section is open.
    open: bool,
    tables: usize,
}

impl PageBuilder {
    fn add(&mut self, block: &Block<'_>) {
        match block {
            Block::Title(title) => self.top += &format!("<h1>{}</h1>\n", text(title)),
            Block::Facts(facts) => {
                self.top += &format!("<p class=\"facts-line\">{}</p>\n", prose(facts));
            }
            Block::Heading(heading) => self.section(heading),
            Block::OwnHeading(heading) => self.section(heading),
            other => {
                if !self.open {
                    self.main += "<section class=\"first\" aria-label=\"Verdict\">\n";
                    self.open = true;
                }
                let inside = self.inside(other);
                self.main += &inside;
            }
        }
    }

    fn section(&mut self, heading: &str) {
        if self.open {
            self.main += "</section>\n";
        }
        self.open = true;
        self.headings.push(heading.to_owned());
        let number = self.headings.len();
        let _ = writeln!(
            self.main,
            "<section id=\"s{number}\">\n<h2>{}</h2>",
            text(heading)
        );
    }

    fn contents(&self) -> String {
        if self.headings.len() < 2 {
            return String::new();
        }
        let items = self.headings.iter().enumerate().map(|(number, heading)| {
            format!(
                "<li><a href=\"#s{}\">{}</a></li>\n",
                number + 1,
                text(heading)
            )
        });
        let items: String = items.collect();
        format!("<nav class=\"contents\" aria-label=\"Contents\"><ol>\n{items}</ol></nav>\n")
    }

    fn inside(&mut self, block: &Block<'_>) -> String {
        match block {
            Block::Title(_) | Block::Facts(_) | Block::Heading(_) | Block::OwnHeading(_) => {
                String::new()
            }
            Block::Subheading(heading) => format!("<h3>{}</h3>\n", text(heading)),
            Block::Verdict(verdict, sentence) => {
                format!(
                    "<div class=\"headline\">\n{}</div>\n",
                    answer(*verdict, sentence)
                )
            }
            Block::Brief(brief) => first_screen(brief),
            Block::Text(paragraph) => format!("<p class=\"muted\">{}</p>\n", prose(paragraph)),
            Block::Written { text, level } => {
                let html = written::html(text, *level);
                format!("<div class=\"written\">\n{html}</div>\n")
            }
            Block::List(items) => format!("<ul>\n{}</ul>\n", list(items)),
            Block::Table(table) => {
                self.tables += 1;
                let heading = self.headings.last().map_or("Summary", String::as_str);
                grid(table, &format!("{heading}, table {}", self.tables))
            }
            Block::Chart(chart) => figure(chart),
            Block::Charts(charts) => {
                let figures: String = charts.iter().map(figure).collect();
                format!("<div class=\"charts\">\n{figures}</div>\n")
            }
        }
    }
}

fn figure(chart: &File) -> String {
    format!(
        "<figure aria-label=\"{}\">\n{}</figure>\n",
        attribute(&chart.description),
        chart.text
    )
}

fn answer(verdict: Option<VerdictBadge>, sentence: &str) -> String {
    let badge = verdict.map_or_else(String::new, |verdict| {
        let word = verdict.word;
        let (tone, icon) = match verdict.tone {
            VerdictTone::Good => ("good", GOOD),
            VerdictTone::Bad => ("bad", BAD),
            VerdictTone::Unsure => ("warn", UNSURE),
        };
        format!(
            "<p class=\"states\"><span class=\"badge {tone}\"><svg class=\"icon\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><circle cx=\"8\" cy=\"8\" r=\"8\" fill=\"currentColor\"/><path d=\"{icon}\" class=\"icon-sign\"/></svg>{word}</span></p>\n"
        )
    });
    format!("{badge}<p class=\"sentence\">{}</p>\n", prose(sentence))
}

fn first_screen(brief: &Brief) -> String {
    let mut rows = String::new();
    if let Some(cause) = &brief.cause {
        let _ = writeln!(rows, "<div><dt>cause</dt>\n<dd>{}</dd></div>", prose(cause));
    }
    if !brief.advice.is_empty() {
        let _ = writeln!(
            rows,
            "<div><dt>what to do</dt>\n<dd><ol>\n{}</ol></dd></div>",
            list(&brief.advice)
        );
    }
    let _ = writeln!(
        rows,
        "<div><dt>certainty</dt>\n<dd>{}</dd></div>",
        prose(&brief.certainty)
    );
    format!(
        "<div class=\"headline\">\n<p class=\"objective\">{}</p>\n{}<dl class=\"next\">\n{rows}</dl>\n</div>\n",
        prose(&brief.question),
        answer(brief.verdict, &brief.sentence)
    )
}

fn list(items: &[String]) -> String {
    let items = items
        .iter()
        .map(|item| format!("<li>{}</li>\n", prose(item)));
    items.collect()
}

fn prose(all: &str) -> String {
    let mut out = String::with_capacity(all.len());
    let mut rest = all;
    while let Some(CodeSpan {
        before,
        code,
        after,
    }) = code_span(rest)
    {
        out += &format!("{}<code>{}</code>", text(before), text(code));
        rest = after;
    }
    out + &text(rest)
}

fn grid(table: &SheetTable, name: &str) -> String {
    let is_text = |column: usize| column == 0 || table.heads[column].starts_with('<');
    let class = |column: usize, cell: &str| match (is_verdict(cell), is_text(column)) {
        (Some(tone), _) if column > 0 => format!(" class=\"text {tone}\""),
        (_, true) => " class=\"text\"".to_owned(),
        _ => String::new(),
    };
    let heads = table.heads.iter().enumerate().map(|(column, head)| {
        let (class, head) = (class(column, ""), head.trim_start_matches('<'));
        // Screen readers have no name for a header cell without text.
        match head {
            "" => format!("<td{class}></td>"),
            head => format!("<th scope=\"col\"{class}>{}</th>", text(head)),
        }
    });
    let heads: String = heads.collect();
    let mut rows = String::new();
    for (row, link) in table.rows.iter().zip(&table.links) {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let class = class(column, cell);
            let inside = match link.as_ref().filter(|_| column == 0) {
                Some(link) => format!("<a href=\"{}\">{}</a>", attribute(link), text(cell)),
                None => prose(cell),
            };
            match column {
                0 => format!("<th scope=\"row\"{class}>{inside}</th>"),
                _ => format!("<td{class}>{inside}</td>"),
            }
        });
        let cells: String = cells.collect();
        let total = match row.first().map(String::as_str) {
            Some("Total") => " class=\"total\"",
            _ => "",
        };
        rows += &format!("<tr{total}>{cells}</tr>\n");
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
        attribute(name)
    )
}
