//! Variables in the strings of a draft. They are enclosed in two reserved characters, and become
//! templates when the plan is written.

use serde_json::{Map, Value};

const BEGIN: char = '\u{fdd0}';
const END: char = '\u{fdd1}';
const BRACES: [(&str, &str); 2] = [("open", "{"), ("close", "}")];

pub fn variable(name: &str) -> String {
    format!("{BEGIN}{name}{END}")
}

pub fn is_mark(letter: char) -> bool {
    letter == BEGIN || letter == END
}

pub fn is_foreign(text: &str) -> bool {
    text.contains([BEGIN, END])
}

pub fn is_foreign_value(value: &Value) -> bool {
    match value {
        Value::String(text) => is_foreign(text),
        Value::Array(items) => items.iter().any(is_foreign_value),
        Value::Object(map) => map
            .iter()
            .any(|(key, item)| is_foreign(key) || is_foreign_value(item)),
        _ => false,
    }
}

pub fn has_variables(text: &str) -> bool {
    text.contains(BEGIN)
}

/// Returns the variable's name if the text is a single variable.
pub fn only_variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix(BEGIN)?.strip_suffix(END)?;
    (!name.contains([BEGIN, END])).then_some(name)
}

pub fn replaced(text: &str, by: &str) -> String {
    rendered(text, |_| by.to_owned())
}

/// Replaces each variable with the text that `render` returns for its name.
pub fn rendered(text: &str, render: impl Fn(&str) -> String) -> String {
    let pieces = pieces(text).map(|piece| match piece {
        Piece::Plain(plain) => plain.to_owned(),
        Piece::Variable(name) => render(name),
    });
    pieces.collect()
}

pub fn mapped(text: &str, change: impl Fn(&str) -> String) -> String {
    let pieces = pieces(text).map(|piece| match piece {
        Piece::Plain(plain) => change(plain),
        Piece::Variable(name) => variable(name),
    });
    pieces.collect()
}

enum Piece<'a> {
    Plain(&'a str),
    Variable(&'a str),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let variable = rest
            .strip_prefix(BEGIN)
            .and_then(|inside| inside.split_once(END));
        if let Some((name, after)) = variable {
            rest = after;
            return Some(Piece::Variable(name));
        }
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[first..]
            .find(BEGIN)
            .map_or(rest.len(), |at| at + first);
        let (plain, after) = rest.split_at(end);
        rest = after;
        Some(Piece::Plain(plain))
    })
}

#[derive(Debug, Default)]
pub struct Templates {
    used: [bool; 2],
}

impl Templates {
    /// Converts placeholders to templates. Replaces a literal `{{` with a variable that contains a
    /// brace.
    pub fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut behind_variable = false;
        let mut pieces = pieces(text).peekable();
        while let Some(piece) = pieces.next() {
            let plain = match piece {
                Piece::Variable(name) => {
                    write_variable(name, &mut out);
                    behind_variable = true;
                    continue;
                }
                Piece::Plain(plain) => plain,
            };
            let before_variable = pieces.peek().is_some();
            let mut before = ' ';
            let mut letters = plain.chars().peekable();
            while let Some(letter) = letters.next() {
                let is_meant = match letter {
                    '{' => {
                        before == '{'
                            || letters
                                .peek()
                                .map_or(before_variable, |letter| *letter == '{')
                    }
                    '}' => behind_variable,
                    _ => false,
                };
                before = letter;
                behind_variable = is_meant;
                if is_meant {
                    let which = usize::from(letter == '}');
                    self.used[which] = true;
                    write_variable(BRACES[which].0, &mut out);
                } else {
                    out.push(letter);
                }
            }
        }
        out
    }

    pub fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                let pairs = map
                    .iter()
                    .map(|(key, item)| (self.text(key), self.value(item)));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            other => other.clone(),
        }
    }

    pub fn braces(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let used = BRACES.into_iter().zip(self.used);
        used.filter_map(|(brace, used)| used.then_some(brace))
    }
}

pub fn is_reserved(name: &str) -> bool {
    BRACES.iter().any(|(known, _)| *known == name)
}

fn write_variable(name: &str, out: &mut String) {
    out.push_str("{{ ");
    out.push_str(name);
    out.push_str(" }}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Template;
    use proptest::prelude::*;
    use serde_json::json;

    fn evaluated(text: &str) -> Value {
        let scope = json!({"open": "{", "close": "}", "id": "a7"});
        let mut rng = plan::rng::Rng::keyed(0, plan::rng::Purpose::User, 0, 0);
        let template = Template::parse_text(text).unwrap();
        template.eval(scope.as_object().unwrap(), &mut rng).unwrap()
    }

    #[test]
    fn braces_of_the_source_stay_braces() {
        let mut templates = Templates::default();
        assert_eq!(templates.text(r#"{"a":{"b":1}}"#), r#"{"a":{"b":1}}"#);
        assert_eq!(templates.braces().count(), 0);
        let text = format!("{{{}}}", variable("id"));
        assert_eq!(templates.text(&text), "{{ open }}{{ id }}{{ close }}");
        assert_eq!(templates.braces().count(), 2);
    }

    proptest! {
        #[test]
        fn a_template_says_what_the_text_said(parts in prop::collection::vec("[{}a $(]{0,4}|!", 0..6)) {
            let marked: String = parts.iter().map(|part| if part == "!" { variable("id") } else { part.clone() }).collect();
            let expected: String = parts.iter().map(|part| if part == "!" { "a7" } else { part }).collect();
            let text = Templates::default().text(&marked);
            prop_assert_eq!(plan::template::unread_braces(&text), None);
            prop_assert_eq!(evaluated(&text), Value::from(expected));
        }
    }
}
