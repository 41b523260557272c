//! Renders a report as GitHub Markdown.

use super::{Block, Brief, CHARTS, SheetTable, VerdictBadge, written};
use crate::{
    markdown::table::{self, escaped},
    svg::File,
};

pub(super) fn render(blocks: &[Block<'_>]) -> String {
    let blocks: Vec<String> = blocks.iter().map(block).collect();
    blocks.join("\n\n") + "\n"
}

fn block(block: &Block<'_>) -> String {
    match block {
        Block::Title(text) => format!("# {}", escaped(text)),
        Block::Heading(text) => format!("## {text}"),
        Block::OwnHeading(text) => format!("## {}", escaped(text)),
        Block::Subheading(text) => format!("### {}", escaped(text)),
        Block::Verdict(verdict, sentence) => answer(*verdict, sentence),
        Block::Brief(brief) => first_screen(brief),
        Block::Facts(text) => escaped(text),
        Block::Written { text, level } => written::markdown(text, *level),
        Block::Text(text) => escaped(text),
        Block::List(items) => {
            let items = items.iter().map(|item| format!("- {}", escaped(item)));
            items.collect::<Vec<_>>().join("\n")
        }
        Block::Table(table) => grid(table),
        Block::Chart(chart) => image(chart),
        Block::Charts(charts) => {
            let images: Vec<String> = charts.iter().map(image).collect();
            images.join("\n\n")
        }
    }
}

fn image(chart: &File) -> String {
    format!(
        "![{}]({CHARTS}/{})",
        escaped(&chart.description),
        chart.name
    )
}

fn answer(verdict: Option<VerdictBadge>, sentence: &str) -> String {
    let word = verdict.map_or_else(String::new, |verdict| format!("**{}** – ", verdict.word));
    format!("{word}{}", escaped(sentence))
}

fn first_screen(brief: &Brief) -> String {
    let mut parts = vec![
        escaped(&brief.question),
        answer(brief.verdict, &brief.sentence),
    ];
    let cause = brief.cause.iter();
    parts.extend(cause.map(|cause| format!("**Cause:** {}", escaped(cause))));
    if !brief.advice.is_empty() {
        let items = brief.advice.iter().enumerate();
        let items = items.map(|(at, item)| format!("{}. {}", at + 1, escaped(item)));
        let items: Vec<String> = items.collect();
        parts.push(format!("**What to do:**\n\n{}", items.join("\n")));
    }
    parts.push(format!("**Certainty:** {}", escaped(&brief.certainty)));
    parts.join("\n\n")
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
