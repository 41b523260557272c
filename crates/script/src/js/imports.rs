//! Finds the modules that a script imports by reading its source. If a script cannot be loaded,
//! this reports everything that is missing, and not only the first problem.

use std::{collections::HashSet, path::Path};

use oxc_allocator::Allocator;
use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{SourceType, Span};
use oxc_syntax::scope::ScopeFlags;

use super::{modules::Modules, typescript};

/// Maximum number of files to read, and of problems to report.
const MOST: usize = 100;

/// Returns a line with file, line and column for each module that cannot be loaded. Searches the
/// script and its own files, but not packages in `node_modules`, because those often test what is
/// available.
pub fn missing(modules: &Modules, file: &Path) -> Vec<String> {
    let (mut waiting, mut seen) = (vec![file.to_path_buf()], HashSet::new());
    let mut problems = Vec::new();
    while let Some(file) = waiting.pop() {
        if seen.len() >= MOST || problems.len() >= MOST || !seen.insert(file.clone()) {
            continue;
        }
        let Ok(source) = std::fs::read_to_string(&file) else {
            continue;
        };
        for (span, name, is_import) in named_modules(&source, &file) {
            match modules.resolve(&file, &name, is_import) {
                Ok(found) => waiting.extend(found.filter(|path| is_own_code(path))),
                Err(reason) => {
                    let (line, column) = typescript::position(&source, span.start as usize);
                    problems.push(format!("{}:{line}:{column}: {reason}", file.display()));
                }
            }
        }
    }
    problems
}

fn is_own_code(path: &Path) -> bool {
    let is_package = path
        .components()
        .any(|part| part.as_os_str() == "node_modules");
    let ending = path.extension().and_then(|ending| ending.to_str());
    !is_package && !matches!(ending, Some("json" | "node"))
}

/// Returns the names of modules in a source, and whether they are imported or required. Omits
/// modules that are required within `try`, because they may be missing.
pub fn named_modules(source: &str, file: &Path) -> Vec<(Span, String, bool)> {
    let allocator = Allocator::default();
    let kind = match typescript::is_typescript(file) {
        true => SourceType::ts(),
        false => SourceType::default(),
    };
    let parsed = Parser::new(&allocator, source, kind.with_unambiguous(true)).parse();
    let mut names = Names(Vec::new());
    names.visit_program(&parsed.program);
    names.0
}

struct Names(Vec<(Span, String, bool)>);

impl Names {
    fn add(&mut self, literal: &StringLiteral<'_>, is_import: bool) {
        self.0
            .push((literal.span, literal.value.to_string(), is_import));
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        if it.import_kind == ImportOrExportKind::Value {
            self.add(&it.source, true);
        }
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Value {
            self.add(&it.source, true);
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        match &it.source {
            Some(source) if it.export_kind == ImportOrExportKind::Value => self.add(source, true),
            _ => walk::walk_export_named_declaration(self, it),
        }
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if let Expression::Identifier(callee) = &it.callee
            && callee.name == "require"
            && let Some(Argument::StringLiteral(name)) = it.arguments.first()
        {
            self.add(name, false);
        }
        walk::walk_call_expression(self, it);
    }

    fn visit_try_statement(&mut self, _: &TryStatement<'a>) {}

    /// A function may never be called, so ignore what it requires.
    fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}

    fn visit_arrow_function_expression(&mut self, _: &ArrowFunctionExpression<'a>) {}
}

/// Formats several problems as one text. Returns `None` for a single problem, which the error
/// itself describes.
pub fn listed(problems: &[String]) -> Option<String> {
    (problems.len() > 1).then(|| {
        let lines: Vec<String> = problems.iter().map(|line| format!("  {line}")).collect();
        format!(
            "{} modules cannot be loaded:\n{}",
            problems.len(),
            lines.join("\n")
        )
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::named_modules;

    #[test]
    fn names_of_modules_are_found() {
        let source = "import a, { b } from './a';\nexport * from 'c';\nimport type { T } from 't';\nconst d = require('d').e(require('f'));\ntry { require('g'); } catch {}\nconst h = () => require('i');";
        let found: Vec<String> = named_modules(source, Path::new("x.ts"))
            .into_iter()
            .map(|(span, name, is_import)| format!("{} {name} {is_import}", span.start))
            .collect();
        assert_eq!(
            found,
            ["21 ./a true", "42 c true", "93 d false", "108 f false"]
        );
    }
}
