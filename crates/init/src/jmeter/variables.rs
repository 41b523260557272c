//! Variables and functions of JMeter: `${name}`, `${__P(name,default)}`.

use crate::{
    placeholders,
    scope::{ComputedValue, VariableScope, VariableSyntax, VariableUse},
};

#[derive(Debug)]
pub struct JmeterSyntax;

pub type JmeterScope = VariableScope<JmeterSyntax>;

/// Maximum nesting of references within the arguments of functions.
const DEEPEST: usize = 16;

impl VariableSyntax for JmeterSyntax {
    const SOURCE: &'static str = "JMeter plan";

    fn find(text: &str) -> Option<VariableUse<'_>> {
        let mut from = 0;
        loop {
            let open = from + text.get(from..)?.find("${")?;
            let inside = &text[open + 2..];
            // If this reference is not closed, the rest may still contain one.
            if let Some(end) = closing(inside) {
                let name = inside[..end].trim();
                if !name.is_empty() {
                    return Some(VariableUse {
                        before: &text[..open],
                        name,
                        after: &inside[end + 1..],
                    });
                }
            }
            from = open + 2;
        }
    }

    fn computed(name: &str) -> Option<ComputedValue> {
        let function = name.strip_prefix("__")?;
        let (function, arguments) = match function.split_once('(') {
            Some((function, rest)) => (function, arguments(rest.strip_suffix(')')?)),
            None => (function, Vec::new()),
        };
        let argument = |index: usize| arguments.get(index).map(|one| one.trim());
        let unknown = || ComputedValue::Unknown {
            hint: function.to_owned(),
        };
        let number = |index: usize| argument(index).and_then(|text| text.parse::<i64>().ok());
        let similar = |call: &str, what: &str| ComputedValue::Similar {
            text: placeholders::variable(call),
            remark: format!("`__{function}` is {what}."),
        };
        Some(match function {
            "P" => match argument(0).filter(|name| is_plain(name)) {
                Some(name) => setting(name, argument(1).unwrap_or("1")),
                None => unknown(),
            },
            "property" => match argument(0).filter(|name| is_plain(name)) {
                Some(name) => setting(name, argument(2).unwrap_or_default()),
                None => unknown(),
            },
            "env" => match argument(0).filter(|name| is_plain(name)) {
                Some(name) => ComputedValue::Environment(name.to_owned()),
                None => unknown(),
            },
            "UUID" => similar(
                "$uuid",
                "one value per virtual user, but one per use in JMeter",
            ),
            "Random" => match (number(0), number(1)) {
                (Some(least), Some(most)) => ComputedValue::Same(placeholders::variable(&format!(
                    "$randomNumber({least}, {most})"
                ))),
                _ => unknown(),
            },
            "RandomString" => match (number(0), argument(1)) {
                (Some(length @ 1..=100_000), None | Some("")) => {
                    ComputedValue::Same(placeholders::variable(&format!("$randomString({length})")))
                }
                (Some(length @ 1..=100_000), Some(_)) => similar(
                    &format!("$randomString({length})"),
                    "random letters and digits, not only the given characters",
                ),
                _ => unknown(),
            },
            _ => unknown(),
        })
    }

    fn write(name: &str) -> String {
        format!("${{{name}}}")
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn setting(name: &str, value: &str) -> ComputedValue {
    ComputedValue::Setting {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// Returns the index of the brace that closes a reference.
fn closing(inside: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' if before == '$' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            '\n' => return None,
            _ => {}
        }
        if depth > DEEPEST {
            return None;
        }
        before = letter;
    }
    None
}

/// Splits the arguments of a function at commas. `\,` is a comma within an argument.
fn arguments(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars().peekable();
    let mut depth = 0_usize;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&',') => {
                letters.next();
                parts.last_mut().into_iter().for_each(|part| part.push(','));
                continue;
            }
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            '{' | '(' => depth += 1,
            '}' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        parts
            .last_mut()
            .into_iter()
            .for_each(|part| part.push(letter));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unknowns::Unknowns;

    #[test]
    fn functions_and_properties_are_translated() {
        let mut scope = JmeterScope::default();
        let mut unknowns = Unknowns::default();
        scope.define_text("host", "${__P(host,shop.example)}".to_owned(), "the plan");
        assert_eq!(
            scope.expand("http://${host}:${__P(port,8080)}/"),
            "http://shop.example:8080/"
        );
        let text = scope.resolve("${__Random(1,6)} ${__UUID} ${__UUID()} ${x}", &mut unknowns);
        let text = placeholders::rendered(&text.text, |name| format!("<{name}>"));
        assert_eq!(text, "<$randomNumber(1, 6)> <$uuid> <$uuid> <x>");
        scope.resolve("${__time(yyyy,)}${__threadNum}", &mut unknowns);
        let missing: Vec<_> = unknowns.list().iter().map(|one| one.env.as_str()).collect();
        assert_eq!(missing, ["X", "TIME", "THREADNUM"]);
        assert!(JmeterSyntax::find("${ a ${b").is_none());
        scope.capture("token", &mut unknowns);
        let text = scope.resolve("${__property(token)} ${__P(token)}", &mut unknowns);
        let text = placeholders::rendered(&text.text, |name| format!("<{name}>"));
        assert_eq!(text, "<token> <token>");
    }
}
