//! Parses CSS selectors.

use super::{AttributeTest, Combinator, Complex, Pick, Simple};
use crate::{Misread, cursor::Cursor};

const DEEPEST: usize = 16;

pub(super) fn parse(text: &str) -> Result<Vec<Complex>, Misread> {
    let mut reader = SelectorParser {
        c: Cursor::new(text, DEEPEST, in_name),
    };
    let mut alternatives = vec![reader.complex()?];
    while reader.take(",") {
        alternatives.push(reader.complex()?);
    }
    reader.c.end("this is not valid in a CSS selector")?;
    Ok(alternatives)
}

struct SelectorParser<'a> {
    c: Cursor<'a>,
}

impl SelectorParser<'_> {
    fn take(&mut self, symbol: &str) -> bool {
        let start = self.c.at;
        self.c.space();
        if self.c.rest().starts_with(symbol) {
            self.c.at += symbol.len();
            self.c.space();
            return true;
        }
        self.c.at = start;
        false
    }

    fn complex(&mut self) -> Result<Complex, Misread> {
        self.c.space();
        let mut complex = Complex {
            compounds: Vec::new(),
            pick: None,
        };
        let mut combinator = Combinator::Descendant;
        loop {
            let simples = self.compound(&mut complex.pick)?;
            complex.compounds.push((combinator, simples));
            combinator = if self.take(">") {
                Combinator::Child
            } else if self.take("+") {
                Combinator::Next
            } else if self.take("~") {
                Combinator::Later
            } else if self.c.space() && !self.c.rest().is_empty() && !self.c.rest().starts_with(',')
            {
                Combinator::Descendant
            } else {
                return Ok(complex);
            };
            if complex.pick.is_some() {
                return Err(self
                    .c
                    .error("`:first`, `:last` and `:eq()` must be at the end"));
            }
        }
    }

    fn compound(&mut self, pick: &mut Option<Pick>) -> Result<Vec<Simple>, Misread> {
        let mut simples = Vec::new();
        if self.c.rest().starts_with('*') {
            self.c.at += 1;
            simples.push(Simple::Any);
        } else if self.c.rest().starts_with(in_name) {
            simples.push(Simple::Type(self.name()?));
        }
        while let Some(c) = self.c.rest().chars().next() {
            match c {
                '#' | '.' => {
                    self.c.at += 1;
                    let (name, test) = if c == '#' {
                        ("id", AttributeTest::Equals)
                    } else {
                        ("class", AttributeTest::Word)
                    };
                    simples.push(Simple::Attribute {
                        name: name.to_owned(),
                        test,
                        value: self.name()?,
                        any_case: false,
                    });
                }
                '[' => simples.push(self.attribute()?),
                ':' => simples.extend(self.pseudo(pick)?),
                _ => break,
            }
        }
        if simples.is_empty() && pick.is_none() {
            return Err(self.c.error(match self.c.rest().chars().next() {
                None => "a CSS selector is missing here".to_owned(),
                Some(c) => format!("a CSS selector cannot start with `{c}`"),
            }));
        }
        Ok(simples)
    }

    fn name(&mut self) -> Result<String, Misread> {
        let mut name = String::new();
        while let Some(c) = self.c.rest().chars().next() {
            self.c.at += match c {
                '\\' => {
                    let escaped = self.c.rest()[1..].chars().next();
                    name.extend(escaped);
                    1 + escaped.map_or(0, char::len_utf8)
                }
                c if in_name(c) => {
                    name.push(c);
                    c.len_utf8()
                }
                _ => break,
            };
        }
        if name.is_empty() {
            return Err(self.c.error("a name is missing here"));
        }
        Ok(name)
    }

    fn attribute(&mut self) -> Result<Simple, Misread> {
        self.take("[");
        let name = self.name()?.to_ascii_lowercase();
        const TESTS: [(&str, AttributeTest); 6] = [
            ("~=", AttributeTest::Word),
            ("|=", AttributeTest::Dash),
            ("^=", AttributeTest::Starts),
            ("$=", AttributeTest::Ends),
            ("*=", AttributeTest::Holds),
            ("=", AttributeTest::Equals),
        ];
        let test = TESTS.iter().find(|(symbol, _)| self.take(symbol));
        let (test, value) = match test {
            None => (AttributeTest::Exists, String::new()),
            Some((_, test)) => (*test, self.value()?),
        };
        let any_case = self.take("i");
        if !self.take_tight("]") {
            return Err(self.c.error("expected `]` here"));
        }
        Ok(Simple::Attribute {
            name,
            test,
            value,
            any_case,
        })
    }

    /// Consumes a symbol and the white space before it. White space after the symbol may be a
    /// combinator, so it is not consumed.
    fn take_tight(&mut self, symbol: &str) -> bool {
        self.c.space();
        let found = self.c.rest().starts_with(symbol);
        if found {
            self.c.at += symbol.len();
        }
        found
    }

    fn value(&mut self) -> Result<String, Misread> {
        self.c.space();
        let Some(quote) = self.c.rest().chars().next().filter(|c| "'\"".contains(*c)) else {
            return self.name();
        };
        let mut value = String::new();
        let mut chars = self.c.rest().char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.c.at += i + 1;
                    return Ok(value);
                }
                '\\' => value.extend(chars.next().map(|(_, c)| c)),
                c => value.push(c),
            }
        }
        Err(self.c.error(format!("the closing {quote} is missing")))
    }

    fn pseudo(&mut self, pick: &mut Option<Pick>) -> Result<Option<Simple>, Misread> {
        let start = self.c.at;
        self.c.at += 1;
        let name = self.name()?.to_ascii_lowercase();
        let nth = |b, from_end, of_type| Simple::Nth {
            a: 0,
            b,
            from_end,
            of_type,
        };
        Ok(Some(match name.as_str() {
            "first-child" => nth(1, false, false),
            "last-child" => nth(1, true, false),
            "first-of-type" => nth(1, false, true),
            "last-of-type" => nth(1, true, true),
            "only-child" => Simple::Only { of_type: false },
            "only-of-type" => Simple::Only { of_type: true },
            "empty" => Simple::Empty,
            "nth-child" | "nth-last-child" | "nth-of-type" | "nth-last-of-type" => {
                let (a, b) = self.argument(Self::steps)?;
                Simple::Nth {
                    a,
                    b,
                    from_end: name.starts_with("nth-last"),
                    of_type: name.ends_with("of-type"),
                }
            }
            "not" => Simple::Not(self.argument(Self::negated)?),
            "contains" => Simple::Contains(self.argument(Self::contained)?),
            "checked" | "selected" | "disabled" => Simple::Attribute {
                name,
                test: AttributeTest::Exists,
                value: String::new(),
                any_case: false,
            },
            "first" => return Ok(Self::picked(pick, 0)),
            "last" => return Ok(Self::picked(pick, -1)),
            "eq" => {
                let index = self.argument(Self::integer)?;
                return Ok(Self::picked(pick, index));
            }
            _ => {
                self.c.at = start;
                return Err(self.c.error(format!("`:{name}` is not supported")));
            }
        }))
    }

    fn negated(&mut self) -> Result<Vec<Simple>, Misread> {
        self.c.down()?;
        let mut pick = None;
        let simples = self.compound(&mut pick)?;
        self.c.up();
        match pick {
            None => Ok(simples),
            // `:first` and similar pseudo-classes would select among elements that `:not()` does
            // not search.
            Some(_) => Err(self
                .c
                .error("`:first`, `:last` and `:eq()` are not allowed in `:not()`")),
        }
    }

    fn picked(pick: &mut Option<Pick>, index: i64) -> Option<Simple> {
        *pick = Some(Pick::At(index));
        Some(Simple::Any)
    }

    fn argument<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Misread>,
    ) -> Result<T, Misread> {
        if !self.take("(") {
            return Err(self.c.error("expected `(` here"));
        }
        let value = read(self)?;
        if !self.take_tight(")") {
            return Err(self.c.error("expected `)` here"));
        }
        Ok(value)
    }

    fn contained(&mut self) -> Result<String, Misread> {
        if self.c.rest().starts_with(['"', '\'']) {
            return self.value();
        }
        let end = self.c.rest().find(')').unwrap_or(self.c.rest().len());
        let text = self.c.rest()[..end].trim_end().to_owned();
        self.c.at += end;
        Ok(text)
    }

    fn integer(&mut self) -> Result<i64, Misread> {
        let end = self.c.rest().find(')').unwrap_or(self.c.rest().len());
        let number = self.c.rest()[..end].trim().parse();
        let number = number.map_err(|_| self.c.error("a whole number is missing here"))?;
        self.c.at += end;
        Ok(number)
    }

    fn steps(&mut self) -> Result<(i64, i64), Misread> {
        let end = self.c.rest().find(')').unwrap_or(self.c.rest().len());
        let text: String = self.c.rest()[..end]
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect();
        let wrong = || {
            self.c
                .error("expected odd, even, a number, or something like 2n+1")
        };
        // Larger than any position, but small enough to prevent overflow.
        const MOST: i64 = 1_000_000;
        let number = |text: &str| {
            let n = text.parse::<i64>().map_err(|_| wrong())?;
            if n.abs() > MOST { Err(wrong()) } else { Ok(n) }
        };
        let steps = match text.as_str() {
            "odd" => (2, 1),
            "even" => (2, 0),
            text => match text.split_once('n') {
                None => (0, number(text)?),
                Some((a, b)) => {
                    let a = match a {
                        "" | "+" => 1,
                        "-" => -1,
                        a => number(a)?,
                    };
                    (a, if b.is_empty() { 0 } else { number(b)? })
                }
            },
        };
        self.c.at += end;
        Ok(steps)
    }
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii()
}
