//! The lab `http2`: responds to any path over HTTP/2 after a known time, with prior knowledge or
//! TLS. It can limit the number of streams, refuse a share of them, and end connections with
//! GOAWAY. It uses the crate `h2`, not the engine's codec. The same port serves `GET /__lab/stats`
//! over HTTP/1.1.

mod counts;
mod serve;
mod settings;

use crate::random::seed_or_fresh;
use crate::timer::Timer;
use crate::{Bound, LabEntry, LabError, LabKind, LabOptions, own_server, plain_token};
use counts::Counts;
use serve::Http2State;
use settings::Http2Config;

const NAME: &str = "http2";

pub(crate) const LAB: LabEntry = LabEntry {
    name: NAME,
    help: "answers any path over HTTP/2 after a known time; max-streams, service, body, refuse=SHARE, goaway-after=REQUESTS, cert=FILE key=FILE for TLS",
    extra: settings::OPTIONS,
    kind: LabKind::OwnLoop(bind),
    token: plain_token,
};

fn bind(options: &LabOptions) -> Result<Bound, LabError> {
    let config = Http2Config::read(options)?;
    let scheme = if config.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let state = Http2State {
        counts: Counts::new(options.log.as_deref())?,
        seed: seed_or_fresh(options.seed),
        timer: Timer::start()?,
        config,
    };
    own_server::bind(options, scheme, state, serve::connection)
}
