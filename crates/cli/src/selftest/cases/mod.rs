mod capacity;
mod comparisons;
mod history;
mod latency;
mod ledgers;
mod pacing;
mod scaling;
mod steady;
mod streams;
mod verdicts;

use super::Case;

pub const ALL: &[Case] = &[
    Case {
        id: "T1",
        title: "a server that stalls 1 s every 10 s: all arrivals during a stall wait",
        timing: true,
        run: latency::stall_of_one_second,
    },
    Case {
        id: "T1b",
        title: "a server that stalls 3 s every 10 s: all arrivals during a stall wait",
        timing: true,
        run: latency::stall_of_three_seconds,
    },
    Case {
        id: "T2",
        title: "stalls with 2, 10 and any number of connections: the wait is in the response time",
        timing: true,
        run: latency::caps,
    },
    Case {
        id: "T3",
        title: "10 % of the requests are slow, and do not delay the others",
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
        title: "the verdict: healthy runs pass, starved ones (open and closed) are detected, stalled servers are not attributed to the generator",
        timing: true,
        run: verdicts::verdicts,
    },
    Case {
        id: "T11",
        title: "warm-up, drift, shift, steady state and overload are distinguished, and the warm-up is cut where it ends",
        timing: false,
        run: steady::courses,
    },
    Case {
        id: "T12",
        title: "runs against runs: equal ones rarely differ, 5 % more is detected, and a paused run is not a regression",
        timing: false,
        run: comparisons::comparisons,
    },
    Case {
        id: "T13",
        title: "a shift in a history of runs is found where it is, and in flat ones there is none",
        timing: false,
        run: history::shifts,
    },
    Case {
        id: "T14",
        title: "the load line of services with a known closed form is found, and is within its interval",
        timing: false,
        run: capacity::load_lines,
    },
    Case {
        id: "T15",
        title: "a peak of throughput is found if there is one, and none is reported if there is none",
        timing: false,
        run: scaling::peaks,
    },
    Case {
        id: "T16",
        title: "a pool is recognized, with its size",
        timing: false,
        run: scaling::pool_of_eight,
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
    Case {
        id: "T21",
        title: "streamed responses: first token, gaps and tokens as the model API logged them",
        timing: true,
        run: streams::streams,
    },
];
