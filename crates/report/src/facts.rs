//! Figures of a protocol as pairs of name and text, for terminals and `report.md`.

/// A named figure of a protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct Fact {
    pub name: &'static str,
    pub text: String,
}

/// Converts pairs of name and text to facts. Drops pairs whose text is `None`.
pub fn known<const N: usize>(facts: [(&'static str, Option<String>); N]) -> Vec<Fact> {
    let known = |(name, text): (&'static str, Option<String>)| Some(Fact { name, text: text? });
    facts.into_iter().filter_map(known).collect()
}
