//! Reads `volume`: how often a scenario starts at 1x. The weights follow from the volumes.

use plan::{
    Rate, Scenario,
    units::Quantity,
    volume::{self, PeakRate, Volume},
};

use super::{Translator, model};
use crate::{
    document::Node,
    native::read::{self, entries},
};

#[derive(Debug, Default)]
pub(super) struct Volumes {
    each: Vec<Option<Volume>>,
    has_volumes: bool,
}

impl Volumes {
    pub(super) fn full(&self) -> Option<Rate> {
        let mut rates = self.each.iter().map(|volume| Some(volume.as_ref()?.rate));
        let first = rates.next()??;
        rates.try_fold(first, |sum, rate| sum.plus(rate?))
    }

    pub(super) fn are_said(&self) -> bool {
        self.has_volumes
    }

    pub(super) fn give(&self, scenarios: &mut [Scenario]) {
        let rates: Option<Vec<Rate>> = self
            .each
            .iter()
            .map(|volume| Some(volume.as_ref()?.rate))
            .collect();
        let Some(weights) = rates.map(|rates| volume::weights(&rates)) else {
            return;
        };
        for ((scenario, volume), weight) in scenarios.iter_mut().zip(&self.each).zip(weights) {
            scenario.volume.clone_from(volume);
            scenario.weight = weight;
        }
    }
}

impl Translator<'_> {
    /// Reads the volumes. Must be called before reading the load, which may refer to them.
    pub(super) fn volumes(&mut self, scenarios: Option<&Node>) -> Volumes {
        let items = scenarios.and_then(Node::as_list).unwrap_or_default();
        let has_volumes = items.iter().any(|item| item.get("volume").is_some());
        if !has_volumes {
            return Volumes::default();
        }
        let each: Vec<Option<Volume>> = items.iter().map(|item| self.volume_of(item)).collect();
        let all_read = each.iter().all(Option::is_some);
        let volumes = Volumes { each, has_volumes };
        if let Some(node) = scenarios.filter(|_| all_read && volumes.full().is_none()) {
            let text = "the sum of all volumes is above the maximum rate: use smaller volumes";
            self.findings.problem(node.mark, text);
        }
        volumes
    }

    fn volume_of(&mut self, scenario: &Node) -> Option<Volume> {
        let Some(node) = scenario.get("volume") else {
            let text = "this scenario has no `volume`, but others do: give every scenario a `volume`, or every scenario a `weight`";
            self.findings.problem(scenario.mark, text);
            return None;
        };
        if let Some(weight) = scenario.entry("weight") {
            let text = "`weight` cannot be combined with `volume`, which already sets the weight: remove `weight`";
            self.findings.problem(weight.key_mark, text);
        }
        let mut volume = self.peak_volume(node, "volume", model::VOLUME)?;
        if let Some(today) = node.get("today") {
            let today = self.peak_volume(today, "today", model::TODAY)?;
            volume.today = Some(Box::new(today));
        }
        Some(volume)
    }

    /// Reads a volume as a rate, or as a mapping with these keys.
    fn peak_volume(&mut self, node: &Node, key: &str, known: &[&str]) -> Option<Volume> {
        if !node.is_map() {
            let text = read::scalar(node, key, self.findings)?;
            return read::grammar(
                node,
                Volume::read(&text, PeakRate::default()),
                self.findings,
            );
        }
        let keys = entries(node, key, known, self.findings);
        if keys
            .iter()
            .any(|entry| !known.contains(&entry.key.as_str()))
        {
            return None;
        }
        let peak = self.peak_of(node);
        let Some(number) = node.get("volume") else {
            let help = "the number is missing: use, for example, { volume: 500000, hours: 12 }";
            read::missing(node, known, help, self.findings);
            return None;
        };
        let text = read::scalar(number, "volume", self.findings)?;
        read::grammar(number, Volume::read(&text, peak?), self.findings)
    }

    /// Reads how to convert a mean to a peak. Returns `None` if any part is invalid.
    fn peak_of(&mut self, node: &Node) -> Option<PeakRate> {
        let hours = node.get("hours").map(|hours| {
            self.number(
                hours,
                |n| n > 0.0 && n <= 24.0,
                || {
                    "`hours` must be the number of hours of a day in which the volume arrives, at most 24"
                        .to_owned()
                },
            )
        });
        let clustering = node.get("clustering").map(|factor| {
            self.number(
                factor,
                |n| (1.0..=1000.0).contains(&n),
                || {
                    "`clustering` must be the peak divided by the mean: at least 1, for example 1.5"
                        .to_owned()
                },
            )
        });
        let growth = node.get("growth").map(|growth| {
            match read::quantity(growth, "growth", self.findings)? {
                Quantity::Share(share) if share <= 100.0 => Some(share),
                _ => {
                    let text = format!(
                        "`growth: {}` is not a share: use, for example, 20%",
                        growth.text()
                    );
                    self.findings.problem(growth.mark, text);
                    None
                }
            }
        });
        Some(PeakRate {
            hours: match hours {
                Some(hours) => Some(hours?),
                None => None,
            },
            clustering: clustering.unwrap_or(Some(1.0))?,
            growth: growth.unwrap_or(Some(0.0))?,
        })
    }

    fn number(
        &mut self,
        node: &Node,
        fits: impl Fn(f64) -> bool,
        help: impl Fn() -> String,
    ) -> Option<f64> {
        let number = node.as_scalar().and_then(serde_json::Value::as_f64);
        let number = number.filter(|number| fits(*number));
        if number.is_none() {
            let text = format!("`{}`: {}", node.text(), help());
            self.findings.problem(node.mark, text);
        }
        number
    }
}
