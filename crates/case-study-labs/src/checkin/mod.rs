//! The lab `checkin`: the vets-api check-in of the case study, whose threads are held during calls
//! to downstream services. A second port serves metrics.

mod api;
mod control;
mod downstream;
mod fleet;
mod instance;
mod sessions;
mod settings;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use api::{DOWNSTREAMS, Site};
use downstream::{Delay, Downstream};
use fleet::Fleet;
use lab::draw::Draws;
use lab::random::{mix, seed_or_fresh};
use lab::sidecar::Sidecar;
use lab::timer::Timer;
use lab::{LabEntry, LabError, LabKind, LabOptions, Routes, plain_token};
use sessions::Sessions;
use settings::CheckInConfig;

const NAME: &str = "checkin";

pub(crate) const LAB: LabEntry = LabEntry {
    name: NAME,
    help: "check-in behind thread pools: /check_in/v2/…, its instances in Puma's terms on a second port (/stats, /metrics); instances, threads, hold=TIME, downstream=NAME=URL, background, autoscale, …",
    extra: settings::OPTIONS,
    kind: LabKind::Routes(routes),
    token: plain_token,
};

fn routes(options: &LabOptions) -> Result<Routes, LabError> {
    let settings = CheckInConfig::read(options)?;
    let mut services = settings::services(options, &DOWNSTREAMS, settings.patience)?;
    let timer = Arc::new(Timer::start()?);
    let seed = seed_or_fresh(options.seed);
    let mut downstream = |name: &'static str, draws: u64| {
        let named = services.iter().position(|(known, _)| *known == name);
        match named.map(|at| services.swap_remove(at)) {
            Some((_, service)) => Downstream::service(name, service),
            None => Downstream::delay(
                name,
                Delay {
                    timer: Arc::clone(&timer),
                    mean_ns: settings.hold_ns,
                    spread: settings.spread,
                    draws: Draws::new(mix(seed ^ draws)),
                    drawn: AtomicU64::new(0),
                },
            ),
        }
    };
    let [lorota, chip] = DOWNSTREAMS;
    let downstreams = [downstream(lorota, 1 << 32), downstream(chip, 2 << 32)];
    let fleet = Fleet::new(settings, DOWNSTREAMS.len(), timer, seed);
    let reported = control::routes(&fleet, downstreams.each_ref().map(|one| one.name));
    let site = Arc::new(Site {
        fleet: Arc::clone(&fleet),
        downstreams,
        sessions: Mutex::new(Sessions::new(options.seed)),
        cpu_ns: settings.cpu_ns,
        lock_ns: settings.lock_ns,
    });
    let observed_site = Arc::clone(&site);
    Ok(Routes {
        router: api::routes(site),
        stats: Some(Box::new(move || {
            let mut reported = observed_site.sessions().to_json();
            reported["pool_wait"] = control::status(&observed_site.fleet);
            (NAME, reported)
        })),
        sidecar: Some(Sidecar::http(options, settings.control_port, reported)?),
        background: Some(Box::pin(fleet.meanwhile())),
    })
}
