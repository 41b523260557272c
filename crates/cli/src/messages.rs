//! MQTT clients and WebSocket listeners that run alongside scenarios. Determines when to omit them,
//! and counts their messages.

use measure::label::LabelGroup;
use plan::{Criterion, Note, Plan, criteria::Metric};
use record::Run;
use session::FinishedRun;

fn is_theirs(plan: &Plan, criterion: &Criterion) -> bool {
    if let Some(listen) = &plan.listen {
        let send = format!("SEND {}", listen.name);
        let names = [listen.push_label(), listen.connect_label(), send];
        let of = criterion.of.as_deref().filter(|of| *of != "*");
        let is_named = of.is_some_and(|of| names.iter().any(|name| plan::criteria::fits(of, name)));
        return is_named || matches!(criterion.metric, Metric::Messages(_));
    }
    let background = plan.background.as_ref();
    let named = criterion.of.as_deref().zip(background);
    named.is_some_and(|(of, background)| {
        let mut names = background.mqtt.operations().into_iter();
        names.any(|(_, name)| plan::criteria::fits(of, name)) && of != "*"
    })
}

pub fn leave_out(plan: &mut Plan, flag: &str) {
    let who = match (&plan.background, &plan.listen) {
        (None, None) => return,
        (Some(_), _) => "MQTT clients",
        (None, Some(_)) => "listeners",
    };
    let mut aside = Vec::new();
    let criteria = std::mem::take(&mut plan.policy.criteria);
    for criterion in criteria {
        if is_theirs(plan, &criterion) {
            aside.push(criterion);
        } else {
            plan.policy.criteria.push(criterion);
        }
    }
    let rules = std::mem::take(&mut plan.policy.stop);
    for rule in rules {
        if is_theirs(plan, &rule.when) {
            aside.push(rule.when);
        } else {
            plan.policy.stop.push(rule);
        }
    }
    plan.background = None;
    plan.remove_connect_phase();
    plan.listen = None;
    let mut text = format!("{flag}: the {who} of the plan are not started");
    if !aside.is_empty() {
        let texts: Vec<&str> = aside
            .iter()
            .map(|criterion| criterion.text.as_str())
            .collect();
        text.push_str(&format!(
            ", so this criterion cannot be judged: {}",
            texts.join(", ")
        ));
    }
    plan.provenance.notes.push(Note { at: None, text });
    plan.policy.unjudged_criteria.extend(aside);
}

pub fn found(ended: &FinishedRun, plan_has_some: bool) -> Option<(Vec<String>, serde_json::Value)> {
    plan_has_some.then(|| frontend_mqtt::background::found(&ended.run))
}

pub fn found_of(run: &Run) -> Option<(Vec<String>, serde_json::Value)> {
    let mut labels = run.labels.iter();
    let has_some =
        run.manifest.frontend == "run" && labels.any(|label| label.group == LabelGroup::Mqtt);
    has_some.then(|| frontend_mqtt::background::found(run))
}

/// Returns the counts of the listeners by name, and a note if there are no listeners.
pub fn found_by_listeners(run: &Run) -> (Option<String>, serde_json::Value) {
    let counts = report::deliveries::listener_counts(run).counters;
    let is_unfinished = !counts.contains_key("listeners");
    let note =
        is_unfinished.then(|| "listeners: no counts, because the run did not finish".to_owned());
    (note, serde_json::json!(counts))
}
