//! Fields and requests of HTML forms.

use query::markup::{NodeId, Selector, Tree};

use super::steps::inside;

/// Types of inputs that are not form fields.
const NO_FIELDS: [&str; 5] = ["button", "file", "image", "reset", "submit"];

fn input_type(tree: &Tree, id: NodeId) -> String {
    let kind = tree.attribute(id, "type").unwrap_or("text");
    kind.to_ascii_lowercase()
}

/// Returns whether a control has a list of values.
pub fn is_multiple(tree: &Tree, id: NodeId) -> bool {
    tree.name(id) == Some("select") && tree.attribute(id, "multiple").is_some()
}

fn option_value(tree: &Tree, id: NodeId) -> String {
    let value = tree.attribute(id, "value").map(str::to_owned);
    value.unwrap_or_else(|| tree.text(id).trim().to_owned())
}

/// Returns the values of a control. All controls except lists have one value.
pub fn values(tree: &Tree, id: NodeId) -> Vec<String> {
    match tree.name(id) {
        Some("select") => {
            let options = inside(tree, &[id]).into_iter();
            let options: Vec<NodeId> = options
                .filter(|id| tree.name(*id) == Some("option"))
                .collect();
            let is_selected = |id: &&NodeId| tree.attribute(**id, "selected").is_some();
            let selected = options.iter().filter(is_selected);
            let mut values: Vec<String> = selected.map(|id| option_value(tree, *id)).collect();
            if !is_multiple(tree, id) {
                if values.is_empty() {
                    values.extend(options.first().map(|id| option_value(tree, *id)));
                }
                // Of several marked options, the last is selected.
                values = values.pop().into_iter().collect();
            }
            values
        }
        Some("textarea") => vec![tree.text(id)],
        Some("option") => vec![option_value(tree, id)],
        Some("input") if matches!(input_type(tree, id).as_str(), "checkbox" | "radio") => {
            vec![tree.attribute(id, "value").unwrap_or("on").to_owned()]
        }
        _ => match tree.attribute(id, "value") {
            Some(value) => vec![value.to_owned()],
            None if tree.name(id) == Some("input") => vec![String::new()],
            None => Vec::new(),
        },
    }
}

/// Returns the names and values of the fields in forms. Controls count as their own fields.
pub fn form_fields(tree: &Tree, nodes: &[NodeId]) -> Vec<(String, String)> {
    let mut controls = Vec::new();
    for id in nodes {
        match tree.name(*id) {
            Some("form") => controls.extend(inside(tree, &[*id])),
            _ => controls.push(*id),
        }
    }
    let mut fields = Vec::new();
    for id in controls {
        let is_field = match tree.name(id) {
            Some("input") => {
                let kind = input_type(tree, id);
                let is_checked = tree.attribute(id, "checked").is_some();
                !NO_FIELDS.contains(&kind.as_str())
                    && (is_checked || !matches!(kind.as_str(), "checkbox" | "radio"))
            }
            Some("select" | "textarea") => true,
            _ => false,
        };
        let name = tree.attribute(id, "name").filter(|name| !name.is_empty());
        if let Some(name) = name
            && is_field
            && tree.attribute(id, "disabled").is_none()
        {
            let values = values(tree, id).into_iter();
            fields.extend(values.map(|value| (name.to_owned(), value)));
        }
    }
    fields
}

/// The request that submits a form.
pub struct FormRequest {
    /// Method in upper case.
    pub method: String,
    /// URL as written in the form. `None` means the URL of the document.
    pub action: Option<String>,
    /// Form fields, including those of the button.
    pub fields: Vec<(String, String)>,
}

/// Finds a form and returns the request that submits it. `None` if no element matches.
pub fn form_request(tree: &Tree, form: &Selector, submit: &Selector) -> Option<FormRequest> {
    let form = *form.elements(tree).first()?;
    let mut fields = form_fields(tree, &[form]);
    let inside = inside(tree, &[form]);
    let button = submit.elements(tree);
    let button = button.into_iter().find(|id| inside.contains(id));
    if let Some(button) = button
        && let Some(name) = tree.attribute(button, "name")
    {
        let value = tree.attribute(button, "value").unwrap_or_default();
        fields.push((name.to_owned(), value.to_owned()));
    }
    let method = tree.attribute(form, "method").unwrap_or("GET");
    Some(FormRequest {
        method: method.to_ascii_uppercase(),
        action: tree.attribute(form, "action").map(str::to_owned),
        fields,
    })
}
