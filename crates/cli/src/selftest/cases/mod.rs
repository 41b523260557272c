//! The cases of the battery.

mod history;
mod latency;
mod ledgers;
mod pacing;
mod verdicts;

use super::Case;

/// All cases, in the order in which they run.
pub const ALL: &[Case] = &[
    Case {
        id: "T1",
        title: "a server that stalls 1 s every 10 s: everyone who arrives in it waits",
        timing: true,
        run: latency::stall_of_one_second,
    },
    Case {
        id: "T1b",
        title: "the same with stalls of 3 s",
        timing: true,
        run: latency::stall_of_three_seconds,
    },
    Case {
        id: "T2",
        title: "the same through 2, 10 and any number of connections: the wait is in the response",
        timing: true,
        run: latency::caps,
    },
    Case {
        id: "T3",
        title: "10 % of the requests are slow, and slow down nobody else",
        timing: true,
        run: latency::independent_slow,
    },
    Case {
        id: "T4",
        title: "an exponential server under Poisson and under even arrivals",
        timing: true,
        run: latency::exponential,
    },
    Case {
        id: "T5",
        title: "pacing: as exact as a bare timer loop on this machine",
        timing: true,
        run: pacing::pacing,
    },
    Case {
        id: "T6",
        title: "the verdict: healthy runs pass, starved ones (open and closed) are found out, stalled servers are not blamed on us",
        timing: true,
        run: verdicts::verdicts,
    },
    Case {
        id: "T13",
        title: "a shift in a history of runs is found where it is, and in flat ones there is none",
        timing: false,
        run: history::shifts,
    },
    Case {
        id: "T19",
        title: "histograms: every value from 1 µs to 60 s within 0.1 %",
        timing: false,
        run: pacing::histograms,
    },
    Case {
        id: "T20",
        title: "both ledgers under resets, time-outs and a server that dies equal the server's counts",
        timing: true,
        run: ledgers::ledgers,
    },
];
