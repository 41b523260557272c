//! Finds the types of a program.

use std::collections::HashSet;

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

use super::{Refusal, edits::Edits};

/// Returns the program without its types.
pub fn strip(source: &str, program: &Program<'_>) -> Result<String, Refusal> {
    let mut strip = Strip {
        edits: Edits::new(source),
        used: HashSet::new(),
        types: HashSet::new(),
        values: HashSet::new(),
        imports: Vec::new(),
        exports: Vec::new(),
        refused: None,
    };
    strip.visit_program(program);
    if let Some((at, what)) = strip.refused {
        return Err(Refusal::at(source, at as usize, what));
    }
    strip.drop_unused_names();
    Ok(strip.edits.apply())
}

/// A name in the list of an import or export.
struct Listed {
    name: String,
    span: Span,
}

pub(super) struct Strip<'s> {
    pub edits: Edits<'s>,
    /// Names that the program uses as values.
    used: HashSet<String>,
    /// Names of local types and of local values. A class is both.
    types: HashSet<String>,
    values: HashSet<String>,
    /// Imports with their listed names. The last part is another imported name, such as a
    /// namespace, if any.
    imports: Vec<(Span, Vec<Listed>, Option<Listed>)>,
    /// Names in the lists of exports.
    exports: Vec<Listed>,
    /// Offset of the first unsupported part, and the reason.
    refused: Option<(u32, String)>,
}

impl Strip<'_> {
    pub fn refuse(&mut self, span: Span, what: &str) {
        let text = format!("{what}: write it in plain JavaScript");
        self.refused.get_or_insert((span.start, text));
    }

    /// Blanks a listed name and its comma.
    fn blank_listed(&mut self, span: Span) {
        let after = self.edits.after_trivia(span.end);
        let has_comma = self.edits.rest(after).starts_with(',');
        self.edits
            .blank(span.start, if has_comma { after + 1 } else { span.end });
    }

    /// Drops imports that are used only as types, and exports of types.
    fn drop_unused_names(&mut self) {
        let exports = std::mem::take(&mut self.exports);
        for listed in exports {
            if self.types.contains(&listed.name) && !self.values.contains(&listed.name) {
                self.blank_listed(listed.span);
            } else {
                self.used.insert(listed.name);
            }
        }
        for (span, named, default) in std::mem::take(&mut self.imports) {
            let is_used = |listed: &Listed| self.used.contains(&listed.name);
            let default_is_used = default.as_ref().is_some_and(is_used);
            if !default_is_used && !named.iter().any(is_used) {
                self.edits.blank_statement(span);
                continue;
            }
            let unused: Vec<Span> = named
                .iter()
                .filter(|listed| !is_used(listed))
                .map(|listed| listed.span)
                .collect();
            for span in unused {
                self.blank_listed(span);
            }
            if let Some(default) = default.filter(|_| !default_is_used) {
                self.blank_listed(default.span);
            }
        }
    }

    /// Blanks the `?` or `!` after a name. Other patterns cannot have such a mark.
    fn blank_mark(&mut self, pattern: &BindingPattern<'_>, mark: char) {
        if let BindingPatternKind::BindingIdentifier(id) = &pattern.kind {
            // The span of a name includes its type.
            let end = id.span.start + id.name.len() as u32;
            self.edits.blank_next(end, mark);
        }
    }

    /// Blanks an annotation with the colon before it.
    fn blank_annotation(&mut self, annotation: &TSTypeAnnotation<'_>) {
        self.edits.blank(annotation.span.start, annotation.span.end);
    }

    fn note_type(&mut self, declaration: &Declaration<'_>) {
        let name = match declaration {
            Declaration::TSInterfaceDeclaration(interface) => &interface.id.name,
            Declaration::TSTypeAliasDeclaration(alias) => &alias.id.name,
            _ => return,
        };
        self.types.insert(name.to_string());
    }

    fn declaration(&mut self, declaration: &Declaration<'_>, whole: Span) -> bool {
        self.note_type(declaration);
        let is_blanked = is_type(declaration);
        if is_blanked {
            self.edits.blank_statement(whole);
        }
        is_blanked
    }

    fn import_specifiers(&mut self, import: &ImportDeclaration<'_>) {
        let Some(specifiers) = &import.specifiers else {
            return;
        };
        let (mut named, mut default) = (Vec::new(), None);
        for specifier in specifiers {
            let listed = Listed {
                name: specifier.local().name.to_string(),
                span: specifier.span(),
            };
            match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(one)
                    if one.import_kind == ImportOrExportKind::Type =>
                {
                    self.blank_listed(one.span);
                }
                ImportDeclarationSpecifier::ImportSpecifier(_) => named.push(listed),
                ImportDeclarationSpecifier::ImportDefaultSpecifier(_) if specifiers.len() > 1 => {
                    default = Some(listed);
                }
                _ => named.push(listed),
            }
        }
        if !specifiers.is_empty() {
            self.imports.push((import.span, named, default));
        }
    }
}

/// Returns whether a declaration has no code.
fn is_type(declaration: &Declaration<'_>) -> bool {
    match declaration {
        Declaration::TSInterfaceDeclaration(_) | Declaration::TSTypeAliasDeclaration(_) => true,
        Declaration::FunctionDeclaration(function) => function.body.is_none(),
        Declaration::TSModuleDeclaration(module) => module.declare || has_only_types(module),
        other => other.declare(),
    }
}

