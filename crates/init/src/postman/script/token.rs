//! Splits JavaScript into tokens, as far as the scripts of collections require it.

#[derive(Debug, Clone, PartialEq)]
pub enum TokenKind {
    Word,
    Number,
    /// The content of a string, without quotes and escapes.
    Text(String),
    /// A template literal with `${…}`, or a regular expression.
    Opaque,
    Mark,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Token<'t> {
    pub kind: TokenKind,
    /// The token as written.
    pub text: &'t str,
    /// Line in the script, counted from 0.
    pub line: usize,
}

impl Token<'_> {
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Mark) && self.text == text
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn opens(&self) -> bool {
        self.kind == TokenKind::Mark && matches!(self.text, "(" | "[" | "{")
    }

    pub fn closes(&self) -> bool {
        self.kind == TokenKind::Mark && matches!(self.text, ")" | "]" | "}")
    }
}

const MARKS: [&str; 14] = [
    "===", "!==", "...", "=>", "==", "!=", "&&", "||", "?.", "??", ">=", "<=", "+=", "-=",
];

/// Returns the tokens of a script. Unclosed text extends to the end.
pub fn tokens(script: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let (mut at, mut line) = (0, 0);
    while let Some(letter) = script[at..].chars().next() {
        let rest = &script[at..];
        let length = match letter {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            letter if letter.is_whitespace() => letter.len_utf8(),
            _ => {
                let may_divide = tokens.last().is_some_and(is_operand);
                let (kind, length) = token(rest, letter, may_divide);
                tokens.push(Token {
                    kind,
                    text: &rest[..length],
                    line,
                });
                length
            }
        };
        line += rest[..length].matches('\n').count();
        at += length;
    }
    tokens
}

fn is_operand(token: &Token<'_>) -> bool {
    token.kind != TokenKind::Mark || token.closes()
}

fn token(rest: &str, letter: char, may_divide: bool) -> (TokenKind, usize) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    match letter {
        '"' | '\'' | '`' => quoted(rest, letter),
        letter if letter.is_ascii_digit() => {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            (TokenKind::Number, length)
        }
        letter if is_word(letter) => {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            (TokenKind::Word, length)
        }
        '/' if !may_divide => match expression_end(rest) {
            Some(length) => (TokenKind::Opaque, length),
            None => (TokenKind::Mark, 1),
        },
        letter => {
            let known = MARKS.iter().find(|mark| rest.starts_with(**mark));
            let length = known.map_or(letter.len_utf8(), |mark| mark.len());
            (TokenKind::Mark, length)
        }
    }
}

/// Returns the length of a regular expression. `None` if it does not end on its line.
fn expression_end(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    let mut is_class = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => {
                let flags = rest[at + 1..].find(|c: char| !c.is_ascii_alphabetic());
                return Some(flags.map_or(rest.len(), |flags| at + 1 + flags));
            }
            _ => {}
        }
    }
    None
}

fn quoted(rest: &str, quote: char) -> (TokenKind, usize) {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1).peekable();
    let mut has_value = false;
    while let Some((at, letter)) = letters.next() {
        match letter {
            _ if letter == quote => {
                let kind = if has_value {
                    TokenKind::Opaque
                } else {
                    TokenKind::Text(text)
                };
                return (kind, at + letter.len_utf8());
            }
            '\\' => match letters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 'r')) => text.push('\r'),
                Some((_, 't')) => text.push('\t'),
                // These escapes are rare, and their values are not computed.
                Some((_, 'u' | 'x' | '0')) => has_value = true,
                Some((_, '\n')) | None => {}
                Some((_, other)) => text.push(other),
            },
            '$' if quote == '`' && letters.peek().is_some_and(|(_, next)| *next == '{') => {
                has_value = true;
            }
            other => text.push(other),
        }
    }
    (TokenKind::Opaque, rest.len())
}

/// Returns each token with its index and the number of open brackets after it.
fn with_depth<'t, 's>(
    tokens: &'s [Token<'t>],
) -> impl Iterator<Item = (usize, &'s Token<'t>, usize)> {
    tokens
        .iter()
        .enumerate()
        .scan(0_usize, |depth, (at, token)| {
            if token.opens() {
                *depth += 1;
            } else if token.closes() {
                *depth = depth.saturating_sub(1);
            }
            Some((at, token, *depth))
        })
}

/// Returns the index of the token that closes the bracket at `open`. `None` if there is no bracket,
/// or it is never closed.
pub fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let rest = tokens.get(open..)?;
    rest.first()?.opens().then_some(())?;
    let (at, ..) = with_depth(rest).find(|(_, _, depth)| *depth == 0)?;
    Some(open + at)
}

/// Splits at commas that are not within brackets.
pub fn arguments<'t, 's>(tokens: &'s [Token<'t>]) -> Vec<&'s [Token<'t>]> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for (at, token, depth) in with_depth(tokens) {
        if depth == 0 && token.is(",") {
            parts.push(&tokens[begin..at]);
            begin = at + 1;
        }
    }
    if begin < tokens.len() {
        parts.push(&tokens[begin..]);
    }
    parts
}

/// Splits at semicolons, and at line breaks that end a statement.
pub fn statements<'t, 's>(tokens: &'s [Token<'t>]) -> Vec<&'s [Token<'t>]> {
    let mut statements = Vec::new();
    let mut begin = 0;
    for (at, token, depth) in with_depth(tokens) {
        if depth > 0 {
            continue;
        }
        let next = tokens.get(at + 1);
        let is_end = token.is(";") || next.is_some_and(|next| breaks(token, next));
        if is_end || next.is_none() {
            let end = if token.is(";") { at } else { at + 1 };
            statements.extend(Some(&tokens[begin..end]).filter(|one| !one.is_empty()));
            begin = at + 1;
        }
    }
    // If brackets are not closed, the rest is one statement.
    statements.extend(Some(&tokens[begin..]).filter(|one| !one.is_empty()));
    statements
}

/// Returns whether a statement ends between two tokens.
fn breaks(token: &Token<'_>, next: &Token<'_>) -> bool {
    if next.line == token.line + token.text.matches('\n').count() {
        return token.is("}") && next.kind == TokenKind::Word && !next.is("else");
    }
    let ends = token.kind != TokenKind::Mark || token.closes();
    let begins = next.kind != TokenKind::Mark || next.opens() && !token.is(")");
    let is_continued = ["else", "catch", "finally", "in", "of", "instanceof"]
        .iter()
        .any(|word| next.is(word));
    ends && begins && !is_continued
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(script: &str) -> Vec<String> {
        let tokens = tokens(script);
        let statements = statements(&tokens);
        let joined = |one: &&[Token<'_>]| {
            let words: Vec<&str> = one.iter().map(|token| token.text).collect();
            words.join(" ")
        };
        statements.iter().map(joined).collect()
    }

    #[test]
    fn statements_end_at_semicolons_and_line_breaks() {
        assert_eq!(
            written("a(1); b.c('x;y') // d\nif (x) { e\n f } else { g }\nh\n  .i(/[/;]/, 2)"),
            [
                "a ( 1 )",
                "b . c ( 'x;y' )",
                "if ( x ) { e f } else { g }",
                "h . i ( /[/;]/ , 2 )"
            ]
        );
        assert_eq!(written("a(\nb"), ["a ( b"]);
    }

    #[test]
    fn strings_lose_their_escapes() {
        let tokens = tokens(r#"'it\'s' `a` `${b}` "\u0041""#);
        let texts: Vec<_> = tokens.iter().map(Token::as_text).collect();
        assert_eq!(texts, [Some("it's"), Some("a"), None, None]);
    }
}
