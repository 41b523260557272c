//! The embedded broker of the MQTT clients beside a campaign's stages: one for all of them, where it is no target's own. How a lab runs
//! is `session`'s affair.

use formats::native::campaign::{Campaign, Work};
use session::{
    LabProcess,
    lab_process::{self, NotStarted, bare},
};

use crate::targets;

/// A broker that runs as long as the campaign.
pub struct Broker(LabProcess);

impl Broker {
    /// The one that the stages' clients name, if they name one and some stage loads another lab than that.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn start(campaign: &Campaign) -> Result<Option<Broker>, NotStarted> {
        for (number, stage) in campaign.stages.iter().enumerate() {
            let Work::Load(plan) = &stage.work else {
                continue;
            };
            let host = plan
                .background
                .as_ref()
                .map(|background| &background.mqtt.host);
            let Some(wanted) = host.and_then(|host| host.strip_prefix(lab_process::SCHEME)) else {
                continue;
            };
            let target = targets::name(campaign, number);
            let target = target.strip_prefix(lab_process::SCHEME);
            if target.map(bare) != Some(bare(wanted)) {
                return Ok(Some(Broker(LabProcess::start(wanted)?)));
            }
        }
        Ok(None)
    }

    /// Where it speaks MQTT.
    pub fn place(&self) -> Option<String> {
        let ports = self.0.listeners();
        let speaks = ports.iter().find(|url| url.starts_with("mqtt://"));
        // Where it has one port for everything, MQTT is spoken there too.
        let only = || {
            ports
                .first()
                .map(|url| url.replacen("http://", "mqtt://", 1))
        };
        speaks.cloned().or_else(only)
    }
}
