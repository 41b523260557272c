//! Aggregation of samples by metric, sub-metric, check, group and scenario.
//!
//! Entry points: [`Aggregator::new`] after the script's init code, [`Aggregator::add`] for samples,
//! and [`Aggregator::merge`] for the samples of several workers. Thresholds and summaries read the
//! result.

pub mod selection;
pub mod series;
pub mod sum;
pub mod trend;
pub mod trend_stat;

#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use foldhash::fast::FixedState;

use crate::{
    metric::{self, MetricId, MetricType, Registry},
    tags::Tags,
};
use selection::Selection;
use series::Series;

/// Sub-metric that exists even without a threshold.
pub const EXPECTED_RESPONSES: &str = "http_req_duration{expected_response:true}";

/// Maximum number of tag sets to remember.
const MAX_ROUTES: usize = 4_096;

/// A check of the script, with its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Name of the check.
    pub name: String,
    /// Number of results that are true.
    pub passes: u64,
    /// Number of results that are false.
    pub fails: u64,
    first_ns: i64,
}

impl Check {
    /// Creates a check with these results.
    #[must_use]
    pub fn new(name: String, passes: u64, fails: u64) -> Check {
        Check {
            name,
            passes,
            fails,
            first_ns: 0,
        }
    }
}

/// The samples of a group or of a scenario.
#[derive(Debug, Clone)]
pub struct Section {
    /// Name of the scenario. Empty for the default scenario, or if there is none.
    pub scenario: String,
    /// Path of the group, such as `::outer::inner`. Empty for the root.
    pub group: String,
    /// Checks directly in the group or scenario.
    pub checks: Vec<Check>,
    series: Vec<Option<Box<Series>>>,
    first_ns: i64,
}

impl Section {
    /// Returns the values of a metric. `None` means that the section has no samples of it.
    #[must_use]
    pub fn series(&self, id: MetricId) -> Option<&Series> {
        self.series.get(id.0 as usize)?.as_deref()
    }

    fn series_mut(&mut self, id: MetricId, metric_type: MetricType) -> Option<&mut Series> {
        let index = id.0 as usize;
        if index >= self.series.len() {
            self.series.resize(index + 1, None);
        }
        let slot = self.series.get_mut(index)?;
        Some(slot.get_or_insert_with(|| Box::new(Series::new(metric_type))))
    }
}

/// The values of a sub-metric.
#[derive(Debug, Clone)]
pub struct SubSeries {
    /// Selects the samples that belong to the sub-metric.
    pub selection: Arc<Selection>,
    /// Metric of the samples.
    pub id: MetricId,
    /// Aggregated values.
    pub series: Series,
}

/// Destinations for samples with a given set of tags.
#[derive(Debug, Clone, Default)]
struct Route {
    /// Indexes of the sub-metrics.
    subs: Vec<usize>,
    /// Index of the group in its scenario.
    section: usize,
    /// Index of the scenario's totals.
    scenario: Option<usize>,
    /// Index of the check in the section.
    check: Option<usize>,
    /// Index of the check in the scenario's totals.
    scenario_check: Option<usize>,
}

/// Aggregates the samples of a test.
#[derive(Debug, Clone)]
pub struct Aggregator {
    types: Vec<MetricType>,
    totals: Vec<Option<Box<Series>>>,
    subs: Vec<SubSeries>,
    sections: Vec<Section>,
    scenarios: Vec<Section>,
    /// Whether groups and scenarios keep metrics, for the full summary.
    is_full: bool,
    routes: Vec<Route>,
    by_content: HashMap<Tags, usize, FixedState>,
    /// Routes by the address of the tags' content. The stored copy keeps the content alive, so its
    /// address stays unique.
    by_address: HashMap<usize, (Tags, usize), FixedState>,
    dropped: u64,
}

impl Aggregator {
    /// Creates an aggregator for the metrics of a registry. `selections` contains the sub-metrics
    /// of thresholds. Names of unknown or whole metrics in it are ignored. `is_full` also keeps
    /// metrics of groups and scenarios.
    #[must_use]
    pub fn new(registry: &Registry, selections: &[Selection], is_full: bool) -> Aggregator {
        let mut aggregator = Aggregator {
            types: Vec::new(),
            totals: Vec::new(),
            subs: Vec::new(),
            sections: Vec::new(),
            scenarios: Vec::new(),
            is_full,
            routes: Vec::new(),
            by_content: HashMap::default(),
            by_address: HashMap::default(),
            dropped: 0,
        };
        aggregator.register(registry);
        let own = Selection::parse(EXPECTED_RESPONSES).ok();
        for selection in own.iter().chain(selections) {
            let known = aggregator.subs.iter();
            let is_known = known
                .map(|sub| &sub.selection.name)
                .any(|name| *name == selection.name);
            let id = registry.find(&selection.metric);
            let (false, false, Some(id)) = (is_known, selection.tags.is_empty(), id) else {
                continue;
            };
            aggregator.subs.push(SubSeries {
                selection: Arc::new(selection.clone()),
                id,
                series: Series::new(registry.get(id).metric_type),
            });
        }
        aggregator
    }

