//! Embedded MQTT broker of a campaign. All stages share the broker, unless a target provides its
//! own.

use formats::native::campaign::{Campaign, Work};
use session::{
    LabProcess,
    lab_process::{self, NotStarted, bare},
};

use crate::targets;

pub struct Broker(LabProcess);

impl Broker {
    pub fn start(campaign: &Campaign) -> Result<Option<Broker>, NotStarted> {
        for (number, stage) in campaign.stages.iter().enumerate() {
            let Work::Load(plan) = &stage.work else {
                continue;
            };
            let host = plan
                .background
                .as_ref()
                .map(|background| &background.mqtt.host);
            let Some(options) = host.and_then(|host| host.strip_prefix(lab_process::SCHEME)) else {
                continue;
            };
            let target = targets::name(campaign, number);
            let target = target.strip_prefix(lab_process::SCHEME);
            if target.map(bare) != Some(bare(options)) {
                return Ok(Some(Broker(LabProcess::start(options)?)));
            }
        }
        Ok(None)
    }

    pub fn place(&self) -> Option<String> {
        let ports = self.0.listeners();
        let speaks = ports.iter().find(|url| url.starts_with("mqtt://"));
        let only = || {
            ports
                .first()
                .map(|url| url.replacen("http://", "mqtt://", 1))
        };
        speaks.cloned().or_else(only)
    }
}
