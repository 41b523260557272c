//! Parser for filtrex expressions. All operators are left-associative. In ascending precedence: `?
//! :`, `or`, `and`, `in`, `== != ~=`, `< <= > >=`, `+ -`, `* / %`, `^`, `not` and `-`, `of`.

use super::{ExpressionNode, FUNCTIONS, FiltrexOperator};
use crate::{Misread, cursor::Cursor};

pub type FigureResolver<'a> = &'a dyn Fn(&str) -> Option<(usize, f64)>;

#[derive(Clone, Copy)]
pub enum NameSource<'a> {
    /// Names are variables, which consist of letters, digits, `_`, `$` and dots, or of any
    /// characters in single quotes.
    Variables,
    /// Names are metrics, which may contain any characters. Other names are undefined, and calls of
    /// other functions fail.
    Figures(FigureResolver<'a>),
}

const DEEPEST: usize = 64;

type ParseResult = Result<ExpressionNode, Misread>;

pub(super) fn parse(text: &str, names: NameSource<'_>) -> ParseResult {
    let mut reader = ExpressionParser {
        c: Cursor::new(text, DEEPEST, in_name),
        names,
    };
    let node = reader.choice()?;
    reader.c.end("this is unexpected here")?;
    Ok(node)
}

struct ExpressionParser<'a> {
    c: Cursor<'a>,
    names: NameSource<'a>,
}

