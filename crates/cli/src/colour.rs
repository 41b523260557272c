//! Colours verdicts in summaries on terminals.

use std::io::IsTerminal;

const GOOD: &str = "32";
const UNSURE: &str = "33";
const BAD: &str = "31";
const WORDS: [(&str, &str, &str); 8] = [
    ("PASS ", "PASS", GOOD),
    ("FAIL ", "FAIL", BAD),
    ("INCONCLUSIVE ", "INCONCLUSIVE", UNSURE),
    ("✓ ", "✓", GOOD),
    ("✗ ", "✗", BAD),
    ("measurement VALID", "VALID", GOOD),
    ("measurement DEGRADED", "DEGRADED", UNSURE),
    ("measurement INVALID", "INVALID", BAD),
];

pub fn shows() -> bool {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let is_dumb = variable("TERM").is_none_or(|term| term == "dumb");
    std::io::stdout().is_terminal() && variable("NO_COLOR").is_none() && !is_dumb
}

pub fn verdicts(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let known = WORDS
            .iter()
            .find(|(begins, ..)| line.trim_start().starts_with(begins));
        match known {
            Some((_, word, code)) => line.replacen(word, &format!("\x1b[{code}m{word}\x1b[0m"), 1),
            None => line.to_owned(),
        }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_line_begins_with_is_coloured() {
        let text =
            "PASS          errors < 1%\nmeasurement INVALID  held up\nit would PASS \nPASSING by\n";
        let coloured = verdicts(text);
        assert_eq!(coloured.matches("\x1b[0m").count(), 2);
        assert!(coloured.starts_with("\x1b[32mPASS\x1b[0m   "));
        assert!(coloured.contains("measurement \x1b[31mINVALID\x1b[0m  held up"));
        let plain = coloured.replace("\x1b[0m", "").replace("\x1b[32m", "");
        assert_eq!(plain.replace("\x1b[31m", ""), text);
    }
}
