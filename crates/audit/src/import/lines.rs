//! Splits text into lines. Colours, hard spaces, quote marks and CI timestamps are removed, and
//! columns stay unchanged.

use super::figure::Position;

const LONGEST: usize = 2_000;

#[derive(Debug, Clone)]
pub struct NumberedLine {
    pub number: usize,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    pub text: &'a str,
    pub place: Position,
}

impl NumberedLine {
    #[must_use]
    pub fn place(&self) -> Position {
        let blank = self.text.chars().take_while(|c| c.is_whitespace()).count();
        Position {
            line: self.number,
            column: blank + 1,
        }
    }

    #[must_use]
    pub fn words(&self) -> Vec<Word<'_>> {
        self.split(char::is_whitespace)
    }

    #[must_use]
    pub fn cells(&self) -> Option<Vec<Word<'_>>> {
        let inner = self.text.trim().strip_prefix('|')?;
        let inner = inner.strip_suffix('|').unwrap_or(inner);
        let mut column = self.place().column + 1;
        let cell = |text: &'_ str, column: &mut usize| {
            let blank = text.chars().take_while(|c| c.is_whitespace()).count();
            let place = Position {
                line: self.number,
                column: *column + blank,
            };
            *column += text.chars().count() + 1;
            place
        };
        let cells = inner.split('|').map(|text| Word {
            place: cell(text, &mut column),
            text: text.trim(),
        });
        Some(cells.collect())
    }

    fn split(&self, between: impl Fn(char) -> bool) -> Vec<Word<'_>> {
        let mut words = Vec::new();
        let mut begun: Option<(usize, usize)> = None;
        let mut column = 0;
        for (at, c) in self.text.char_indices() {
            column += 1;
            match (between(c), begun) {
                (true, Some((from, first))) => {
                    words.push(self.word(from, at, first));
                    begun = None;
                }
                (false, None) => begun = Some((at, column)),
                _ => {}
            }
        }
        if let Some((from, first)) = begun {
            words.push(self.word(from, self.text.len(), first));
        }
        words
    }

    fn word(&self, from: usize, to: usize, column: usize) -> Word<'_> {
        Word {
            text: &self.text[from..to],
            place: Position {
                line: self.number,
                column,
            },
        }
    }
}

#[must_use]
pub fn number(text: &str) -> Vec<NumberedLine> {
    let lines = text.lines().enumerate();
    lines
        .map(|(i, line)| NumberedLine {
            number: i + 1,
            text: if line.len() > LONGEST {
                String::new()
            } else {
                clean(line)
            },
        })
        .collect()
}

fn clean(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut in_colour = false;
    for c in line.chars() {
        let blank = in_colour || c == '\u{1b}' || c.is_whitespace() || c.is_control();
        in_colour = c == '\u{1b}' || (in_colour && !c.is_ascii_alphabetic());
        text.push(if blank { ' ' } else { c });
    }
    let start = text.len() - text.trim_start_matches([' ', '>']).len();
    let stamp = time_stamp(&text[start..]);
    let blanks: String = text[..start + stamp].chars().map(|_| ' ').collect();
    text.replace_range(..start + stamp, &blanks);
    text
}

/// Returns the length of a timestamp such as `2026-11-20T12:34:30.1234567Z` at the start of a line.
fn time_stamp(text: &str) -> usize {
    let word = text.split(' ').next().unwrap_or_default();
    let shape: String = word
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    if shape.starts_with("0000-00-00T00:00:00") && text.len() > word.len() {
        word.len()
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_keep_their_columns() {
        let line = &number("\u{1b}[32m  Läns:\u{1b}[0m\u{a0}  7")[0];
        let words = line.words();
        assert_eq!((words[0].text, words[0].place.column), ("Läns:", 8));
        assert_eq!((words[1].text, words[1].place.column), ("7", 20));
        let stamped = &number("> 2026-11-20T12:34:30.1234567Z http.requests: 3")[0];
        assert_eq!(stamped.place().column, 32);
        assert_eq!(stamped.words()[1].text, "3");
    }

    #[test]
    fn cells_of_a_table() {
        let line = &number(" | a b | 7 |")[0];
        let cells = line.cells().unwrap();
        assert_eq!((cells[0].text, cells[0].place.column), ("a b", 4));
        assert_eq!((cells[1].text, cells[1].place.column), ("7", 10));
        assert_eq!(number("a | b")[0].cells(), None);
    }

    proptest! {
        #[test]
        fn cleaning_keeps_the_length(text in ".*") {
            for (line, raw) in number(&text).iter().zip(text.lines()) {
                prop_assert_eq!(line.text.chars().count(), raw.chars().count());
                for word in line.words() {
                    prop_assert!(!word.text.is_empty());
                }
                let _ = line.cells();
            }
        }
    }
}
