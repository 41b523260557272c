//! Counts the figures of wrk and wrk2: latencies in whole microseconds, responses per thread and
//! 100 ms, and four classes of errors.
//!
//! wrk2 discards the figures of the first ten seconds, until it is calibrated. This accumulator
//! keeps them for shorter runs.

use measure::{
    Histogram,
    accumulator::{self, Cells, Event, Loss, Tally, ValueCounts},
};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;
const TICK_NS: u64 = 100 * MS;
const CALIBRATE_NS: u64 = 10_000 * MS;
const CALIBRATE_PER_CONNECTION_NS: u64 = 5 * MS;
const MAX_RATE: u64 = 10_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrkSettings {
    pub paced: bool,
    pub threads: u64,
    pub connections: u64,
    pub duration_ns: u64,
    pub timeout_ns: u64,
    pub latency: bool,
    pub uncorrected: bool,
    pub per_batch: bool,
}

#[derive(Debug)]
pub struct Accumulator {
    settings: WrkSettings,
    thread: u64,
    counters: Counters,
    latency: ThreadLatency,
    rate: ThreadRate,
    published: bool,
}

#[derive(Debug, Default)]
struct Counters {
    requests: u64,
    bytes: u64,
    status: u64,
    connect: u64,
    read: u64,
    write: u64,
    timeout: u64,
    late: u64,
}

#[derive(Debug)]
enum ThreadLatency {
    Exact(Cells),
    Paced(Box<Paced>),
}

#[derive(Debug, Default)]
struct Paced {
    corrected: Histogram,
    uncorrected: Histogram,
    /// When the calibration is due. `None` after calibration.
    calibrate_at: Option<u64>,
    calibration: Option<Calibration>,
}

#[derive(Debug, Clone, Copy)]
struct Calibration {
    mean_us: u64,
    interval_ms: u64,
}

/// The response rate of a thread, sampled at regular ticks. A tick is evaluated at the next event
/// after it.
#[derive(Debug, Default)]
struct ThreadRate {
    since: u64,
    next_tick: u64,
    every: u64,
    answers: u64,
    samples: Vec<u64>,
}

impl ThreadRate {
    fn begin(&mut self, now: u64, every: u64) {
        (self.since, self.next_tick, self.every, self.answers) = (now, now + every, every, 0);
    }

    fn ticks(&mut self, now: u64) {
        while self.every > 0 && self.next_tick <= now {
            if self.answers > 0 {
                let ms = ((self.next_tick - self.since) / MS).max(1);
                let rate = (self.answers as f64 / ms as f64 * 1000.0) as u64;
                if rate < MAX_RATE {
                    self.samples.push(rate);
                }
                (self.since, self.answers) = (self.next_tick, 0);
                self.next_tick += self.every;
            } else {
                let following = (now - self.next_tick) / self.every + 1;
                self.next_tick += following * self.every;
            }
        }
    }
}

impl Accumulator {
    #[must_use]
    pub fn new(settings: WrkSettings, thread: u64) -> Accumulator {
        Accumulator {
            settings,
            thread,
            counters: Counters::default(),
            latency: if settings.paced {
                ThreadLatency::Paced(Box::default())
            } else {
                ThreadLatency::Exact(Cells::default())
            },
            rate: ThreadRate::default(),
            published: false,
        }
    }

    fn begin(&mut self, now: u64) {
        match &mut self.latency {
            ThreadLatency::Exact(_) => self.rate.begin(now, TICK_NS),
            ThreadLatency::Paced(paced) => {
                let connections = self.settings.connections / self.settings.threads.max(1);
                let after = CALIBRATE_NS + CALIBRATE_PER_CONNECTION_NS * connections;
                paced.calibrate_at = Some(now + after);
            }
        }
    }

    #[inline]
    fn until(&mut self, now: u64) {
        if let ThreadLatency::Paced(paced) = &mut self.latency
            && let Some(at) = paced.calibrate_at.filter(|at| *at <= now)
        {
            match paced.calibrate() {
                Some(calibration) => self.rate.begin(at, calibration.interval_ms * MS),
                None => paced.calibrate_at = Some(at + CALIBRATE_NS),
            }
        }
        if self.rate.next_tick <= now {
            self.rate.ticks(now);
        }
    }

