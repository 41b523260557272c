//! HTTP samplers and the elements in their scope: defaults, headers and authorization.

use formats::methods::METHODS;
use serde_json::{Map, Value, json};

use super::{
    JmeterDraft, assertions, extractors,
    tree::{BrokenElement, JmxElement, JmxItem},
};
use crate::{
    address, body,
    draft::{DraftBody, DraftPart, DraftRequest, PartContent},
    headers::{self, HeaderUse},
};

/// A sampler with the elements that apply to it, starting with the outermost.
pub(super) struct ScopedSampler<'s, 'e, 'x> {
    pub element: &'e JmxElement<'x>,
    pub in_effect: &'s [&'e JmxElement<'x>],
}

impl<'e, 'x> ScopedSampler<'_, 'e, 'x> {
    fn of_kind(&self, kind: &str) -> impl DoubleEndedIterator<Item = &'e JmxElement<'x>> {
        let all = self.in_effect.iter().copied();
        all.filter(move |element| element.kind == kind)
    }

    /// Returns a property of the sampler, or of the nearest HTTP request defaults.
    fn property(&self, name: &str) -> String {
        let own = self.element.property(name);
        if !own.trim().is_empty() {
            return own;
        }
        let mut defaults = self.of_kind("ConfigTestElement").rev();
        let found = defaults.find_map(|element| {
            Some(element.property(name)).filter(|value| !value.trim().is_empty())
        });
        found.unwrap_or_default()
    }

    fn arguments(&self) -> Vec<JmxItem<'x>> {
        let defaults = self.of_kind("ConfigTestElement");
        let mut all: Vec<_> = defaults
            .flat_map(|one| one.list("Arguments.arguments"))
            .collect();
        all.extend(self.element.list("Arguments.arguments"));
        all
    }
}

pub(super) fn draft(
    sampler: &ScopedSampler<'_, '_, '_>,
    context: &mut JmeterDraft<'_>,
) -> Result<DraftRequest, BrokenElement> {
    let element = sampler.element;
    let method = match sampler.property("HTTPSampler.method").trim() {
        "" => "get".to_owned(),
        method => method.to_ascii_lowercase(),
    };
    if !METHODS.contains(&method.as_str()) {
        return Err(element.broken(format!(
            "`{method}` is not a method that plans support: disable the sampler"
        )));
    }
    let address = url(sampler, context)?;
    let label = element.name.replace('"', "'");
    let mut request = DraftRequest {
        method,
        url: body::path(&address.path, &mut context.unknowns),
        label: Some(label).filter(|label| !label.is_empty()),
        ..DraftRequest::default()
    };
    context.origins.push(address.origin);
    add_headers(sampler, &mut request, context);
    add_content(sampler, &mut request, context);
    add_authorization(sampler, &mut request, context);
    if !element.flag("HTTPSampler.follow_redirects") && !element.flag("HTTPSampler.auto_redirects")
    {
        request.follow = Some(false);
    }
    if sampler.property("HTTPSampler.image_parser").trim() == "true" {
        let text = "embedded resources are not fetched";
        request.comments.push(element.comment(context.file, text));
    }
    let timeout = sampler.property("HTTPSampler.response_timeout");
    if let Ok(milliseconds) = context.scope.expand(&timeout).trim().parse::<u64>() {
        context.timeouts.insert(milliseconds);
    }
    for scoped in sampler.in_effect {
        assertions::add(scoped, &mut request, context);
    }
    for scoped in sampler.in_effect {
        extractors::add(scoped, &mut request, context);
    }
    Ok(request)
}

