//! Reads closed loads: a constant number of users, or phases with changing numbers.

use plan::{Load, UserPhase};

use super::{Translator, model};
use crate::{
    document::Node,
    native::read::{self, entries},
};

impl Translator<'_> {
    pub(super) fn closed(&mut self, items: &[Node]) -> Option<Load> {
        let read: Vec<Option<UserPhase>> = items.iter().map(|item| self.users(item)).collect();
        let phases: Vec<UserPhase> = read.into_iter().collect::<Option<_>>()?;
        let most = phases.iter().map(|phase| phase.from.max(phase.to)).max();
        let duration_ns = phases
            .iter()
            .map(|phase| phase.duration_ns)
            .fold(0, u64::saturating_add);
        if most == Some(0) {
            let text = "no phase has users: use, for example, { users: { from: 0, to: 50 }, duration: 1m }";
            self.findings.problem(items.first()?.mark, text);
            return None;
        }
        let is_plain = |phase: &UserPhase| phase.from == phase.to && phase.name.is_none();
        Some(match phases.as_slice() {
            [only] if is_plain(only) => Load::users(only.to, duration_ns),
            _ => Load::Closed {
                users: most?,
                duration_ns,
                phases,
            },
        })
    }

    fn users(&mut self, node: &Node) -> Option<UserPhase> {
        let kind = self.kind(node)?;
        let (numbers, duration) = match kind {
            "users" => (
                self.number_of_users(node.get("users")?),
                self.duration(node),
            ),
            "pause" => {
                let pause = node.get("pause")?;
                let ns = read::duration(pause, "pause", self.findings);
                (Some((0, 0)), ns.map(|ns| (ns, pause.text())))
            }
            _ => {
                let text = format!(
                    "`{kind}` sets arrivals, but other phases of this load set users: use only one kind"
                );
                self.findings.problem(node.mark, text);
                return None;
            }
        };
        let ((from, to), duration) = (numbers?, duration?);
        let name = node
            .get("name")
            .and_then(|name| read::text(name, "name", self.findings));
        Some(UserPhase {
            name,
            from,
            to,
            duration_ns: duration.0,
            duration_text: duration.1,
        })
    }

    fn number_of_users(&mut self, node: &Node) -> Option<(u32, u32)> {
        if !node.is_map() {
            let users = read::whole_u32(node, "users", 1, self.findings)?;
            return Some((users, users));
        }
        entries(node, "users", model::USERS, self.findings);
        let mut end = |key: &str| match node.get(key) {
            Some(number) => read::whole_u32(number, key, 0, self.findings),
            None => {
                let text = format!(
                    "`users` needs a start and an end, but `{key}` is missing: use, for example, {{ from: 0, to: 50 }}"
                );
                read::missing(node, model::USERS, text, self.findings);
                None
            }
        };
        let (from, to) = (end("from"), end("to"));
        Some((from?, to?))
    }
}
