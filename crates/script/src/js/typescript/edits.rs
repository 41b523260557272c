//! Edits of a source text that preserve its lines.

use oxc_span::Span;

/// A source text, and the replacements for parts of it.
pub struct Edits<'s> {
    pub source: &'s str,
    edits: Vec<Edit>,
}

struct Edit {
    start: usize,
    end: usize,
    /// Text that precedes the blanks.
    first: String,
    /// Character that replaces the last blank.
    last: Option<char>,
    /// Whether the replaced text becomes blanks. Otherwise, it is removed.
    is_blanked: bool,
}

impl<'s> Edits<'s> {
    pub fn new(source: &'s str) -> Edits<'s> {
        Edits {
            source,
            edits: Vec::new(),
        }
    }

    /// Replaces a part with spaces. Line breaks stay.
    pub fn blank(&mut self, start: u32, end: u32) {
        self.push(start, end, "", true);
    }

    /// Replaces a statement with spaces. A semicolon separates its neighbours.
    pub fn blank_statement(&mut self, span: Span) {
        self.push(span.start, span.end, ";", true);
    }

    /// Replaces a part with a text, followed by spaces up to the end of the part.
    pub fn blank_with(&mut self, start: u32, end: u32, first: &str) {
        self.push(start, end, first, true);
    }

    /// Replaces a part with a text, which may shift the rest of the line.
    pub fn replace(&mut self, start: u32, end: u32, text: &str) {
        self.push(start, end, text, false);
    }

    /// Inserts a text before a position.
    pub fn insert(&mut self, at: u32, text: &str) {
        self.replace(at, at, text);
    }

    fn push(&mut self, start: u32, end: u32, first: &str, is_blanked: bool) {
        self.edits.push(Edit {
            start: start as usize,
            end: end as usize,
            first: first.to_owned(),
            last: None,
            is_blanked,
        });
    }

    /// Replaces the last blank of an edit that ends at `end` with a character. Returns whether
    /// there is such an edit that begins after `from`.
    pub fn end_with(&mut self, from: u32, end: u32, last: char) -> bool {
        let edit = self.edits.iter_mut().rev().find(|edit| {
            edit.is_blanked
                && edit.end == end as usize
                && edit.start > from as usize
                && edit.start < edit.end
        });
        if let Some(edit) = edit {
            edit.last = Some(last);
            return true;
        }
        false
    }

    /// Blanks this character, if it is the first one after a position, ignoring white space and
    /// comments. Returns the position after it.
    pub fn blank_next(&mut self, from: u32, wanted: char) -> u32 {
        let at = self.after_trivia(from);
        if self.rest(at).starts_with(wanted) {
            self.blank(at, at + 1);
            return at + 1;
        }
        from
    }

    /// Returns the source from a position.
    pub fn rest(&self, at: u32) -> &'s str {
        self.source.get(at as usize..).unwrap_or_default()
    }

    /// Returns a part of the source.
    pub fn text(&self, start: u32, end: u32) -> &'s str {
        let range = start as usize..end as usize;
        self.source.get(range).unwrap_or_default()
    }

    /// Returns the position of the next token.
    pub fn after_trivia(&self, from: u32) -> u32 {
        let mut rest = self.rest(from);
        loop {
            let trimmed = rest.trim_start();
            let comment_end = if trimmed.starts_with("//") {
                trimmed.find('\n')
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map(|at| at + 2)
            } else {
                Some(0)
            };
            rest = match comment_end {
                Some(0) => trimmed,
                Some(end) => &trimmed[end..],
                None => "",
            };
            if comment_end == Some(0) || rest.is_empty() {
                return (self.source.len() - rest.len()) as u32;
            }
        }
    }

    /// Returns the edited source.
    pub fn apply(mut self) -> String {
        // An insertion at the start of another edit comes before it.
        self.edits.sort_by_key(|edit| (edit.start, edit.end));
        let mut result = String::with_capacity(self.source.len());
        let mut done = 0;
        for edit in &self.edits {
            let Some(kept) = self.source.get(done..edit.start) else {
                // The edit is within a part that was replaced as a whole.
                continue;
            };
            result.push_str(kept);
            result.push_str(&edit.first);
            done = edit.end;
            if edit.is_blanked {
                let replaced = &self.source[edit.start..edit.end];
                let count = replaced.chars().count() - usize::from(edit.last.is_some());
                let blanks = replaced
                    .chars()
                    .take(count)
                    .skip(edit.first.chars().count());
                result.extend(blanks.map(|c| match c {
                    '\n' | '\r' | '\u{2028}' | '\u{2029}' => c,
                    _ => ' ',
                }));
                result.extend(edit.last);
            }
        }
        result.push_str(self.source.get(done..).unwrap_or_default());
        result
    }
}

#[cfg(test)]
mod tests {
    use oxc_span::Span;

    use super::Edits;

    #[test]
    fn blanks_keep_lines_and_columns() {
        let mut edits = Edits::new("let x: {\n ü } = 1; type Y = 2\nz");
        edits.blank(5, 14);
        edits.blank_statement(Span::new(20, 30));
        assert_eq!(edits.apply(), "let x   \n     = 1; ;         \nz");
    }

    #[test]
    fn inner_edits_of_a_replaced_part_are_left_out() {
        let mut edits = Edits::new("abcdef");
        edits.blank(1, 5);
        edits.blank(2, 3);
        edits.insert(5, "+");
        assert_eq!(edits.apply(), "a    +f");
    }

    #[test]
    fn next_token_is_found_behind_comments() {
        let edits = Edits::new("a /* ? */ // ?\n ? b");
        assert_eq!(edits.after_trivia(1), 16);
        assert_eq!(edits.after_trivia(19), 19);
        assert_eq!(Edits::new("a // end").after_trivia(1), 8);
    }
}
