//! Parses XPath expressions.

use super::{AXES, Axis, Expression, FUNCTIONS, LocationStep, NodeTest, Operator, Path, Start};
use crate::{Misread, cursor::Cursor};

const DEEPEST: usize = 32;

type Parsed = Result<Expression, Misread>;

pub(super) fn parse(text: &str) -> Parsed {
    let mut reader = XPathParser {
        c: Cursor::new(text, DEEPEST, in_name),
    };
    let expression = reader.expression()?;
    reader.c.end("this is unexpected here")?;
    Ok(expression)
}

struct XPathParser<'a> {
    c: Cursor<'a>,
}

impl<'a> XPathParser<'a> {
    fn expression(&mut self) -> Parsed {
        self.c.down()?;
        let mut left = self.conjunction()?;
        while self.c.word("or") {
            let right = self.conjunction()?;
            left = self.binary(Operator::Or, left, right)?;
        }
        self.c.up();
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed {
        let mut left = self.equality()?;
        while self.c.word("and") {
            let right = self.equality()?;
            left = self.binary(Operator::And, left, right)?;
        }
        Ok(left)
    }

    fn chain(&mut self, symbols: &[(&str, Operator)], read: fn(&mut Self) -> Parsed) -> Parsed {
        let mut left = read(self)?;
        while let Some((_, operator)) = symbols.iter().find(|(symbol, _)| self.c.take(symbol)) {
            let right = read(self)?;
            left = self.binary(*operator, left, right)?;
        }
        Ok(left)
    }

    fn equality(&mut self) -> Parsed {
        const SYMBOLS: [(&str, Operator); 2] = [("!=", Operator::Unequal), ("=", Operator::Equal)];
        self.chain(&SYMBOLS, Self::relation)
    }

    fn relation(&mut self) -> Parsed {
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
        let mut left = self.negative()?;
        loop {
            let operator = if self.c.take("*") {
                Operator::Multiply
            } else if self.c.word("div") {
                Operator::Divide
            } else if self.c.word("mod") {
                Operator::Remainder
            } else {
                return Ok(left);
            };
            let right = self.negative()?;
            left = self.binary(operator, left, right)?;
        }
    }

    fn negative(&mut self) -> Parsed {
        let mut negative = false;
        while self.c.take("-") {
            negative = !negative;
        }
        let value = self.chain(&[("|", Operator::Union)], Self::path)?;
        Ok(if negative {
            Expression::Negative(Box::new(value))
        } else {
            value
        })
    }

    fn binary(&mut self, operator: Operator, left: Expression, right: Expression) -> Parsed {
        self.c.operator()?;
        Ok(Expression::Binary(operator, Box::new((left, right))))
    }

    fn path(&mut self) -> Parsed {
        self.c.space();
        let rest = self.c.rest();
        if rest.starts_with('/') {
            let mut path = Path {
                start: Start::Document,
                steps: Vec::new(),
            };
            if rest.starts_with("//") {
                self.more_steps(&mut path)?;
            } else {
                self.c.at += 1;
                if self.begins_step() {
                    path.steps.push(self.step()?);
                    self.more_steps(&mut path)?;
                }
            }
            return Ok(Expression::Path(Box::new(path)));
        }
        if let Some(primary) = self.primary()? {
            let predicates = self.predicates()?;
            let goes_on = self.rest_after_space().starts_with('/');
            if predicates.is_empty() && !goes_on {
                return Ok(primary);
            }
            let mut path = Path {
                start: Start::Of(primary, predicates),
                steps: Vec::new(),
            };
            self.more_steps(&mut path)?;
            return Ok(Expression::Path(Box::new(path)));
        }
        let mut path = Path {
            start: Start::Here,
            steps: vec![self.step()?],
        };
        self.more_steps(&mut path)?;
        Ok(Expression::Path(Box::new(path)))
    }

    fn rest_after_space(&mut self) -> &'a str {
        self.c.space();
        self.c.rest()
    }

    fn begins_step(&mut self) -> bool {
        self.rest_after_space()
            .starts_with(|c: char| begins_name(c) || "@.*".contains(c))
    }

    fn primary(&mut self) -> Result<Option<Expression>, Misread> {
        let rest = self.rest_after_space();
        let Some(first) = rest.chars().next() else {
            return Err(self.c.error("an XPath expression is missing here"));
        };
        if first == '(' {
            self.c.at += 1;
            let inner = self.expression()?;
            if !self.c.take(")") {
                return Err(self.c.error("expected `)` here"));
            }
            return Ok(Some(inner));
        }
        if let '"' | '\'' = first {
            let Some(length) = rest[1..].find(first) else {
                return Err(self.c.error(format!("the closing {first} is missing")));
            };
            self.c.at += length + 2;
            return Ok(Some(Expression::Text(rest[1..=length].to_owned())));
        }
        let after = rest[first.len_utf8()..].chars().next();
        if first.is_ascii_digit() || (first == '.' && after.is_some_and(|c| c.is_ascii_digit())) {
            let end = rest
                .find(|c: char| !(c.is_ascii_digit() || c == '.'))
                .unwrap_or(rest.len());
            let number = rest[..end].parse();
            let number = number.map_err(|_| self.c.error("this is not a number"))?;
            self.c.at += end;
            return Ok(Some(Expression::Number(number)));
        }
        if first == '$' {
            return Err(self.c.error("variables are not supported here"));
        }
        self.call()
    }

