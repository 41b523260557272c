//! Renders a report as GitHub Markdown.

use super::{Block, CHARTS, SheetTable, word};
use crate::markdown::table::{self, escaped};

pub(super) fn render(blocks: &[Block<'_>]) -> String {
    let blocks: Vec<String> = blocks.iter().map(block).collect();
    blocks.join("\n\n") + "\n"
}

fn block(block: &Block<'_>) -> String {
    match block {
        Block::Title(text) => format!("# {}", escaped(text)),
        Block::Heading(text) => format!("## {text}"),
        Block::Verdict(verdict, sentence) => {
            let word = word(*verdict).map_or_else(String::new, |word| format!("**{word}** – "));
            format!("{word}{}", escaped(sentence))
        }
        Block::Text(text) => escaped(text),
        Block::List(items) => {
            let items = items.iter().map(|item| format!("- {}", escaped(item)));
            items.collect::<Vec<_>>().join("\n")
        }
        Block::Table(table) => grid(table),
        Block::Chart(chart) => format!(
            "![{}]({CHARTS}/{})",
            escaped(&chart.description),
            chart.name
        ),
    }
}

fn grid(grid: &SheetTable) -> String {
    let heads = grid.heads.iter().map(|head| match head.strip_prefix('<') {
        Some(head) => format!("<{}", escaped(head)),
        None => escaped(head),
    });
    let heads: Vec<String> = heads.collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = table::MarkdownTable::new(&heads);
    grid.rows
        .iter()
        .for_each(|row| table.row(row.iter().cloned()));
    let links = grid.rows.iter().zip(&grid.links).filter_map(|(row, link)| {
        let link = link.as_ref()?;
        Some(format!("[{}]({link})", escaped(row.first()?)))
    });
    let links: Vec<String> = links.collect();
    let mut text = table.to_string().trim_end().to_owned();
    if !links.is_empty() {
        text += &format!("\n\nReports: {}", links.join(" · "));
    }
    text
}
