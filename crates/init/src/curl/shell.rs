//! Splits pasted text into words like a POSIX shell, including bash's `$'…'`. Turns shell variables
//! into environment variables. Refuses other shell syntax.

use formats::document::{Mark, SyntaxError};

use crate::placeholders;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    Word(Word),
    End,
    Pipe,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub mark: Mark,
}

pub fn tokens(
    file: usize,
    text: &str,
    variable: &mut dyn FnMut(&str) -> String,
) -> Result<Vec<Token>, SyntaxError> {
    let mut shell = Shell {
        rest: text,
        at: Mark::start_of(file),
        variable,
    };
    let mut tokens = Vec::new();
    while let Some(token) = shell.token()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Shell<'a> {
    rest: &'a str,
    at: Mark,
    variable: &'a mut dyn FnMut(&str) -> String,
}

impl Shell<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.rest = &self.rest[letter.len_utf8()..];
        if letter == '\n' {
            self.at.line += 1;
            self.at.column = 1;
        } else {
            self.at.column += 1;
        }
        Some(letter)
    }

    fn skip(&mut self, text: &str) -> bool {
        let is_next = self.rest.starts_with(text);
        if is_next {
            text.chars().for_each(|_| {
                self.next();
            });
        }
        is_next
    }

    fn token(&mut self) -> Result<Option<Token>, SyntaxError> {
        loop {
            match self.peek() {
                None => return Ok(None),
                Some('\\') if self.skip("\\\n") || self.skip("\\\r\n") => {}
                Some('\n' | ';' | '&') => {
                    self.next();
                    return Ok(Some(Token::End));
                }
                Some('|') => {
                    self.next();
                    let is_or = self.skip("|");
                    return Ok(Some(if is_or { Token::End } else { Token::Pipe }));
                }
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.next();
                    }
                }
                Some('>' | '<') => self.redirection()?,
                Some(c) if c.is_whitespace() => {
                    self.next();
                }
                Some('1' | '2') if self.rest[1..].starts_with('>') => {
                    self.next();
                }
                Some(_) => return self.word().map(|word| Some(Token::Word(word))),
            }
        }
    }

    fn redirection(&mut self) -> Result<(), SyntaxError> {
        let at = self.at;
        if self.skip("<<") {
            return Err(refused(
                at,
                "here-documents are not supported: pass the data with -d '…'",
            ));
        }
        self.next();
        self.skip(">");
        self.skip("&");
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.next();
        }
        if self.peek().is_some_and(|c| !c.is_whitespace()) {
            self.word()?;
        }
        Ok(())
    }

    fn word(&mut self) -> Result<Word, SyntaxError> {
        let mark = self.at;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            match c {
                ';' | '&' | '|' | '<' | '>' => break,
                c if c.is_whitespace() => break,
                '\'' => self.single(&mut text)?,
                '"' => self.double(&mut text)?,
                '\\' => {
                    if self.skip("\\\n") || self.skip("\\\r\n") {
                        continue;
                    }
                    self.next();
                    text.extend(self.next());
                }
                '$' if self.skip("$'") => self.ansi(&mut text)?,
                '$' if self.skip("$\"") => self.double_inside(&mut text, mark)?,
                '$' => self.dollar(&mut text)?,
                '`' => return Err(self.substitution()),
                '^' if self.rest.starts_with("^\"")
                    || self.rest.starts_with("^\n")
                    || self.rest.starts_with("^\r") =>
                {
                    return Err(refused(
                        self.at,
                        "this is quoted for the Windows command prompt: copy it \"as cURL (bash)\"",
                    ));
                }
                c => {
                    self.next();
                    text.push(c);
                }
            }
        }
        Ok(Word { text, mark })
    }

    fn single(&mut self, text: &mut String) -> Result<(), SyntaxError> {
        let at = self.at;
        self.next();
        loop {
            match self.next() {
                None => return Err(refused(at, "this ' is not closed: close the quote")),
                Some('\'') => return Ok(()),
                Some(c) => text.push(c),
            }
        }
    }

    fn double(&mut self, text: &mut String) -> Result<(), SyntaxError> {
        let at = self.at;
        self.next();
        self.double_inside(text, at)
    }

    fn double_inside(&mut self, text: &mut String, at: Mark) -> Result<(), SyntaxError> {
        loop {
            match self.peek() {
                None => return Err(refused(at, "this \" is not closed: close the quote")),
                Some('"') => {
                    self.next();
                    return Ok(());
                }
                Some('\\') => {
                    self.next();
                    match self.peek() {
                        Some('\n') => {
                            self.next();
                        }
                        Some(c) if "\"\\$`".contains(c) => {
                            self.next();
                            text.push(c);
                        }
                        _ => text.push('\\'),
                    }
                }
                Some('$') => self.dollar(text)?,
                Some('`') => return Err(self.substitution()),
                Some(c) => {
                    self.next();
                    text.push(c);
                }
            }
        }
    }

    fn dollar(&mut self, text: &mut String) -> Result<(), SyntaxError> {
        let at = self.at;
        self.next();
        if self.rest.starts_with('(') {
            return Err(self.substitution());
        }
        let braced = self.skip("{");
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self
            .rest
            .find(|c| !is_of_name(c))
            .unwrap_or(self.rest.len());
        let name = self.rest[..end].to_owned();
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if starts && (!braced || self.rest[end..].starts_with('}')) {
            self.skip(&name);
            if braced {
                self.next();
            }
            text.push_str(&(self.variable)(&name));
            return Ok(());
        }
        if braced || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(refused(
                at,
                "only a shell can expand this: replace it by its value, or by $NAME",
            ));
        }
        text.push('$');
        Ok(())
    }

    fn substitution(&self) -> SyntaxError {
        refused(
            self.at,
            "nested commands are not run: replace this by its output, or by $NAME",
        )
    }

    fn ansi(&mut self, text: &mut String) -> Result<(), SyntaxError> {
        let at = self.at;
        let no_end = || refused(at, "this $' is not closed: close the quote");
        // Collect bytes first, because several escapes such as `\xc3\xa9` may form one character.
        let mut bytes = Vec::new();
        loop {
            match self.next().ok_or_else(no_end)? {
                '\'' => break,
                '\\' => {
                    let escape = self.next().ok_or_else(no_end)?;
                    self.escape(escape, &mut bytes);
                }
                c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        let decoded = String::from_utf8(bytes).map_err(|_| {
            refused(
                at,
                "these escapes are not valid UTF-8: bodies in plans must be text",
            )
        })?;
        if placeholders::is_foreign(&decoded) {
            return Err(refused(
                at,
                "this contains U+FDD0 or U+FDD1, which are not allowed: remove them",
            ));
        }
        text.push_str(&decoded);
        Ok(())
    }

    fn escape(&mut self, escape: char, bytes: &mut Vec<u8>) {
        let simple = match escape {
            'n' => b'\n',
            't' => b'\t',
            'r' => b'\r',
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'v' => 11,
            '\\' | '\'' | '"' | '?' => escape as u8,
            'x' => return self.code(16, 2, None, bytes, escape),
            'u' => return self.code(16, 4, None, bytes, escape),
            'U' => return self.code(16, 8, None, bytes, escape),
            '0'..='7' => return self.code(8, 2, escape.to_digit(8), bytes, escape),
            other => {
                bytes.push(b'\\');
                bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
                return;
            }
        };
        bytes.push(simple);
    }

    fn code(
        &mut self,
        radix: u32,
        most: usize,
        first: Option<u32>,
        bytes: &mut Vec<u8>,
        escape: char,
    ) {
        let mut code = first;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            self.next();
            code = Some(code.unwrap_or(0).wrapping_mul(radix) + digit);
        }
        let Some(code) = code else {
            bytes.extend_from_slice(&[b'\\', escape as u8]);
            return;
        };
        if matches!(escape, 'u' | 'U') {
            let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            // Bash keeps only the lowest eight bits.
            bytes.push((code & 0xff) as u8);
        }
    }
}

