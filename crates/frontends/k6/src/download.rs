//! Downloads the modules that scripts import from other hosts, before the run.

use std::time::Duration;

use codec::url;
use session::blocking_http::{Base, BlockingRequest, BlockingResponse};

/// k6's time limit for a download.
const PATIENCE: Duration = Duration::from_secs(60);
const MOST_BYTES: usize = 32 << 20;
const MOST_REDIRECTS: u32 = 10;

/// Returns the module at an `https://` URL. Like k6, first adds the parameter `_k6`, by which
/// servers distinguish k6 from browsers, and then tries without it.
///
/// # Errors
///
/// Returns the reason if the module cannot be downloaded.
pub fn module(name: &str) -> Result<Vec<u8>, String> {
    let sign = if name.contains('?') { '&' } else { '?' };
    let marked = get(&format!("{name}{sign}_k6=1")).ok();
    let response = match marked.filter(|response| response.status == 200) {
        Some(response) => response,
        None => get(name)?,
    };
    match response.status {
        200 => Ok(response.body),
        status => Err(format!(
            "`{name}` cannot be downloaded: the server answered with status {status}"
        )),
    }
}

/// Sends a request and follows redirects.
fn get(name: &str) -> Result<BlockingResponse, String> {
    let failed = |reason: &str| format!("`{name}` cannot be downloaded: {reason}");
    let mut address = name.to_owned();
    for _ in 0..=MOST_REDIRECTS {
        let (base, path) = Base::of_url(&address).map_err(|reason| failed(&reason))?;
        let response = base
            .patient_for(PATIENCE)
            .at_most(MOST_BYTES)
            .send(&BlockingRequest {
                method: "GET",
                path: &path,
                headers: &[("accept", "*/*")],
                body: None,
            })
            .map_err(|reason| failed(&reason))?;
        if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
            return Ok(response);
        }
        let location = response.location.as_deref().unwrap_or_default();
        let joined = url::join(&address, location).filter(|(_, target)| target.origin.tls);
        let Some((next, _)) = joined else {
            return Err(failed("it redirects to an address without https"));
        };
        address = next;
    }
    Err(failed("it redirects too often"))
}
