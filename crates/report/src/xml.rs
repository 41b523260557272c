//! Escaping of text and attributes for XML. Characters that XML cannot contain become U+FFFD.

use std::fmt::Write;

#[must_use]
pub fn text(text: &str) -> String {
    escape(text, false)
}

#[must_use]
pub fn attribute(text: &str) -> String {
    escape(text, true)
}

fn escape(text: &str, in_attribute: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#13;"),
            '\n' | '\t' if in_attribute => {
                let _ = write!(out, "&#{};", character as u32);
            }
            '\n' | '\t' => out.push(character),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_xml_cannot_hold_is_left() {
        assert_eq!(
            text("p99 < 1s & \"]]>\"\n\u{1}"),
            "p99 &lt; 1s &amp; &quot;]]&gt;&quot;\n\u{fffd}"
        );
        assert_eq!(
            attribute("a\nb\tc\rd\u{ffff}"),
            "a&#10;b&#9;c&#13;d\u{fffd}"
        );
    }
}
