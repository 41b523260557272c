//! Converts between the packets of mqtt-proto (3.1.1 and 5) and the broker's messages.

use std::{rc::Rc, time::Duration};

use mqtt_proto::{Pid, QoS, QosPid, TopicName, v3, v5};

use super::super::broker::BrokerMessage;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    V3,
    V5,
}

pub(super) struct Greeting {
    pub client: String,
    pub username: Option<String>,
    pub password: Option<Vec<u8>>,
    pub clean: bool,
    pub is_brief: bool,
    pub window: Option<u16>,
    pub will: Option<BrokerMessage>,
    pub keep_alive: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum ConnectRefusal {
    Busy,
    Password,
}

pub(super) enum ClientRequest {
    Publish {
        message: BrokerMessage,
        id: u16,
        is_again: bool,
    },
    Acknowledged(u16),
    Received(u16),
    Released(u16),
    Complete(u16),
    Subscribe {
        id: u16,
        filters: Vec<(String, QoS)>,
    },
    Unsubscribe {
        id: u16,
        filters: Vec<String>,
    },
    Ping,
    Disconnect {
        keeps_will: bool,
    },
}

fn patience(keep_alive: u16) -> Option<Duration> {
    (keep_alive > 0).then(|| Duration::from_millis(u64::from(keep_alive) * 1500))
}

fn id_of(pid: QosPid) -> (QoS, u16) {
    match pid {
        QosPid::Level0 => (QoS::Level0, 0),
        QosPid::Level1(pid) => (QoS::Level1, pid.value()),
        QosPid::Level2(pid) => (QoS::Level2, pid.value()),
    }
}

fn pid(id: u16) -> Pid {
    Pid::try_from(id.max(1)).unwrap_or_default()
}

fn old(packet: impl Into<v3::Packet>) -> Vec<u8> {
    let bytes = packet.into().encode();
    bytes
        .map(|bytes| bytes.as_ref().to_vec())
        .unwrap_or_default()
}

fn new(packet: impl Into<v5::Packet>) -> Vec<u8> {
    let bytes = packet.into().encode();
    bytes
        .map(|bytes| bytes.as_ref().to_vec())
        .unwrap_or_default()
}

impl Speech {
    pub fn greeted(packet: &[u8]) -> Option<(Speech, Greeting)> {
        if let Ok(Some(v3::Packet::Connect(connect))) = v3::Packet::decode(packet) {
            let will = connect.last_will.map(|will| BrokerMessage {
                topic: Rc::from(&*will.topic_name),
                payload: will.message,
                qos: will.qos,
                retain: will.retain,
            });
            let greeting = Greeting {
                client: connect.client_id.to_string(),
                username: connect.username.map(|name| name.to_string()),
                password: connect.password.map(|password| password.to_vec()),
                clean: connect.clean_session,
                is_brief: connect.clean_session,
                window: None,
                will,
                keep_alive: patience(connect.keep_alive),
            };
            return Some((Speech::V3, greeting));
        }
        let Ok(Some(v5::Packet::Connect(connect))) = v5::Packet::decode(packet) else {
            return None;
        };
        let will = connect.last_will.map(|will| BrokerMessage {
            topic: Rc::from(&*will.topic_name),
            payload: will.payload,
            qos: will.qos,
            retain: will.retain,
        });
        let expiry = connect.properties.session_expiry_interval;
        let greeting = Greeting {
            client: connect.client_id.to_string(),
            username: connect.username.map(|name| name.to_string()),
            password: connect.password.map(|password| password.to_vec()),
            clean: connect.clean_start,
            is_brief: expiry.unwrap_or(0) == 0,
            window: connect.properties.receive_max,
            will,
            keep_alive: patience(connect.keep_alive),
        };
        Some((Speech::V5, greeting))
    }

