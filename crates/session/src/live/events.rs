//! Server-sent events of the live view for one page: first the whole page, then changes and `now`
//! after each interval, and finally `end`. Events are never queued for a page.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::response::sse::Event;
use futures_util::{Stream, stream};
use tokio::sync::watch;

use super::state::{LatestState, LiveState};

/// Ratio of pause to computing time. After computing a page for `t`, the next page waits this many
/// times `t`, which limits CPU use.
const REST: u64 = 50;
const INTERVAL_NS: u64 = 1_000_000_000;

struct Watcher {
    newest: Arc<LatestState>,
    states: watch::Receiver<Option<Arc<LiveState>>>,
    sent: Option<SentState>,
    now: Option<Arc<LiveState>>,
    stage: StreamStage,
    _seat: tokio::sync::OwnedSemaphorePermit,
}

#[derive(Clone, Copy)]
struct SentState {
    number: u64,
    width_ns: u64,
    points: usize,
    cpu_ns: u64,
}

enum StreamStage {
    Following,
    /// The last figures have been sent. Next is `end` with the location of the report.
    Reported(Arc<LiveState>),
    Done,
}

pub fn stream(
    newest: Arc<LatestState>,
    seat: tokio::sync::OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    let watcher = Watcher {
        states: newest.latest.watch(),
        newest,
        sent: None,
        now: None,
        stage: StreamStage::Following,
        _seat: seat,
    };
    stream::unfold(watcher, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok(event), watcher))
    })
}

impl Watcher {
    async fn next(&mut self) -> Option<Event> {
        if let Some(state) = self.now.take() {
            return Some(Event::default().event("now").data(state.now()));
        }
        match std::mem::replace(&mut self.stage, StreamStage::Done) {
            StreamStage::Following => self.stage = StreamStage::Following,
            StreamStage::Reported(state) => {
                return Some(Event::default().event("end").data(state.end()));
            }
            StreamStage::Done => return None,
        }
        self.rest().await;
        let than = self.sent.map(|sent| sent.number);
        let state = self.newest.latest.newer(&mut self.states, than).await?;
        if state.over {
            self.stage = StreamStage::Reported(Arc::clone(&state));
        }
        self.now = Some(Arc::clone(&state));
        Some(self.event(&state))
    }

    async fn rest(&self) {
        let cpu_ns = self.sent.map_or(0, |sent| sent.cpu_ns);
        let rest_ns = cpu_ns.saturating_mul(REST);
        if rest_ns > INTERVAL_NS {
            let rest = Duration::from_nanos(rest_ns - INTERVAL_NS);
            let _ = tokio::time::timeout(rest, self.newest.latest.ended()).await;
        }
    }

    fn event(&mut self, state: &LiveState) -> Event {
        let (width_ns, points) = state.extent();
        // All points are final except the last one, which still changes.
        let known = self
            .sent
            .filter(|sent| sent.width_ns == width_ns && sent.points > 0 && sent.points <= points);
        self.sent = Some(SentState {
            number: state.number,
            width_ns,
            points,
            cpu_ns: state.cpu_ns(),
        });
        match known {
            Some(sent) => Event::default()
                .event("tick")
                .data(state.tick(sent.points - 1)),
            None => Event::default().event("page").data(state.page()),
        }
    }
}
