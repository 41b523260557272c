//! Translates `config.tls`, and proxies from the environment.

use plan::{Proxies, Proxy, Tls, TlsVersions};

use super::Translator;
use formats::document::Node;

impl Translator<'_> {
    pub(super) fn tls(&mut self, node: &Node) -> Tls {
        let authorities = self.pem(node, "ca");
        let (certificate, key) = (self.pem(node, "cert"), self.pem(node, "key"));
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => self.lonely(node, "cert", "key"),
            (None, Some(_)) => self.lonely(node, "key", "cert"),
        };
        Tls {
            authorities,
            more_authorities: None,
            identity,
            no_alpn: false,
            versions: TlsVersions::default(),
            server_name: node
                .get("servername")
                .filter(|name| name.is_truthy())
                .map(Node::text),
        }
    }

    fn lonely<T>(&mut self, node: &Node, key: &str, missing: &str) -> Option<T> {
        let mark = node.get(key).map_or(node.mark, |node| node.mark);
        let text = format!("`tls.{key}` without `tls.{missing}`: a client certificate needs both");
        self.findings.problem(mark, text);
        None
    }

    fn pem(&mut self, tls: &Node, key: &str) -> Option<String> {
        let node = tls.get(key).filter(|node| node.is_truthy())?;
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        let texts: Option<Vec<String>> =
            items.iter().map(|item| self.pem_text(item, key)).collect();
        texts.map(|texts| texts.join("\n"))
    }

    fn pem_text(&mut self, node: &Node, key: &str) -> Option<String> {
        const BEGIN: &str = "-----BEGIN";
        let text = node.text();
        if text.contains(BEGIN) {
            return Some(text);
        }
        let read = (self.read)(&self.folder.join(&text));
        let read =
            read.and_then(|bytes| formats::files::text(bytes).map_err(|reason| reason.to_string()));
        match read {
            Ok(content) if content.contains(BEGIN) => Some(content),
            Ok(_) => {
                let message = format!("`tls.{key}`: {text} contains no PEM text");
                self.findings.problem(node.mark, message);
                None
            }
            Err(reason) => {
                let message =
                    format!("`tls.{key}` is neither PEM text nor a PEM file: {text}: {reason}");
                self.findings.problem(node.mark, message);
                None
            }
        }
    }

    /// Reads only upper-case variables, as in the original. Without HTTPS_PROXY, HTTP_PROXY applies
    /// to both schemes.
    pub(super) fn proxies(&mut self) -> Proxies {
        let plain = self.proxy("HTTP_PROXY");
        let tls = self.proxy("HTTPS_PROXY").or_else(|| plain.clone());
        Proxies {
            plain,
            tls,
            bypass: Vec::new(),
        }
    }

    fn proxy(&mut self, name: &str) -> Option<Proxy> {
        let mut all = self.inputs.process_env.iter();
        let (_, text) = all.find(|(known, value)| known == name && !value.is_empty())?;
        let proxy = formats::proxy::parse(text);
        if proxy.is_none() {
            let message = format!("{name} must be a URL like http://proxy:3128");
            self.findings.problem_anywhere(message);
        }
        proxy
    }
}