fn url(
    sampler: &ScopedSampler<'_, '_, '_>,
    context: &mut JmeterDraft<'_>,
) -> Result<address::Address, BrokenElement> {
    let path = sampler.property("HTTPSampler.path");
    let path = path.trim();
    let domain = sampler.property("HTTPSampler.domain");
    let domain = domain.trim();
    let is_url = ["http://", "https://"]
        .iter()
        .any(|start| path.starts_with(start));
    let written = if is_url || domain.is_empty() && path.starts_with("${") {
        path.to_owned()
    } else {
        let protocol = sampler.property("HTTPSampler.protocol");
        let protocol = context.scope.expand(protocol.trim()).to_ascii_lowercase();
        let protocol = if protocol.is_empty() {
            "http"
        } else {
            &protocol
        };
        let port = sampler.property("HTTPSampler.port");
        let port = context.scope.expand(port.trim());
        let port = match (protocol, port.as_str()) {
            (_, "" | "0") | ("http", "80") | ("https", "443") => String::new(),
            (_, port) => format!(":{port}"),
        };
        let slash = if path.starts_with('/') { "" } else { "/" };
        if domain.is_empty() {
            let what = "URL of the service: https://…";
            let target = context.unknowns.environment("TARGET", what);
            let path = context.scope.resolve(path, &mut context.unknowns).text;
            return read_address(sampler, &format!("{target}{slash}{path}"));
        }
        format!("{protocol}://{domain}{port}{slash}{path}")
    };
    let resolved = context.scope.resolve_url(&written, &mut context.unknowns);
    read_address(sampler, &resolved)
}

fn read_address(
    sampler: &ScopedSampler<'_, '_, '_>,
    url: &str,
) -> Result<address::Address, BrokenElement> {
    let url = address::with_stray_encoded(url);
    address::read(&url).map_err(|message| sampler.element.broken(message))
}

fn add_headers(
    sampler: &ScopedSampler<'_, '_, '_>,
    request: &mut DraftRequest,
    context: &mut JmeterDraft<'_>,
) {
    for manager in sampler.of_kind("HeaderManager") {
        for item in manager.list("HeaderManager.headers") {
            let name = item.property("Header.name").trim().to_owned();
            let value = item.property("Header.value");
            let value = context.resolve(&value);
            if !headers::is_name(&name) || value.contains(char::is_control) {
                let name = name.replace(char::is_control, " ");
                let text = format!("the header `{name}` is not valid and is left out");
                request.comments.push(manager.comment(context.file, &text));
            } else if headers::of_curl(&name, &value) == HeaderUse::Yes {
                // The nearest header manager takes precedence.
                request
                    .headers
                    .retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
                let value = context.unknowns.header(&name, &value, "");
                request.headers.push((name.to_ascii_lowercase(), value));
            }
        }
    }
}

fn add_authorization(
    sampler: &ScopedSampler<'_, '_, '_>,
    request: &mut DraftRequest,
    context: &mut JmeterDraft<'_>,
) {
    for manager in sampler.of_kind("AuthManager") {
        let list = manager.list("AuthManager.auth_list");
        for item in &list {
            let user = context.resolve(&item.property("Authorization.username"));
            let password = context.resolve(&item.property("Authorization.password"));
            let user = body::user(&user, Some(&password), &mut context.unknowns);
            if list.len() > 1 {
                let base = item
                    .property("Authorization.url")
                    .replace(char::is_control, " ");
                let text = format!(
                    "check that these credentials apply to this request: JMeter uses them only for URLs under {base}"
                );
                request.comments.push(manager.comment(context.file, &text));
            }
            request.auth = Some(user);
        }
    }
}

/// Adds arguments and files: to the query, as a form, or as the body.
fn add_content(
    sampler: &ScopedSampler<'_, '_, '_>,
    request: &mut DraftRequest,
    context: &mut JmeterDraft<'_>,
) {
    let element = sampler.element;
    let arguments = sampler.arguments();
    let files = element.list("HTTPFileArgs.files");
    let is_raw = element.flag("HTTPSampler.postBodyRaw")
        || !arguments.is_empty()
            && arguments
                .iter()
                .all(|one| one.property("Argument.name").is_empty());
    let has_body = ["post", "put", "patch"].contains(&request.method.as_str());
    if element.flag("HTTPSampler.DO_MULTIPART_POST") && has_body
        || files
            .iter()
            .any(|file| !file.property("File.paramname").is_empty())
    {
        request.body = multipart(&arguments, &files, context);
        request
            .headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        return;
    }
    if let Some(file) = files.first() {
        let path = file.property("File.path").replace(char::is_control, " ");
        let text = format!("TO FILL IN: the body, which is the file {path}");
        request.comments.push(element.comment(context.file, &text));
    }
    if is_raw {
        let texts = arguments.iter().map(|one| one.property("Argument.value"));
        let text = context.resolve(&texts.collect::<String>());
        request.body = body::draft(
            &text,
            &mut request.headers,
            &mut context.unknowns,
            "the body",
        );
    } else if has_body {
        request.body = form(&arguments, request, context);
    } else {
        add_query(&arguments, request, context);
    }
}