    #[inline]
    fn answer(&mut self, status: u16, bytes: u64, last: bool, response_ns: u64, service_ns: u64) {
        self.counters.requests += 1;
        self.counters.bytes += bytes;
        self.counters.status += u64::from(status > 399);
        self.rate.answers += 1;
        match &mut self.latency {
            // wrk measures one latency per batch of pipelined requests.
            ThreadLatency::Exact(_) if !last => {}
            ThreadLatency::Exact(cells) => {
                let us = service_ns / US;
                if us < self.settings.timeout_ns / US {
                    cells.record(us);
                } else {
                    self.counters.timeout += 1;
                    self.counters.late += 1;
                }
            }
            ThreadLatency::Paced(paced) => {
                if last || !self.settings.per_batch {
                    paced.corrected.record(response_ns / US);
                    paced.uncorrected.record(service_ns / US);
                }
            }
        }
    }

    fn publish(&mut self, part: &mut Tally) {
        if std::mem::replace(&mut self.published, true) {
            return;
        }
        let settings = &self.settings;
        for (name, value) in [
            ("paced", u64::from(settings.paced)),
            ("threads", settings.threads),
            ("connections", settings.connections),
            ("duration_ns", settings.duration_ns),
            ("timeout_ns", settings.timeout_ns),
            ("latency", u64::from(settings.latency)),
            ("uncorrected", u64::from(settings.uncorrected)),
        ] {
            part.firsts.insert(format!("settings.{name}"), value);
        }
    }
}

impl Paced {
    fn calibrate(&mut self) -> Option<Calibration> {
        let mean = self.corrected.mean().filter(|mean| *mean > 0.0)?;
        let p90_us = self.corrected.quantile(0.9)?;
        let calibration = Calibration {
            mean_us: mean as u64,
            interval_ms: (p90_us * 2 / 1000).max(10),
        };
        self.corrected = Histogram::default();
        self.uncorrected = Histogram::default();
        self.calibrate_at = None;
        self.calibration = Some(calibration);
        Some(calibration)
    }
}

impl accumulator::Accumulator for Accumulator {
    fn event(&mut self, wall_ns: u64, event: &Event<'_>) {
        match *event {
            Event::Begin => self.begin(wall_ns),
            Event::Answer {
                status,
                bytes,
                last,
                response_ns,
                service_ns,
            } => {
                self.until(wall_ns);
                self.answer(status, bytes, last, response_ns, service_ns);
            }
            Event::Lost { how, bytes } => {
                self.until(wall_ns);
                self.counters.bytes += bytes;
                let counters = &mut self.counters;
                *match how {
                    Loss::Connect => &mut counters.connect,
                    Loss::Read => &mut counters.read,
                    Loss::Write => &mut counters.write,
                    Loss::Timeout => &mut counters.timeout,
                } += 1;
            }
            Event::End => self.until(wall_ns),
            _ => {}
        }
    }

    fn take(&mut self) -> Tally {
        let mut part = Tally::default();
        self.publish(&mut part);
        let counters = std::mem::take(&mut self.counters);
        for (name, n) in [
            ("requests", counters.requests),
            ("bytes", counters.bytes),
            ("errors.status", counters.status),
            ("errors.connect", counters.connect),
            ("errors.read", counters.read),
            ("errors.write", counters.write),
            ("errors.timeout", counters.timeout),
            ("late", counters.late),
        ] {
            if n > 0 {
                part.counters.insert(name.into(), n);
            }
        }
        let mut counts = |name: String, counts: ValueCounts| {
            if !counts.pairs().is_empty() {
                part.counts.insert(name, counts);
            }
        };
        let samples = std::mem::take(&mut self.rate.samples);
        counts(
            "rate".into(),
            ValueCounts::from_pairs(samples.into_iter().map(|rate| (rate, 1)).collect()),
        );
        match &mut self.latency {
            ThreadLatency::Exact(cells) => counts("latency".into(), cells.take()),
            ThreadLatency::Paced(paced) => {
                let early = paced.calibrate_at.is_some();
                for (name, histogram) in [
                    ("latency", &mut paced.corrected),
                    ("uncorrected", &mut paced.uncorrected),
                ] {
                    if early {
                        continue;
                    }
                    counts(name.into(), cells_of(histogram));
                    histogram.clear();
                }
                if let Some(found) = paced.calibration.take() {
                    let name = |what: &str| format!("calibration.{:03}.{what}", self.thread);
                    part.firsts.insert(name("mean_us"), found.mean_us);
                    part.firsts.insert(name("interval_ms"), found.interval_ms);
                }
            }
        }
        part
    }