    fn call(&mut self) -> Result<Option<Expression>, Misread> {
        let rest = self.c.rest();
        let end = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
        let name = &rest[..end];
        let is_call = begins_with_name(name) && rest[end..].trim_start().starts_with('(');
        if !is_call || ["node", "text", "comment", "processing-instruction"].contains(&name) {
            return Ok(None);
        }
        let Some((_, function, fewest, most)) = FUNCTIONS.iter().find(|(known, ..)| *known == name)
        else {
            return Err(self.c.error(format!("unknown function `{name}`")));
        };
        let start = self.c.at;
        self.c.at += end;
        self.c.take("(");
        let mut arguments = Vec::new();
        while !self.c.take(")") {
            if !arguments.is_empty() && !self.c.take(",") {
                return Err(self.c.error("expected `,` or `)` here"));
            }
            arguments.push(self.expression()?);
        }
        if !(*fewest..=*most).contains(&arguments.len()) {
            self.c.at = start;
            return Err(self.c.error(format!(
                "`{name}()` does not take {} arguments",
                arguments.len()
            )));
        }
        Ok(Some(Expression::Call(*function, arguments)))
    }

    fn more_steps(&mut self, path: &mut Path) -> Result<(), Misread> {
        loop {
            if self.c.take("//") {
                path.steps.push(LocationStep {
                    axis: Axis::DescendantOrSelf,
                    test: NodeTest::Node,
                    predicates: Vec::new(),
                });
            } else if !self.c.take("/") {
                return Ok(());
            }
            path.steps.push(self.step()?);
        }
    }

    fn step(&mut self) -> Result<LocationStep, Misread> {
        for (symbol, axis) in [("..", Axis::Parent), (".", Axis::Myself)] {
            if self.c.take(symbol) {
                return Ok(LocationStep {
                    axis,
                    test: NodeTest::Node,
                    predicates: Vec::new(),
                });
            }
        }
        let axis = if self.c.take("@") {
            Axis::Attribute
        } else {
            self.axis()?
        };
        let test = self.test()?;
        Ok(LocationStep {
            axis,
            test,
            predicates: self.predicates()?,
        })
    }

    fn axis(&mut self) -> Result<Axis, Misread> {
        let rest = self.rest_after_space();
        let end = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
        if !rest[end..].trim_start().starts_with("::") {
            return Ok(Axis::Child);
        }
        let known = AXES.iter().find(|(name, _)| *name == &rest[..end]);
        let Some((_, axis)) = known else {
            return Err(self.c.error(format!("unknown axis `{}`", &rest[..end])));
        };
        self.c.at += end;
        self.c.take("::");
        Ok(*axis)
    }

    fn test(&mut self) -> Result<NodeTest, Misread> {
        if self.c.take("*") {
            return Ok(NodeTest::Any);
        }
        let rest = self.rest_after_space();
        let end = rest
            .find(|c| !(in_name(c) || c == ':'))
            .unwrap_or(rest.len());
        let name = &rest[..end];
        if !begins_with_name(name) {
            return Err(self.c.error("a name is missing here"));
        }
        self.c.at += end;
        if let Some(prefix) = name.strip_suffix(':')
            && self.c.rest().starts_with('*')
        {
            self.c.at += 1;
            return Ok(NodeTest::Prefix(format!("{prefix}:")));
        }
        if self.rest_after_space().starts_with('(') {
            let test = match name {
                "node" => NodeTest::Node,
                "text" => NodeTest::Text,
                "comment" => NodeTest::Comment,
                _ => {
                    return Err(self.c.error(format!("`{name}()` is not a node type here")));
                }
            };
            self.c.take("(");
            if !self.c.take(")") {
                return Err(self.c.error("expected `)` here"));
            }
            return Ok(test);
        }
        Ok(NodeTest::Name(name.to_owned()))
    }

    fn predicates(&mut self) -> Result<Vec<Expression>, Misread> {
        let mut predicates = Vec::new();
        while self.c.take("[") {
            predicates.push(self.expression()?);
            if !self.c.take("]") {
                return Err(self.c.error("expected `]` here"));
            }
        }
        Ok(predicates)
    }
}

fn begins_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn begins_with_name(name: &str) -> bool {
    name.starts_with(begins_name)
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}
