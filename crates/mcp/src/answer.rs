//! Answers of tools: a sentence that comes first, a JSON object, and excerpts in a separate block.
//! Without its excerpts, an answer has at most [`MOST_BYTES`].

use serde_json::{Map, Value, json};

/// Maximum size of the text of an answer.
pub(crate) const MOST_BYTES: usize = 4_096;
/// Maximum number of characters of a string in an answer.
const MOST_CHARACTERS: usize = 320;
const CONCLUSION_CHARACTERS: usize = 480;
/// Lists that are shortened if an answer is too large, beginning with the least important.
const SHORTENED: [&str; 13] = [
    "notes",
    "needs",
    "endpoints",
    "runs",
    "may_claim",
    "paragraphs",
    "findings",
    "untrusted_figures",
    "figures",
    "criteria",
    "holds_anyway",
    "reasons",
    "must_not_claim",
];

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The object that follows the sentence. Its first member is `conclusion`.
    body: Map<String, Value>,
    /// Whether the call was refused or the result must not be used.
    pub is_error: bool,
    /// Text from the system under test, in a fenced block.
    pub excerpts: Option<String>,
}

impl Answer {
    /// Creates an answer that begins with a sentence.
    pub fn new(conclusion: impl AsRef<str>) -> Answer {
        let mut body = Map::new();
        let conclusion = plain(conclusion.as_ref(), CONCLUSION_CHARACTERS);
        body.insert("conclusion".to_owned(), Value::String(conclusion));
        Answer {
            body,
            is_error: false,
            excerpts: None,
        }
    }

    /// Creates the answer to a refused call.
    pub fn refused(reason: impl AsRef<str>) -> Answer {
        let mut answer = Answer::new(format!("REFUSED. {}", reason.as_ref()));
        answer.is_error = true;
        answer
    }

    /// Creates the answer to a refused call that would have sent requests or checked a plan.
    pub fn unsent(reason: impl AsRef<str>) -> Answer {
        Answer::refused(format!("Nothing was sent. {}", reason.as_ref()))
    }

    /// Creates the answer to a call that failed for a reason unrelated to its input.
    pub fn failed(reason: impl AsRef<str>) -> Answer {
        let mut answer = Answer::new(format!("FAILED. {}", reason.as_ref()));
        answer.is_error = true;
        answer
    }

    /// Adds a member after the existing ones.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Answer {
        self.body.insert(key.to_owned(), clean(value.into()));
        self
    }

    /// Adds a member if there is a value for it.
    #[must_use]
    pub fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Answer {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Returns the object and its text, both within [`MOST_BYTES`]. The text begins with the
    /// conclusion.
    pub fn render(mut self) -> RenderedAnswer {
        let mut left_out = 0_u64;
        loop {
            let text = self.text();
            if text.len() <= MOST_BYTES || !self.shorten() {
                return RenderedAnswer {
                    body: Value::Object(self.body),
                    text,
                    is_error: self.is_error,
                    excerpts: self.excerpts,
                };
            }
            left_out += 1;
            let entries = number(left_out as f64, "entries", "left out of long lists");
            self.body.insert("left_out".to_owned(), entries);
        }
    }

    fn text(&self) -> String {
        let conclusion = self.body.get("conclusion").and_then(Value::as_str);
        let body = serde_json::to_string(&self.body).unwrap_or_default();
        format!("{}\n{body}", conclusion.unwrap_or_default())
    }

    /// Removes the last entry of the least important list that has more than one entry. Returns
    /// whether an entry was removed.
    fn shorten(&mut self) -> bool {
        for least in [1, 0] {
            for key in SHORTENED {
                let list = self.body.get_mut(key).and_then(Value::as_array_mut);
                if let Some(list) = list.filter(|list| list.len() > least) {
                    list.pop();
                    return true;
                }
            }
        }
        false
    }
}

/// An answer that is ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RenderedAnswer {
    pub body: Value,
    pub text: String,
    pub is_error: bool,
    pub excerpts: Option<String>,
}

/// Returns a number with its unit and the subject to which it refers.
pub(crate) fn number(value: f64, unit: &str, subject: &str) -> Value {
    json!({ "value": value, "unit": unit, "of": subject })
}

/// Returns a duration in seconds, with the subject to which it refers.
pub(crate) fn seconds(ns: u64, subject: &str) -> Value {
    number((ns as f64 / 1e6).round() / 1e3, "s", subject)
}

/// Replaces control characters and direction marks with spaces, and truncates the text.
pub(crate) fn plain(text: &str, most: usize) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let clean = text.chars().map(|c| if is_hidden(c) { ' ' } else { c });
    if text.chars().count() <= most {
        return clean.collect();
    }
    let mut cut: String = clean.take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

fn clean(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain(&text, MOST_CHARACTERS)),
        Value::Array(list) => Value::Array(list.into_iter().map(clean).collect()),
        Value::Object(map) => {
            let members = map.into_iter();
            Value::Object(members.map(|(key, value)| (key, clean(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_text_begins_with_the_conclusion() {
        let answer = Answer::new("DONE. All is well.").with("figures", json!([]));
        let rendered = answer.render();
        assert_eq!(
            rendered.text,
            "DONE. All is well.\n{\"conclusion\":\"DONE. All is well.\",\"figures\":[]}"
        );
        assert!(!rendered.is_error);
    }

    #[test]
    fn long_answer_loses_the_least_important_entries() {
        let long = vec!["x".repeat(300); 30];
        let answer = Answer::new("A.")
            .with("criteria", long.clone())
            .with("notes", long);
        let rendered = answer.render();
        assert!(rendered.text.len() <= MOST_BYTES, "{}", rendered.text.len());
        let left = |key: &str| rendered.body[key].as_array().unwrap().len();
        assert!(left("criteria") > left("notes"));
        assert!(left("notes") == 1);
        assert!(rendered.body["left_out"]["value"].as_f64().unwrap() > 40.0);
    }

    #[test]
    fn only_starts_and_checks_mention_requests() {
        let text = |answer: Answer| answer.render().text;
        assert!(text(Answer::refused("no run")).starts_with("REFUSED. no run\n"));
        assert!(text(Answer::unsent("no")).starts_with("REFUSED. Nothing was sent. no\n"));
    }

    #[test]
    fn control_characters_become_spaces() {
        assert_eq!(plain("a\u{1b}[31m\u{202e}b\n", 20), "a [31m b ");
        assert_eq!(plain("abcdef", 4), "abc…");
    }
}