impl ExpressionParser<'_> {
    fn deeper(&mut self, read: fn(&mut Self) -> ParseResult) -> ParseResult {
        self.c.down()?;
        let node = read(self)?;
        self.c.up();
        Ok(node)
    }

    fn choice(&mut self) -> ParseResult {
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
            Ok(ExpressionNode::Choice(Box::new((condition, yes, no))))
        })
    }

    fn either(&mut self) -> ParseResult {
        let mut node = self.both()?;
        while self.c.word("or") {
            let right = self.both()?;
            node = self.binary(FiltrexOperator::Or, node, right)?;
        }
        Ok(node)
    }

    fn both(&mut self) -> ParseResult {
        let mut node = self.member()?;
        while self.c.word("and") {
            let right = self.member()?;
            node = self.binary(FiltrexOperator::And, node, right)?;
        }
        Ok(node)
    }

    fn member(&mut self) -> ParseResult {
        let mut node = self.equality()?;
        loop {
            let start = self.c.at;
            let negated = self.c.word("not");
            if !self.c.word("in") {
                self.c.at = start;
                return Ok(node);
            }
            self.c.operator()?;
            node = ExpressionNode::Member {
                item: Box::new(node),
                list: Box::new(self.equality()?),
                negated,
            };
        }
    }

    fn equality(&mut self) -> ParseResult {
        const SYMBOLS: [(&str, FiltrexOperator); 3] = [
            ("==", FiltrexOperator::Equal),
            ("!=", FiltrexOperator::Unequal),
            ("~=", FiltrexOperator::Matches),
        ];
        self.chain(&SYMBOLS, Self::relation)
    }

    fn relation(&mut self) -> ParseResult {
        const SYMBOLS: [(&str, FiltrexOperator); 4] = [
            ("<=", FiltrexOperator::AtMost),
            (">=", FiltrexOperator::AtLeast),
            ("<", FiltrexOperator::Less),
            (">", FiltrexOperator::More),
        ];
        self.chain(&SYMBOLS, Self::sum)
    }

    fn sum(&mut self) -> ParseResult {
        const SYMBOLS: [(&str, FiltrexOperator); 2] = [
            ("+", FiltrexOperator::Add),
            ("-", FiltrexOperator::Subtract),
        ];
        self.chain(&SYMBOLS, Self::product)
    }

    fn product(&mut self) -> ParseResult {
        const SYMBOLS: [(&str, FiltrexOperator); 3] = [
            ("*", FiltrexOperator::Multiply),
            ("/", FiltrexOperator::Divide),
            ("%", FiltrexOperator::Remainder),
        ];
        self.chain(&SYMBOLS, Self::power)
    }

    fn power(&mut self) -> ParseResult {
        self.chain(&[("^", FiltrexOperator::Power)], Self::unary)
    }

    fn chain(
        &mut self,
        symbols: &[(&str, FiltrexOperator)],
        read: fn(&mut Self) -> ParseResult,
    ) -> ParseResult {
        let mut node = read(self)?;
        while let Some((_, operator)) = symbols.iter().find(|(symbol, _)| self.c.take(symbol)) {
            let right = read(self)?;
            node = self.binary(*operator, node, right)?;
        }
        Ok(node)
    }

    fn binary(
        &mut self,
        operator: FiltrexOperator,
        left: ExpressionNode,
        right: ExpressionNode,
    ) -> ParseResult {
        self.c.operator()?;
        Ok(ExpressionNode::Binary(operator, Box::new((left, right))))
    }

    fn unary(&mut self) -> ParseResult {
        self.deeper(|r| {
            if r.c.take("-") {
                Ok(ExpressionNode::Minus(Box::new(r.unary()?)))
            } else if r.c.word("not") {
                Ok(ExpressionNode::Not(Box::new(r.unary()?)))
            } else {
                r.property()
            }
        })
    }

    fn property(&mut self) -> ParseResult {
        let node = self.atom()?;
        if let ExpressionNode::Variable(name) = &node
            && self.c.word("of")
        {
            let name = name.clone();
            let object = self.deeper(Self::property)?;
            return Ok(ExpressionNode::Property(name, Box::new(object)));
        }
        Ok(node)
    }

    fn atom(&mut self) -> ParseResult {
        self.c.space();
        if let NameSource::Figures(resolve) = self.names
            && let Some((length, value)) = resolve(self.c.rest())
        {
            // Try metrics first, because their names may start with digits or brackets.
            self.c.at += length;
            return Ok(ExpressionNode::Number(value));
        }
        if self.c.take("(") {
            let mut items = self.items()?;
            return match items.len() {
                0 => Err(self.c.error("a value is missing here")),
                1 => Ok(items.swap_remove(0)),
                _ => Ok(ExpressionNode::List(items)),
            };
        }
        match self.c.rest().chars().next() {
            Some('"') => self.quoted('"').map(ExpressionNode::Text),
            Some('\'') => self.quoted('\'').map(ExpressionNode::Variable),
            Some(c) if c.is_ascii_digit() => self.number(),
            _ => self.name(),
        }
    }

    fn number(&mut self) -> ParseResult {
        let rest = self.c.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let number = rest[..end]
            .parse()
            .map_err(|_| self.c.error("this is not a number"))?;
        self.c.at += end;
        Ok(ExpressionNode::Number(number))
    }

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
                            .error(format!("in quotes, use \\ only before {quote} or \\")));
                    }
                },
                c => text.push(c),
            }
        }
        Err(self.c.error(format!("the closing {quote} is missing")))
    }

    fn name(&mut self) -> ParseResult {
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
            return Ok(ExpressionNode::Call(*function, self.items()?));
        }
        if is_call && !name.is_empty() && matches!(self.names, NameSource::Figures(_)) {
            self.c.at += end;
            self.c.take("(");
            self.items()?;
            return Ok(ExpressionNode::UnknownCall(name.to_owned()));
        }
        if is_call && !name.is_empty() {
            let known: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
            return Err(self.c.error(format!(
                "unknown function `{name}`; available: {}",
                known.join(", ")
            )));
        }
        if name.is_empty() {
            return Err(self.c.error(match rest.chars().next() {
                None => "a value is missing here".to_owned(),
                Some(c) => format!("a value cannot start with `{c}`"),
            }));
        }
        self.c.at += end;
        Ok(ExpressionNode::Variable(name.to_owned()))
    }

    fn items(&mut self) -> Result<Vec<ExpressionNode>, Misread> {
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
