//! Certificate authorities from environment variables.

use std::path::Path;

use plan::Plan;
use worker::net::tls;

use crate::messages::SharedMessageSink;

const NODE_EXTRA: &str = "NODE_EXTRA_CA_CERTS";

const MACHINE: &str = "SSL_CERT_FILE";

/// Warns if the system's certificate authorities cannot be read, because then no certificate is
/// trusted.
pub fn can_be_read(plan: &Plan, sink: &SharedMessageSink) {
    let Some(path) = std::env::var_os(MACHINE).filter(|path| !path.is_empty()) else {
        return;
    };
    let asked = plan.http.verify_tls && plan.http.tls.authorities.is_none();
    let path = Path::new(&path);
    if asked
        && plan.target.expose().starts_with("https:")
        && let Err(reason) = certificates(path)
    {
        sink.warning(&format_args!("{MACHINE}: {}: {reason}", path.display()));
    }
}

/// Adds the authorities that Node.js would trust. Like Node.js, warns about a file that cannot be
/// read.
pub fn as_node(plan: &mut Plan, sink: &SharedMessageSink) {
    let Some(path) = std::env::var_os(NODE_EXTRA).filter(|path| !path.is_empty()) else {
        return;
    };
    let path = Path::new(&path);
    match certificates(path) {
        Ok(text) => plan.http.tls.more_authorities = Some(text),
        Err(reason) => sink.warning(&format_args!(
            "{NODE_EXTRA}: ignoring extra certificates from `{}`: {reason}",
            path.display()
        )),
    }
}

fn certificates(path: &Path) -> Result<String, String> {
    let bytes = formats::files::read(path).map_err(|error| error.to_string())?;
    // The text between certificates may have any character encoding.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    tls::check_certificates(&text)?;
    Ok(text)
}