    pub fn refusal(self, reason: ConnectRefusal) -> Vec<u8> {
        match self {
            Speech::V3 => {
                let code = match reason {
                    ConnectRefusal::Busy => v3::ConnectReturnCode::ServerUnavailable,
                    ConnectRefusal::Password => v3::ConnectReturnCode::BadUserNameOrPassword,
                };
                old(v3::Connack::new(false, code))
            }
            Speech::V5 => {
                let code = match reason {
                    ConnectRefusal::Busy => v5::ConnectReasonCode::ServerBusy,
                    ConnectRefusal::Password => v5::ConnectReasonCode::BadUserNameOrPassword,
                };
                new(v5::Connack::new(false, code))
            }
        }
    }

    pub fn welcome(self, session_present: bool, receive_maximum: Option<u16>) -> Vec<u8> {
        match self {
            Speech::V3 => old(v3::Connack::new(
                session_present,
                v3::ConnectReturnCode::Accepted,
            )),
            Speech::V5 => {
                let success = v5::ConnectReasonCode::Success;
                let mut connack = v5::Connack::new(session_present, success);
                connack.properties.receive_max = receive_maximum;
                new(connack)
            }
        }
    }

    pub fn heard(self, packet: &[u8]) -> Option<ClientRequest> {
        match self {
            Speech::V3 => heard_v3(v3::Packet::decode(packet).ok()??),
            Speech::V5 => heard_v5(v5::Packet::decode(packet).ok()??),
        }
    }

    pub fn publish(
        self,
        message: &BrokerMessage,
        qos: QoS,
        retain: bool,
        id: u16,
        dup: bool,
    ) -> Vec<u8> {
        let qos_pid = match qos {
            QoS::Level0 => QosPid::Level0,
            QoS::Level1 => QosPid::Level1(pid(id)),
            QoS::Level2 => QosPid::Level2(pid(id)),
        };
        let Ok(topic_name) = TopicName::try_from(&*message.topic) else {
            return Vec::new();
        };
        let payload = message.payload.clone();
        match self {
            Speech::V3 => old(v3::Publish {
                dup,
                retain,
                qos_pid,
                topic_name,
                payload,
            }),
            Speech::V5 => new(v5::Publish {
                dup,
                retain,
                qos_pid,
                topic_name,
                payload,
                properties: v5::PublishProperties::default(),
            }),
        }
    }

    pub fn acknowledgement(self, id: u16) -> Vec<u8> {
        match self {
            Speech::V3 => old(v3::Packet::Puback(pid(id))),
            Speech::V5 => new(v5::Puback::new_success(pid(id))),
        }
    }

    pub fn receipt(self, id: u16) -> Vec<u8> {
        match self {
            Speech::V3 => old(v3::Packet::Pubrec(pid(id))),
            Speech::V5 => new(v5::Pubrec::new_success(pid(id))),
        }
    }

    pub fn release(self, id: u16) -> Vec<u8> {
        match self {
            Speech::V3 => old(v3::Packet::Pubrel(pid(id))),
            Speech::V5 => new(v5::Pubrel::new_success(pid(id))),
        }
    }

    pub fn complete(self, id: u16) -> Vec<u8> {
        match self {
            Speech::V3 => old(v3::Packet::Pubcomp(pid(id))),
            Speech::V5 => new(v5::Pubcomp::new_success(pid(id))),
        }
    }

    pub fn subscribed(self, id: u16, filters: &[(String, QoS)]) -> Vec<u8> {
        match self {
            Speech::V3 => {
                use v3::SubscribeReturnCode as Code;
                let code = |qos| match qos {
                    QoS::Level0 => Code::MaxLevel0,
                    QoS::Level1 => Code::MaxLevel1,
                    QoS::Level2 => Code::MaxLevel2,
                };
                let codes = filters.iter().map(|(_, qos)| code(*qos)).collect();
                old(v3::Suback::new(pid(id), codes))
            }
            Speech::V5 => {
                use v5::SubscribeReasonCode as Code;
                let code = |qos| match qos {
                    QoS::Level0 => Code::GrantedQoS0,
                    QoS::Level1 => Code::GrantedQoS1,
                    QoS::Level2 => Code::GrantedQoS2,
                };
                let codes = filters.iter().map(|(_, qos)| code(*qos)).collect();
                new(v5::Suback::new(pid(id), codes))
            }
        }
    }