    /// Adds metrics that were declared later.
    pub fn register(&mut self, registry: &Registry) {
        let metrics = registry.all().iter().skip(self.types.len());
        self.types.extend(metrics.map(|metric| metric.metric_type));
        self.totals.resize(self.types.len(), None);
    }

    /// Adds values that were sampled at one time and have the same tags. `wall_ns` is in
    /// nanoseconds since 1970. Allocates nothing for known tags and metrics.
    pub fn add(&mut self, wall_ns: i64, tags: &Tags, values: &[(MetricId, f64)]) {
        let route = self.route_of(wall_ns, tags);
        for (id, value) in values {
            let Some(metric_type) = self.types.get(id.0 as usize).copied() else {
                self.dropped += 1;
                continue;
            };
            if let Some(slot) = self.totals.get_mut(id.0 as usize) {
                let series = slot.get_or_insert_with(|| Box::new(Series::new(metric_type)));
                series.add(wall_ns, *value);
            }
            let Some(route) = self.routes.get(route) else {
                continue;
            };
            for index in &route.subs {
                if let Some(sub) = self.subs.get_mut(*index).filter(|sub| sub.id == *id) {
                    sub.series.add(wall_ns, *value);
                }
            }
            let section = self.sections.get_mut(route.section);
            let scenario = route
                .scenario
                .and_then(|index| self.scenarios.get_mut(index));
            let places = [(section, route.check), (scenario, route.scenario_check)];
            for (section, check) in places {
                let Some(section) = section else { continue };
                if *id == metric::CHECKS
                    && let Some(check) = check.and_then(|index| section.checks.get_mut(index))
                {
                    check.passes += u64::from(*value != 0.0);
                    check.fails += u64::from(*value == 0.0);
                }
                if self.is_full
                    && let Some(series) = section.series_mut(*id, metric_type)
                {
                    series.add(wall_ns, *value);
                }
            }
        }
    }

    /// Returns the index of the route for a set of tags.
    fn route_of(&mut self, wall_ns: i64, tags: &Tags) -> usize {
        if let Some((_, route)) = self.by_address.get(&tags.address()) {
            return *route;
        }
        let route = match self.by_content.get(tags) {
            Some(route) => *route,
            None => self.add_route(wall_ns, tags),
        };
        if self.by_address.len() >= MAX_ROUTES {
            self.by_address.clear();
        }
        self.by_address
            .insert(tags.address(), (tags.clone(), route));
        route
    }

    fn add_route(&mut self, wall_ns: i64, tags: &Tags) -> usize {
        if self.routes.len() >= MAX_ROUTES {
            self.routes.clear();
            self.by_content.clear();
            self.by_address.clear();
        }
        let matching = self.subs.iter().enumerate();
        let matching = matching.filter(|(_, sub)| sub.selection.matches(tags));
        let subs = matching.map(|(index, _)| index).collect();
        let scenario = tags.get("scenario").filter(|name| *name != "default");
        let scenario = scenario.unwrap_or_default();
        let group = tags.get("group").unwrap_or_default();
        let section = find_section(&mut self.sections, scenario, group, wall_ns);
        let check = tags.get("check");
        let own_check = check.map(|name| find_check(&mut self.sections, section, name, wall_ns));
        let totals = (self.is_full && !scenario.is_empty())
            .then(|| find_section(&mut self.scenarios, scenario, "", wall_ns));
        let scenario_check = totals
            .zip(check)
            .map(|(index, name)| find_check(&mut self.scenarios, index, name, wall_ns));
        self.routes.push(Route {
            subs,
            section,
            scenario: totals,
            check: own_check.flatten(),
            scenario_check: scenario_check.flatten(),
        });
        let route = self.routes.len() - 1;
        self.by_content.insert(tags.clone(), route);
        route
    }

    /// Adds the values of another aggregator that was created with the same metrics and
    /// sub-metrics.
    pub fn merge(&mut self, other: &Aggregator) {
        for metric_type in other.types.iter().skip(self.types.len()) {
            self.types.push(*metric_type);
        }
        self.totals.resize(self.types.len(), None);
        self.dropped += other.dropped;
        merge_series(&mut self.totals, &other.totals);
        for (own, more) in self.subs.iter_mut().zip(&other.subs) {
            own.series.merge(&more.series);
        }
        merge_sections(&mut self.sections, &other.sections);
        merge_sections(&mut self.scenarios, &other.scenarios);
    }

