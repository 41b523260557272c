//! `server.jsonl`: server metrics, with one line per sample of a source. Counters become rates when
//! they are read. A failed sample leaves a gap.

use std::collections::BTreeMap;

use measure::TimeSpan;

use serde::{Deserialize, Serialize};

use crate::{Samples, redact::Redactor};

const MOST_SERIES: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    pub metric: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Unit: `%` (0 to 100), `B`, or empty. For a counter, the unit of what it counts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    pub sort: MetricKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricKind {
    Gauge,
    /// An increasing sum, shown as growth per second.
    Counter,
}

impl Descriptor {
    #[must_use]
    pub fn gauge(metric: &str, unit: &str) -> Descriptor {
        Descriptor {
            metric: metric.to_owned(),
            instance: None,
            unit: unit.to_owned(),
            sort: MetricKind::Gauge,
        }
    }

    #[must_use]
    pub fn counter(metric: &str, unit: &str) -> Descriptor {
        Descriptor {
            sort: MetricKind::Counter,
            ..Descriptor::gauge(metric, unit)
        }
    }

    #[must_use]
    pub fn with_instance(self, instance: &str) -> Descriptor {
        Descriptor {
            instance: Some(instance.to_owned()),
            ..self
        }
    }

    fn key(&self) -> String {
        match &self.instance {
            None => self.metric.clone(),
            Some(instance) => format!("{}{{{instance}}}", self.metric),
        }
    }

