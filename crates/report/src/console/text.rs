//! Cuts and wraps text, counting lengths in characters.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns(usize);

impl Columns {
    pub const MOST: Columns = Columns(100);
    const LEAST: usize = 72;

    #[must_use]
    pub fn new(terminal: usize) -> Columns {
        Columns(terminal.clamp(Columns::LEAST, Columns::MOST.0))
    }

    pub(super) fn less(self, taken: usize) -> Columns {
        Columns(self.0.saturating_sub(taken))
    }

    pub(super) fn count(self) -> usize {
        self.0
    }
}

pub(super) fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let tail = room / 2;
    let head: String = text.chars().take(room - tail).collect();
    let tail: String = text.chars().skip(length - tail).collect();
    format!("{head}…{tail}")
}

/// Removes the middle of a sentence. Keeps whole words, so that no number loses digits.
pub(super) fn cut_sentence(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let words: Vec<&str> = text.split(' ').collect();
    let room = width.saturating_sub(" … ".chars().count());
    let fitting = |words: &mut dyn Iterator<Item = &&str>, room: usize| {
        let mut used = 0;
        words
            .take_while(|word| {
                used += word.chars().count() + 1;
                used <= room + 1
            })
            .count()
    };
    let tail = fitting(&mut words.iter().rev(), room / 2);
    let taken: usize = words[words.len() - tail..]
        .iter()
        .map(|word| word.chars().count() + 1)
        .sum();
    let head = fitting(&mut words.iter(), (room + 1).saturating_sub(taken));
    format!(
        "{} … {}",
        words[..head].join(" "),
        words[words.len() - tail..].join(" ")
    )
}

pub(crate) fn wrap(text: &str, indent: usize, columns: Columns) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = text;
    loop {
        let lead = if lines.is_empty() { 0 } else { indent };
        let room = columns.0 - lead;
        let line = if rest.chars().count() <= room {
            std::mem::take(&mut rest)
        } else {
            let end = rest
                .char_indices()
                .nth(room + 1)
                .map_or(rest.len(), |(at, _)| at);
            let hard = rest
                .char_indices()
                .nth(room)
                .map_or(rest.len(), |(at, _)| at);
            let at = rest[..end]
                .rfind(' ')
                .filter(|at| rest[..*at].trim().len() > 1)
                .unwrap_or(hard);
            let (line, more) = rest.split_at(at);
            rest = more.trim_start();
            line
        };
        lines.push(format!("{:lead$}{}", "", line.trim_end()));
        if rest.is_empty() {
            return lines.join("\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cutting_and_wrapping() {
        assert_eq!(cut("GET /a/very/long/path", 11), "GET /…/path");
        assert_eq!(cut("short", 5), "short");
        let sentence = "workers waited for 12.7 % of the time";
        assert_eq!(cut_sentence(sentence, 37), sentence);
        assert_eq!(cut_sentence(sentence, 24), "workers … the time");
        let text = format!("{} {}", "a".repeat(60), "b".repeat(60));
        assert_eq!(
            wrap(&text, 2, Columns::MOST),
            format!("{}\n  {}", "a".repeat(60), "b".repeat(60))
        );
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_the_terminal_and_no_word_is_lost(text in "[a-zµ→ ]{0,400}", indent in 0..20usize, width in 0..200usize) {
            let columns = Columns::new(width);
            let wrapped = wrap(&text, indent, columns);
            prop_assert!(wrapped.lines().all(|line| line.chars().count() <= columns.count()));
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&wrapped), letters(&text));
            prop_assert!(cut(&text, 30).chars().count() <= 30);
        }
    }
}