    fn finish(&mut self) -> Tally {
        // The run is too short to calibrate, so report the figures so far.
        if let ThreadLatency::Paced(paced) = &mut self.latency {
            paced.calibrate_at = None;
        }
        self.take()
    }
}

fn cells_of(histogram: &Histogram) -> ValueCounts {
    ValueCounts::from_pairs(
        histogram
            .cells()
            .map(|cell| (cell.low, cell.count))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use accumulator::Accumulator as _;

    const SETTINGS: WrkSettings = WrkSettings {
        paced: false,
        threads: 2,
        connections: 10,
        duration_ns: 10_000 * MS,
        timeout_ns: 2_000 * MS,
        latency: true,
        uncorrected: false,
        per_batch: false,
    };

    fn answer(last: bool, response_ns: u64, service_ns: u64) -> Event<'static> {
        Event::Answer {
            status: 200,
            bytes: 100,
            last,
            response_ns,
            service_ns,
        }
    }

    #[test]
    fn a_batch_has_one_latency_and_late_answers_are_timeouts() {
        let mut frontend = Accumulator::new(SETTINGS, 0);
        frontend.event(0, &Event::Begin);
        frontend.event(MS, &answer(false, 0, 900 * US));
        frontend.event(MS, &answer(true, 0, 999_999));
        frontend.event(3_000 * MS, &answer(true, 0, 2_000 * MS));
        frontend.event(
            3_001 * MS,
            &Event::Lost {
                how: Loss::Timeout,
                bytes: 7,
            },
        );
        let part = frontend.take();
        assert_eq!(part.counts["latency"].pairs(), [(999, 1)]);
        assert_eq!(
            (part.counters["requests"], part.counters["errors.timeout"]),
            (3, 2)
        );
        assert_eq!(part.counters["late"], 1);
        assert_eq!(part.counters["bytes"], 307);
    }

    #[test]
    fn a_stretch_without_answers_is_one_low_sample() {
        let mut frontend = Accumulator::new(SETTINGS, 0);
        frontend.event(0, &Event::Begin);
        for _ in 0..10 {
            frontend.event(50 * MS, &answer(true, 0, US));
        }
        for _ in 0..10 {
            frontend.event(950 * MS, &answer(true, 0, US));
        }
        frontend.event(1_000 * MS, &Event::End);
        assert_eq!(frontend.take().counts["rate"].pairs(), [(11, 1), (100, 1)]);
    }

    #[test]
    fn wrk2_forgets_what_came_before_its_calibration() {
        let paced = WrkSettings {
            paced: true,
            ..SETTINGS
        };
        let mut frontend = Accumulator::new(paced, 3);
        frontend.event(0, &Event::Begin);
        for k in 1..=100 {
            frontend.event(k * MS, &answer(true, 7_000 * US, 40 * US));
        }
        assert!(frontend.take().counts.is_empty());
        frontend.event(10_030 * MS, &answer(true, 2_000 * US, 50 * US));
        frontend.event(11_000 * MS, &Event::End);
        let part = frontend.take();
        assert_eq!(part.firsts["calibration.003.mean_us"], 7_000);
        assert_eq!(part.firsts["calibration.003.interval_ms"], 14);
        assert_eq!(part.counts["latency"].pairs(), [(2_000, 1)]);
        assert_eq!(part.counts["uncorrected"].pairs(), [(50, 1)]);
        let mut short = Accumulator::new(paced, 0);
        short.event(0, &Event::Begin);
        short.event(MS, &answer(true, 5 * US, 4 * US));
        assert_eq!(short.finish().counts["latency"].pairs(), [(5, 1)]);
    }
}
