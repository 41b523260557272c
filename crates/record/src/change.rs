//! Changes of the load during a run, as stored in the events and the manifest.

use serde::{Deserialize, Serialize};

use crate::{Event, Manifest, units};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Changed {
    Rate,
    Users,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadChange {
    pub quantity: Changed,
    pub from: f64,
    pub to: f64,
    /// Number of planned arrivals of the whole run. `None` if the load is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<u64>,
}

impl LoadChange {
    /// Describes the change. `by` is its origin. Must be called before `apply`.
    #[must_use]
    pub fn text(&self, by: &str, phase: usize, manifest: &Manifest) -> String {
        let what = match self.quantity {
            Changed::Rate => "the rate",
            Changed::Users => "the number of users",
        };
        let place = match (manifest.phases.len(), manifest.phases.get(phase)) {
            (0 | 1, _) | (_, None) => String::new(),
            (_, Some(facts)) => match &facts.name {
                Some(name) => format!(" of phase {name}"),
                None => format!(" of phase {}", phase + 1),
            },
        };
        let planned = match (self.planned, manifest.load.planned) {
            (Some(now), Some(before)) => format!(
                ": {} arrivals are planned instead of {}",
                units::count(now),
                units::count(before)
            ),
            _ => String::new(),
        };
        let (from, to) = (self.figure(self.from), self.figure(self.to));
        format!("{by} changed {what}{place} from {from} to {to}{planned}")
    }

    fn figure(&self, figure: f64) -> String {
        match self.quantity {
            Changed::Rate => format!("{}/s", units::decimal(figure)),
            Changed::Users if figure == 1.0 => "1 user".to_owned(),
            Changed::Users => format!("{} users", units::count(figure as u64)),
        }
    }

    /// Updates the planned load in the manifest. `plan.json` stays unchanged.
    pub(crate) fn apply(&self, at_ns: u64, phase: usize, manifest: &mut Manifest) {
        let load = &mut manifest.load;
        if load.changes == 0 {
            load.text.push_str(", changed during the run");
        }
        load.changes += 1;
        if self.planned.is_some() {
            load.planned = self.planned;
        }
        if self.quantity == Changed::Users {
            load.users = load.users.map(|users| users.max(self.to as u32));
        }
        for (facts, planned) in manifest.phases.iter_mut().zip(&self.phases) {
            facts.planned = *planned;
        }
        if let Some(facts) = manifest.phases.get_mut(phase) {
            let (at, to) = (units::duration(at_ns), self.figure(self.to));
            facts.text.push_str(&format!(", from {at} on {to}"));
        }
    }
}

impl Manifest {
    pub(crate) fn apply(&mut self, events: &[Event]) {
        let changes = events
            .iter()
            .filter_map(|event| Some((event, event.change.as_ref()?)));
        for (event, change) in changes.skip(self.load.changes as usize) {
            change.apply(event.at_ns, event.phase.unwrap_or(0) as usize, self);
        }
        for version in events.iter().filter_map(|event| event.negotiated.as_ref()) {
            if !self.negotiated.contains(version) {
                self.negotiated.push(version.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plan::{
        FirstArrival, Format, Load, Phase, Plan, Rate, Shape,
        units::{MILLISECOND, SECOND},
    };

    use super::*;
    use crate::{EventKind, RunContext, Writer, redact::Redactor};

    fn manifest(load: Load) -> Manifest {
        let target = "http://127.0.0.1:1".to_owned();
        let plan = Plan::new("p".into(), Format::NATIVE, target, load, Vec::new());
        Manifest::new(&plan, RunContext::default())
    }

    fn phases() -> Manifest {
        let phase = |name: &str| Phase {
            name: Some(name.to_owned()),
            ..Phase::new(10 * SECOND, Shape::Rate(Rate::per_second(50)))
        };
        manifest(Load::Open {
            phases: vec![phase("warm-up"), phase("steady")],
            first: FirstArrival::AtStart,
        })
    }

    fn change() -> LoadChange {
        LoadChange {
            quantity: Changed::Rate,
            from: 50.0,
            to: 80.0,
            planned: Some(1255),
            phases: vec![500, 755],
        }
    }

    #[test]
    fn a_run_knows_what_is_planned_by_the_change_written_or_read() {
        let mut writer = Writer::in_memory(&phases(), &[], Redactor::default());
        let change = change();
        let text = change.text("the live view", 1, &writer.run().manifest);
        let wanted = "the live view changed the rate of phase steady from 50/s to 80/s: 1,255 arrivals are planned instead of 1,000";
        assert_eq!(text, wanted);
        let event = Event {
            phase: Some(1),
            change: Some(change),
            ..Event::new(11_500 * MILLISECOND, EventKind::LoadChanged, text)
        };
        assert!(writer.event(&event).is_none());
        let now = &writer.run().manifest;
        assert_eq!(now.load.planned, Some(1255));
        assert_eq!([now.phases[0].planned, now.phases[1].planned], [500, 755]);
        assert!(
            now.phases[1].text.ends_with(", from 11.5 s on 80/s"),
            "{}",
            now.phases[1].text
        );
        let mut begun = phases();
        begun.apply(std::slice::from_ref(&event));
        assert_eq!(begun.load, now.load);
        assert_eq!(begun.phases, now.phases);
        begun.apply(std::slice::from_ref(&event));
        assert_eq!(begun.load, now.load);
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }

    #[test]
    fn users_are_as_many_as_there_were_at_most() {
        let mut manifest = manifest(Load::users(3, 10 * SECOND));
        let change = |from: f64, to: f64| LoadChange {
            quantity: Changed::Users,
            from,
            to,
            planned: None,
            phases: Vec::new(),
        };
        let text = change(3.0, 1.0).text("the live view", 0, &manifest);
        assert_eq!(
            text,
            "the live view changed the number of users from 3 users to 1 user"
        );
        change(3.0, 7.0).apply(SECOND, 0, &mut manifest);
        change(7.0, 1.0).apply(2 * SECOND, 0, &mut manifest);
        assert_eq!(
            (manifest.load.users, manifest.load.planned),
            (Some(7), None)
        );
        assert_eq!(manifest.load.changes, 2);
    }
}
