//! Translates the scripts of a Postman collection into captures and checks. Lists every statement
//! that a plan cannot express.

mod expect;
mod token;
mod value;

use formats::document::{Mark, Node};
use serde_json::{Value, json};

pub use expect::Assertion;
use token::{Token, TokenKind, closing, statements, tokens};
pub use value::ScriptValue;
use value::{Aliases, call, read, scope, strip};

/// Maximum nesting of blocks to translate. Deeper blocks are listed.
const DEEPEST: usize = 16;
const LONGEST_EXCERPT: usize = 70;

/// Type of an item's script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptKind {
    Prerequest,
    Test,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ScriptCapture {
    /// Name of the variable in the collection.
    pub name: String,
    pub source: Value,
    pub is_optional: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub name: String,
    pub value: ScriptValue,
}

/// A statement that the plan does not express.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftStatement {
    pub mark: Mark,
    pub text: String,
}

#[derive(Debug, Clone, Default)]
pub struct TranslatedScript {
    pub captures: Vec<ScriptCapture>,
    pub assertions: Vec<Assertion>,
    pub assignments: Vec<Assignment>,
    pub left: Vec<LeftStatement>,
}

impl TranslatedScript {
    pub fn extend(&mut self, other: &TranslatedScript) {
        self.captures.extend_from_slice(&other.captures);
        self.assertions.extend_from_slice(&other.assertions);
        self.assignments.extend_from_slice(&other.assignments);
    }
}

/// Translates the lines of a script: `exec` of an event, which is a list of lines or one text.
pub fn translate(kind: ScriptKind, exec: &Node) -> TranslatedScript {
    let lines = exec.as_list().unwrap_or(std::slice::from_ref(exec));
    let mut text = String::new();
    let mut marks = Vec::new();
    for line in lines {
        let written = line.as_str().unwrap_or_default();
        // A text with several lines has only one position.
        marks.extend(std::iter::repeat_n(line.mark, written.split('\n').count()));
        text.push_str(written);
        text.push('\n');
    }
    let tokens = tokens(&text);
    let mut translator = ScriptTranslator {
        kind,
        marks,
        aliases: Aliases::new(),
        out: TranslatedScript::default(),
    };
    translator.block(&tokens, false, DEEPEST);
    translator.out
}

struct ScriptTranslator {
    kind: ScriptKind,
    marks: Vec<Mark>,
    aliases: Aliases,
    out: TranslatedScript,
}

