//! Translates the command line into a plan.

mod arguments;

use mqtt::topic;
use plan::{
    FirstArrival, Format, Load, Note, Phase, Plan, Rate, Shape, Work, criteria,
    mqtt::{Arrival, Clients, Mqtt, Payload, Properties, Publishing, Subscribing, Version, Will},
    units::{self, MILLISECOND, SECOND},
};

use crate::files;
pub use arguments::{Common, MqttCommand, MqttSubcommand, Pub, Sub};

const DURATION_NS: u64 = 60 * SECOND;

impl MqttSubcommand {
    #[must_use]
    pub fn common(&self) -> &Common {
        match self {
            MqttSubcommand::Conn(common) => common,
            MqttSubcommand::Pub(publish) => &publish.common,
            MqttSubcommand::Sub(subscribe) => &subscribe.common,
        }
    }

    /// Returns the maximum number of messages of all clients together. `None` if there is a
    /// schedule.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        match self {
            MqttSubcommand::Pub(publish) => publish.limit(),
            MqttSubcommand::Conn(_) | MqttSubcommand::Sub(_) => None,
        }
    }

    /// Returns the plan.
    ///
    /// # Errors
    ///
    /// Fails with a one-line description of the first problem.
    pub fn plan(&self) -> Result<Plan, String> {
        let common = self.common();
        let mut plan = match self {
            MqttSubcommand::Conn(_) => common.connecting("conn", Vec::new())?,
            MqttSubcommand::Sub(sub) => common.connecting("sub", sub.filters()?)?,
            MqttSubcommand::Pub(publish) => publish.plan()?,
        };
        plan.http.verify_tls = !common.insecure;
        plan.http.tls.no_alpn = true;
        if let Some(path) = &common.cacertfile {
            plan.http.tls.authorities = Some(files::text("--cacertfile", path)?);
        }
        if let Some((certificate, key)) = common.certfile.as_ref().zip(common.keyfile.as_ref()) {
            let certificate = files::text("--certfile", certificate)?;
            plan.http.tls.identity = Some((certificate, files::text("--keyfile", key)?));
        }
        plan.secrets.extend(common.password.clone());
        if let Work::Mqtt(work) = &plan.work {
            let known = work.groups.iter().flat_map(|group| &group.credentials);
            let passwords = known.filter_map(|known| known.password.clone());
            plan.secrets.extend(passwords.collect::<Vec<_>>());
        }
        for text in &common.check {
            let criterion = criteria::parse_criterion(text);
            plan.policy
                .criteria
                .push(criterion.map_err(|e| format!("--check '{text}': {e}"))?);
        }
        Ok(plan)
    }
}

impl Common {
    pub fn drain_ns(&self) -> Result<u64, String> {
        units::parse_duration(&self.drain).map_err(|e| format!("--drain '{}': {e}", self.drain))
    }

    #[must_use]
    pub fn sources(&self) -> Vec<std::net::IpAddr> {
        self.ifaddr.clone()
    }

    fn duration_ns(&self) -> Result<u64, String> {
        let text = self.duration.as_deref().map(|text| {
            units::parse_duration(text).map_err(|e| format!("--duration '{text}': {e}"))
        });
        Ok(text.transpose()?.unwrap_or(DURATION_NS))
    }

    fn every_ns(&self) -> u64 {
        match self.connrate {
            0 => u64::from(self.interval) * MILLISECOND,
            rate => SECOND / u64::from(rate),
        }
    }

    fn clients(&self, kind: &str, count: u32) -> Result<Clients, String> {
        if self.session_expiry > 0 && self.version == "4" {
            return Err("-x: MQTT 3.1.1 sessions do not expire: use -V 5, or -C false".into());
        }
        let prefix = self.prefix.clone();
        // Concurrent runs must have different client identifiers.
        let prefix = prefix.unwrap_or_else(|| format!("loadline-{}", std::process::id()));
        let will = self.will_topic.as_ref().map(|topic| Will {
            topic: topic.clone(),
            payload: self.will_payload.clone(),
            qos: self.will_qos,
            retain: self.will_retain,
            delay_s: self.will_delay,
        });
        if self.will_delay > 0 && self.version == "4" {
            return Err("--will-delay: not available in MQTT 3.1.1: use -V 5".into());
        }
        let credentials = match &self.credentials {
            Some(path) => files::credentials(path, count)?,
            None => Vec::new(),
        };
        Ok(Clients {
            count,
            first: self.startnumber,
            client_id: format!("{prefix}-{kind}-%i"),
            username: self.username.clone(),
            password: self.password.clone(),
            keep_alive_s: self.keepalive,
            clean: self.clean,
            session_expiry_s: self.session_expiry,
            will,
            publish: None,
            subscribe: Vec::new(),
            each: Vec::new(),
            credentials,
        })
    }

