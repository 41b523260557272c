//! Enumerations, which become objects.

use oxc_ast::ast::*;
use oxc_ast_visit::Visit;
use oxc_span::GetSpan;

use super::strip::Strip;

impl Strip<'_> {
    /// Rewrites an enumeration. Each member stays on its line.
    pub fn enumeration(&mut self, declared: &TSEnumDeclaration<'_>) {
        let name = declared.id.name.as_str();
        self.visit_binding_identifier(&declared.id);
        let body = declared.body.span;
        let opening = format!("var {name} = (function ({name}) {{");
        self.edits
            .replace(declared.span.start, body.start + 1, &opening);
        let mut members: Vec<String> = Vec::new();
        for member in &declared.body.members {
            self.enumeration_member(name, member, &members);
            members.push(member.id.static_name().to_string());
        }
        let closing = format!("return {name}; }})({name} || {{}});");
        self.edits.replace(body.end - 1, body.end, &closing);
    }

    fn enumeration_member(&mut self, name: &str, member: &TSEnumMember<'_>, known: &[String]) {
        let key = serde_json::Value::from(member.id.static_name().as_str()).to_string();
        let start = member.span.start;
        match &member.initializer {
            None => {
                let value = match known.last() {
                    Some(last) => {
                        format!("{name}[{}] + 1", serde_json::Value::from(last.as_str()))
                    }
                    None => "0".to_owned(),
                };
                let text = format!("{name}[{name}[{key}] = {value}] = {key}");
                self.edits.replace(start, member.span.end, &text);
            }
            Some(text) if is_text(text) => {
                let opening = format!("{name}[{key}] = ");
                self.edits.replace(start, text.span().start, &opening);
            }
            Some(value) => {
                let opening = format!("{name}[{name}[{key}] = ");
                self.edits.replace(start, value.span().start, &opening);
                let mut references = References {
                    known,
                    found: Vec::new(),
                };
                references.visit_expression(value);
                for at in references.found {
                    self.edits.insert(at, &format!("{name}."));
                }
                self.visit_expression(value);
                self.edits.insert(value.span().end, &format!("] = {key}"));
            }
        }
        let after = self.edits.after_trivia(member.span.end);
        if self.edits.rest(after).starts_with(',') {
            self.edits.replace(after, after + 1, ";");
        } else {
            self.edits.insert(member.span.end, ";");
        }
    }
}

fn is_text(value: &Expression<'_>) -> bool {
    matches!(
        value,
        Expression::StringLiteral(_) | Expression::TemplateLiteral(_)
    )
}

/// Positions at which members are used without the name of their enumeration.
struct References<'k> {
    known: &'k [String],
    found: Vec<u32>,
}

impl<'a> Visit<'a> for References<'_> {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        if self.known.iter().any(|known| known == it.name.as_str()) {
            self.found.push(it.span.start);
        }
    }
}