struct NamedArgument {
    name: String,
    value: String,
    is_encoded: bool,
}

fn pairs(arguments: &[JmxItem<'_>], context: &mut JmeterDraft<'_>) -> Vec<NamedArgument> {
    let pairs = arguments.iter().map(|one| {
        let name = context.resolve(&one.property("Argument.name"));
        let value = Value::String(context.resolve(&one.property("Argument.value")));
        let value = context.unknowns.json(&name, &value, "the arguments");
        NamedArgument {
            name,
            value: value.as_str().unwrap_or_default().to_owned(),
            // JMeter sends other values as written.
            is_encoded: one.property("HTTPArgument.always_encode").trim() != "true",
        }
    });
    pairs.collect()
}

/// Returns the pairs as a mapping. A name that occurs several times gets a list.
fn mapping(pairs: &[NamedArgument]) -> Map<String, Value> {
    let mut map = Map::new();
    for pair in pairs {
        let value = Value::from(pair.value.as_str());
        match map.get_mut(&pair.name) {
            None => {
                map.insert(pair.name.clone(), value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = json!([first.take(), value]),
        }
    }
    map
}

/// Joins pairs. Those that are not yet encoded are encoded first.
fn joined(pairs: &[NamedArgument]) -> String {
    let texts = pairs.iter().map(|pair| {
        let value = if pair.is_encoded {
            address::with_stray_encoded(&pair.value)
        } else {
            address::encoded(&pair.value)
        };
        format!("{}={value}", address::encoded(&pair.name))
    });
    texts.collect::<Vec<_>>().join("&")
}

fn is_written_as_is(pair: &NamedArgument) -> bool {
    pair.is_encoded && pair.value.contains(['%', '+', '&'])
}

fn add_query(arguments: &[JmxItem<'_>], request: &mut DraftRequest, context: &mut JmeterDraft<'_>) {
    let pairs = pairs(arguments, context);
    if pairs.is_empty() {
        return;
    }
    if request.url.contains('?') || pairs.iter().any(is_written_as_is) {
        let mark = if request.url.contains('?') { '&' } else { '?' };
        request.url.push_str(&format!("{mark}{}", joined(&pairs)));
    } else {
        request.query = mapping(&pairs).into_iter().collect();
    }
}

fn form(
    arguments: &[JmxItem<'_>],
    request: &mut DraftRequest,
    context: &mut JmeterDraft<'_>,
) -> DraftBody {
    let pairs = pairs(arguments, context);
    if pairs.is_empty() {
        return DraftBody::None;
    }
    if !pairs.iter().any(is_written_as_is) {
        return DraftBody::Form(Value::Object(mapping(&pairs)));
    }
    let kind = "application/x-www-form-urlencoded".to_owned();
    headers::join(&mut request.headers, "content-type", kind);
    DraftBody::Text(joined(&pairs))
}

fn multipart(
    arguments: &[JmxItem<'_>],
    files: &[JmxItem<'_>],
    context: &mut JmeterDraft<'_>,
) -> DraftBody {
    let pairs = pairs(arguments, context);
    let mut parts: Vec<DraftPart> = pairs
        .into_iter()
        .map(|pair| DraftPart {
            name: pair.name,
            content: PartContent::Text(pair.value),
            kind: None,
        })
        .collect();
    for file in files {
        let path = context.scope.expand(&file.property("File.path"));
        let kind = context.scope.expand(&file.property("File.mimetype"));
        parts.push(DraftPart {
            name: file.property("File.paramname"),
            content: PartContent::File {
                path: context.folder.join(path).to_string_lossy().into_owned(),
                called: None,
            },
            kind: Some(kind).filter(|kind| !kind.trim().is_empty()),
        });
    }
    DraftBody::Multipart(parts)
}
