//! Labels: names under which samples are counted. Label 0 is the sum of all requests. Label 1
//! collects all names after the first 200.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

/// Numeric ID of a label.
pub type LabelId = u16;
/// The label of all requests together.
pub const ALL: LabelId = 0;
/// The label of all requests whose names exceed [`MAX_LABELS`].
pub const OTHER: LabelId = 1;
const OTHER_NAME: &str = "(other)";
/// Maximum number of labels with a separate row.
pub const MAX_LABELS: usize = 200;

/// A name under which samples are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Number of the label.
    pub id: LabelId,
    /// What the label counts.
    pub group: LabelGroup,
    /// HTTP method, or an empty string.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// Path template with query, or the name of a step or scenario.
    pub name: String,
    /// Name of the label in reports.
    pub text: String,
}

/// What a label counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelGroup {
    /// Requests.
    Request,
    /// Whole iterations of a scenario.
    Iteration,
    /// Groups of steps within an iteration.
    Transaction,
    /// Operations of MQTT clients.
    Mqtt,
    /// Messages on WebSocket connections.
    WebSocket,
    /// Operations in Socket.IO sessions.
    SocketIo,
    /// Requests that a test script sent and timed by itself.
    Script,
    /// Times that a script measured.
    Custom,
}

/// How a label contributes to the totals of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Requests of any protocol. Their sum is the total of all requests.
    Request,
    /// Iterations and transactions, which consist of several requests.
    Iteration,
    /// Other times, which do not count in any total.
    Aside,
}

impl LabelGroup {
    /// Returns the role of labels in this group.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            LabelGroup::Request
            | LabelGroup::Mqtt
            | LabelGroup::WebSocket
            | LabelGroup::SocketIo
            | LabelGroup::Script => Role::Request,
            LabelGroup::Iteration | LabelGroup::Transaction => Role::Iteration,
            LabelGroup::Custom => Role::Aside,
        }
    }
}

/// The labels of a run, in the order of their numbers.
#[derive(Debug, Clone)]
pub struct Labels {
    list: Vec<Label>,
    overflowed: bool,
}

impl Default for Labels {
    fn default() -> Self {
        let fixed = |id, text: &str| Label {
            id,
            group: LabelGroup::Request,
            method: String::new(),
            name: text.to_owned(),
            text: text.to_owned(),
        };
        Labels {
            list: vec![fixed(ALL, "all requests"), fixed(OTHER, OTHER_NAME)],
            overflowed: false,
        }
    }
}

impl Labels {
    /// Returns the ID of a name. Assigns a new ID on first use, or [`OTHER`] if the limit is
    /// reached.
    pub fn id(&mut self, group: LabelGroup, method: &str, name: &str) -> LabelId {
        let known = self.list[2..]
            .iter()
            .find(|l| l.group == group && l.method == method && l.name == name);
        if let Some(label) = known {
            return label.id;
        }
        // Only requests may be counted as OTHER, because it is part of the total of all requests.
        if self.list.len() >= MAX_LABELS && group.role() == Role::Request {
            self.overflowed = true;
            return OTHER;
        }
        if self.list.len() >= MAX_LABELS && group.role() == Role::Aside && name != OTHER_NAME {
            self.overflowed = true;
            return self.id(group, "", OTHER_NAME);
        }
        let id = self.list.len() as LabelId;
        let text = if method.is_empty() {
            name.to_owned()
        } else {
            format!("{method} {name}")
        };
        self.list.push(Label {
            id,
            group,
            method: method.to_owned(),
            name: name.to_owned(),
            text,
        });
        id
    }

    /// Returns all labels.
    #[must_use]
    pub fn all(&self) -> &[Label] {
        &self.list
    }

    /// Returns a note for reports if names were merged into (other).
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        self.overflowed.then(too_many)
    }
}

/// Returns the note that names were merged, with the maximum number of rows.
#[must_use]
pub fn too_many() -> String {
    let own = MAX_LABELS - 2;
    format!(
        "there are more than {own} names: the names beyond the first {own} are counted as {OTHER_NAME}"
    )
}

/// The labels that all workers of a run share. A worker takes the lock only when it first uses a
/// name, never per request.
#[derive(Debug, Clone, Default)]
pub struct Registry(Arc<Mutex<Labels>>);

impl Registry {
    /// Creates the registry with the labels known before the run.
    #[must_use]
    pub fn new(labels: Labels) -> Registry {
        Registry(Arc::new(Mutex::new(labels)))
    }

    /// Returns the ID of a name, see [`Labels::id`].
    #[must_use]
    pub fn id(&self, group: LabelGroup, method: &str, name: &str) -> LabelId {
        self.labels().id(group, method, name)
    }

    /// Returns the labels after the first `known`.
    #[must_use]
    pub fn since(&self, known: usize) -> Vec<Label> {
        self.labels().all().iter().skip(known).cloned().collect()
    }

