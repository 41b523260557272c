//! MQTT clients that run alongside scenarios: when to omit them, and the ledger of their messages.

use measure::label::LabelGroup;
use plan::{Criterion, Note, Plan};
use record::Run;
use session::FinishedRun;

fn is_theirs(plan: &Plan, criterion: &Criterion) -> bool {
    let background = plan.background.as_ref();
    let named = criterion.of.as_deref().zip(background);
    named.is_some_and(|(of, background)| {
        let mut names = background.mqtt.operations().into_iter();
        names.any(|(_, name)| plan::criteria::fits(of, name)) && of != "*"
    })
}

pub fn leave_out(plan: &mut Plan, flag: &str) {
    if plan.background.is_none() {
        return;
    }
    let mut aside = Vec::new();
    let criteria = std::mem::take(&mut plan.criteria);
    for criterion in criteria {
        if is_theirs(plan, &criterion) {
            aside.push(criterion);
        } else {
            plan.criteria.push(criterion);
        }
    }
    let rules = std::mem::take(&mut plan.stop);
    for rule in rules {
        if is_theirs(plan, &rule.when) {
            aside.push(rule.when);
        } else {
            plan.stop.push(rule);
        }
    }
    plan.background = None;
    let mut text = format!("{flag}: the MQTT clients of the plan are not started");
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
    plan.notes.push(Note { at: None, text });
    plan.unjudged_criteria.extend(aside);
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
