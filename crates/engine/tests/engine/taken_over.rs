//! Takeover of another process's share during a run, in real time.

use plan::{Raw, Schedule, Share};
use worker::{clock::Clock, takeover::ShardTakeover};

use super::*;

/// A sink that takes over a share after the first interval.
struct TakesOver {
    recorded: RecordedRun,
    takeovers: ShardTakeover,
    zero: Zero,
    lost: Share,
    from_ns: Option<u64>,
}

impl Sink for TakesOver {
    fn interval(&mut self, interval: Interval) {
        if self.from_ns.is_none() {
            let from_ns = Clock::system(self.zero).now() + 2 * ShardTakeover::AHEAD_NS;
            let reported = self
                .takeovers
                .take_over(self.lost, from_ns, || Clock::system(self.zero).now());
            self.from_ns = reported.ok().map(|()| from_ns);
        }
        self.recorded.interval(interval);
    }

    fn line(&mut self, line: Raw<OutputLine>) {
        self.recorded.line(line);
    }
}

#[test]
fn taken_over_arrivals_are_sent_by_all_workers() {
    let lab = lab::Lab::start("sum", &lab::LabOptions::default()).expect("a lab");
    let target = format!("http://{}", lab.address());
    let steps = vec![request(get("/sum?a=1&b=2"))];
    let test = plan(&target, rate(200, 4 * SECOND), steps);
    // The gap between the process's own arrivals is longer than the workers may sleep.
    let (own, lost) = (Share { index: 0, of: 50 }, Share { index: 3, of: 20 });
    let takeovers = ShardTakeover::default();
    let options = EngineOptions {
        role: engine::RunRole::TakesOver,
        takeovers: takeovers.clone(),
        share: own,
        workers: Some(2),
        drain_ns: Some(5 * SECOND),
        ..EngineOptions::default()
    };
    let prepared = Prepared::new(&test, options).expect("a plan that compiles");
    let zero = Zero::in_ns(5 * MILLISECOND);
    let mut sink = TakesOver {
        recorded: RecordedRun::default(),
        takeovers,
        zero,
        lost,
        from_ns: None,
    };
    prepared.run(zero, &mut sink).expect("a run");
    let from_ns = sink.from_ns.expect("taken over");
    let schedule = Schedule::new(&test.load, 0);
    let taken_over = schedule.due_of_share(lost, from_ns, u64::MAX);
    assert!(taken_over > 10, "{taken_over}");
    let expected = own.of_first(800) + taken_over;
    assert_eq!(sink.recorded.arrivals(), (expected, expected, 0));
}
