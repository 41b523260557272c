//! Elements that apply to the whole plan: variables, tables and cookies.

use super::{
    JmeterDraft, extractors,
    tree::{BrokenElement, JmxElement, JmxItem},
};
use crate::draft::DraftTable;

/// Collects variables, tables, cookies and the names of extracted variables of all elements.
pub(super) fn collect(
    element: &JmxElement<'_>,
    context: &mut JmeterDraft<'_>,
) -> Result<(), BrokenElement> {
    match element.kind {
        "TestPlan" => {
            define(&element.list("Arguments.arguments"), context);
            if element.flag("TestPlan.serialize_threadgroups") {
                let text = "JMeter runs the thread groups one after another; this plan runs them at \
                    the same time";
                context.remarks.push(element.comment(context.file, text));
            }
        }
        "Arguments" => define(&element.list("Arguments.arguments"), context),
        "RandomVariableConfig" => random_variable(element, context),
        "CSVDataSet" => table(element, context)?,
        "CookieManager" => {
            context.has_cookies = true;
            if !element.list("CookieManager.cookies").is_empty() {
                let text = "TO FILL IN: its own cookies are not sent";
                context.remarks.push(element.comment(context.file, text));
            }
        }
        _ => {}
    }
    for name in extractors::names_of(element) {
        context.scope.announce(&name);
    }
    let mut children = element.children.iter();
    children.try_for_each(|child| collect(child, context))
}

fn define(arguments: &[JmxItem<'_>], context: &mut JmeterDraft<'_>) {
    for item in arguments {
        let name = item.property("Argument.name");
        let value = item.property("Argument.value");
        context
            .scope
            .define_text(name.trim(), value, "the JMeter plan");
    }
}

fn random_variable(element: &JmxElement<'_>, context: &mut JmeterDraft<'_>) {
    let name = element.property("variableName");
    let least = context.scope.expand(&element.property("minimumValue"));
    let most = context.scope.expand(&element.property("maximumValue"));
    let text = "drawn at each use here, but once per iteration in JMeter";
    context.remarks.push(element.comment(context.file, text));
    let value = format!("${{__Random({},{})}}", least.trim(), most.trim());
    context
        .scope
        .define_text(name.trim(), value, "the JMeter plan");
}

fn table(element: &JmxElement<'_>, context: &mut JmeterDraft<'_>) -> Result<(), BrokenElement> {
    let file = context.scope.expand(&element.property("filename"));
    if file.trim().is_empty() {
        let text = "this CSV Data Set has no file name: add it, or disable the element";
        return Err(element.broken(text.to_owned()));
    }
    let file = context.folder.join(file.trim().replace('\\', "/"));
    let names = element.property("variableNames");
    let delimiter = match element.property("delimiter").as_str() {
        "" | "," => None,
        "\\t" => Some("\t".to_owned()),
        other => Some(other.to_owned()),
    };
    let mut comments = Vec::new();
    let mut comment = |text: &str| comments.push(element.comment(context.file, text));
    if element.property("recycle").trim() == "false" {
        comment("after the last row, this plan starts again with the first; JMeter stops");
    }
    let is_from_file = names.trim().is_empty();
    let header = (!is_from_file && element.flag("ignoreFirstLine")).then_some(true);
    let separator = if is_from_file {
        delimiter.as_deref().unwrap_or(",")
    } else {
        ","
    };
    let line = if is_from_file {
        let bytes = (context.read)(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let line = text
            .trim_start_matches('\u{feff}')
            .lines()
            .next()
            .unwrap_or_default();
        if line.is_empty() {
            comment("TO FILL IN: the column names; the first line of the file must list them");
        }
        line.to_owned()
    } else {
        names
    };
    let names = line
        .split(separator)
        .map(|name| name.trim().trim_matches('"').to_owned());
    let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
    let mut columns = Vec::new();
    for name in &names {
        // Names in a header line must stay, because the run reads them from the file.
        let own = if is_from_file {
            context.unknowns.reserve_exactly(name);
            name.clone()
        } else {
            context.unknowns.reserve(name)
        };
        context.scope.provide(name, own.clone());
        columns.push(own);
    }
    context.tables.push(DraftTable {
        comments,
        file: file.to_string_lossy().into_owned(),
        columns: if is_from_file { Vec::new() } else { columns },
        delimiter,
        is_random: false,
        header,
    });
    Ok(())
}
