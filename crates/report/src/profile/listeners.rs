//! The resources that the listeners of a plan need, as text.

use record::units::{self, count};

use super::Teller;

impl Teller<'_> {
    pub(super) fn listeners(&self) -> Option<String> {
        let listeners = self.profile.listeners.as_ref()?;
        let heading = self.heading("Listeners");
        let connections = u64::from(listeners.clients);
        let mut lines = vec![
            format!(
                "- {} connections, {}/s; the load starts after {}",
                count(connections),
                self.rate(listeners.connects_per_second),
                units::duration(listeners.load_starts_ns)
            ),
            format!(
                "- They need {} file descriptors, {} source ports, and about {} of memory",
                count(connections),
                count(connections),
                units::bytes(listeners.memory)
            ),
        ];
        if let Some(per_second) = listeners.deliveries_per_second {
            lines.push(format!("- At most {} deliveries/s", self.rate(per_second)));
        }
        Some(format!("{heading}\n\n{}", lines.join("\n")))
    }
}
