//! Links to the team's dashboards, for the period of a stage.

use plan::report_content::Dashboard;
use serde::Serialize;

/// Time that a link shows before the stage, and after the check of the service that follows the
/// stage.
const MARGIN_NS: u64 = 60_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// A link to a dashboard for the period of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StageLink {
    pub name: String,
    pub url: String,
}

/// Returns the links for a stage. Their period starts a minute before the stage and ends a minute
/// after `to_ns`. Times are in nanoseconds since 1970.
pub(super) fn links(dashboards: &[Dashboard], from_ns: u64, to_ns: u64) -> Vec<StageLink> {
    let from_ms = from_ns.saturating_sub(MARGIN_NS) / NS_PER_MS;
    let to_ms = to_ns.saturating_add(MARGIN_NS).div_ceil(NS_PER_MS);
    let links = dashboards.iter().map(|dashboard| StageLink {
        name: dashboard.name.clone(),
        url: dashboard.url.fill(from_ms, to_ms),
    });
    links.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::report_content::DashboardUrl;

    #[test]
    fn links_show_a_minute_before_and_after() {
        let url = DashboardUrl::parse("https://g.example/d/1?from={{ from_ms }}&to={{to_ms}}");
        let dashboards = [Dashboard {
            name: "Grafana".into(),
            url: url.unwrap(),
        }];
        let links = links(&dashboards, 100_000_000_000, 130_000_000_000);
        assert_eq!(links[0].name, "Grafana");
        assert_eq!(links[0].url, "https://g.example/d/1?from=40000&to=190000");
    }
}
