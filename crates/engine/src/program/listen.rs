//! Compiled listeners.

use codec::events::JsonPath;
use measure::{LabelId, label::LabelGroup};
use plan::Listen;

use super::{Compiler, Op};

/// The compiled listeners: WebSocket clients that receive the messages that scenarios publish.
#[derive(Debug, Clone)]
pub struct CompiledListen {
    /// Listeners as described in the plan.
    pub spec: Listen,
    /// Steps that open a connection.
    pub ops: Vec<Op>,
    /// Paths in a received message to its intended time, its sender and its number.
    pub paths: [JsonPath; 3],
    /// Label of deliveries.
    pub push: LabelId,
}

impl Compiler<'_> {
    /// Compiles the listeners. Must be called after compiling the scenarios, whose steps are
    /// numbered first.
    pub(super) fn listen(&mut self) -> Option<CompiledListen> {
        let listen = self.plan.listen.as_ref()?;
        let mut ops = Vec::new();
        self.steps(&listen.opening.steps, &mut ops);
        let push = self.labels.id(LabelGroup::Custom, "", &listen.push_label());
        let push_paths = &listen.push;
        let texts = [&push_paths.sent, &push_paths.from, &push_paths.sequence];
        match texts.map(|text| JsonPath::parse(text)) {
            [Ok(sent), Ok(from), Ok(sequence)] => Some(CompiledListen {
                spec: listen.clone(),
                ops,
                paths: [sent, from, sequence],
                push,
            }),
            _ => {
                let text = "listen: a path of `push` must consist of names and indices";
                self.problems.push(plan::Problem::anywhere(text));
                None
            }
        }
    }
}
