//! Preparation of clients before the run: names, CONNECT packets, subscriptions and payload
//! templates.

use mqtt::{Connect, Id, Property, Publish, Qos, Template, Version, Will, stamp};
use plan::mqtt::{Clients, Credential, Facts, Groups, Mqtt, Own, Payload, Properties, fill};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ReceiverFilter {
    pub receiver: u32,
    pub filter: String,
}

pub(crate) struct ClientConfig {
    pub global: u32,
    pub connect: Vec<u8>,
    pub clean: bool,
    pub keep_alive_ns: Option<u64>,
    pub filters: Vec<(String, Qos)>,
    pub outgoing: Option<Outgoing>,
}

pub(crate) struct Outgoing {
    pub topic: String,
    pub qos: Qos,
    pub template: Template,
    pub payload: Vec<u8>,
    pub is_stamped: bool,
    pub groups: Option<Groups>,
    pub inflight: u16,
}

pub(crate) fn version(work: &Mqtt) -> Version {
    match work.version {
        plan::mqtt::Version::V311 => Version::V311,
        plan::mqtt::Version::V5 => Version::V5,
    }
}

pub(crate) fn qos(level: u8) -> Qos {
    Qos::from_level(level).unwrap_or_default()
}

pub(crate) fn clients(
    work: &Mqtt,
    seed: u64,
    is_wanted: impl Fn(u64) -> bool,
) -> Result<Vec<ClientConfig>, String> {
    let mut config = Vec::new();
    let mut global = 0;
    for group in &work.groups {
        for nth in 0..u64::from(group.count) {
            if is_wanted(global) {
                config.push(one(work, group, seed, nth, global)?);
            }
            global += 1;
        }
    }
    Ok(config)
}

pub(crate) fn filters_of_all(work: &Mqtt, seed: u64) -> Vec<ReceiverFilter> {
    let (mut all, mut global) = (Vec::new(), 0);
    for group in &work.groups {
        for nth in 0..u64::from(group.count) {
            let (id, username) = names(group, seed, nth);
            let facts = facts(group, seed, nth, &id, &username);
            let filters = group.subscribe.iter();
            all.extend(filters.map(|s| ReceiverFilter {
                receiver: global,
                filter: fill(&s.filter, facts),
            }));
            global += 1;
        }
    }
    all
}

fn facts<'a>(
    group: &Clients,
    seed: u64,
    nth: u64,
    client_id: &'a str,
    username: &'a str,
) -> Facts<'a> {
    Facts {
        number: group.first + nth,
        client_id,
        username,
        seed,
    }
}

fn own(group: &Clients, nth: u64) -> Option<&Own> {
    group.each.get(usize::try_from(nth).ok()?)
}

fn credential(group: &Clients, nth: u64) -> Option<&Credential> {
    group.credentials.get(usize::try_from(nth).ok()?)
}

fn names(group: &Clients, seed: u64, nth: u64) -> (String, String) {
    let without_login = facts(group, seed, nth, "", "");
    let known = credential(group, nth);
    let id = known.and_then(|known| known.client_id.clone());
    let id = id.unwrap_or_else(|| fill(&group.client_id, without_login));
    let with_id = facts(group, seed, nth, &id, "");
    let username = group.username.as_deref().unwrap_or_default();
    let own = own(group, nth).and_then(|own| own.username.as_ref());
    let username = match own.or(known.and_then(|known| known.username.as_ref())) {
        Some(own) => own.clone(),
        None => fill(username, with_id),
    };
    (id, username)
}

fn one(
    work: &Mqtt,
    group: &Clients,
    seed: u64,
    nth: u64,
    global: u64,
) -> Result<ClientConfig, String> {
    let version = version(work);
    let (client_id, username) = names(group, seed, nth);
    let facts = facts(group, seed, nth, &client_id, &username);
    let mut properties = Vec::new();
    if group.session_expiry_s > 0 {
        properties.push(Property::number(Id::SessionExpiry, group.session_expiry_s));
    }
    let password = credential(group, nth).and_then(|known| known.password.clone());
    let password = password.or_else(|| group.password.as_ref().map(|text| fill(text, facts)));
    let topic_of_will = group.will.as_ref().map(|will| fill(&will.topic, facts));
    let will = group.will.as_ref().zip(topic_of_will.as_deref());
    let delay = group.will.as_ref().map(|will| will.delay_s);
    let delay = delay.filter(|seconds| *seconds > 0);
    let delay = delay.map(|seconds| Property::number(Id::WillDelay, seconds));
    let connect = Connect {
        client_id: &client_id,
        clean: group.clean,
        keep_alive: group.keep_alive_s,
        username: (!username.is_empty() || group.username.is_some()).then_some(username.as_str()),
        password: password.as_deref().map(str::as_bytes),
        will: will.map(|(will, topic)| Will {
            topic,
            payload: will.payload.as_bytes(),
            qos: qos(will.qos),
            retain: will.retain,
            properties: delay.as_slice(),
        }),
        properties: &properties,
    };
    let mut bytes = Vec::new();
    let too_long =
        |e: mqtt::wire::TooLong| format!("the client `{client_id}` cannot be created: {e}");
    connect.put(&mut bytes, version).map_err(too_long)?;
    bytes.shrink_to_fit();
    let filters = group.subscribe.iter();
    Ok(ClientConfig {
        global: global as u32,
        connect: bytes,
        clean: group.clean,
        keep_alive_ns: (group.keep_alive_s > 0)
            .then(|| u64::from(group.keep_alive_s) * 1_000_000_000),
        filters: filters
            .map(|s| (fill(&s.filter, facts), qos(s.qos)))
            .collect(),
        outgoing: outgoing(version, group, own(group, nth), facts)?,
    })
}

fn extra_properties(properties: &Properties) -> Vec<Property<'_>> {
    let user = properties.user.iter();
    let mut all: Vec<_> = user
        .map(|(name, value)| Property::user(name, value))
        .collect();
    let content_type = properties.content_type.as_deref();
    all.extend(content_type.map(|text| Property::text(Id::ContentType, text)));
    let expiry = properties.expiry_s;
    all.extend(expiry.map(|seconds| Property::number(Id::MessageExpiry, seconds)));
    all
}

fn outgoing(
    version: Version,
    group: &Clients,
    own: Option<&Own>,
    facts: Facts<'_>,
) -> Result<Option<Outgoing>, String> {
    let Some(publishing) = &group.publish else {
        return Ok(None);
    };
    let topic = own.map_or_else(|| fill(&publishing.topic, facts), |own| own.topic.clone());
    let publish = Publish {
        topic: &topic,
        qos: qos(publishing.qos),
        retain: publishing.retain,
        properties: &extra_properties(&publishing.properties),
    };
    let template = Template::new(version, &publish).map_err(|e| format!("the topic: {e}"))?;
    let mut groups = None;
    let (payload, is_stamped) = match &publishing.payload {
        Payload::Groups(of) => {
            groups = Some(*of);
            (vec![b'.'; of.letters as usize], false)
        }
        Payload::Text(text) => (fill(text, facts).into_bytes(), false),
        Payload::Stamped(bytes) => (vec![b'.'; *bytes as usize], *bytes as usize >= stamp::BYTES),
    };
    if !template.fits(payload.len()) {
        return Err(format!("{} bytes do not fit into a packet", payload.len()));
    }
    Ok(Some(Outgoing {
        qos: publish.qos,
        template,
        payload,
        is_stamped,
        groups,
        inflight: publishing.inflight.max(1),
        topic,
    }))
}