    /// Returns the values of a metric. `None` means that it has no samples.
    #[must_use]
    pub fn series(&self, id: MetricId) -> Option<&Series> {
        let series = self.totals.get(id.0 as usize)?.as_deref();
        series.filter(|series| !series.is_empty())
    }

    /// Returns all sub-metrics, including those without samples.
    #[must_use]
    pub fn sub_metrics(&self) -> &[SubSeries] {
        &self.subs
    }

    /// Returns the values of a metric or sub-metric by name. `None` means that it has no samples.
    #[must_use]
    pub fn find(&self, registry: &Registry, name: &str) -> Option<&Series> {
        let sub = self.subs.iter().find(|sub| sub.selection.name == name);
        match sub {
            Some(sub) => Some(&sub.series).filter(|series| !series.is_empty()),
            None => self.series(registry.find(name)?),
        }
    }

    /// Returns the root and the groups with samples, of all scenarios, in order of first use.
    #[must_use]
    pub fn sections(&self) -> Vec<&Section> {
        by_first_use(&self.sections)
    }

    /// Returns the totals of the scenarios that are not named `default`, sorted by name. Empty
    /// unless the aggregator is full.
    #[must_use]
    pub fn scenarios(&self) -> Vec<&Section> {
        let mut scenarios: Vec<_> = self.scenarios.iter().collect();
        scenarios.sort_by(|a, b| a.scenario.cmp(&b.scenario));
        scenarios
    }

    /// Returns all checks in order of first use. Checks with equal names are combined.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        let mut all: Vec<&Check> = self.sections.iter().flat_map(|own| &own.checks).collect();
        all.sort_by_key(|check| check.first_ns);
        let mut merged: Vec<Check> = Vec::new();
        for check in all {
            match merged.iter_mut().find(|own| own.name == check.name) {
                Some(own) => {
                    own.passes += check.passes;
                    own.fails += check.fails;
                }
                None => merged.push(check.clone()),
            }
        }
        merged
    }

    /// Returns the number of values whose metric was not registered.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

fn by_first_use(sections: &[Section]) -> Vec<&Section> {
    let mut sorted: Vec<_> = sections.iter().collect();
    sorted.sort_by_key(|section| section.first_ns);
    sorted
}

fn find_section(sections: &mut Vec<Section>, scenario: &str, group: &str, ns: i64) -> usize {
    let found = sections
        .iter()
        .position(|own| own.scenario == scenario && own.group == group);
    found.unwrap_or_else(|| {
        sections.push(Section {
            scenario: scenario.to_owned(),
            group: group.to_owned(),
            checks: Vec::new(),
            series: Vec::new(),
            first_ns: ns,
        });
        sections.len() - 1
    })
}

fn find_check(sections: &mut [Section], index: usize, name: &str, ns: i64) -> Option<usize> {
    let checks = &mut sections.get_mut(index)?.checks;
    let found = checks.iter().position(|check| check.name == name);
    Some(found.unwrap_or_else(|| {
        checks.push(Check {
            name: name.to_owned(),
            passes: 0,
            fails: 0,
            first_ns: ns,
        });
        checks.len() - 1
    }))
}

fn merge_series(own: &mut Vec<Option<Box<Series>>>, more: &[Option<Box<Series>>]) {
    if own.len() < more.len() {
        own.resize(more.len(), None);
    }
    for (own, more) in own.iter_mut().zip(more) {
        match (own, more) {
            (Some(own), Some(more)) => own.merge(more),
            (own @ None, Some(more)) => *own = Some(more.clone()),
            (_, None) => {}
        }
    }
}

fn merge_sections(own: &mut Vec<Section>, more: &[Section]) {
    for section in more {
        let index = find_section(own, &section.scenario, &section.group, section.first_ns);
        for check in &section.checks {
            let Some(place) = find_check(own, index, &check.name, check.first_ns) else {
                continue;
            };
            let found = own.get_mut(index).and_then(|own| own.checks.get_mut(place));
            if let Some(known) = found {
                known.passes += check.passes;
                known.fails += check.fails;
                known.first_ns = known.first_ns.min(check.first_ns);
            }
        }
        if let Some(own) = own.get_mut(index) {
            own.first_ns = own.first_ns.min(section.first_ns);
            merge_series(&mut own.series, &section.series);
        }
    }
}
