//! Reads `server`: server metrics in the form `NAME=PLACE`, or as a mapping.

use plan::server::{self, MetricSource, PoolMetrics};

use super::Translator;
use crate::{
    document::Node,
    native::{
        model,
        read::{self, entries},
    },
};

impl Translator<'_> {
    pub(super) fn server(&mut self, node: Option<&Node>) -> Vec<MetricSource> {
        let Some(node) = node else { return Vec::new() };
        if !node.is_map() {
            let help = "`server` must map names to addresses: `app: http://127.0.0.1:9464/metrics`";
            self.findings.problem(node.mark, help);
            return Vec::new();
        }
        let mut sources = Vec::new();
        for entry in node.entries() {
            let value = &entry.value;
            let place = if value.is_map() {
                entries(value, "a source", model::SOURCE, self.findings);
                match value.get("from") {
                    Some(from) => from,
                    None => {
                        let help =
                            "the address is missing: add `from: http://127.0.0.1:9464/metrics`";
                        read::missing(value, model::SOURCE, help, self.findings);
                        continue;
                    }
                }
            } else {
                value
            };
            let Some(text) = read::text(place, "server", self.findings) else {
                continue;
            };
            let query = match value.get("query") {
                Some(node) => match read::text(node, "query", self.findings) {
                    Some(query) => Some(query),
                    None => continue,
                },
                None => None,
            };
            let source = match query {
                Some(query) => server::asking(&entry.key, &text, &query),
                None => server::named(&entry.key, &text),
            };
            match source {
                Ok(source) => {
                    let only = self.texts(value.get("only"), "only");
                    let counters = self.texts(value.get("counters"), "counters");
                    let pools = self.pools(value.get("pools"));
                    let at = Some(self.findings.at(entry.key_mark));
                    sources.push(MetricSource {
                        only,
                        counters,
                        pools,
                        at,
                        ..source
                    });
                }
                Err(reason) => self.findings.problem(place.mark, reason),
            }
        }
        sources
    }

    fn pools(&mut self, node: Option<&Node>) -> Vec<PoolMetrics> {
        let Some(node) = node else { return Vec::new() };
        let mut pools = Vec::new();
        for item in read::list(node, "pools", self.findings) {
            entries(item, "a pool", model::POOL, self.findings);
            let mut metric = |key: &str| {
                let name = item.get(key)?;
                read::text(name, key, self.findings)
            };
            let names = (metric("busy"), metric("limit"), metric("waiting"));
            let (Some(busy), Some(limit), waiting) = names else {
                if item.is_map() && (item.get("busy").is_none() || item.get("limit").is_none()) {
                    let help = "a pool needs the metrics `busy` and `limit`";
                    read::missing(item, model::POOL, help, self.findings);
                }
                continue;
            };
            pools.push(PoolMetrics {
                busy,
                limit,
                waiting,
            });
        }
        pools
    }
}
