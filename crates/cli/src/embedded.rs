//! Embedded servers of a run: `lab:NAME` targets and MQTT brokers.

use plan::Plan;
use plan::mocks::MockAddress;
use session::{
    LabProcess,
    lab_process::{self, NotStarted, bare},
    mock_process,
};

pub enum Embedded {
    Own(LabProcess),
    Lent(Vec<String>),
}

impl Embedded {
    pub fn start(target: &str, mocks: &[MockAddress]) -> Result<Option<Embedded>, NotStarted> {
        let Some(name) = target.strip_prefix(lab_process::SCHEME) else {
            return Ok(None);
        };
        Ok(Some(match lab_process::lent() {
            Some(listeners) => Embedded::Lent(listeners),
            None => Embedded::Own(LabProcess::start(&mock_process::redirect(name, mocks))?),
        }))
    }

    pub fn listeners(&self) -> &[String] {
        match self {
            Embedded::Own(lab) => lab.listeners(),
            Embedded::Lent(listeners) => listeners,
        }
    }

    pub fn url(&self) -> &str {
        self.listeners().first().map_or("", String::as_str)
    }
}

const MQTT: &str = "mqtt://";

/// Sets the address of the embedded broker in the plan. It is the broker in the target's lab or a new
/// one, which is started and returned.
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
    let speaks = |url: &String| match bare(wanted) {
        "mqtt" => place(url, "://"),
        _ => place(url, MQTT),
    };
    let mut own = None;
    let place = match (lab.filter(|_| is_targets), &lent) {
        (Some(lab), _) => lab.listeners().iter().find_map(speaks),
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
            "mqtt: the lab {} has no broker: use host: lab:mqtt",
            bare(wanted)
        ),
        bad_input: true,
    })?;
    (background.mqtt.host, background.mqtt.port) = (host, port);
    Ok(own)
}

fn place(url: &str, scheme: &str) -> Option<(String, u16)> {
    let (_, after) = url.split_once(scheme)?;
    let (host, port) = after.rsplit_once(':')?;
    Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
}
