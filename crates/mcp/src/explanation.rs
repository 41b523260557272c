//! Paragraphs of the documentation, which is included in this program.

use crate::answer::Answer;

const MOST_PARAGRAPHS: usize = 6;

/// A page of the documentation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocPage {
    /// Name in the address `loadline://docs/NAME`.
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! page {
    ($name:literal, $path:literal) => {
        DocPage {
            name: $name,
            text: include_str!(concat!("../../../docs/", $path)),
        }
    };
}

/// Pages that agents need for writing plans and understanding results.
pub(crate) const PAGES: [DocPage; 12] = [
    page!("exit-codes", "reference/exit-codes.md"),
    page!("glossary", "glossary.md"),
    page!("validity", "explanation/validity.md"),
    page!("percentiles", "explanation/percentiles.md"),
    page!("comparing-runs", "explanation/comparing-runs.md"),
    page!("steady-state", "explanation/steady-state.md"),
    page!("criteria", "reference/criteria.md"),
    page!("plan", "reference/plan.md"),
    page!("plan-load", "reference/plan-load.md"),
    page!("plan-steps", "reference/plan-steps.md"),
    page!("find", "reference/find.md"),
    page!("compare", "reference/compare.md"),
];

/// Returns the paragraphs that contain the most words of the question.
pub(crate) fn explain_answer(about: &str) -> Answer {
    let words = words(about);
    let mut found: Vec<FoundParagraph> = Vec::new();
    for (order, page) in PAGES.iter().enumerate() {
        for paragraph in paragraphs(page.text) {
            let score = score(paragraph, &words);
            if score > 0 {
                found.push(FoundParagraph {
                    score,
                    order,
                    page: page.name,
                    text: paragraph,
                });
            }
        }
    }
    found.sort_by_key(|one| (std::cmp::Reverse(one.score), one.order));
    found.truncate(MOST_PARAGRAPHS);
    let Some(best) = found.first() else {
        let mut answer = Answer::new(format!(
            "NOT DOCUMENTED. The documentation has nothing about `{about}`."
        ));
        answer.is_error = true;
        return answer;
    };
    // If a paragraph matches all words, paragraphs that match only some would be a distraction.
    let least = best.score.div_ceil(2);
    let texts = found.iter().filter(|one| one.score >= least);
    let texts: Vec<String> = texts
        .map(|one| format!("{}: {}", one.page, one.text))
        .collect();
    Answer::new(format!("From the documentation, about `{about}`:")).with("paragraphs", texts)
}

struct FoundParagraph {
    score: usize,
    order: usize,
    page: &'static str,
    text: &'static str,
}

/// Splits a page into paragraphs, list items and table rows, without code and headings.
fn paragraphs(text: &'static str) -> Vec<&'static str> {
    let mut all = Vec::new();
    let mut is_code = false;
    for block in text.split("\n\n") {
        let fences = block
            .lines()
            .filter(|line| line.trim_start().starts_with("```"));
        let was_code = is_code;
        if fences.count() % 2 == 1 {
            is_code = !is_code;
        }
        if was_code || is_code || block.contains("```") {
            continue;
        }
        let is_list = block.starts_with(['|', '-']) || block.contains("\n- ");
        if is_list {
            all.extend(block.lines());
        } else {
            all.push(block);
        }
    }
    let is_text = |block: &&str| !block.starts_with(['#', '<']) && !block.starts_with("|--");
    all.into_iter().filter(is_text).collect()
}

fn words(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let words = text.split(|c| !is_part(c)).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Returns how well a paragraph matches. Words at the beginning count more.
fn score(paragraph: &str, wanted: &[String]) -> usize {
    const SMALL: [&str; 12] = [
        "a", "an", "the", "is", "of", "what", "does", "mean", "code", "to", "in", "exit",
    ];
    let own = words(paragraph);
    let is_only_small = wanted.iter().all(|word| SMALL.contains(&word.as_str()));
    let wanted = wanted
        .iter()
        .filter(|word| is_only_small || !SMALL.contains(&word.as_str()));
    wanted
        .map(|word| {
            let at = own.iter().position(|one| one == word);
            at.map_or(0, |at| if at < 2 { 4 } else { 1 })
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(about: &str) -> String {
        let answer = explain_answer(about).render();
        let text = answer.body["paragraphs"][0].as_str().unwrap_or_default();
        text.to_owned()
    }

    #[test]
    fn documented_words_are_explained() {
        assert!(first("INVALID").to_lowercase().contains("invalid"));
        assert!(
            first("exit code 4").contains("the measurement is INVALID"),
            "{}",
            first("exit code 4")
        );
        assert!(
            first("arrival rate").contains("Arrivals per second"),
            "{}",
            first("arrival rate")
        );
        assert!(first("max-duration").contains("max-duration"));
    }

    #[test]
    fn unknown_word_is_not_documented() {
        assert!(explain_answer("xyzzy").is_error);
        assert!(explain_answer("").is_error);
    }
}
