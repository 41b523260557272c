//! Texts that the team wrote in Markdown, as HTML and as Markdown inside a report.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Renders a text as HTML, below a heading of this level. Markup in the text stays text, images
/// become links, and links may only point to web pages, mail addresses and files. The page
/// therefore stays self-contained.
pub(super) fn html(text: &str, level: usize) -> String {
    let below = |own: HeadingLevel| lower(own, level);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events = Parser::new_ext(text, options).map(|event| match event {
        Event::Html(markup) | Event::InlineHtml(markup) => Event::Text(markup),
        Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
            level: below(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below(level))),
        Event::Start(
            Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }
            | Tag::Image {
                link_type,
                dest_url,
                title,
                id,
            },
        ) => Event::Start(Tag::Link {
            link_type,
            dest_url: safe(dest_url),
            title,
            id,
        }),
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        other => other,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

fn safe(url: CowStr<'_>) -> CowStr<'_> {
    let scheme = url.split(['/', '?', '#']).next().unwrap_or_default();
    let is_safe = match scheme.split_once(':') {
        Some((scheme, _)) => ["http", "https", "mailto"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known)),
        None => true,
    };
    if is_safe { url } else { CowStr::Borrowed("#") }
}

fn lower(own: HeadingLevel, level: usize) -> HeadingLevel {
    HeadingLevel::try_from(own as usize + level).unwrap_or(HeadingLevel::H6)
}

/// Returns a text in which all headings are below this level.
pub(super) fn markdown(text: &str, level: usize) -> String {
    let mut is_code = false;
    let lines = text.trim().lines().map(|line| {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            is_code = !is_code;
        }
        let hashes = line.len() - line.trim_start_matches('#').len();
        let is_heading = (1..=6).contains(&hashes) && line[hashes..].starts_with(' ');
        if is_heading && !is_code {
            format!("{}{}", "#".repeat((hashes + level).min(6)), &line[hashes..])
        } else {
            line.to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_dangerous_links_stay_harmless() {
        let text = "# Head\n\nx <script>y</script> [a](javascript:x) [b](https://b.example)\n\n![c](c.png)\n\n|a|b|\n|-|-|\n|1|2|";
        let page = html(text, 3);
        for part in [
            "<h4>Head</h4>",
            "x &lt;script&gt;y",
            "<a href=\"#\">a</a>",
            "<a href=\"https://b.example\">b</a>",
            "<a href=\"c.png\">c</a>",
            "<td>1</td>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<script"), "{page}");
        assert!(!page.contains("<img"), "{page}");
    }

    #[test]
    fn headings_are_below_those_of_the_report() {
        let text = "# One\n```\n# code\n```\n#hash\n###### Six";
        assert_eq!(
            markdown(text, 3),
            "#### One\n```\n# code\n```\n#hash\n###### Six"
        );
    }
}
