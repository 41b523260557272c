//! Parses expressions. All operators are left-associative, in ascending precedence: `? :`, `or`,
//! `and`, `in`, `== != ~=`, `< <= > >=`, `+ -`, `* / %`, `^`, `not` and `-`, `of`.

use super::{FUNCTIONS, Node, Operator};
use crate::{Misread, cursor::Cursor};

/// Resolves a metric whose name is at the start of a text: length of the name in bytes, and value.
pub type Figures<'a> = &'a dyn Fn(&str) -> Option<(usize, f64)>;

/// Meaning of names in an expression.
#[derive(Clone, Copy)]
pub enum Names<'a> {
    /// Variables: letters, digits, `_`, `$` and dots, or anything in single quotes.
    Variables,
    /// Metrics, whose names may contain any characters. Other names are undefined. Other functions
    /// fail when called.
    Figures(Figures<'a>),
}

/// Maximum nesting.
const DEEPEST: usize = 64;

type Parsed = Result<Node, Misread>;

pub(super) fn parse(text: &str, names: Names<'_>) -> Parsed {
    let mut reader = Reader {
        c: Cursor::new(text, DEEPEST, in_name),
        names,
    };
    let node = reader.choice()?;
    reader.c.end("this is too much here")?;
    Ok(node)
}

struct Reader<'a> {
    c: Cursor<'a>,
    names: Names<'a>,
}

