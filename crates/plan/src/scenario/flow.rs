//! Steps for control flow: loops, parallel steps and pauses.

use serde::Serialize;
use serde_json::Value;

use super::{Call, Step};
use crate::template::Template;

/// A loop over steps.
#[derive(Debug, Clone, Serialize)]
pub struct Loop {
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Number of rounds.
    pub count: LoopCount,
    /// Function that decides after each round whether there is another one. It replaces `count` and
    /// `over`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub while_true: Option<Call>,
    /// List to iterate over, if the loop has one.
    pub over: Option<Over>,
    /// Variable that receives the index.
    pub index_as: String,
    /// Variable that receives the element.
    pub element_as: String,
}

/// Steps that run in parallel, as far as connections allow. Later steps can use the variables set
/// in them.
#[derive(Debug, Clone, Serialize)]
pub struct Parallel {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Maximum number of steps in progress at a time.
    pub limit: usize,
}

/// Number of rounds of a loop.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopCount {
    /// A range that is known before the run.
    Fixed(LoopRange),
    /// A value that [`LoopRange::from_value`] interprets when the loop starts.
    Templated(Template),
}

/// Indices of a loop: `start..end`, or unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LoopRange {
    /// Index at which the loop starts.
    pub start: i64,
    /// Index after the last round. `None` means an endless loop.
    pub end: Option<i64>,
}

impl LoopRange {
    /// Interprets `count` as Artillery does: a number, a numeric text, or a range `a-b`. A missing
    /// value, 0 and -1 mean an endless loop. `"0"`, other negative numbers and all other values run
    /// no rounds.
    #[must_use]
    pub fn from_value(value: Option<&Value>) -> LoopRange {
        const NEVER: LoopRange = LoopRange {
            start: 0,
            end: Some(0),
        };
        const FOREVER: LoopRange = LoopRange {
            start: 0,
            end: None,
        };
        let times = |n: f64| {
            if n == -1.0 {
                FOREVER
            } else {
                LoopRange {
                    start: 0,
                    end: Some(n.trunc().max(0.0) as i64),
                }
            }
        };
        match value {
            None => NEVER,
            Some(Value::Number(n)) => match n.as_f64() {
                Some(0.0) => FOREVER,
                Some(n) => times(n),
                None => NEVER,
            },
            Some(Value::String(text)) => {
                let text = text.trim();
                if let Some((a, b)) = text.split_once('-')
                    && let (Ok(start), Ok(end)) = (a.trim().parse(), b.trim().parse())
                {
                    return LoopRange {
                        start,
                        end: Some(end),
                    };
                }
                text.parse().map_or(NEVER, times)
            }
            Some(_) => NEVER,
        }
    }
}

/// List that a loop iterates over.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// A list that is written in the plan.
    List(Vec<Template>),
    /// Path of a variable that contains a list. If the value is not a list, the loop is skipped.
    Variable(String),
}

/// A pause.
#[derive(Debug, Clone, Serialize)]
pub struct Think {
    /// Mean duration of the pause.
    pub time: ThinkTime,
    /// Random variation of the duration.
    pub jitter: Option<Jitter>,
}

/// Duration of a pause.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkTime {
    /// A duration in nanoseconds.
    Fixed(u64),
    /// A value that is evaluated at run time. A number is in seconds. A string uses Artillery's
    /// duration grammar.
    Templated(Template),
}

/// Random variation of a think time: uniform within ± this value, but never below zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// A fraction of the think time, such as 0.2 for ±20 %.
    Share(f64),
    /// A duration in nanoseconds.
    Absolute(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn loop_counts_follow_artillery() {
        let range = |start, end| LoopRange { start, end };
        let of = |value: Value| LoopRange::from_value(Some(&value));
        assert_eq!(of(json!(10)), range(0, Some(10)));
        assert_eq!(of(json!("10")), range(0, Some(10)));
        assert_eq!(of(json!("3-7")), range(3, Some(7)));
        assert_eq!(of(json!(0)), range(0, None));
        assert_eq!(of(json!(-1)), range(0, None));
        assert_eq!(of(json!("0")), range(0, Some(0)));
        assert_eq!(of(json!(-5)), range(0, Some(0)));
        assert_eq!(of(json!("many")), range(0, Some(0)));
        assert_eq!(LoopRange::from_value(None), range(0, Some(0)));
    }
}
