//! Renders a report as a self-contained page without scripts.

use std::fmt::Write;

use analysis::verdict::Judgement;

use super::{Block, SheetTable, is_verdict, word};
use crate::{
    markdown::table::{CodeSpan, code_span},
    xml::{attribute, text},
};

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1d2025; --dim: #5a616b; --line: #dfe3e8; --paper: #ffffff; --soft: #f5f7f9; --good: #00775a; --bad: #b3400a; --link: #0060a0 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --dim: #a0a7b1; --line: #363c45; --paper: #16191d; --soft: #1f242a; --good: #4ec9a3; --bad: #ff9a62; --link: #76bdf0 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0 1rem }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--line) }
p { margin: .5rem 0 }
a { color: var(--link) }
.verdict { padding: .9rem 1.1rem; background: var(--soft); border-left: 5px solid var(--dim); border-radius: 4px; font-size: 1.08rem }
.verdict.good { border-color: var(--good) } .verdict.bad { border-color: var(--bad) }
.good b, td.good { color: var(--good) } .bad b, td.bad { color: var(--bad) } td.good, td.bad { font-weight: 600 }
.dim { color: var(--dim) }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .8rem .3rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line) }
th { color: var(--dim); font-weight: 500 }
th.text, td.text { text-align: left; white-space: normal }
figure { margin: 1rem 0; background: #ffffff; border: 1px solid var(--line); border-radius: 4px; overflow-x: auto }
figure svg { display: block; max-width: 100%; height: auto }
li { margin: .3rem 0 }
code { font: .92em ui-monospace, monospace; background: var(--soft); padding: .05em .25em; border-radius: 3px; overflow-wrap: anywhere }
";

pub(super) fn render(title: &str, blocks: &[Block<'_>]) -> String {
    let mut body = String::new();
    blocks.iter().for_each(|block| add(&mut body, block));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        text(title)
    )
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

fn add(out: &mut String, block: &Block<'_>) {
    let _ = match block {
        Block::Title(title) => writeln!(out, "<h1>{}</h1>", text(title)),
        Block::Heading(heading) => writeln!(out, "<h2>{heading}</h2>"),
        Block::Verdict(verdict, sentence) => {
            let class = match verdict {
                Some(Judgement::Pass) => " good",
                Some(_) => " bad",
                None => "",
            };
            let word = word(*verdict).map_or_else(String::new, |word| format!("<b>{word}</b> – "));
            writeln!(
                out,
                "<p class=\"verdict{class}\">{word}{}</p>",
                prose(sentence)
            )
        }
        Block::Text(paragraph) => writeln!(out, "<p class=\"dim\">{}</p>", prose(paragraph)),
        Block::List(items) => {
            let items: String = items
                .iter()
                .map(|item| format!("<li>{}</li>\n", prose(item)))
                .collect();
            writeln!(out, "<ul>\n{items}</ul>")
        }
        Block::Table(table) => writeln!(out, "{}", grid(table)),
        Block::Chart(chart) => writeln!(
            out,
            "<figure aria-label=\"{}\">\n{}</figure>",
            attribute(&chart.description),
            chart.text
        ),
    };
}

fn grid(table: &SheetTable) -> String {
    let is_text = |column: usize| column == 0 || table.heads[column].starts_with('<');
    let class = |column: usize, cell: &str| match (is_verdict(cell), is_text(column)) {
        (Some(tone), _) if column > 0 => format!(" class=\"text {tone}\""),
        (_, true) => " class=\"text\"".to_owned(),
        _ => String::new(),
    };
    let heads = table.heads.iter().enumerate().map(|(column, head)| {
        let class = class(column, "");
        format!(
            "<th scope=\"col\"{class}>{}</th>",
            text(head.trim_start_matches('<'))
        )
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
            format!("<td{class}>{inside}</td>")
        });
        let cells: String = cells.collect();
        rows += &format!("<tr>{cells}</tr>\n");
    }
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>"
    )
}