impl Reader<'_> {
    fn deeper(&mut self, read: fn(&mut Self) -> Parsed) -> Parsed {
        self.c.down()?;
        let node = read(self)?;
        self.c.up();
        Ok(node)
    }

    fn choice(&mut self) -> Parsed {
        self.deeper(|r| {
            let condition = r.either()?;
            if !r.c.take("?") {
                return Ok(condition);
            }
            let yes = r.choice()?;
            if !r.c.take(":") {
                return Err(r.c.error("expected `:` here"));
            }
            let no = r.choice()?;
            Ok(Node::Choice(Box::new((condition, yes, no))))
        })
    }

    fn either(&mut self) -> Parsed {
        let mut node = self.both()?;
        while self.c.word("or") {
            let right = self.both()?;
            node = self.binary(Operator::Or, node, right)?;
        }
        Ok(node)
    }

    fn both(&mut self) -> Parsed {
        let mut node = self.member()?;
        while self.c.word("and") {
            let right = self.member()?;
            node = self.binary(Operator::And, node, right)?;
        }
        Ok(node)
    }

    fn member(&mut self) -> Parsed {
        let mut node = self.equality()?;
        loop {
            let start = self.c.at;
            let negated = self.c.word("not");
            if !self.c.word("in") {
                self.c.at = start;
                return Ok(node);
            }
            self.c.operator()?;
            node = Node::Member {
                item: Box::new(node),
                list: Box::new(self.equality()?),
                negated,
            };
        }
    }

    fn equality(&mut self) -> Parsed {
        const SYMBOLS: [(&str, Operator); 3] = [
            ("==", Operator::Equal),
            ("!=", Operator::Unequal),
            ("~=", Operator::Matches),
        ];
        self.chain(&SYMBOLS, Self::relation)
    }

    fn relation(&mut self) -> Parsed {
        // Longer symbols first: `<=` starts with `<`.
        const SYMBOLS: [(&str, Operator); 4] = [
            ("<=", Operator::AtMost),
            (">=", Operator::AtLeast),
            ("<", Operator::Less),
            (">", Operator::More),
        ];
        self.chain(&SYMBOLS, Self::sum)
    }

    fn sum(&mut self) -> Parsed {
        const SYMBOLS: [(&str, Operator); 2] = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.chain(&SYMBOLS, Self::product)
    }

    fn product(&mut self) -> Parsed {
        const SYMBOLS: [(&str, Operator); 3] = [
            ("*", Operator::Multiply),
            ("/", Operator::Divide),
            ("%", Operator::Remainder),
        ];
        self.chain(&SYMBOLS, Self::power)
    }

    fn power(&mut self) -> Parsed {
        self.chain(&[("^", Operator::Power)], Self::unary)
    }

    fn chain(&mut self, symbols: &[(&str, Operator)], read: fn(&mut Self) -> Parsed) -> Parsed {
        let mut node = read(self)?;
        while let Some((_, operator)) = symbols.iter().find(|(symbol, _)| self.c.take(symbol)) {
            let right = read(self)?;
            node = self.binary(*operator, node, right)?;
        }
        Ok(node)
    }

    fn binary(&mut self, operator: Operator, left: Node, right: Node) -> Parsed {
        self.c.operator()?;
        Ok(Node::Binary(operator, Box::new((left, right))))
    }

    fn unary(&mut self) -> Parsed {
        self.deeper(|r| {
            if r.c.take("-") {
                Ok(Node::Minus(Box::new(r.unary()?)))
            } else if r.c.word("not") {
                Ok(Node::Not(Box::new(r.unary()?)))
            } else {
                r.property()
            }
        })
    }

    fn property(&mut self) -> Parsed {
        let node = self.atom()?;
        if let Node::Variable(name) = &node
            && self.c.word("of")
        {
            let name = name.clone();
            let object = self.deeper(Self::property)?;
            return Ok(Node::Property(name, Box::new(object)));
        }
        Ok(node)
    }

    fn atom(&mut self) -> Parsed {
        self.c.space();
        if let Names::Figures(resolve) = self.names
            && let Some((length, value)) = resolve(self.c.rest())
        {
            // A metric may start with digits or brackets, so it is tried first.
            self.c.at += length;
            return Ok(Node::Number(value));
        }
        if self.c.take("(") {
            let mut items = self.items()?;
            return match items.len() {
                0 => Err(self.c.error("a value is missing here")),
                1 => Ok(items.swap_remove(0)),
                _ => Ok(Node::List(items)),
            };
        }
        match self.c.rest().chars().next() {
            Some('"') => self.quoted('"').map(Node::Text),
            Some('\'') => self.quoted('\'').map(Node::Variable),
            Some(c) if c.is_ascii_digit() => self.number(),
            _ => self.name(),
        }
    }

    fn number(&mut self) -> Parsed {
        let rest = self.c.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let number = rest[..end]
            .parse()
            .map_err(|_| self.c.error("this is not a number"))?;
        self.c.at += end;
        Ok(Node::Number(number))
    }

    /// Text up to the closing quote. A backslash escapes the quote and itself.
    fn quoted(&mut self, quote: char) -> Result<String, Misread> {
        let mut text = String::new();
        let mut chars = self.c.rest().char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.c.at += i + 1;
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, c)) if c == quote || c == '\\' => text.push(c),
                    _ => {
                        return Err(self
                            .c
                            .error(format!("in quotes, \\ stands before {quote} or \\ only")));
                    }
                },
                c => text.push(c),
            }
        }
        Err(self.c.error(format!("the closing {quote} is missing")))
    }

    fn name(&mut self) -> Parsed {
        let rest = self.c.rest();
        let end = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
        let name = if rest.starts_with('.') {
            ""
        } else {
            &rest[..end]
        };
        let is_call = rest[end..].trim_start().starts_with('(');
        if is_call && let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) {
            self.c.at += end;
            self.c.take("(");
            return Ok(Node::Call(*function, self.items()?));
        }
        if is_call && !name.is_empty() && matches!(self.names, Names::Figures(_)) {
            self.c.at += end;
            self.c.take("(");
            self.items()?;
            return Ok(Node::UnknownCall(name.to_owned()));
        }
        if is_call && !name.is_empty() {
            let known: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
            return Err(self.c.error(format!(
                "unknown function `{name}`: there are {}",
                known.join(", ")
            )));
        }
        if name.is_empty() {
            return Err(self.c.error(match rest.chars().next() {
                None => "a value is missing here".to_owned(),
                Some(c) => format!("`{c}` begins no value"),
            }));
        }
        self.c.at += end;
        Ok(Node::Variable(name.to_owned()))
    }

    /// Values between commas up to the closing bracket.
    fn items(&mut self) -> Result<Vec<Node>, Misread> {
        let mut list = Vec::new();
        while !self.c.take(")") {
            if !list.is_empty() && !self.c.take(",") {
                return Err(self.c.error("expected `)` or `,` here"));
            }
            list.push(self.choice()?);
        }
        Ok(list)
    }
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.')
}
