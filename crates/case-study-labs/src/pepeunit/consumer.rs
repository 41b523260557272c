//! The only consumer, with a bounded queue and a rate limit. It counts and drops the messages
//! beyond these limits.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel},
    },
};

use bytes::Bytes;

use super::platform::Platform;
use lab::{clock, mqtt::Gate};

type ConsumedMessage = (String, Bytes);

const LEAST_NS: u64 = 1_000_000;

enum To {
    Free(Sender<ConsumedMessage>),
    Limited(SyncSender<ConsumedMessage>),
}

pub(super) struct Consumer {
    platform: Arc<Platform>,
    to: To,
    largest: usize,
}

impl Consumer {
    pub fn begin(
        platform: &Arc<Platform>,
        limit: Option<(u64, usize)>,
        largest: usize,
    ) -> io::Result<Consumer> {
        let thread = std::thread::Builder::new().name("lab-consumer".to_owned());
        let own = Arc::clone(platform);
        let to = match limit {
            None => {
                let (to, from) = channel();
                thread.spawn(move || consume(&own, &from, 0))?;
                To::Free(to)
            }
            Some((per_second, waiting)) => {
                let (to, from) = sync_channel(waiting);
                let each_ns = 1_000_000_000 / per_second.max(1);
                thread.spawn(move || consume(&own, &from, each_ns))?;
                To::Limited(to)
            }
        };
        Ok(Consumer {
            platform: Arc::clone(platform),
            to,
            largest,
        })
    }
}

fn consume(platform: &Platform, from: &Receiver<ConsumedMessage>, each_ns: u64) {
    let mut free_at_ns = 0;
    while let Ok((topic, payload)) = from.recv() {
        if each_ns > 0 {
            let now_ns = clock::monotonic_ns();
            free_at_ns = now_ns.max(free_at_ns) + each_ns;
            if free_at_ns > now_ns + LEAST_NS {
                clock::sleep_ns(free_at_ns - now_ns);
            }
        }
        platform.take(&topic, &payload);
    }
}

impl Gate for Consumer {
    fn admits(&self, username: &str) -> Option<String> {
        let now_s = crate::wall_clock::seconds();
        let claims = crate::jwt::claims(&self.platform.config.secret, username, now_s).ok()?;
        let unit = claims.get("uuid")?.as_str()?;
        let is_unit = claims.get("type").and_then(|of| of.as_str()) == Some("Unit");
        let is_known = self.platform.inside().units.contains_key(unit);
        (is_unit && is_known).then(|| unit.to_owned())
    }

    fn allows(&self, client: &str, topic: &str) -> bool {
        let allows = self.platform.allows(client, topic);
        if !allows {
            self.platform.inside().counts.denied += 1;
        }
        allows
    }

    fn takes(&self, topic: &str, payload: &Bytes) {
        let message = (topic.to_owned(), payload.clone());
        match &self.to {
            To::Free(to) => drop(to.send(message)),
            To::Limited(to) => {
                if let Err(TrySendError::Full(_)) = to.try_send(message) {
                    self.platform.inside().counts.overrun += 1;
                }
            }
        }
    }

    fn largest(&self) -> usize {
        self.largest
    }
}
