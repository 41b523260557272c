//! Flags for the transport: certificates, addresses, Unix socket. They override the file and are
//! checked before the first request.

use std::{os::unix::fs::FileTypeExt, path::Path};

use plan::{Format, Note, Plan, Proxies, route::Resolve};
use session::inputs;
use worker::{client::hosts::Hosts, net::tls};

use crate::args;

pub fn apply(plan: &mut Plan, args: &args::RunArgs) -> Result<(), String> {
    contradictions(args)?;
    let own = &mut plan.http.tls;
    if let Some(path) = &args.cacert {
        own.authorities = Some(pem("--cacert", path)?);
    }
    if let Some(path) = &args.cert {
        let certificate = pem("--cert", path)?;
        let key = match &args.key {
            Some(key) => pem("--key", key)?,
            // The certificate file may contain the key.
            None if certificate.contains("PRIVATE KEY-----") => certificate.clone(),
            None => {
                return Err(format!(
                    "--cert {}: the file contains no key: add --key FILE",
                    path.display()
                ));
            }
        };
        own.identity = Some((certificate, key));
    }
    if let Some(name) = &args.server_name {
        own.server_name = Some(name.clone());
    }
    for text in &args.resolve {
        let one = Resolve::parse(text).map_err(|reason| format!("--resolve '{text}': {reason}"))?;
        plan.http.route.resolve.push(one);
    }
    if let Some(path) = &args.unix {
        let path = path.to_str().ok_or("--unix: the path is not valid UTF-8")?;
        plan.http.route.unix = Some(path.to_owned());
    }
    if let Some(text) = &args.proxy {
        let proxy = formats::proxy::parse(text);
        let proxy = proxy.ok_or("--proxy: use a URL such as http://proxy:3128")?;
        plan.http.proxies = Proxies {
            plain: Some(proxy.clone()),
            tls: Some(proxy),
            bypass: Vec::new(),
        };
    } else if [Format::NATIVE, Format::URL].contains(&plan.provenance.format) {
        plan.http.proxies = formats::proxy::from_environment(&inputs::environment())?;
    }
    plan.provenance.notes.extend(formats::proxy::note(plan));
    look(plan)
}

fn contradictions(args: &args::RunArgs) -> Result<(), String> {
    if args.insecure && args.cacert.is_some() {
        return Err(
            "--cacert cannot be combined with -k, which disables verification: remove one of them"
                .to_owned(),
        );
    }
    if args.key.is_some() && args.cert.is_none() {
        return Err("--key without --cert: a client certificate needs both".to_owned());
    }
    let tls = [
        ("--cacert", args.cacert.is_some()),
        ("--cert", args.cert.is_some()),
        ("--server-name", args.server_name.is_some()),
    ];
    let in_clear = |url: &str| url.to_ascii_lowercase().starts_with("http://");
    if in_clear(&args.what)
        && let Some((flag, _)) = tls.iter().find(|(_, given)| *given)
    {
        return Err(format!(
            "{flag} requires https, but the URL starts with http"
        ));
    }
    Ok(())
}

fn look(plan: &mut Plan) -> Result<(), String> {
    tls::check(&plan.http)?;
    let route = &plan.http.route;
    if let Some(path) = &route.unix {
        if !route.resolve.is_empty() {
            return Err(format!(
                "addresses (resolve) cannot be combined with the socket {path}, which is used for all connections: remove one of them"
            ));
        }
        is_socket(Path::new(path)).map_err(|reason| format!("{path}: {reason}"))?;
    }
    let leads = route.unix.is_some() || !route.resolve.is_empty();
    if leads && plan.http.proxies != plan::Proxies::default() {
        return Err("address overrides and sockets cannot be combined with a proxy: remove --proxy, or unset HTTP_PROXY and HTTPS_PROXY".to_owned());
    }
    let hosts = Hosts::new(plan, &worker::client::hosts::Allow::default());
    let unused = plan.http.route.resolve.iter().filter(|one| {
        one.host
            .as_ref()
            .is_some_and(|host| !hosts.known().contains(host))
    });
    let notes: Vec<Note> = unused
        .map(|one| Note {
            at: None,
            text: format!("resolve {one}: the test does not use this host"),
        })
        .collect();
    plan.provenance.notes.extend(notes);
    Ok(())
}

fn is_socket(path: &Path) -> Result<(), String> {
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if found.file_type().is_socket() {
        Ok(())
    } else {
        Err("this is not a socket".to_owned())
    }
}

fn pem(flag: &str, path: &Path) -> Result<String, String> {
    let reported = |reason: &dyn std::fmt::Display| format!("{flag} {}: {reason}", path.display());
    let bytes = formats::files::read(path).map_err(|error| reported(&error))?;
    let text = String::from_utf8(bytes).ok();
    text.filter(|text| text.contains("-----BEGIN"))
        .ok_or_else(|| reported(&"the file contains no PEM text"))
}
