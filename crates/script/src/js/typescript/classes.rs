//! Removal of types in classes.

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::GetSpan;
use oxc_syntax::scope::ScopeFlags;

use super::strip::Strip;

/// Words before a member or a parameter that matter only to the type checker.
const MODIFIERS: &[&str] = &[
    "abstract",
    "declare",
    "override",
    "private",
    "protected",
    "public",
    "readonly",
];

impl Strip<'_> {
    pub fn class(&mut self, class: &Class<'_>) {
        for decorator in &class.decorators {
            self.visit_decorator(decorator);
        }
        self.blank_modifiers(class.span.start, class.body.span.start, false);
        if let Some(id) = &class.id {
            self.visit_binding_identifier(id);
        }
        if let Some(parameters) = &class.type_parameters {
            self.visit_ts_type_parameter_declaration(parameters);
        }
        if let Some(base) = &class.super_class {
            self.visit_expression(base);
        }
        if let Some(arguments) = &class.super_type_arguments {
            self.visit_ts_type_parameter_instantiation(arguments);
        }
        if let (Some(first), Some(last)) = (class.implements.first(), class.implements.last()) {
            let head = self.edits.text(class.span.start, first.span.start);
            if let Some(at) = head.rfind("implements") {
                let start = class.span.start + at as u32;
                self.edits.blank(start, last.span.end);
            }
        }
        for element in &class.body.body {
            self.visit_class_element(element);
        }
    }

    pub fn class_element(&mut self, element: &ClassElement<'_>) {
        match element {
            ClassElement::TSIndexSignature(signature) => {
                self.edits.blank_statement(signature.span);
            }
            ClassElement::MethodDefinition(method) => self.method(method),
            ClassElement::PropertyDefinition(property) => self.property(property),
            ClassElement::AccessorProperty(property) => {
                self.refuse(property.span, "the keyword `accessor` cannot be run");
            }
            ClassElement::StaticBlock(block) => walk::walk_static_block(self, block),
        }
    }

    fn method(&mut self, method: &MethodDefinition<'_>) {
        for decorator in &method.decorators {
            self.visit_decorator(decorator);
        }
        let Some(body) = &method.value.body else {
            // An abstract method, or one of several signatures.
            self.edits.blank_statement(method.span);
            return;
        };
        self.blank_modifiers(method.span.start, method.key.span().start, true);
        let key_end = self.key(&method.key, method.computed);
        if method.optional {
            self.edits.blank_next(key_end, '?');
        }
        if method.kind == MethodDefinitionKind::Constructor {
            self.parameter_properties(&method.value.params, body);
        }
        walk::walk_function(self, &method.value, ScopeFlags::Function);
    }

    fn property(&mut self, property: &PropertyDefinition<'_>) {
        for decorator in &property.decorators {
            self.visit_decorator(decorator);
        }
        let is_abstract = property.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition;
        if property.declare || is_abstract {
            self.edits.blank_statement(property.span);
            return;
        }
        self.blank_modifiers(property.span.start, property.key.span().start, true);
        let key_end = self.key(&property.key, property.computed);
        if property.optional {
            self.edits.blank_next(key_end, '?');
        }
        if property.definite {
            self.edits.blank_next(key_end, '!');
        }
        if let Some(annotation) = &property.type_annotation {
            self.visit_ts_type_annotation(annotation);
        }
        if let Some(value) = &property.value {
            self.visit_expression(value);
        }
        // Without its type, the next line could continue the field.
        let end = property.span.end;
        if !self.edits.text(property.span.start, end).ends_with(';') {
            self.edits.end_with(property.span.start, end, ';');
        }
    }

    /// Visits a key and returns the position after it.
    fn key(&mut self, key: &PropertyKey<'_>, is_computed: bool) -> u32 {
        let end = key.span().end;
        if !is_computed {
            return end;
        }
        if let Some(expression) = key.as_expression() {
            self.visit_expression(expression);
        }
        self.edits.after_trivia(end) + 1
    }

    /// Blanks the words before a member or parameter that have no effect at run time.
    pub fn blank_modifiers(&mut self, from: u32, until: u32, is_member: bool) {
        let mut at = self.edits.after_trivia(from);
        while at < until {
            let rest = self.edits.rest(at);
            let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
            let word = &rest[..rest.find(|c| !is_letter(c)).unwrap_or(rest.len())];
            if word.is_empty() {
                return;
            }
            let end = at + word.len() as u32;
            if MODIFIERS.contains(&word) {
                // Without the word, a member `[name]` or `*name` would continue the previous line.
                let first = if is_member && at == from { ";" } else { "" };
                self.edits.blank_with(at, end, first);
            }
            at = self.edits.after_trivia(end);
        }
    }

    /// Adds assignments for the constructor parameters that are fields.
    fn parameter_properties(&mut self, params: &FormalParameters<'_>, body: &FunctionBody<'_>) {
        let mut assigned = String::new();
        for param in &params.items {
            if param.accessibility.is_none() && !param.readonly && !param.r#override {
                continue;
            }
            if let Some(name) = param.pattern.get_identifier_name() {
                assigned.push_str(&format!(" this.{name} = {name};"));
            }
        }
        if assigned.is_empty() {
            return;
        }
        let calls_super = |statement: &&Statement<'_>| {
            let text = self
                .edits
                .text(statement.span().start, statement.span().end);
            matches!(statement, Statement::ExpressionStatement(_)) && text.starts_with("super")
        };
        let after = body.statements.iter().find(calls_super);
        let at = after.map_or(body.span.start + 1, |statement: &Statement<'_>| {
            statement.span().end
        });
        let separator = if after.is_some() { ";" } else { "" };
        self.edits.insert(at, &format!("{separator}{assigned}"));
    }
}