    fn work(&self, arrivals: Arrival, groups: Vec<Clients>) -> Mqtt {
        let mut hosts = self.host.iter();
        let mut hosts = hosts
            .by_ref()
            .map(|host| host.trim().trim_matches(['[', ']']).to_owned());
        Mqtt {
            host: hosts.next().unwrap_or_default(),
            more_hosts: hosts.collect(),
            port: self.port.unwrap_or(if self.ssl { 8883 } else { 1883 }),
            tls: self.ssl,
            version: match self.version.as_str() {
                "4" => Version::V311,
                _ => Version::V5,
            },
            arrivals,
            connect_every_ns: self.every_ns(),
            groups,
        }
    }

    fn connecting(&self, kind: &str, subscribe: Vec<Subscribing>) -> Result<Plan, String> {
        let mut clients = self.clients(kind, self.count)?;
        clients.subscribe = subscribe;
        let span = self.every_ns().saturating_mul(u64::from(self.count));
        let count = Shape::Count(u64::from(self.count));
        let mut phases = vec![named_phase("connect", span.max(MILLISECOND), count)];
        phases.push(named_phase("stay", self.duration_ns()?, Shape::Pause));
        Ok(plan_for(
            open_load(phases),
            self.work(Arrival::Connection, vec![clients]),
        ))
    }
}

impl Sub {
    fn filters(&self) -> Result<Vec<Subscribing>, String> {
        let of = |filter: &String| match topic::filter_fault(filter) {
            Some(reason) => Err(format!("-t '{filter}' is not a valid filter: {reason}")),
            None => Ok(Subscribing {
                filter: filter.clone(),
                qos: self.qos,
            }),
        };
        self.topic.iter().map(of).collect()
    }
}

impl Pub {
    fn plan(&self) -> Result<Plan, String> {
        let common = &self.common;
        if self.topic.is_empty() || topic::has_wildcard(self.topic.as_bytes()) {
            return Err(format!(
                "-t '{}': a topic for publishing must not be empty or contain + or #",
                self.topic
            ));
        }
        let mut publishers = common.clients("pub", common.count)?;
        publishers.publish = Some(Publishing {
            topic: self.topic.clone(),
            qos: self.qos,
            retain: self.retain,
            payload: match &self.message {
                Some(text) => Payload::Text(files::payload(text)?),
                None => Payload::Stamped(self.size),
            },
            inflight: match self.inflight {
                0 => u16::MAX,
                n => n,
            },
            properties: self.properties()?,
            pace: None,
        });
        // Put receivers first, so that they connect before publishers.
        let mut groups = Vec::new();
        if self.subscribers > 0 {
            groups.push(self.receivers()?);
        }
        groups.push(publishers);
        let work = common.work(Arrival::Message, groups);
        let mut plan = plan_for(self.load(work.ready_ns())?, work);
        if self.message.is_some() && self.subscribers > 0 {
            let text = "with a custom payload (-m), deliveries count as foreign, and are not timed or checked".to_owned();
            plan.provenance.notes.push(Note { at: None, text });
        }
        Ok(plan)
    }

    fn properties(&self) -> Result<Properties, String> {
        let pair = |text: &String| {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| format!("--user-property '{text}': use NAME=VALUE"))?;
            Ok((name.to_owned(), value.to_owned()))
        };
        let user = self.user_property.iter().map(pair);
        let properties = Properties {
            user: user.collect::<Result<_, String>>()?,
            content_type: self.content_type.clone(),
            expiry_s: self.message_expiry,
        };
        if !properties.is_empty() && self.common.version == "4" {
            let what = "--user-property, --content-type and --message-expiry";
            return Err(format!(
                "{what}: MQTT 3.1.1 messages have no properties: use -V 5"
            ));
        }
        Ok(properties)
    }

    /// Returns the maximum number of messages of all clients together. `None` if there is a
    /// schedule.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        (self.every_ms == 0 && self.limit > 0).then_some(self.limit)
    }

    fn receivers(&self) -> Result<Clients, String> {
        let mut receivers = self.common.clients("sub", self.subscribers)?;
        let filter = self.filter.clone().unwrap_or_else(|| loosened(&self.topic));
        if let Some(reason) = topic::filter_fault(&filter) {
            return Err(format!(
                "--filter '{filter}' is not a valid filter: {reason}"
            ));
        }
        receivers.subscribe = vec![Subscribing {
            filter,
            qos: self.subscribe_qos.unwrap_or(self.qos),
        }];
        receivers.will = None;
        // Give receivers other identifiers, because a server disconnects a client when another
        // client connects with the same identifier.
        for credential in &mut receivers.credentials {
            credential.client_id = None;
        }
        Ok(receivers)
    }

    fn load(&self, before_ns: u64) -> Result<Load, String> {
        let common = &self.common;
        let mut phases = vec![named_phase("connect", before_ns, Shape::Pause)];
        if !self.phase.is_empty() {
            for text in &self.phase {
                phases.push(phase(text).map_err(|reason| format!("--phase '{text}': {reason}"))?);
            }
            return Ok(open_load(phases));
        }
        let per_ns = u64::from(self.every_ms) * MILLISECOND;
        if self.every_ms == 0 {
            return Ok(Load::users(
                common.count,
                before_ns.saturating_add(common.duration_ns()?),
            ));
        }
        let count = u64::from(common.count);
        if self.limit > 0 {
            let span = u128::from(self.limit) * u128::from(per_ns) / u128::from(count);
            let span = u64::try_from(span).unwrap_or(u64::MAX).max(MILLISECOND);
            phases.push(named_phase("publish", span, Shape::Count(self.limit)));
        } else {
            let rate = Shape::Rate(Rate { count, per_ns });
            phases.push(named_phase("publish", common.duration_ns()?, rate));
        }
        Ok(open_load(phases))
    }
}

