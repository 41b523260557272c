//! Waits until the subscriptions of every worker are answered, and then starts publishing.

use worker::{
    deadlines::{Limit, TICK_NS},
    stop::Urgency,
};

use crate::{counts::add, shared::DriverState};

pub(crate) async fn publishing(shared: &DriverState) {
    let (worker, together) = (&shared.worker, &shared.together);
    if shared.counts_connections() {
        return;
    }
    let never = Limit::default();
    let ready_ns = shared.work.ready_ns();
    let patience_ns = ready_ns.saturating_add(shared.patience_ns());
    loop {
        let now = worker.clock.now();
        if worker.apply_stop(now) > Urgency::None {
            break;
        }
        if together.is_settled() || now >= patience_ns {
            break;
        }
        let _ = worker.sleep_until(now + TICK_NS, &never).await;
    }
    let now = worker.clock.now();
    let (delay_ns, is_own) = together.agree(now.saturating_sub(ready_ns));
    if is_own && delay_ns > 0 {
        let unanswered = together.pending();
        add(&shared.counts.start_delay_ns, delay_ns);
        add(&shared.counts.unanswered_subscriptions, unanswered);
        worker.remark(match unanswered {
            0 => format!(
                "publishing started {:.1}s later than planned, after every subscription was answered",
                delay_ns as f64 / 1e9
            ),
            n => format!(
                "publishing started {:.1}s later than planned; the server had not yet answered {n} subscription{}",
                delay_ns as f64 / 1e9,
                if n == 1 { "" } else { "s" }
            ),
        });
    }
    shared.start_publishing(ready_ns + delay_ns, delay_ns);
}
