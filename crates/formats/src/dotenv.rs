//! Parser for `.env` files. It accepts the same lines as Node's `dotenv`, and ignores the others.

#[must_use]
pub fn parse(text: &str) -> Vec<(String, String)> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut variables: Vec<(String, String)> = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while !rest.is_empty() {
        let line = rest.split('\n').next().unwrap_or_default();
        let behind_line = rest.get(line.len() + 1..).unwrap_or_default();
        let Some((name, from)) = assignment(line) else {
            rest = behind_line;
            continue;
        };
        let (value, after) = quoted(&rest[from..]).map_or_else(
            || (plain(&line[from..]), behind_line),
            |(value, after)| (value, after),
        );
        variables.retain(|(known, _)| known != name);
        variables.push((name.to_owned(), value));
        rest = after;
    }
    variables
}

/// Returns the name that a line sets and the offset of its value: `NAME=`, `export NAME = `, `NAME:
/// `.
fn assignment(line: &str) -> Option<(&str, usize)> {
    let trimmed = line.trim_start();
    let exported = trimmed
        .strip_prefix("export")
        .filter(|rest| rest.starts_with([' ', '\t']))
        .map_or(trimmed, str::trim_start);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let length = exported.find(|c| !is_name(c)).unwrap_or(exported.len());
    let (name, rest) = exported.split_at(length);
    let value = rest
        .trim_start()
        .strip_prefix('=')
        .or_else(|| rest.strip_prefix(": "))?;
    (!name.is_empty()).then_some((name, line.len() - value.len()))
}

/// Returns a quoted value, which may span several lines, and the text after it. `None` if the value
/// is not quoted or not closed.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches([' ', '\t']);
    let quote = text.chars().next().filter(|c| "'\"`".contains(*c))?;
    let inside = &text[1..];
    let mut escaped = false;
    let end = inside.find(|c: char| {
        let closes = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    })?;
    let (line, after) = inside[end + 1..]
        .split_once('\n')
        .unwrap_or((&inside[end + 1..], ""));
    let line = line.trim();
    if !line.is_empty() && !line.starts_with('#') {
        return None;
    }
    let value = &inside[..end];
    let value = if quote == '"' {
        value.replace("\\n", "\n").replace("\\r", "\r")
    } else {
        value.to_owned()
    };
    Some((value, after))
}

fn plain(text: &str) -> String {
    text.split('#').next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(text: &str) -> Option<String> {
        parse(text)
            .pop()
            .map(|(name, value)| format!("{name}={value}"))
    }

    #[test]
    fn variables_match_dotenv() {
        for (text, wanted) in [
            ("A=1", Some("A=1")),
            ("  export A = two words  # why", Some("A=two words")),
            ("A: yaml-like", Some("A=yaml-like")),
            ("A=", Some("A=")),
            ("A=a=b", Some("A=a=b")),
            ("A='single # kept'", Some("A=single # kept")),
            ("A=\"line\\nbreak\"", Some("A=line\nbreak")),
            ("A='no\\nbreak'", Some("A=no\\nbreak")),
            ("A=\"over\ntwo lines\" # done", Some("A=over\ntwo lines")),
            ("A=`back \"tick\"`", Some("A=back \"tick\"")),
            ("A='open", Some("A='open")),
            ("# A=1", None),
            ("no assignment", None),
            ("=5", None),
            ("A=1\r\nA=2\r\n", Some("A=2")),
            ("\u{feff}A=1", Some("A=1")),
        ] {
            assert_eq!(one(text).as_deref(), wanted, "{text:?}");
        }
        let several = parse("A=1\n\n# comment\nB=\"x\ny\"\nC=3\nA=4\n");
        let wanted = [("B", "x\ny"), ("C", "3"), ("A", "4")];
        assert_eq!(several, wanted.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in "([A-C]=|export |['\"`#\\\\\n: ]|\\PC)*") {
            for (name, _) in parse(&text) {
                prop_assert!(!name.is_empty());
            }
        }
    }
}