    pub fn unsubscribed(self, id: u16, had: &[bool]) -> Vec<u8> {
        match self {
            Speech::V3 => old(v3::Packet::Unsuback(pid(id))),
            Speech::V5 => {
                use v5::UnsubscribeReasonCode as Code;
                let code = |had: &bool| match had {
                    true => Code::Success,
                    false => Code::NoSubscriptionExisted,
                };
                new(v5::Unsuback::new(pid(id), had.iter().map(code).collect()))
            }
        }
    }
}

fn heard_v3(packet: v3::Packet) -> Option<ClientRequest> {
    Some(match packet {
        v3::Packet::Publish(publish) => {
            let (qos, id) = id_of(publish.qos_pid);
            ClientRequest::Publish {
                message: BrokerMessage {
                    topic: Rc::from(&*publish.topic_name),
                    payload: publish.payload,
                    qos,
                    retain: publish.retain,
                },
                id,
                is_again: publish.dup,
            }
        }
        v3::Packet::Puback(pid) => ClientRequest::Acknowledged(pid.value()),
        v3::Packet::Pubrec(pid) => ClientRequest::Received(pid.value()),
        v3::Packet::Pubrel(pid) => ClientRequest::Released(pid.value()),
        v3::Packet::Pubcomp(pid) => ClientRequest::Complete(pid.value()),
        v3::Packet::Subscribe(subscribe) => ClientRequest::Subscribe {
            id: subscribe.pid.value(),
            filters: subscribe
                .topics
                .into_iter()
                .map(|(filter, qos)| (filter.to_string(), qos))
                .collect(),
        },
        v3::Packet::Unsubscribe(unsubscribe) => ClientRequest::Unsubscribe {
            id: unsubscribe.pid.value(),
            filters: unsubscribe.topics.iter().map(ToString::to_string).collect(),
        },
        v3::Packet::Pingreq => ClientRequest::Ping,
        v3::Packet::Disconnect => ClientRequest::Disconnect { keeps_will: false },
        _ => return None,
    })
}

fn heard_v5(packet: v5::Packet) -> Option<ClientRequest> {
    Some(match packet {
        v5::Packet::Publish(publish) => {
            let (qos, id) = id_of(publish.qos_pid);
            ClientRequest::Publish {
                message: BrokerMessage {
                    topic: Rc::from(&*publish.topic_name),
                    payload: publish.payload,
                    qos,
                    retain: publish.retain,
                },
                id,
                is_again: publish.dup,
            }
        }
        v5::Packet::Puback(ack) => ClientRequest::Acknowledged(ack.pid.value()),
        v5::Packet::Pubrec(ack) => ClientRequest::Received(ack.pid.value()),
        v5::Packet::Pubrel(ack) => ClientRequest::Released(ack.pid.value()),
        v5::Packet::Pubcomp(ack) => ClientRequest::Complete(ack.pid.value()),
        v5::Packet::Subscribe(subscribe) => ClientRequest::Subscribe {
            id: subscribe.pid.value(),
            filters: subscribe
                .topics
                .into_iter()
                .map(|(filter, options)| (filter.to_string(), options.max_qos))
                .collect(),
        },
        v5::Packet::Unsubscribe(unsubscribe) => ClientRequest::Unsubscribe {
            id: unsubscribe.pid.value(),
            filters: unsubscribe.topics.iter().map(ToString::to_string).collect(),
        },
        v5::Packet::Pingreq => ClientRequest::Ping,
        v5::Packet::Disconnect(disconnect) => ClientRequest::Disconnect {
            keeps_will: disconnect.reason_code
                == v5::DisconnectReasonCode::DisconnectWithWillMessage,
        },
        _ => return None,
    })
}