/// Converts a topic to a topic filter. Levels with placeholders become wildcards.
fn loosened(topic: &str) -> String {
    let levels = topic.split('/');
    let levels: Vec<&str> = levels
        .map(|level| if level.contains('%') { "+" } else { level })
        .collect();
    levels.join("/")
}

fn phase(text: &str) -> Result<Phase, String> {
    let (rates, duration) = text
        .rsplit_once(':')
        .ok_or("use RATE:DURATION, for example 500/s:10s")?;
    let duration_ns = units::parse_duration(duration).map_err(|e| e.to_string())?;
    let rate = |text: &str| units::parse_rate(text).map_err(|e| e.to_string());
    let shape = match rates.split_once("..") {
        Some((from, to)) => Shape::Staircase {
            from: rate(from)?,
            to: rate(to)?,
        },
        None => Shape::Rate(rate(rates)?),
    };
    Ok(named_phase(rates, duration_ns, shape))
}

#[must_use]
pub fn named_phase(name: &str, duration_ns: u64, shape: Shape) -> Phase {
    let mut phase = Phase::new(duration_ns, shape);
    phase.name = Some(name.to_owned());
    phase
}

#[must_use]
pub fn open_load(phases: Vec<Phase>) -> Load {
    Load::Open {
        phases,
        first: FirstArrival::AtStart,
    }
}

#[must_use]
pub fn plan_for(load: Load, work: Mqtt) -> Plan {
    let target = work.target();
    Plan::new(
        target.clone(),
        Format("mqtt"),
        target,
        load,
        Work::Mqtt(work),
    )
}

#[cfg(test)]
mod tests {
    use plan::mqtt::SETTLE_NS;

    use clap::Parser;

    use super::*;

    fn plan_of(line: &str) -> Result<Plan, String> {
        let words = ["mqtt"].into_iter().chain(line.split(' '));
        let command = MqttCommand::try_parse_from(words).map_err(|e| e.to_string())?;
        command.what.plan()
    }

    fn work(plan: &Plan) -> &Mqtt {
        match &plan.work {
            Work::Mqtt(work) => work,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn publishers_take_turns_at_their_rates_together() {
        let plan = plan_of("pub -c 40 -I 20 -R 100 -t d/%i/x -q 1 -F 0 --duration 10s").unwrap();
        let schedule = plan.schedule(1);
        // 40 clients × 50/s × 10 s. The load starts one second after the connects.
        assert_eq!(schedule.total(), 20_000);
        let first = schedule.at(0).unwrap().intended_ns;
        assert_eq!(first, 40 * SECOND / 100 + SETTLE_NS);
        assert_eq!(plan.target, "mqtt://localhost:1883");
        let publish = work(&plan).groups[0].publish.as_ref().unwrap();
        assert_eq!((publish.qos, publish.inflight), (1, u16::MAX));
    }

    #[test]
    fn who_receives_comes_first_and_gets_everything() {
        let plan = plan_of("pub -c 4 -t a/%i/b/%rand_5 --subscribers 2 -q 2").unwrap();
        let groups = &work(&plan).groups;
        assert_eq!((groups[0].count, groups[1].count), (2, 4));
        let subscribed = &groups[0].subscribe[0];
        assert_eq!((subscribed.filter.as_str(), subscribed.qos), ("a/+/b/+", 2));
        assert!(groups[0].publish.is_none());
    }

    #[test]
    fn phases_are_one_after_the_other() {
        let plan = plan_of("pub -c 1 -t a --phase 100/s:2s --phase 100/s..200/s:2s").unwrap();
        assert_eq!(plan.schedule(1).total(), 200 + 300);
        assert!(
            plan_of("pub -t a --phase 100/s")
                .unwrap_err()
                .contains("RATE:DURATION")
        );
    }

    #[test]
    fn a_limit_is_a_count() {
        let plan = plan_of("pub -c 7 -I 3 -t a -L 1000").unwrap();
        assert_eq!(plan.schedule(1).total(), 1000);
    }

    #[test]
    fn connections_are_arrivals_where_nothing_is_published() {
        let plan = plan_of("sub -c 30 -R 10 -t a/# -t $share/g/b").unwrap();
        assert_eq!(plan.schedule(1).total(), 30);
        assert_eq!(work(&plan).arrivals, Arrival::Connection);
        assert!(plan_of("sub -t a/#/b").unwrap_err().contains("last level"));
    }

    #[test]
    fn a_password_is_a_secret() {
        let plan = plan_of("conn -c 1 -u me -P hush -V 4").unwrap();
        assert_eq!(plan.secrets, ["hush"]);
        assert!(!serde_json::to_string(&plan).unwrap().contains("hush"));
    }
}
