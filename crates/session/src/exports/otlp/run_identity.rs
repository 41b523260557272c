//! The common parts of all OTLP requests of a run: resource, scope, and the attributes of labels.
//! Names follow OpenTelemetry's semantic conventions where these define one.

use std::collections::BTreeMap;

use measure::{Label, LabelId, label::LabelGroup};
use record::Run;

use crate::exports::protobuf::Message;

/// Verb of a request that opens a WebSocket connection or a Socket.IO session.
pub(super) const OPENING: &str = "CONNECT";

pub(super) type Attributes<'a> = Vec<(&'a str, AttributeValue<'a>)>;

#[derive(Clone)]
pub(super) enum AttributeValue<'a> {
    Text(&'a str),
    Number(u64),
    Decimal(f64),
}

/// The identity of a run in OTLP requests.
pub(super) struct RunIdentity {
    resource: Vec<(String, String)>,
    version: String,
    server: Option<Server>,
    pub labels: BTreeMap<LabelId, Label>,
}

#[derive(Clone)]
struct Server {
    address: String,
    port: u64,
}

impl Server {
    /// Returns the host and the port of an absolute URL.
    fn of_url(url: &str) -> Option<Server> {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let known = match scheme {
            "https" | "wss" => Some(443),
            "http" | "ws" => Some(80),
            _ => None,
        };
        let (address, port) = match host.rsplit_once(':') {
            Some((address, port)) if !port.contains(']') => (address, port.parse().ok()),
            _ => (host, known),
        };
        let address = address.trim_matches(['[', ']']).to_owned();
        Some(Server {
            address,
            port: port?,
        })
        .filter(|server| !server.address.is_empty())
    }
}

impl RunIdentity {
    /// Describes a run that is about to start.
    pub fn new(resource: &[(String, String)], run: Run) -> RunIdentity {
        let manifest = &run.manifest;
        let mut resource = resource.to_vec();
        for (name, value) in [
            ("service.instance.id", &manifest.run_id),
            ("loadline.run.id", &manifest.run_id),
            ("loadline.run.name", &manifest.name),
            ("loadline.plan.digest", &manifest.plan_sha256),
        ] {
            let is_known = resource.iter().any(|(known, _)| known == name);
            if !is_known && !value.is_empty() {
                resource.push((name.to_owned(), value.clone()));
            }
        }
        RunIdentity {
            resource,
            version: manifest.tool.version.clone(),
            server: Server::of_url(&manifest.target),
            labels: run
                .labels
                .into_iter()
                .map(|label| (label.id, label))
                .collect(),
        }
    }

    /// Returns a request with one resource and one scope. `write` adds the content of the scope.
    pub fn request(&self, write: impl FnOnce(&mut Message)) -> Vec<u8> {
        let mut request = Message::default();
        request.message(1, |of_resource| {
            of_resource.message(1, |resource| {
                for (name, value) in &self.resource {
                    attribute(resource, 1, name, &AttributeValue::Text(value));
                }
            });
            of_resource.message(2, |of_scope| {
                of_scope.message(1, |scope| {
                    scope.string(1, "loadline");
                    scope.string(2, &self.version);
                });
                write(of_scope);
            });
        });
        request.into_bytes()
    }

    /// Returns the attributes of a label.
    pub fn label_attributes<'a>(&'a self, label: &'a Label) -> Attributes<'a> {
        let mut attributes = vec![("loadline.label", AttributeValue::Text(&label.text))];
        if let Some(protocol) = protocol(label) {
            // Steps of two protocols may have the same name.
            attributes.push(("loadline.protocol", AttributeValue::Text(protocol)));
            return attributes;
        }
        if label.method.is_empty() {
            return attributes;
        }
        let method = AttributeValue::Text(&label.method);
        attributes.push(("http.request.method", method));
        // The user chose any other name, and its URL is unknown here.
        if label.name.starts_with('/') {
            attributes.push(("url.template", AttributeValue::Text(&label.name)));
            if let Some(server) = &self.server {
                attributes.push(("server.address", AttributeValue::Text(&server.address)));
                attributes.push(("server.port", AttributeValue::Number(server.port)));
            }
        }
        attributes
    }
}

/// Returns the protocol of an operation. `None` for HTTP.
fn protocol(label: &Label) -> Option<&'static str> {
    match label.group {
        LabelGroup::Request if label.method == OPENING => Some("opening"),
        LabelGroup::Mqtt => Some("mqtt"),
        LabelGroup::WebSocket => Some("websocket"),
        LabelGroup::SocketIo => Some("socketio"),
        LabelGroup::Script => Some("script"),
        LabelGroup::Request
        | LabelGroup::Iteration
        | LabelGroup::Transaction
        | LabelGroup::Custom => None,
    }
}

/// Writes an attribute in a field of a message.
pub(super) fn attribute(message: &mut Message, field: u64, name: &str, value: &AttributeValue<'_>) {
    message.message(field, |pair| {
        pair.string(1, name);
        pair.message(2, |any| match value {
            AttributeValue::Text(text) => any.string(1, text),
            AttributeValue::Number(number) => any.varint(3, *number),
            AttributeValue::Decimal(value) => any.double(4, *value),
        });
    });
}

#[cfg(test)]
mod tests {
    use measure::Labels;

    use super::*;

    fn names(group: LabelGroup, method: &str, name: &str) -> Vec<(String, String)> {
        let mut labels = Labels::default();
        let id = labels.id(group, method, name);
        let label = labels.all().iter().find(|label| label.id == id).unwrap();
        let run = RunIdentity {
            resource: Vec::new(),
            version: String::new(),
            server: Server::of_url("https://example.com/base"),
            labels: BTreeMap::new(),
        };
        let text = |value: &AttributeValue<'_>| match value {
            AttributeValue::Text(text) => (*text).to_owned(),
            AttributeValue::Number(number) => number.to_string(),
            AttributeValue::Decimal(value) => value.to_string(),
        };
        let attributes = run.label_attributes(label).into_iter();
        // The first attribute is the label itself.
        let others = attributes.skip(1);
        others
            .map(|(name, value)| (name.to_owned(), text(&value)))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        expected.iter().map(owned).collect()
    }

    #[test]
    fn attributes_say_only_what_the_label_tells() {
        let method = ("http.request.method", "GET");
        let template = ("url.template", "/a/{{ id }}");
        let server = [("server.address", "example.com"), ("server.port", "443")];
        for (group, verb, name, expected) in [
            (
                LabelGroup::Request,
                "GET",
                "/a/{{ id }}",
                vec![method, template, server[0], server[1]],
            ),
            // A name says nothing about the URL, and another origin is not the target.
            (LabelGroup::Request, "GET", "log in", vec![method]),
            (LabelGroup::Request, "GET", "http://other/b", vec![method]),
            (
                LabelGroup::Request,
                "CONNECT",
                "/live",
                vec![("loadline.protocol", "opening")],
            ),
            // Two protocols have steps with this name.
            (
                LabelGroup::WebSocket,
                "EXPECT",
                "x",
                vec![("loadline.protocol", "websocket")],
            ),
            (
                LabelGroup::SocketIo,
                "EXPECT",
                "x",
                vec![("loadline.protocol", "socketio")],
            ),
        ] {
            assert_eq!(names(group, verb, name), pairs(&expected), "{verb} {name}");
        }
    }
}
