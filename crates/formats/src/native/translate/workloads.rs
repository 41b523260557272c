//! Reads `workloads`: several loads on one timeline, each with its own scenarios and start.

use std::collections::BTreeMap;

use plan::{Load, Scenario, Workload};

use super::{Translator, model};
use crate::{
    document::{Entry, Mark, Node},
    native::read::{self, entries},
    nearest::hint,
};

pub(super) const KEY: &str = "workloads";

const EXAMPLE: &str = "orders: { scenario: order, load: { rate: 100/m, duration: 10m } }";

/// A scenario in a workload, with its position in the file.
struct NamedScenario {
    name: String,
    weight: u32,
    mark: Mark,
}

impl Translator<'_> {
    /// Reads the scenarios and the workloads that run them.
    pub(super) fn scenarios_and_workloads(&mut self, root: &Node) -> (Vec<Scenario>, Option<Load>) {
        let mut scenarios = self.scenarios(root);
        let workloads = self.workloads(root, &mut scenarios);
        (scenarios, workloads)
    }

    /// Reads the workloads, and sets the weights of the scenarios. `None` if there are none, if any
    /// is invalid, or if a single iteration replaces the load.
    fn workloads(&mut self, root: &Node, scenarios: &mut [Scenario]) -> Option<Load> {
        let entry = root.entry(KEY)?;
        self.unfit_for_workloads(root, entry);
        let named = read::map(&entry.value, KEY, self.findings);
        if named.is_empty() && entry.value.is_map() {
            let text = format!("`{KEY}` is empty: add, for example, {EXAMPLE}");
            self.findings.problem(entry.value.mark, text);
        }
        let mut workloads_by_scenario: BTreeMap<usize, String> = BTreeMap::new();
        let mut workloads = Vec::new();
        for workload in named {
            let read = self.workload(workload, scenarios, &mut workloads_by_scenario);
            workloads.extend(read);
        }
        if workloads.len() < named.len() || workloads.is_empty() {
            return None;
        }
        self.unused_scenarios(root, scenarios, &workloads_by_scenario);
        (!self.inputs.solo).then_some(Load::Several { workloads })
    }

    /// Reports keys that cannot be combined with workloads.
    fn unfit_for_workloads(&mut self, root: &Node, workloads: &Entry) {
        if let Some(load) = root.entry("load") {
            let text = "a plan cannot have both `load` and `workloads`: move this into a workload, or remove `workloads`";
            self.findings.problem(load.key_mark, text);
        }
        if let Some(steps) = root.entry("steps") {
            let text = "workloads name the scenarios that they run: use `scenarios`, each with a `name`, instead of `steps`";
            self.findings.problem(steps.key_mark, text);
        }
        if let Some(listen) = root.entry("listen") {
            let text = "listeners need a plan with one load: replace `workloads` by `load`, or remove `listen`";
            self.findings.problem(listen.key_mark, text);
        }
        if self.inputs.scenario_name.is_some() {
            let text = "a scenario cannot be chosen by its name, because workloads choose the scenarios: remove the option";
            self.findings.problem(workloads.key_mark, text);
        }
        let items = root.get("scenarios").and_then(Node::as_list);
        for item in items.unwrap_or_default() {
            for key in ["weight", "volume"] {
                if let Some(entry) = item.entry(key) {
                    let text = format!(
                        "`{key}` has no effect on a scenario of a workload: use, for example, scenarios: {{ order: 3, reorder: 1 }} in the workload, and remove it"
                    );
                    self.findings.problem(entry.key_mark, text);
                }
            }
        }
    }

    fn workload(
        &mut self,
        entry: &Entry,
        scenarios: &mut [Scenario],
        workloads_by_scenario: &mut BTreeMap<usize, String>,
    ) -> Option<Workload> {
        let node = &entry.value;
        if entries(node, &entry.key, model::WORKLOAD, self.findings).is_empty() {
            if node.is_map() {
                let text = format!(
                    "workload `{}` is empty: use, for example, {EXAMPLE}",
                    entry.key
                );
                self.findings.problem(node.mark, text);
            }
            return None;
        }
        let named = self.scenarios_of_workload(node);
        let load = match node.get("load") {
            Some(load) => {
                self.unnamed_phases(load);
                self.load_of(load)
            }
            None => {
                let text =
                    "`load` is missing: add, for example, load: { rate: 100/m, duration: 10m }";
                read::missing(node, model::WORKLOAD, text, self.findings);
                None
            }
        };
        let start = node.get("start-after");
        let starts_ns = match start {
            Some(start) => read::duration(start, "start-after", self.findings)?,
            None => 0,
        };
        let indexes: Vec<Option<usize>> = named?
            .into_iter()
            .map(|named| self.assign(&entry.key, named, scenarios, workloads_by_scenario))
            .collect();
        let indexes: Vec<usize> = indexes.into_iter().collect::<Option<_>>()?;
        Some(Workload {
            name: entry.key.clone(),
            starts_ns,
            graceful_stop_ns: 0,
            load: load?,
            planned: None,
            text: String::new(),
            scenarios: indexes,
        })
    }

    /// Reports names of phases in workloads. The report has no rows for them, so the names would
    /// have no effect.
    fn unnamed_phases(&mut self, load: &Node) {
        for phase in load.as_list().unwrap_or(std::slice::from_ref(load)) {
            if let Some(name) = phase.entry("name") {
                let text = "phases of a workload have no name, because criteria and reports show workloads instead of phases: remove it";
                self.findings.problem(name.key_mark, text);
            }
        }
    }

    fn scenarios_of_workload(&mut self, node: &Node) -> Option<Vec<NamedScenario>> {
        match (node.entry("scenario"), node.entry("scenarios")) {
            (Some(_), Some(several)) => {
                let text = "a workload cannot have both `scenario` and `scenarios`: remove one";
                self.findings.problem(several.key_mark, text);
                None
            }
            (Some(one), None) => {
                let name = read::scalar(&one.value, "scenario", self.findings)?;
                let mark = one.value.mark;
                let weight = 1;
                Some(vec![NamedScenario { name, weight, mark }])
            }
            (None, Some(several)) => self.weighted_scenarios(&several.value),
            (None, None) => {
                let text = "this workload has no scenario: add, for example, `scenario: order`";
                read::missing(node, model::WORKLOAD, text, self.findings);
                None
            }
        }
    }

    fn weighted_scenarios(&mut self, node: &Node) -> Option<Vec<NamedScenario>> {
        if !node.is_map() {
            let text = format!(
                "`scenarios` of a workload must be names with weights, not {}: use, for example, {{ order: 3, reorder: 1 }}",
                node.kind()
            );
            self.findings.problem(node.mark, text);
            return None;
        }
        let mut named = Vec::new();
        for entry in node.entries() {
            named.push(NamedScenario {
                name: entry.key.clone(),
                weight: read::whole_u32(&entry.value, &entry.key, 0, self.findings)?,
                mark: entry.key_mark,
            });
        }
        if named.iter().all(|scenario| scenario.weight == 0) {
            let text = "no scenario of this workload has a weight above 0: raise a weight";
            self.findings.problem(node.mark, text);
            return None;
        }
        Some(named)
    }

    /// Finds the scenario and sets its weight. A scenario belongs to one workload, because the
    /// record counts iterations by scenario.
    fn assign(
        &mut self,
        workload: &str,
        named: NamedScenario,
        scenarios: &mut [Scenario],
        workloads_by_scenario: &mut BTreeMap<usize, String>,
    ) -> Option<usize> {
        let NamedScenario { name, weight, mark } = named;
        let is_own = |scenario: &Scenario| scenario.name.as_deref() == Some(name.as_str());
        let mut found = (0..scenarios.len()).filter(|index| is_own(&scenarios[*index]));
        let (first, second) = (found.next(), found.next());
        let Some(index) = first else {
            let names = scenarios.iter().filter_map(|one| one.name.as_deref());
            let text = match names.clone().next() {
                _ if scenarios.is_empty() => return None,
                None => format!("there is no scenario `{name}`: give a scenario this `name`"),
                Some(_) => {
                    let known: Vec<String> =
                        names.clone().map(|name| format!("`{name}`")).collect();
                    format!(
                        "there is no scenario `{name}`{}: use one of {}",
                        hint(&name, names),
                        known.join(", ")
                    )
                }
            };
            self.findings.problem(mark, text);
            return None;
        };
        if second.is_some() {
            let text = format!(
                "there are several scenarios `{name}`: give each scenario of a workload its own name"
            );
            self.findings.problem(mark, text);
            return None;
        }
        if let Some(other) = workloads_by_scenario.get(&index) {
            let text = format!(
                "scenario `{name}` already belongs to workload `{other}`, and figures are counted by scenario: add a scenario with another name and the same steps"
            );
            self.findings.problem(mark, text);
            return None;
        }
        workloads_by_scenario.insert(index, workload.to_owned());
        scenarios[index].weight = weight;
        Some(index)
    }

    /// Reports scenarios that no workload runs.
    fn unused_scenarios(
        &mut self,
        root: &Node,
        scenarios: &[Scenario],
        workloads_by_scenario: &BTreeMap<usize, String>,
    ) {
        let items = root.get("scenarios").and_then(Node::as_list);
        let items = items.unwrap_or_default().iter().zip(scenarios).enumerate();
        for (index, (item, scenario)) in items {
            if workloads_by_scenario.contains_key(&index) {
                continue;
            }
            let text = match &scenario.name {
                Some(name) => format!(
                    "no workload runs scenario `{name}`: name it in a workload, or remove it"
                ),
                None => "no workload runs this scenario: give it a `name`, and use the name in a workload".to_owned(),
            };
            self.findings.problem(item.mark, text);
        }
    }
}
