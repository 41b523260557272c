//! Simulated processes that share a run. Their counts must add up to those of a single process.

use plan::ArrivalProcess;
use proptest::prelude::*;
use record::{HostSample, IntervalRecord, Totals};

use super::*;

fn add(totals: &mut Totals, intervals: &[Interval]) {
    for interval in intervals {
        totals.add(&IntervalRecord::new(interval, &HostSample::default()), &[]);
    }
}

fn counted(totals: &Totals) -> String {
    let mut text = String::new();
    for (key, part) in &totals.parts {
        let mut counters = part.slot.counters.clone();
        counters.codes.0.sort_unstable();
        counters.faults.0.sort_by_key(|(fault, _)| fault.name());
        text.push_str(&format!("{key:?} {counters:?}\n"));
        for (kind, outcome, times) in part.slot.histograms() {
            if kind != TimeKind::Stall {
                let cells: Vec<_> = times.cells().collect();
                let exact = (times.count(), times.sum(), times.min(), times.max());
                text.push_str(&format!("  {kind:?} {outcome:?} {exact:?} {cells:?}\n"));
            }
        }
    }
    for row in totals.rows.iter() {
        let run = &row.run;
        let arrivals = (run.due, run.started, run.skipped, run.opened);
        // Each process may or may not open an empty last interval.
        if arrivals != (0, 0, 0, 0) {
            text.push_str(&format!(
                "{} {} {arrivals:?}\n",
                row.index, row.span.from_ns
            ));
        }
    }
    text
}

/// Returns a server whose response depends on the arrival: some responses are slow, and some never
/// arrive.
fn answers(salt: u64) -> Model {
    Box::new(move |arrival| {
        let dice = (arrival ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (!dice.is_multiple_of(50)).then(|| arrival + 1_000 + dice * 40)
    })
}

fn phase() -> impl Strategy<Value = Phase> {
    let shape = prop_oneof![
        (1..300u64).prop_map(|rate| Shape::Rate(Rate::per_second(rate))),
        (1..500u64).prop_map(Shape::Count),
        Just(Shape::Pause),
    ];
    (300..2500u64, shape, any::<bool>()).prop_map(|(ms, shape, at_random)| {
        let mut phase = Phase::new(ms * MILLISECOND, shape);
        if at_random {
            phase.arrivals = ArrivalProcess::Poisson;
        }
        phase
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn shares_add_up_bit_for_bit(phases in prop::collection::vec(phase(), 1..4), salt: u64) {
        let first = FirstArrival::AtStart;
        let mut plan = plan(Load::Open { phases, first }, PoolPolicy::PerUser);
        plan.http.timeouts.total_ns = Some(SECOND);
        let on_time = |at| at;
        let mut whole = Totals::default();
        add(&mut whole, &simulate_share(&plan, answers(salt), on_time, Share::WHOLE));
        for of in [1, 2, 3, 7] {
            let mut sum = Totals::default();
            for index in 0..of {
                let share = Share { index, of };
                add(&mut sum, &simulate_share(&plan, answers(salt), on_time, share));
            }
            prop_assert_eq!(counted(&sum), counted(&whole), "{} shares", of);
        }
    }
}
