//! Polls the broker's subscriptions and drops once a second. A lost subscription ends the run,
//! while a failed poll only leaves a gap.

use record::server::{Descriptor, MetricReading};
use serde_json::{Value, json};
use session::Sampler;
use worker::stop::{Cause, StopHandle};

use session::blocking_http::{Base, BlockingRequest};

pub(crate) const RULE: &str = "pepeunit.subscriptions < 1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerLogin {
    pub username: String,
    pub password: String,
}

#[derive(Clone)]
pub(crate) struct Broker {
    base: Base,
    login: BrokerLogin,
    token: String,
    topic: String,
}

pub(crate) struct BrokerFigures {
    pub subscriptions: u64,
    pub dropped: Option<f64>,
}

impl Broker {
    pub fn enter(base: Base, login: BrokerLogin, topic: &str) -> Result<Broker, String> {
        let mut broker = Broker {
            base,
            login,
            token: String::new(),
            topic: topic.replace('/', "%2F").replace('+', "%2B"),
        };
        broker.login()?;
        Ok(broker)
    }

    fn login(&mut self) -> Result<(), String> {
        let BrokerLogin { username, password } = &self.login;
        let body = json!({ "username": username, "password": password }).to_string();
        let answer = self.base.send(&BlockingRequest {
            method: "POST",
            path: "/api/v5/login",
            headers: &[],
            body: Some(("application/json", body.as_bytes())),
        })?;
        if answer.status == 401 || answer.status == 403 {
            return Err(format!(
                "the broker's interface at {} rejects PU_MQTT_USERNAME={username} with this password",
                self.base.authority
            ));
        }
        let reported: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let token = reported["token"].as_str();
        let line = || {
            format!(
                "POST {}/api/v5/login returned {} without a token",
                self.base.authority, answer.status
            )
        };
        self.token = token.ok_or_else(line)?.to_owned();
        Ok(())
    }

    fn get(&mut self, path: &str) -> Result<Option<Value>, String> {
        for is_last in [false, true] {
            let bearer = format!("Bearer {}", self.token);
            let answer = self.base.send(&BlockingRequest {
                method: "GET",
                path,
                headers: &[("authorization", &bearer)],
                body: None,
            })?;
            match answer.status {
                200 => return Ok(serde_json::from_slice(&answer.body).ok()),
                401 if !is_last => self.login()?,
                404 => return Ok(None),
                status => return Err(format!("the broker's interface returned {status}")),
            }
        }
        Ok(None)
    }

    pub fn look(&mut self) -> Result<BrokerFigures, String> {
        let path = format!(
            "/api/v5/subscriptions?page=1&limit=50&qos=0&topic={}",
            self.topic
        );
        let reported = self.get(&path)?.unwrap_or_default();
        let count = reported["meta"]["count"].as_u64();
        let subscriptions = count.ok_or("the broker's list of subscriptions has no count")?;
        let metrics = self.get("/api/v5/metrics?aggregate=true").ok().flatten();
        Ok(BrokerFigures {
            subscriptions,
            dropped: metrics.as_ref().and_then(dropped),
        })
    }
}

fn dropped(metrics: &Value) -> Option<f64> {
    let nodes = match metrics {
        Value::Array(nodes) => nodes.clone(),
        one => vec![one.clone()],
    };
    let of = |node: &Value| {
        let message = node["messages.dropped"].as_f64()?;
        Some(message + node["delivery.dropped"].as_f64().unwrap_or(0.0))
    };
    nodes.iter().map(of).sum()
}

pub(crate) struct BrokerWatch {
    pub broker: Broker,
    pub stop: StopHandle,
}

impl Sampler for BrokerWatch {
    fn source(&self) -> &str {
        "pepeunit"
    }

    fn metrics(&self) -> Vec<Descriptor> {
        vec![Descriptor::gauge("subscriptions", "")]
    }

    fn look(&mut self) -> Result<Vec<MetricReading>, String> {
        let seen = self.broker.look()?;
        if seen.subscriptions < 1 {
            self.stop.stop(Cause::Rule {
                verdict: worker::stop::RuleVerdict::Fail,
                text: RULE.to_owned(),
            });
        }
        Ok(vec![MetricReading {
            of: Descriptor::gauge("subscriptions", ""),
            value: seen.subscriptions as f64,
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_all_nodes_add_up() {
        let one = json!({ "messages.dropped": 2, "delivery.dropped": 3 });
        assert_eq!(dropped(&one), Some(5.0));
        assert_eq!(dropped(&json!([one, one])), Some(10.0));
        assert_eq!(dropped(&json!({})), None);
    }
}