fn refused(mark: Mark, message: &str) -> SyntaxError {
    SyntaxError {
        mark,
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Result<Vec<String>, String> {
        let tokens = tokens(0, text, &mut |name| format!("<{name}>"));
        let tokens =
            tokens.map_err(|e| format!("{}:{}: {}", e.mark.line, e.mark.column, e.message))?;
        let word = |token| match token {
            Token::Word(word) => word.text,
            Token::End => ";".to_owned(),
            Token::Pipe => "|".to_owned(),
        };
        Ok(tokens.into_iter().map(word).collect())
    }

    #[test]
    fn words_are_those_of_bash() {
        for (text, expected) in [
            (r#"a 'b c' "d e" f\ g"#, vec!["a", "b c", "d e", "f g"]),
            (r#""a\"b\\c\d\$e" 'a\b'"#, vec![r#"a"b\c\d$e"#, r"a\b"]),
            ("a \\\n  b", vec!["a", "b"]),
            (r"$'a\n\'\x41\u00e9\101\\'", vec!["a\n'AéA\\"]),
            (r"$'\xc3\xa9\q'", vec!["é\\q"]),
            (
                "a$B \"x ${C} y\" '$D' $ a$",
                vec!["a<B>", "x <C> y", "$D", "$", "a$"],
            ),
            ("a # b\nc", vec!["a", ";", "c"]),
            (
                "a#b >f 2>&1 2>/dev/null | jq .x",
                vec!["a#b", "|", "jq", ".x"],
            ),
            ("''", vec![""]),
            ("a;b && c", vec!["a", ";", "b", ";", ";", "c"]),
        ] {
            assert_eq!(words(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn open_quote_is_reported_at_its_start() {
        assert_eq!(
            words("curl 'a\nb"),
            Err("1:6: this ' is not closed: close the quote".into())
        );
        assert_eq!(
            words("\n  \"a"),
            Err("2:3: this \" is not closed: close the quote".into())
        );
        assert!(
            words("a $(b)")
                .unwrap_err()
                .starts_with("1:4: nested commands are not run")
        );
        assert!(words("a ^\"b^\"").unwrap_err().contains("cURL (bash)"));
    }

    proptest! {
        #[test]
        fn what_is_quoted_comes_back(text in ".{0,20}") {
            prop_assume!(!placeholders::is_foreign(&text));
            let single = format!("'{}'", text.replace('\'', r"'\''"));
            prop_assert_eq!(words(&single).unwrap(), vec![text.clone()]);
            let double: String = text.chars().flat_map(|c| "\"\\$`".contains(c).then_some('\\').into_iter().chain([c])).collect();
            prop_assert_eq!(words(&format!("\"{double}\"")).unwrap(), vec![text]);
        }

        #[test]
        fn any_text_is_cut_or_refused(text in r#"[a-c'"\\$`(){}|;&<>#^ \n12xuU]{0,40}"#) {
            let _ = words(&text);
        }
    }
}