    fn labels(&self) -> MutexGuard<'_, Labels> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker's cache of label IDs, which avoids locking the registry.
#[derive(Debug, Default)]
pub struct LabelCache {
    registry: Registry,
    names: Vec<(LabelGroup, String, HashMap<String, LabelId>)>,
    /// Whether the registry is full, so that no new IDs are assigned.
    full: bool,
}

impl LabelCache {
    /// Creates an empty cache.
    #[must_use]
    pub fn new(registry: Registry) -> LabelCache {
        LabelCache {
            registry,
            ..LabelCache::default()
        }
    }

    /// Returns the ID of a name, and whether the name is new to this worker.
    pub fn id(&mut self, group: LabelGroup, method: &str, name: &str) -> (LabelId, bool) {
        let known = self
            .names
            .iter()
            .position(|(g, m, _)| *g == group && m == method);
        let at = known.unwrap_or_else(|| {
            self.names.push((group, method.to_owned(), HashMap::new()));
            self.names.len() - 1
        });
        if let Some(id) = self.names[at].2.get(name) {
            return (*id, false);
        }
        if self.full && group.role() == Role::Request {
            return (OTHER, false);
        }
        let id = self.registry.id(group, method, name);
        if id == OTHER {
            self.fill();
        } else if self.names[at].2.len() < MAX_LABELS {
            self.names[at].2.insert(name.to_owned(), id);
        }
        (id, true)
    }
}

impl LabelCache {
    fn fill(&mut self) {
        self.full = true;
        for label in self.registry.since(0) {
            let known = self
                .names
                .iter_mut()
                .find(|(g, m, _)| *g == label.group && *m == label.method);
            match known {
                Some((_, _, names)) => {
                    names.insert(label.name, label.id);
                }
                None => {
                    let names = HashMap::from([(label.name, label.id)]);
                    self.names.push((label.group, label.method, names));
                }
            }
        }
    }
}

/// Adds a label of another process to `known`. Returns the ID of the label in this process, and
/// whether the label is new.
///
/// Labels with equal names share an ID. If another label already uses the ID, the added label gets
/// a free one.
pub fn settle(known: &mut Vec<Label>, label: &Label) -> (LabelId, bool) {
    let same = |one: &&Label| {
        one.group == label.group && one.method == label.method && one.name == label.name
    };
    if let Some(one) = known.iter().find(same) {
        return (one.id, false);
    }
    let is_taken = known.iter().any(|one| one.id == label.id);
    let free = known.iter().map(|one| one.id + 1).max();
    let id = free.filter(|_| is_taken).unwrap_or(label.id);
    known.push(Label {
        id,
        ..label.clone()
    });
    (id, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names_have_one_number_for_all_workers() {
        let mut known = Labels::default();
        known.id(LabelGroup::Request, "GET", "/");
        let registry = Registry::new(known);
        let mut workers = [
            LabelCache::new(registry.clone()),
            LabelCache::new(registry.clone()),
        ];
        let mut ask =
            |worker: usize, name: &str| workers[worker].id(LabelGroup::Mqtt, "publish", name);
        assert_eq!(ask(0, "a"), (3, true));
        assert_eq!((ask(1, "b"), ask(1, "a")), ((4, true), (3, true)));
        assert_eq!((ask(0, "b"), ask(0, "a")), ((4, true), (3, false)));
        let came: Vec<String> = registry.since(3).into_iter().map(|l| l.text).collect();
        assert_eq!(came, ["publish a", "publish b"]);
        for n in 0..MAX_LABELS {
            ask(0, &n.to_string());
        }
        assert_eq!(
            (ask(0, "late"), ask(0, "b").0, ask(1, "late").0),
            ((OTHER, false), 4, OTHER)
        );
        assert_eq!((ask(1, "9").0, ask(1, "b").0), (14, 4));
    }

    #[test]
    fn names_get_one_number_until_labels_run_out() {
        let mut labels = Labels::default();
        assert_eq!(labels.id(LabelGroup::Request, "GET", "/a"), 2);
        assert_eq!(labels.id(LabelGroup::Request, "POST", "/a"), 3);
        assert_eq!(labels.id(LabelGroup::Request, "GET", "/a"), 2);
        for i in 0..300 {
            labels.id(LabelGroup::Request, "GET", &format!("/{i}"));
        }
        assert_eq!(labels.all().len(), MAX_LABELS);
        let remark = labels.remark().unwrap();
        assert!(remark.contains("beyond the first 198"), "{remark}");
        assert_eq!(labels.id(LabelGroup::Request, "GET", "/299"), OTHER);
        let aside = labels.id(LabelGroup::Custom, "", "a time");
        assert_eq!(aside, labels.id(LabelGroup::Custom, "", "another"));
        assert_eq!(labels.all()[usize::from(aside)].group, LabelGroup::Custom);
        assert_ne!(labels.id(LabelGroup::Iteration, "", "/299"), OTHER);
        assert_eq!(labels.all()[2].text, "GET /a");
    }
}