impl ScriptTranslator {
    fn block(&mut self, tokens: &[Token<'_>], is_conditional: bool, depth: usize) {
        for statement in statements(tokens) {
            let is_done = depth > 0 && self.statement(statement, is_conditional, depth - 1);
            if !is_done {
                self.list(statement, "");
            }
        }
    }

    /// Translates a statement. Returns `false` if it must be listed instead.
    fn statement(&mut self, tokens: &[Token<'_>], is_conditional: bool, depth: usize) -> bool {
        let is_harmless = strip(tokens, "console .").is_some()
            || matches!(tokens, [one] if one.as_text().is_some());
        is_harmless
            || self.test(tokens, is_conditional, depth).is_some()
            || self.condition(tokens, depth).is_some()
            || self.declaration(tokens).is_some()
            || self.assignment(tokens, is_conditional).is_some()
            || (self.kind == ScriptKind::Test
                && !is_conditional
                && self.assertion(tokens).is_some())
    }

    fn test(&mut self, tokens: &[Token<'_>], is_conditional: bool, depth: usize) -> Option<()> {
        let parts = call(strip(tokens, "pm . test")?)?;
        let [_, callback] = parts.arguments[..] else {
            return None;
        };
        self.block(callback_body(callback)?, is_conditional, depth);
        Some(())
    }

    /// Reads `if` and `try`. Captures inside are optional, and assertions are listed.
    fn condition(&mut self, tokens: &[Token<'_>], depth: usize) -> Option<()> {
        let first = tokens.first()?;
        let mut rest = if first.is("if") {
            let end = closing(tokens.get(1..)?, 0)? + 1;
            tokens.get(end + 1..)?
        } else if first.is("try") {
            tokens.get(1..)?
        } else {
            return None;
        };
        loop {
            rest = if rest.first().is_some_and(|token| token.is("{")) {
                let end = closing(rest, 0)?;
                self.block(&rest[1..end], true, depth);
                &rest[end + 1..]
            } else {
                self.block(rest, true, depth);
                &[]
            };
            let Some(next) = rest.first() else {
                return Some(());
            };
            if next.is("catch") && rest.get(1).is_some_and(|token| token.is("(")) {
                let end = closing(&rest[1..], 0)? + 1;
                rest = rest.get(end + 1..)?;
            } else if ["else", "catch", "finally"]
                .iter()
                .any(|word| next.is(word))
            {
                rest = rest.get(1..)?;
            } else {
                self.block(rest, true, depth);
                return Some(());
            }
            if rest.is_empty() {
                return Some(());
            }
        }
    }

    fn declaration(&mut self, tokens: &[Token<'_>]) -> Option<()> {
        let is_keyword = |token: &Token<'_>| ["var", "let", "const"].iter().any(|w| token.is(w));
        let (first, after) = tokens.split_first()?;
        let rest = if is_keyword(first) { after } else { tokens };
        let (name, rest) = rest.split_first()?;
        if name.kind != TokenKind::Word {
            return None;
        }
        if rest.is_empty() && is_keyword(first) {
            return Some(());
        }
        let value = read(strip(rest, "=")?, &self.aliases)?;
        self.aliases.insert(name.text.to_owned(), value);
        Some(())
    }

    /// Reads `pm.environment.set("name", value)` and its older forms.
    fn assignment(&mut self, tokens: &[Token<'_>], is_conditional: bool) -> Option<()> {
        let old = ["setEnvironmentVariable", "setGlobalVariable"].iter();
        let mut old = old.filter_map(|name| strip(tokens, &format!("postman . {name}")));
        let modern = || scope(tokens).and_then(|rest| strip(rest, "set"));
        let parts = call(old.next().or_else(modern)?)?;
        if !parts.rest.is_empty() {
            return None;
        }
        let [[name], value] = parts.arguments[..] else {
            return None;
        };
        let name = name.as_text()?.to_owned();
        let source = match read(value, &self.aliases)? {
            ScriptValue::Json(path) => Value::from(path),
            ScriptValue::Header(header) => json!({"header": header}),
            value @ (ScriptValue::Literal(_) | ScriptValue::Variable(_) | ScriptValue::Text(_))
                if !is_conditional && self.kind == ScriptKind::Prerequest =>
            {
                self.out.assignments.push(Assignment { name, value });
                return Some(());
            }
            _ => return None,
        };
        if self.kind == ScriptKind::Prerequest {
            return None;
        }
        self.out.captures.push(ScriptCapture {
            name,
            source,
            is_optional: is_conditional,
        });
        Some(())
    }

    fn assertion(&mut self, tokens: &[Token<'_>]) -> Option<()> {
        for assertion in expect::read(tokens, &self.aliases)? {
            if let Assertion::Weaker { lost, .. } = &assertion {
                self.list(tokens, &format!(", which also checks {lost}"));
            }
            self.out.assertions.push(assertion);
        }
        Some(())
    }

    fn list(&mut self, tokens: &[Token<'_>], note: &str) {
        let Some(first) = tokens.first() else { return };
        let mark = self.marks.get(first.line).or(self.marks.last()).copied();
        self.out.left.push(LeftStatement {
            mark: mark.unwrap_or(Mark::start_of(0)),
            text: format!("`{}`{note}", excerpt(tokens)),
        });
    }
}

/// Returns the beginning of a statement. Omits strings, because they may be secret.
fn excerpt(tokens: &[Token<'_>]) -> String {
    let mut out = String::new();
    for token in tokens {
        let before = out.chars().last();
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let text = match token.kind {
            TokenKind::Text(_) | TokenKind::Opaque => "'…'",
            _ => token.text,
        };
        if before.is_some_and(is_word) && text.starts_with(is_word) {
            out.push(' ');
        }
        out.push_str(text);
        if out.chars().count() > LONGEST_EXCERPT {
            let short: String = out.chars().take(LONGEST_EXCERPT).collect();
            return format!("{short} …");
        }
    }
    out
}

/// Returns the statements of `function () { … }`, `() => { … }` or `() => expression`.
fn callback_body<'s, 't>(tokens: &'s [Token<'t>]) -> Option<&'s [Token<'t>]> {
    let tokens = strip(tokens, "async").unwrap_or(tokens);
    let body = match strip(tokens, "function") {
        Some(rest) => {
            let open = rest.iter().position(|token| token.is("("))?;
            &rest[closing(rest, open)? + 1..]
        }
        None => {
            let arrow = tokens.iter().position(|token| token.is("=>"))?;
            &tokens[arrow + 1..]
        }
    };
    match body {
        [open, inner @ .., close] if open.is("{") && close.is("}") => Some(inner),
        body => Some(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(script: &str) -> TranslatedScript {
        let node = Node::scalar(Mark::start_of(0), script);
        translate(ScriptKind::Test, &node)
    }

    #[test]
    fn common_assertions_become_checks() {
        for (script, check) in [
            ("pm.response.to.have.status(201)", json!({"status": 201})),
            (
                "pm.response.to.have.status('Created');",
                json!({"status": 201}),
            ),
            ("pm.response.to.be.ok;", json!({"status": 200})),
            (
                "pm.expect(pm.response.code).to.equal(200)",
                json!({"status": 200}),
            ),
            (
                "pm.expect(pm.response.code).to.be.oneOf([200, 201]);",
                json!({"status": [200, 201]}),
            ),
            (
                "tests['ok'] = responseCode.code === 200;",
                json!({"status": 200}),
            ),
            ("tests['has'] = responseBody.has('x')", json!({"body": "x"})),
            (
                "pm.expect(pm.response.text()).to.include('x')",
                json!({"body": "x"}),
            ),
            (
                "const j = pm.response.json();\nconst u = j.user\npm.expect(u.tags[0]['a-b']).to.eql('x')",
                json!({"json": {"$.user.tags[0]['a-b']": "x"}}),
            ),
            (
                "pm.expect(pm.response.json()).to.have.property('id')",
                json!({"json": "$.id"}),
            ),
            (
                "pm.expect(pm.response.json().n, 'n').to.be.null",
                json!({"json": {"$.n": null}}),
            ),
        ] {
            let script = format!("pm.test('a test', function () {{\n {script}\n}});");
            let found = translated(&script);
            assert_eq!(found.assertions, [Assertion::Check(check)], "{script}");
            assert_eq!(found.left, [], "{script}");
        }
    }

    #[test]
    fn variables_become_captures() {
        let found = translated(
            "let body = JSON.parse(responseBody);\n\
             pm.environment.set('token', body.auth.token);\n\
             if (body.id) { pm.globals.set(\"id\", body.id.toString()) }\n\
             postman.setEnvironmentVariable('etag', pm.response.headers.get('ETag'));",
        );
        let capture = |name: &str, source: Value, is_optional| ScriptCapture {
            name: name.to_owned(),
            source,
            is_optional,
        };
        let expected = [
            capture("token", json!("$.auth.token"), false),
            capture("id", json!("$.id"), true),
            capture("etag", json!({"header": "ETag"}), false),
        ];
        assert_eq!(found.captures, expected);
        assert_eq!(found.left, []);
    }

    #[test]
    fn statements_without_equivalent_are_listed() {
        for script in [
            "pm.sendRequest('https://a', () => {})",
            "pm.environment.set('n', Math.random())",
            "pm.expect(j.items.length).to.be.above(0)",
            "pm.expect(pm.response.code).to.not.equal(500)",
            "postman.setNextRequest(null)",
            "if (x) { pm.response.to.have.status(200) }",
            "for (const x of y) { z(x) }",
        ] {
            let found = translated(script);
            assert_eq!(found.left.len(), 1, "{script}: {:?}", found.left);
            assert_eq!(found.assertions, [], "{script}");
        }
        assert_eq!(translated("login('hunter2')").left[0].text, "`login('…')`");
    }
}
