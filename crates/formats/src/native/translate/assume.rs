//! Reads `assume`: the user's assumptions for the load profile.

use plan::{profile::Assumed, units::parse_size};

use super::{Translator, model};
use crate::{
    document::Node,
    native::read::{self, entries},
};

impl Translator<'_> {
    pub(super) fn assumed(&mut self, node: Option<&Node>) -> Option<Assumed> {
        let node = node?;
        entries(node, "assume", model::ASSUME, self.findings);
        let latency_ns = node
            .get("latency")
            .and_then(|latency| read::duration(latency, "latency", self.findings));
        let answer_bytes = node.get("answer").and_then(|answer| {
            let text = read::scalar(answer, "answer", self.findings)?;
            read::grammar(answer, parse_size(&text), self.findings)
        });
        Some(Assumed {
            latency_ns,
            answer_bytes,
        })
    }
}
