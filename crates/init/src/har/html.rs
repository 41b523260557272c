//! Finds hidden form fields and token meta tags in HTML text.

const MOST: usize = 1 << 20;
const TOKENS: [&str; 4] = ["csrf-token", "csrf_token", "xsrf-token", "_token"];

#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub value: String,
    pub pattern: String,
}

pub fn fields(page: &str) -> Vec<Field> {
    let end = page
        .char_indices()
        .nth(MOST)
        .map_or(page.len(), |(at, _)| at);
    let mut rest = &page[..end];
    let mut all = Vec::new();
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        let (wanted, key) = match word.to_ascii_lowercase().as_str() {
            "input" => ("hidden", "value"),
            "meta" => ("", "content"),
            _ => continue,
        };
        let Some(tag) = tag(rest) else { break };
        let is_wanted = match wanted {
            "hidden" => {
                attribute(tag, "type").is_some_and(|(kind, _)| kind.eq_ignore_ascii_case(wanted))
            }
            _ => attribute(tag, "name").is_some_and(|(name, _)| {
                let name = name.to_ascii_lowercase();
                TOKENS.iter().any(|token| name.ends_with(token))
            }),
        };
        if is_wanted {
            all.extend(field(tag, key));
        }
        rest = &rest[tag.len()..];
    }
    all
}

fn tag(text: &str) -> Option<&str> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '>') => return Some(&text[..at]),
            (None, _) => {}
        }
    }
    None
}

fn field(tag: &str, key: &str) -> Option<Field> {
    let (name, _) = attribute(tag, "name")?;
    let (value, at) = attribute(tag, key)?;
    // Skip HTML escapes, which are sent in another form, and braces, which would be read as
    // variables.
    if value.is_empty()
        || value.contains('&')
        || tag.contains(['{', '}'])
        || tag.contains(char::is_control)
    {
        return None;
    }
    let quote = tag[..at]
        .chars()
        .last()
        .filter(|c| matches!(c, '"' | '\''))?;
    let before = escaped(&format!("<{}", &tag[..at]));
    Some(Field {
        name: name.to_owned(),
        value: value.to_owned(),
        pattern: format!("{before}([^{quote}]*){quote}"),
    })
}

fn attribute<'t>(tag: &'t str, wanted: &str) -> Option<(&'t str, usize)> {
    let mut at = tag.find(char::is_whitespace)?;
    loop {
        at += tag[at..].find(|c: char| !c.is_whitespace() && c != '/')?;
        let end = tag[at..]
            .find(|c: char| c.is_whitespace() || c == '=')
            .map_or(tag.len(), |end| at + end);
        let name = &tag[at..end];
        let Some(after) = tag[end..].trim_start().strip_prefix('=') else {
            at = end;
            continue;
        };
        let after = after.trim_start();
        let begin = tag.len() - after.len();
        let (begin, stop) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let begin = begin + 1;
                (begin, begin + tag[begin..].find(quote)?)
            }
            _ => {
                let stop = after.find(char::is_whitespace).unwrap_or(after.len());
                (begin, begin + stop)
            }
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some((&tag[begin..stop], begin));
        }
        at = (stop + 1).min(tag.len());
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if "\\^$.|?*+()[]{}/".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_back_unseen_is_found() {
        let page = r#"<head><meta name="csrf-token" content="tok-1"><meta name=x content="y"></head>
            <INPUT value='a>b7' name=order type="hidden"/> <input type="text" name="q" value="seen">
            <input type="hidden" name="empty" value=""> <input type=hidden name="amp" value="a&amp;b"> <input type="hidden" name="open" value="#;
        let all = fields(page);
        let reported: Vec<_> = all
            .iter()
            .map(|field| (field.name.as_str(), field.value.as_str()))
            .collect();
        assert_eq!(reported, [("csrf-token", "tok-1"), ("order", "a>b7")]);
        assert_eq!(
            all[0].pattern,
            r#"<meta name="csrf-token" content="([^"]*)""#
        );
        assert_eq!(all[1].pattern, "<INPUT value='([^']*)'");
    }

    #[test]
    fn a_pattern_is_the_tag_itself() {
        let all = fields(r#"<input type="hidden" name="a[b].c" value="t7"> <input hidden"#);
        assert_eq!(
            all[0].pattern,
            r#"<input type="hidden" name="a\[b\]\.c" value="([^"]*)""#
        );
        assert_eq!(all.len(), 1);
    }
}
