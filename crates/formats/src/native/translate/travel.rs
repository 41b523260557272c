//! Reads `http.tls`, `http.resolve` and `http.unix`: certificates and address overrides.

use std::path::Path;

use plan::{Http, route::Resolve};
use serde_json::Value;

use super::{Translator, model};
use crate::{
    document::Node,
    files,
    native::read::{self, entries},
};

const BEGIN: &str = "-----BEGIN";

impl Translator<'_> {
    pub(super) fn travel(&mut self, node: &Node, folder: &Path, http: &mut Http) {
        if let Some(tls) = node.get("tls") {
            self.own_tls(tls, folder, http);
        }
        if let Some(list) = node.get("resolve") {
            for item in list.as_list().unwrap_or(std::slice::from_ref(list)) {
                let Some(text) = read::text(item, "resolve", self.findings) else {
                    continue;
                };
                match Resolve::parse(&text) {
                    Ok(one) => http.route.resolve.push(one),
                    Err(reason) => self
                        .findings
                        .problem(item.mark, format!("`resolve: {text}`: {reason}")),
                }
            }
        }
        if let Some(socket) = node.get("unix")
            && let Some(path) = read::text(socket, "unix", self.findings)
        {
            // If a plan's text refers to its folder, the name of the folder is UTF-8.
            http.route.unix = Some(folder.join(path).to_string_lossy().into_owned());
        }
    }

    pub(super) fn own_tls(&mut self, node: &Node, folder: &Path, http: &mut Http) {
        entries(node, "tls", model::TLS, self.findings);
        if let Some(ca) = node.get("ca") {
            if !http.verify_tls && !self.inputs.insecure {
                let text = "`ca` cannot be combined with `verify: false`, which disables verification: remove one of them";
                self.findings.problem(ca.mark, text);
            }
            http.tls.authorities = self.pem(ca, "ca", folder);
        }
        let certificate = node.get("cert").map(|cert| self.pem(cert, "cert", folder));
        let key = node.get("key").map(|key| self.pem(key, "key", folder));
        http.tls.identity = match (certificate, key) {
            (Some(Some(certificate)), Some(Some(key))) => Some((certificate, key)),
            (Some(Some(both)), None) if both.contains("PRIVATE KEY-----") => {
                Some((both.clone(), both))
            }
            (Some(Some(_)), None) => self.lonely(node, "cert", "key"),
            (None, Some(_)) => self.lonely(node, "key", "cert"),
            _ => None,
        };
        http.tls.server_name = node
            .get("server-name")
            .and_then(|name| read::text(name, "server-name", self.findings));
    }

    fn lonely<T>(&mut self, node: &Node, key: &str, missing: &str) -> Option<T> {
        let mark = node.get(key).map_or(node.mark, |node| node.mark);
        let text = format!("`{key}` without `{missing}`: a client certificate needs both");
        self.findings.problem(mark, text);
        None
    }

    fn pem(&mut self, node: &Node, key: &str, folder: &Path) -> Option<String> {
        let Value::String(text) = self.constant(node)? else {
            let message = format!("`{key}` must be a file or PEM text, not {}", node.kind());
            self.findings.problem(node.mark, message);
            return None;
        };
        if text.contains(BEGIN) {
            return Some(text);
        }
        let read = (self.read)(&folder.join(&text));
        let read = read.and_then(|bytes| files::text(bytes).map_err(|reason| reason.to_string()));
        let reason = match read {
            Ok(content) if content.contains(BEGIN) => return Some(content),
            Ok(_) => "the file contains no PEM text".to_owned(),
            Err(reason) => reason,
        };
        self.findings
            .problem(node.mark, format!("`{key}: {text}`: {reason}"));
        None
    }
}