    fn redacted(&self, redactor: &Redactor) -> Descriptor {
        Descriptor {
            metric: redactor.text(&self.metric),
            instance: self.instance.as_deref().map(|name| redactor.text(name)),
            ..self.clone()
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SourceReading {
    pub at_ns: u64,
    pub source: String,
    pub readings: Result<Vec<MetricReading>, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MetricReading {
    pub of: Descriptor,
    pub value: f64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ServerLine {
    pub t: u64,
    pub source: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    define: BTreeMap<String, Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerMetrics {
    pub series: Vec<MetricSeries>,
    looked: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MetricSeries {
    pub source: String,
    pub of: Descriptor,
    /// Samples in order of time. There is a gap between samples whose periods do not touch.
    pub samples: Samples,
    /// Time and value of the previous sum of a counter. `None` after a gap.
    before: Option<(u64, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricSample {
    pub from_ns: u64,
    pub at_ns: u64,
    pub value: f64,
}

impl ServerMetrics {
    pub fn declare(&mut self, source: &str, of: Descriptor) {
        if self.place(source, &of.key()).is_none() && self.series.len() < MOST_SERIES {
            self.series.push(MetricSeries {
                source: source.to_owned(),
                of,
                samples: Samples::default(),
                before: None,
            });
        }
    }

    pub fn add_measured(&mut self, source: &str, of: Descriptor, samples: Samples) {
        self.declare(source, of.clone());
        if let Some(place) = self.place(source, &of.key()) {
            self.series[place].samples = samples;
        }
    }

    pub(super) fn add(&mut self, look: &SourceReading, redactor: &Redactor) -> Option<ServerLine> {
        let source = redactor.text(&look.source);
        let mut line = ServerLine {
            t: look.at_ns,
            ..ServerLine::default()
        };
        match &look.readings {
            Ok(readings) => {
                for reading in readings {
                    let of = reading.of.redacted(redactor);
                    let key = of.key();
                    if self.place(&source, &key).is_none() {
                        // Do not write names beyond the limit, because a source may create new
                        // names indefinitely.
                        if self.series.len() + line.define.len() >= MOST_SERIES {
                            continue;
                        }
                        line.define.insert(key.clone(), of);
                    }
                    if reading.value.is_finite() {
                        line.metrics.insert(key, reading.value);
                    }
                }
            }
            Err(reason) => line.gap = Some(redactor.text(reason)),
        }
        line.source = source;
        self.take(&line).then_some(line)
    }

    pub(super) fn take(&mut self, line: &ServerLine) -> bool {
        let before = self.looked.get(&line.source).copied();
        if before.is_some_and(|before| line.t <= before) {
            return false;
        }
        self.looked.insert(line.source.clone(), line.t);
        for of in line.define.values() {
            self.declare(&line.source, of.clone());
        }
        for series in self.series.iter_mut().filter(|s| s.source == line.source) {
            match line.metrics.get(&series.of.key()) {
                Some(value) => series.take(before.unwrap_or(line.t), line.t, *value),
                None => series.before = None,
            }
        }
        true
    }

    pub fn silent_sources(&self) -> impl Iterator<Item = &str> {
        let has_samples = |source: &str| {
            let mut series = self.series.iter().filter(|series| series.source == source);
            series.any(|series| !series.samples.is_empty())
        };
        let sources = self.looked.keys().map(String::as_str);
        sources.filter(move |source| !has_samples(source))
    }

    #[must_use]
    pub fn within(&self, span: TimeSpan) -> ServerMetrics {
        let cut = |series: &MetricSeries| MetricSeries {
            samples: series.within(span.from_ns, span.to_ns).collect(),
            source: series.source.clone(),
            of: series.of.clone(),
            before: None,
        };
        ServerMetrics {
            series: self.series.iter().map(cut).collect(),
            looked: BTreeMap::new(),
        }
    }

    fn place(&self, source: &str, key: &str) -> Option<usize> {
        let mut all = self.series.iter();
        all.position(|series| series.source == source && series.of.key() == key)
    }
}

impl MetricSeries {
    fn take(&mut self, from_ns: u64, at_ns: u64, value: f64) {
        let value = match self.of.sort {
            MetricKind::Gauge => Some(value),
            MetricKind::Counter => self.growth(at_ns, value),
        };
        if let Some(value) = value {
            let sample = MetricSample {
                from_ns,
                at_ns,
                value,
            };
            self.samples.push(sample);
        }
    }

    /// Returns the growth per second. `None` for the first sample, or after a reset.
    fn growth(&mut self, at_ns: u64, sum: f64) -> Option<f64> {
        let (from_ns, before) = self.before.replace((at_ns, sum))?;
        let grown = sum - before;
        (grown >= 0.0).then(|| grown * 1e9 / (at_ns - from_ns) as f64)
    }

    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.source, self.of.metric)
    }

    #[must_use]
    pub fn unit(&self) -> String {
        match self.of.sort {
            MetricKind::Gauge => self.of.unit.clone(),
            MetricKind::Counter => format!("{}/s", self.of.unit),
        }
    }

    pub fn within(&self, from: u64, to: u64) -> impl Iterator<Item = MetricSample> + '_ {
        let to = to.max(from);
        self.samples
            .ending_at(from)
            .take_while(move |sample| sample.from_ns < to)
            .filter_map(move |sample| {
                let cut = MetricSample {
                    from_ns: sample.from_ns.max(from),
                    at_ns: sample.at_ns.min(to),
                    value: sample.value,
                };
                let least = sample.length_ns().min(to - from) / 4;
                (cut.length_ns() >= least).then_some(cut)
            })
    }

    /// Returns the weighted mean, and the part of the period for which it is known. `None` if it is
    /// unknown.
    #[must_use]
    pub fn mean(&self, from: u64, to: u64) -> Option<(f64, u64)> {
        let (mut sum, mut known_ns) = (0.0, 0);
        for sample in self.within(from, to) {
            sum += sample.value * sample.length_ns() as f64;
            known_ns += sample.length_ns();
        }
        (known_ns > 0).then(|| (sum / known_ns as f64, known_ns))
    }
}

impl MetricSample {
    fn length_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.from_ns)
    }
}

#[cfg(test)]
mod tests {
    use plan::units::SECOND;

    use super::*;
    use crate::redact::Salt;

    fn look(second: u64, readings: &[(Descriptor, f64)]) -> SourceReading {
        let reading = |(of, value): &(Descriptor, f64)| MetricReading {
            of: of.clone(),
            value: *value,
        };
        SourceReading {
            at_ns: second * SECOND,
            source: "host".into(),
            readings: Ok(readings.iter().map(reading).collect()),
        }
    }

    fn gap(second: u64) -> SourceReading {
        SourceReading {
            readings: Err("cannot be read".into()),
            ..look(second, &[])
        }
    }

    fn metrics(looks: &[SourceReading]) -> ServerMetrics {
        let nothing = plan::Plan::new(
            String::new(),
            plan::Format::NATIVE,
            "http://x".into(),
            plan::Load::Once,
            Vec::new(),
        );
        let redactor = Redactor::new(&nothing, &[], Salt::new([0; 16]));
        let (mut written, mut read) = (ServerMetrics::default(), ServerMetrics::default());
        for look in looks {
            if let Some(line) = written.add(look, &redactor) {
                let text = serde_json::to_string(&line).unwrap();
                assert!(read.take(&serde_json::from_str(&text).unwrap()));
            }
        }
        assert_eq!(written, read);
        read
    }

    fn values(server: &ServerMetrics) -> Vec<(u64, u64, f64)> {
        let second = |ns| ns / SECOND;
        let samples = server.series[0].samples.iter();
        samples
            .map(|s| (second(s.from_ns), second(s.at_ns), s.value))
            .collect()
    }

    #[test]
    fn level_covers_time_since_previous_sample() {
        let cpu = || Descriptor::gauge("cpu", "%");
        let server = metrics(&[
            look(0, &[]),
            look(1, &[(cpu(), 50.0)]),
            look(3, &[(cpu(), 80.0)]),
            gap(4),
            look(5, &[(cpu(), 10.0)]),
            look(5, &[(cpu(), 99.0)]),
        ]);
        assert_eq!(values(&server), [(0, 1, 50.0), (1, 3, 80.0), (4, 5, 10.0)]);
        let series = &server.series[0];
        assert_eq!(
            (series.name(), series.unit()),
            ("host.cpu".into(), "%".into())
        );
        assert_eq!(series.mean(0, 3 * SECOND), Some((70.0, 3 * SECOND)));
        assert_eq!(series.mean(3 * SECOND, 5 * SECOND), Some((10.0, SECOND)));
        assert_eq!(series.mean(3 * SECOND, 4 * SECOND), None);
        assert_eq!(series.mean(3 * SECOND - 100, 4 * SECOND), None);
        assert_eq!(
            server.within(TimeSpan::new(0, SECOND)).series[0]
                .samples
                .len(),
            1
        );
    }

    #[test]
    fn counter_becomes_rate_except_over_gap_or_restart() {
        let sent = || Descriptor::counter("net-out", "B").with_instance("lo");
        let server = metrics(&[
            look(1, &[(sent(), 1000.0)]),
            look(3, &[(sent(), 5000.0)]),
            gap(4),
            look(5, &[(sent(), 9000.0)]),
            look(6, &[(sent(), 9500.0)]),
            look(7, &[(sent(), 10.0)]),
            look(8, &[(sent(), 30.0), (Descriptor::gauge("x", ""), f64::NAN)]),
        ]);
        assert_eq!(
            values(&server),
            [(1, 3, 2000.0), (5, 6, 500.0), (7, 8, 20.0)]
        );
        assert_eq!(server.series[0].unit(), "B/s");
        let unknown = &server.series[1];
        assert_eq!(
            (unknown.name(), unknown.samples.len()),
            ("host.x".into(), 0)
        );
    }
}