fn has_only_types(module: &TSModuleDeclaration<'_>) -> bool {
    let is_type_statement = |statement: &Statement<'_>| match statement {
        Statement::ExportNamedDeclaration(export) => {
            export.declaration.as_ref().is_some_and(is_type)
        }
        other => other.as_declaration().is_some_and(is_type),
    };
    match &module.body {
        None => true,
        Some(TSModuleDeclarationBody::TSModuleBlock(block)) => {
            block.body.iter().all(is_type_statement)
        }
        Some(TSModuleDeclarationBody::TSModuleDeclaration(inner)) => has_only_types(inner),
    }
}

impl<'a> Visit<'a> for Strip<'_> {
    fn visit_statement(&mut self, it: &Statement<'a>) {
        if let Some(declaration) = it.as_declaration()
            && self.declaration(declaration, it.span())
        {
            return;
        }
        walk::walk_statement(self, it);
        // Without its type, the next line could continue the statement.
        let span = it.span();
        if !self.edits.text(span.start, span.end).ends_with(';') {
            self.edits.end_with(span.start, span.end, ';');
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            self.edits.blank_statement(it.span);
            return;
        }
        if let Some(declaration) = &it.declaration {
            if self.declaration(declaration, it.span) {
                return;
            }
            if let Declaration::TSEnumDeclaration(declared) = declaration {
                self.enumeration(declared);
                return;
            }
            self.visit_declaration(declaration);
        }
        for specifier in &it.specifiers {
            if specifier.export_kind == ImportOrExportKind::Type {
                self.blank_listed(specifier.span);
            } else if it.source.is_none() {
                self.exports.push(Listed {
                    name: specifier.local.name().to_string(),
                    span: specifier.span,
                });
            }
        }
    }

    fn visit_export_default_declaration(&mut self, it: &ExportDefaultDeclaration<'a>) {
        let has_code = match &it.declaration {
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => false,
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => function.body.is_some(),
            _ => true,
        };
        if has_code {
            walk::walk_export_default_declaration(self, it);
        } else {
            self.edits.blank_statement(it.span);
        }
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            self.edits.blank_statement(it.span);
        }
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        if it.import_kind == ImportOrExportKind::Type {
            self.edits.blank_statement(it.span);
        } else {
            self.import_specifiers(it);
        }
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        if it.import_kind == ImportOrExportKind::Type {
            self.edits.blank_statement(it.span);
            return;
        }
        let TSModuleReference::ExternalModuleReference(_) = &it.module_reference else {
            self.refuse(it.span, "an alias of a namespace cannot be run");
            return;
        };
        let keyword = it.span.start + "import".len() as u32;
        self.edits.blank_with(it.span.start, keyword, "const");
    }

    fn visit_ts_export_assignment(&mut self, it: &TSExportAssignment<'a>) {
        let expression = it.expression.span();
        self.edits
            .replace(it.span.start, expression.start, "module.exports = ");
        self.visit_expression(&it.expression);
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.enumeration(it);
    }

    fn visit_ts_module_declaration(&mut self, it: &TSModuleDeclaration<'a>) {
        if has_only_types(it) {
            self.edits.blank_statement(it.span);
        } else {
            self.refuse(it.span, "a namespace with code cannot be run");
        }
    }

    fn visit_ts_global_declaration(&mut self, it: &TSGlobalDeclaration<'a>) {
        self.edits.blank_statement(it.span);
    }

    fn visit_ts_namespace_export_declaration(&mut self, it: &TSNamespaceExportDeclaration<'a>) {
        self.edits.blank_statement(it.span);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "decorators cannot be run");
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.blank_mark(&it.id, '!');
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_binding_pattern(&mut self, it: &BindingPattern<'a>) {
        if it.optional {
            self.blank_mark(it, '?');
        }
        walk::walk_binding_pattern(self, it);
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.values.insert(it.name.to_string());
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.used.insert(it.name.to_string());
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank_listed(it.span);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        let params = it.params.span;
        if let Some(type_parameters) = &it.type_parameters {
            let span = type_parameters.span;
            // No line break may follow `async`.
            if self.edits.text(span.start, params.start).contains('\n') {
                self.edits.blank_with(span.start, span.end, "(");
                self.edits.blank(params.start, params.start + 1);
            } else {
                self.edits.blank(span.start, span.end);
            }
        }
        self.visit_formal_parameters(&it.params);
        if let Some(return_type) = &it.return_type {
            let span = return_type.span;
            self.blank_annotation(return_type);
            // No line break may precede `=>`.
            if self.edits.text(params.end, span.end).contains('\n') {
                self.edits.blank(params.end - 1, params.end);
                self.edits.end_with(params.end - 1, span.end, ')');
            }
        }
        match it.get_expression() {
            // An expression is not a statement: a semicolon would end the surrounding call.
            Some(expression) => self.visit_expression(expression),
            None => self.visit_function_body(&it.body),
        }
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        for decorator in &it.decorators {
            self.visit_decorator(decorator);
        }
        self.blank_modifiers(it.span.start, it.pattern.kind.span().start, false);
        self.visit_binding_pattern(&it.pattern);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        self.class(it);
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        self.class_element(it);
    }

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank_annotation(it);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.edits.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.edits.blank(it.span.start, it.span.end);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.blank(it.expression.span().end, it.span.end);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.blank(it.expression.span().end, it.span.end);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.blank_next(it.expression.span().end, '!');
    }

    fn visit_ts_instantiation_expression(&mut self, it: &TSInstantiationExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.blank(it.expression.span().end, it.span.end);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        // Parentheses prevent an object from being parsed as a block.
        let expression = it.expression.span();
        self.edits.blank_with(it.span.start, expression.start, "(");
        self.visit_expression(&it.expression);
        self.edits.insert(expression.end, ")");
    }
}
