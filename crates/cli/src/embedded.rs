//! Embedded servers of a run: the target that a plan names as `lab:NAME`, and the broker of its MQTT clients. What they answer is
//! `lab`'s, how a child lives and ends [`session::LabProcess`]'s.

use plan::Plan;
use session::{
    LabProcess,
    lab_process::{self, NotStarted, bare},
    mock_process,
};

/// An embedded target: one that was started for this run, or one that is lent to it.
pub enum Embedded {
    Own(LabProcess),
    Lent(Vec<String>),
}

impl Embedded {
    /// The target of the form `lab:NAME?…`, running; none where it is somewhere else.
    pub fn start(target: &str, mocks: &[(String, String)]) -> Result<Option<Embedded>, NotStarted> {
        let Some(name) = target.strip_prefix(lab_process::SCHEME) else {
            return Ok(None);
        };
        Ok(Some(match lab_process::lent() {
            Some(listeners) => Embedded::Lent(listeners),
            None => Embedded::Own(LabProcess::start(&mock_process::redirect(name, mocks))?),
        }))
    }

    /// Where it listens.
    pub fn listeners(&self) -> &[String] {
        match self {
            Embedded::Own(lab) => lab.listeners(),
            Embedded::Lent(listeners) => listeners,
        }
    }

    /// Its base URL.
    pub fn url(&self) -> &str {
        self.listeners().first().map_or("", String::as_str)
    }
}

/// What a listener that speaks MQTT is told as.
const MQTT: &str = "mqtt://";

/// Gives the clients of a plan the place of an embedded broker, if it names one: that of the target's own lab where it is the same
/// one, else a lab of its own, which is answered and ends when it is dropped.
pub fn broker(
    plan: &mut Plan,
    target: &str,
    lab: Option<&Embedded>,
) -> Result<Option<LabProcess>, NotStarted> {
    let Some(background) = &mut plan.background else {
        return Ok(None);
    };
    let Some(wanted) = background.mqtt.host.strip_prefix(lab_process::SCHEME) else {
        return Ok(None);
    };
    let lent = lab_process::lent();
    let is_targets = target.strip_prefix(lab_process::SCHEME).map(bare) == Some(bare(wanted));
    // The broker alone has one port for everything.
    let speaks = |url: &String| match bare(wanted) {
        "mqtt" => place(url, "://"),
        _ => place(url, MQTT),
    };
    let mut own = None;
    let place = match (lab.filter(|_| is_targets), &lent) {
        (Some(lab), _) => lab.listeners().iter().find_map(speaks),
        // Whoever lends them names the target's first, and the broker last.
        (None, Some(lent)) => lent.iter().rev().find_map(|url| place(url, MQTT)),
        (None, None) => {
            let started = LabProcess::start(wanted)?;
            let place = started.listeners().iter().find_map(speaks);
            own = Some(started);
            place
        }
    };
    let (host, port) = place.ok_or_else(|| NotStarted {
        line: format!(
            "mqtt: the lab {} has no broker: write host: lab:mqtt",
            bare(wanted)
        ),
        bad_input: true,
    })?;
    (background.mqtt.host, background.mqtt.port) = (host, port);
    Ok(own)
}

/// Host and port of a listener whose scheme ends so.
fn place(url: &str, scheme: &str) -> Option<(String, u16)> {
    let (_, after) = url.split_once(scheme)?;
    let (host, port) = after.rsplit_once(':')?;
    Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
}
