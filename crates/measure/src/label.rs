//! Labels: the names under which samples are counted. 0 is all requests, 1 takes what comes after the 200th name.

use serde::{Deserialize, Serialize};

/// The number of a label.
pub type LabelId = u16;
/// All requests.
pub const ALL: LabelId = 0;
/// Everything beyond [`MAX_LABELS`].
pub const OTHER: LabelId = 1;
/// So many names are kept apart.
pub const MAX_LABELS: usize = 200;

/// A name under which samples are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Its number.
    pub id: LabelId,
    /// What it counts.
    pub group: Group,
    /// The HTTP method; empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// The untemplated path with its query, the step's own name, or the scenario's.
    pub name: String,
    /// As renderings show it.
    pub text: String,
}

/// What a label counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Requests.
    Request,
    /// Whole iterations of a scenario.
    Iteration,
    /// MQTT operations.
    Mqtt,
    /// What a script counts.
    Custom,
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
            group: Group::Request,
            method: String::new(),
            name: text.to_owned(),
            text: text.to_owned(),
        };
        Labels {
            list: vec![fixed(ALL, "all requests"), fixed(OTHER, "(other)")],
            overflowed: false,
        }
    }
}

impl Labels {
    /// The number of a name, given out at its first mention; [`OTHER`] when all are taken.
    pub fn id(&mut self, group: Group, method: &str, name: &str) -> LabelId {
        let known = self.list[2..]
            .iter()
            .find(|l| l.group == group && l.method == method && l.name == name);
        if let Some(label) = known {
            return label.id;
        }
        // An iteration among the other requests would be counted as one of them.
        if self.list.len() >= MAX_LABELS && group != Group::Iteration {
            self.overflowed = true;
            return OTHER;
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

    /// All labels.
    #[must_use]
    pub fn all(&self) -> &[Label] {
        &self.list
    }

    /// Whether names had to be thrown together under (other).
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_numbers_once_and_the_rest_is_other() {
        let mut labels = Labels::default();
        assert_eq!(labels.id(Group::Request, "GET", "/a"), 2);
        assert_eq!(labels.id(Group::Request, "POST", "/a"), 3);
        assert_eq!(labels.id(Group::Request, "GET", "/a"), 2);
        for i in 0..300 {
            labels.id(Group::Request, "GET", &format!("/{i}"));
        }
        assert_eq!(labels.all().len(), MAX_LABELS);
        assert!(labels.overflowed());
        assert_eq!(labels.id(Group::Request, "GET", "/299"), OTHER);
        assert_ne!(labels.id(Group::Iteration, "", "/299"), OTHER);
        assert_eq!(labels.all()[2].text, "GET /a");
    }
}
