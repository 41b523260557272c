//! Drafts a plan from a Postman collection (version 2.0 or 2.1) and an environment.

mod auth;
mod collection;
mod request;
mod script;
mod variables;

use std::{collections::BTreeSet, path::Path};

use formats::{LoadErrors, document::Node};

use crate::{
    destructive,
    draft::{self, Draft, DraftBlock, DraftBlockKind, DraftStep},
    load::DraftLoad,
    placeholders,
    problem::problem,
    scope::ResolvedText,
    unknowns::Unknowns,
};
use collection::{BrokenItem, Collection, CollectionItem, LeftScript};
use request::DraftedRequest;
use script::ScriptKind;
use variables::{PostmanScope, define_list};

/// State for drafting a request.
struct RequestContext<'a> {
    scope: &'a mut PostmanScope,
    unknowns: &'a mut Unknowns,
    /// Folder of the collection. Its file names are relative to it.
    folder: &'a Path,
}

impl RequestContext<'_> {
    fn resolve(&mut self, text: &str) -> ResolvedText {
        self.scope.resolve(text, self.unknowns)
    }
}

pub fn is_collection(root: &Node) -> bool {
    let info = root.get("info");
    let schema = info
        .and_then(|info| info.get("schema"))
        .and_then(Node::as_str);
    schema.is_some_and(|schema| schema.contains("getpostman.com"))
        || info.is_some_and(|info| info.get("_postman_id").is_some())
        || info.is_some()
            && root
                .get("item")
                .is_some_and(|item| item.as_list().is_some())
}

pub fn is_environment(root: &Node) -> bool {
    let has_values = root
        .get("values")
        .is_some_and(|node| node.as_list().is_some());
    has_values
        && (root.get("_postman_variable_scope").is_some() || root.get("name").is_some())
        && root.get("log").is_none()
}

pub fn from_document(
    name: &str,
    root: &Node,
    environment: Option<&Node>,
) -> Result<Draft, LoadErrors> {
    let schema = root.get("info").and_then(|info| info.get("schema"));
    if let Some(schema) = schema
        && ["/v1.", "/v3."]
            .iter()
            .any(|version| schema.text().contains(version))
    {
        let text = "only collections of version 2.0 and 2.1 are supported: export it as v2.1";
        return Err(problem(name, schema.mark, text.to_owned()));
    }
    let broken = |error: BrokenItem| problem(name, error.mark, error.message);
    let collection = Collection::read(root).map_err(broken)?;
    if collection.requests().is_empty() {
        let text = "this collection contains no request";
        return Err(problem(name, root.mark, text.to_owned()));
    }
    let mut scope = PostmanScope::default();
    define_list(&mut scope, root.get("variable"), "the collection");
    define_folders(&collection.items, &mut scope);
    let values = environment.and_then(|root| root.get("values"));
    define_list(&mut scope, values, "the environment");
    for request in collection.requests() {
        let captures = request.after.captures.iter();
        captures.for_each(|capture| scope.announce(&capture.name));
    }
    let mut unknowns = Unknowns::default();
    let mut drafting = Drafting {
        context: RequestContext {
            scope: &mut scope,
            unknowns: &mut unknowns,
            folder: Path::new(name).parent().unwrap_or(Path::new("")),
        },
        origins: Vec::new(),
    };
    let mut steps = drafting
        .steps(&collection.items, &mut Vec::new())
        .map_err(broken)?;
    let origins = drafting.origins;
    scope.finish(&mut unknowns);
    let target = draft::most_frequent(origins.iter().map(String::as_str));
    draft::complete_urls(&mut steps, &mut origins.iter(), &target);
    let title = root
        .get("info")
        .map(|info| info.get("name").map(Node::text));
    let title = title.flatten().unwrap_or_default();
    let mut draft = Draft {
        from: format!("the Postman collection {}", draft::file_of(name)),
        stem: draft::stem_of_file(&name.replace(".postman_collection", ""))
            .unwrap_or_else(|| draft::stem(&title)),
        name: match title.trim() {
            "" => "Postman collection".to_owned(),
            title => title.to_owned(),
        },
        load: DraftLoad::Requests,
        variables: scope.values().to_vec(),
        unknowns,
        ..Draft::default()
    };
    draft.target = target;
    draft.remarks = remarks(&draft, name, &origins, &scope, &collection.left);
    let disabling = destructive::comment_out(&mut steps);
    draft.remarks.extend(disabling.remark());
    draft.set_steps(steps);
    Ok(draft)
}

fn define_folders(items: &[CollectionItem<'_>], scope: &mut PostmanScope) {
    for item in items {
        if let CollectionItem::Folder(folder) = item {
            define_list(scope, folder.variables, "a folder");
            define_folders(&folder.items, scope);
        }
    }
}

struct Drafting<'a> {
    context: RequestContext<'a>,
    /// Origin of each request, in order.
    origins: Vec<String>,
}

impl Drafting<'_> {
    fn steps(
        &mut self,
        items: &[CollectionItem<'_>],
        groups: &mut Vec<String>,
    ) -> Result<Vec<DraftStep>, BrokenItem> {
        let mut steps = Vec::new();
        for item in items {
            match item {
                CollectionItem::Request(item) => {
                    let DraftedRequest { origin, request } =
                        request::draft(item, &mut self.context)?;
                    self.origins.push(origin);
                    steps.push(DraftStep::Request(Box::new(request)));
                }
                CollectionItem::Folder(folder) => {
                    let name = draft::group_name(&folder.name, groups);
                    groups.push(name.clone());
                    let inner = self.steps(&folder.items, groups)?;
                    groups.pop();
                    if !inner.is_empty() {
                        steps.push(DraftStep::Block(DraftBlock {
                            comments: Vec::new(),
                            kind: DraftBlockKind::Group(name),
                            steps: inner,
                        }));
                    }
                }
            }
        }
        Ok(steps)
    }
}

fn remarks(
    draft: &Draft,
    name: &str,
    origins: &[String],
    scope: &PostmanScope,
    left: &[LeftScript],
) -> Vec<String> {
    let mut remarks = vec![
        "A failed request, capture or check ends the iteration; Postman sends the next request."
            .to_owned(),
    ];
    let others: BTreeSet<&str> = origins
        .iter()
        .map(String::as_str)
        .filter(|origin| *origin != draft.target)
        .collect();
    if !others.is_empty() {
        let others: Vec<String> = others
            .into_iter()
            .map(|origin| placeholders::replaced(origin, "…"))
            .collect();
        remarks.push(format!(
            "Some steps send requests to hosts other than the target: check that you may load them ({}).",
            others.join(", ")
        ));
    }
    remarks.extend(scope.remarks().cloned());
    if !left.is_empty() {
        remarks.push("Not translated from scripts:".to_owned());
    }
    remarks.extend(left.iter().map(|left| {
        let kind = match left.kind {
            ScriptKind::Prerequest => "before",
            ScriptKind::Test => "after",
        };
        format!(
            "- {}:{}, {kind} {}: {}",
            draft::file_of(name),
            left.statement.mark.line,
            left.item,
            left.statement.text
        )
    }));
    remarks
}
