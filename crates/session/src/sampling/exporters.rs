//! Adds runtime-independent names to the metrics of common exporters, for example
//! `event-loop-lag-p99` for `nodejs_eventloop_lag_p99_seconds`. Keeps the original metrics and does
//! not replace existing names.

use std::collections::BTreeMap;

use record::server::{Descriptor, MetricReading};

#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Most,
    Each(&'static str),
}

#[derive(Clone, Copy)]
enum NumberUse {
    Level(&'static str),
    /// Growth of a counter per second, multiplied by this factor, in this unit.
    Growth(f64, &'static str),
}

/// A name, and the metrics from which its value is derived. The first existing metric is used,
/// filtered by label.
struct Rule {
    name: &'static str,
    use_as: NumberUse,
    of: Aggregate,
    from: &'static [(&'static str, Option<(&'static str, &'static str)>)],
}

const HEAP: Option<(&str, &str)> = Some(("area", "heap"));

/// Rules for prom-client (Node.js), Micrometer and client_java (JVM), and for the process metrics
/// of all client libraries.
const RULES: [Rule; 15] = [
    Rule {
        name: "cpu",
        use_as: NumberUse::Growth(1.0, ""),
        of: Aggregate::Sum,
        from: &[("process_cpu_seconds_total", None)],
    },
    Rule {
        name: "cpu",
        use_as: NumberUse::Growth(1e-9, ""),
        of: Aggregate::Sum,
        from: &[("process_cpu_time_ns_total", None)],
    },
    Rule {
        name: "memory",
        use_as: NumberUse::Level("B"),
        of: Aggregate::Sum,
        from: &[("process_resident_memory_bytes", None)],
    },
    Rule {
        name: "heap-used",
        use_as: NumberUse::Level("B"),
        of: Aggregate::Sum,
        from: &[
            ("nodejs_heap_size_used_bytes", None),
            ("jvm_memory_used_bytes", HEAP),
            ("jvm_memory_bytes_used", HEAP),
        ],
    },
    Rule {
        name: "heap-max",
        use_as: NumberUse::Level("B"),
        of: Aggregate::Sum,
        from: &[
            ("jvm_memory_max_bytes", HEAP),
            ("jvm_memory_bytes_max", HEAP),
        ],
    },
    Rule {
        name: "gc-time",
        use_as: NumberUse::Growth(100.0, "%"),
        of: Aggregate::Sum,
        from: &[
            ("nodejs_gc_duration_seconds_sum", None),
            ("jvm_gc_pause_seconds_sum", None),
            ("jvm_gc_collection_seconds_sum", None),
        ],
    },
    Rule {
        name: "event-loop-lag",
        use_as: NumberUse::Level("s"),
        of: Aggregate::Most,
        from: &[("nodejs_eventloop_lag_seconds", None)],
    },
    Rule {
        name: "event-loop-lag-p50",
        use_as: NumberUse::Level("s"),
        of: Aggregate::Most,
        from: &[("nodejs_eventloop_lag_p50_seconds", None)],
    },
    Rule {
        name: "event-loop-lag-p99",
        use_as: NumberUse::Level("s"),
        of: Aggregate::Most,
        from: &[("nodejs_eventloop_lag_p99_seconds", None)],
    },
    Rule {
        name: "threads",
        use_as: NumberUse::Level(""),
        of: Aggregate::Sum,
        from: &[
            ("jvm_threads_live_threads", None),
            ("jvm_threads_current", None),
        ],
    },
    Rule {
        name: "handles",
        use_as: NumberUse::Level(""),
        of: Aggregate::Sum,
        from: &[("nodejs_active_handles_total", None)],
    },
    Rule {
        name: "pool-used",
        use_as: NumberUse::Level(""),
        of: Aggregate::Each("pool"),
        from: &[("hikaricp_connections_active", None)],
    },
    Rule {
        name: "pool-max",
        use_as: NumberUse::Level(""),
        of: Aggregate::Each("pool"),
        from: &[("hikaricp_connections_max", None)],
    },
    Rule {
        name: "pool-waiting",
        use_as: NumberUse::Level(""),
        of: Aggregate::Each("pool"),
        from: &[("hikaricp_connections_pending", None)],
    },
    Rule {
        name: "server-threads-busy",
        use_as: NumberUse::Level(""),
        of: Aggregate::Sum,
        from: &[
            ("tomcat_threads_busy_threads", None),
            ("jetty_threads_busy", None),
        ],
    },
];

#[derive(Default)]
pub(super) struct ExporterNames {
    before: BTreeMap<String, (f64, u64)>,
}

impl ExporterNames {
    /// Returns the readings together with the added names. `now_ns` is the time of any monotonic
    /// clock.
    pub fn given(&mut self, readings: Vec<MetricReading>, now_ns: u64) -> Vec<MetricReading> {
        let mut named: Vec<MetricReading> = Vec::new();
        for rule in &RULES {
            let is_taken = |known: &MetricReading| known.of.metric == rule.name;
            if readings.iter().chain(&named).any(is_taken) {
                continue;
            }
            for (instance, value) in rule.values(&readings) {
                named.push(self.reading(rule, instance, value, now_ns));
            }
        }
        named.extend(readings);
        named
    }

    fn reading(
        &mut self,
        rule: &Rule,
        instance: Option<String>,
        value: f64,
        now_ns: u64,
    ) -> MetricReading {
        let (unit, value) = match rule.use_as {
            NumberUse::Level(unit) => (unit, value),
            NumberUse::Growth(scale, unit) => {
                let before = self.before.insert(rule.name.to_owned(), (value, now_ns));
                let grown = before.map(|(before, at)| {
                    let seconds = now_ns.saturating_sub(at).max(1) as f64 / 1e9;
                    (value - before) * scale / seconds
                });
                (
                    unit,
                    grown.filter(|grown| *grown >= 0.0).unwrap_or(f64::NAN),
                )
            }
        };
        let of = Descriptor::gauge(rule.name, unit);
        let of = match instance {
            Some(instance) => of.with_instance(&instance),
            None => of,
        };
        MetricReading { of, value }
    }
}

impl Rule {
    fn values(&self, readings: &[MetricReading]) -> Vec<(Option<String>, f64)> {
        for (metric, label) in self.from {
            let fits = |reading: &&MetricReading| {
                let wanted =
                    label.is_none_or(|(name, value)| label_of(reading, name) == Some(value));
                reading.of.metric == *metric && wanted && reading.value >= 0.0
            };
            let all: Vec<&MetricReading> = readings.iter().filter(fits).collect();
            let values = all.iter().map(|reading| reading.value);
            return match self.of {
                _ if all.is_empty() => continue,
                Aggregate::Sum => vec![(None, values.sum())],
                Aggregate::Most => vec![(None, values.fold(0.0, f64::max))],
                Aggregate::Each(name) => {
                    let of = |reading: &&MetricReading| {
                        (
                            label_of(reading, name).map(ToOwned::to_owned),
                            reading.value,
                        )
                    };
                    all.iter().map(of).collect()
                }
            };
        }
        Vec::new()
    }
}

/// Returns the value of a label. In `area=heap,id=Eden`, the value of `area` is `heap`.
fn label_of<'a>(reading: &'a MetricReading, name: &str) -> Option<&'a str> {
    let labels = reading.of.instance.as_deref()?.split(',');
    let mut pairs = labels.filter_map(|label| label.split_once('='));
    pairs
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::{super::exposition, *};

    const NODE: &str = r#"# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total CPU
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 47284224
# TYPE nodejs_eventloop_lag_seconds gauge
nodejs_eventloop_lag_seconds 0.25
# TYPE nodejs_eventloop_lag_p50_seconds gauge
nodejs_eventloop_lag_p50_seconds 0.02
# TYPE nodejs_eventloop_lag_p99_seconds gauge
nodejs_eventloop_lag_p99_seconds 0.3
# TYPE nodejs_active_handles gauge
nodejs_active_handles{type="Socket"} 3
# TYPE nodejs_active_handles_total gauge
nodejs_active_handles_total 5
# TYPE nodejs_heap_size_total_bytes gauge
nodejs_heap_size_total_bytes 9236480
# TYPE nodejs_heap_size_used_bytes gauge
nodejs_heap_size_used_bytes 7604216
# TYPE nodejs_gc_duration_seconds histogram
nodejs_gc_duration_seconds_bucket{le="0.001",kind="minor"} 1
nodejs_gc_duration_seconds_sum{kind="minor"} GC
nodejs_gc_duration_seconds_count{kind="minor"} 2
nodejs_gc_duration_seconds_sum{kind="major"} 0.5
"#;
    const MICROMETER: &str = r#"# TYPE jvm_memory_used_bytes gauge
jvm_memory_used_bytes{area="heap",id="G1 Eden Space"} 20.0
jvm_memory_used_bytes{area="heap",id="G1 Old Gen"} 30.0
jvm_memory_used_bytes{area="nonheap",id="Metaspace"} 999.0
# TYPE jvm_memory_max_bytes gauge
jvm_memory_max_bytes{area="heap",id="G1 Eden Space"} -1.0
jvm_memory_max_bytes{area="heap",id="G1 Old Gen"} 100.0
jvm_memory_max_bytes{area="nonheap",id="Metaspace"} -1.0
# TYPE jvm_gc_pause_seconds summary
jvm_gc_pause_seconds_count{action="end of minor GC",cause="G1 Evacuation Pause"} 5
jvm_gc_pause_seconds_sum{action="end of minor GC",cause="G1 Evacuation Pause"} GC
# TYPE jvm_threads_live_threads gauge
jvm_threads_live_threads 24.0
# TYPE process_cpu_usage gauge
process_cpu_usage 0.1
# TYPE process_cpu_time_ns counter
process_cpu_time_ns_total CPU
# TYPE hikaricp_connections_active gauge
hikaricp_connections_active{pool="main"} 10.0
# TYPE hikaricp_connections_max gauge
hikaricp_connections_max{pool="main"} 10.0
# TYPE hikaricp_connections_pending gauge
hikaricp_connections_pending{pool="main"} 3.0
"#;
    const CLIENT_JAVA: &str = r#"# TYPE jvm_memory_bytes_used gauge
jvm_memory_bytes_used{area="heap",} 50.0
jvm_memory_bytes_used{area="nonheap",} 70.0
# TYPE jvm_memory_bytes_max gauge
jvm_memory_bytes_max{area="heap",} 200.0
# TYPE jvm_threads_current gauge
jvm_threads_current 17.0
# TYPE jvm_gc_collection_seconds summary
jvm_gc_collection_seconds_count{gc="PS Scavenge",} 3
jvm_gc_collection_seconds_sum{gc="PS Scavenge",} GC
"#;

    /// Returns the added names after two polls that are a second apart.
    fn readings(text: &str, [cpu, gc]: [[&str; 2]; 2]) -> BTreeMap<String, (f64, String)> {
        let mut names = ExporterNames::default();
        let mut reported = BTreeMap::new();
        for look in 0..2 {
            let text = text
                .replace("CPU", cpu[look])
                .replace("GC\n", &format!("{}\n", gc[look]));
            let readings = exposition::read(&text).unwrap();
            let many = readings.len();
            let given = names.given(readings, look as u64 * 1_000_000_000);
            let plain = given[..given.len() - many].iter();
            reported = plain
                .map(|one| (one.of.metric.clone(), (one.value, one.of.unit.clone())))
                .collect();
        }
        reported
    }

    fn figures(reported: &BTreeMap<String, (f64, String)>) -> Vec<String> {
        reported
            .iter()
            .map(|(name, (value, unit))| format!("{name} {value:.3} {unit}").trim_end().to_owned())
            .collect()
    }

    #[test]
    fn what_prom_client_says() {
        let reported = readings(NODE, [["1.5", "2.25"], ["0.1", "0.15"]]);
        assert_eq!(
            figures(&reported),
            [
                "cpu 0.750",
                "event-loop-lag 0.250 s",
                "event-loop-lag-p50 0.020 s",
                "event-loop-lag-p99 0.300 s",
                "gc-time 5.000 %",
                "handles 5.000",
                "heap-used 7604216.000 B",
                "memory 47284224.000 B",
            ]
        );
    }

    #[test]
    fn what_micrometer_says() {
        let reported = readings(MICROMETER, [["1000000000", "3500000000"], ["1", "1.25"]]);
        assert_eq!(
            figures(&reported),
            [
                "cpu 2.500",
                "gc-time 25.000 %",
                "heap-max 100.000 B",
                "heap-used 50.000 B",
                "pool-max 10.000",
                "pool-used 10.000",
                "pool-waiting 3.000",
                "threads 24.000",
            ]
        );
    }

    #[test]
    fn what_client_java_says() {
        let reported = readings(CLIENT_JAVA, [["", ""], ["1", "1.5"]]);
        assert_eq!(
            figures(&reported),
            [
                "gc-time 50.000 %",
                "heap-max 200.000 B",
                "heap-used 50.000 B",
                "threads 17.000"
            ]
        );
    }

    #[test]
    fn a_look_at_many_metrics_costs_next_to_nothing() {
        let mut text = format!("{NODE}{MICROMETER}").replace("CPU", "1");
        text = text.replace("GC\n", "1\n");
        for number in 0..1000 {
            text += &format!("m{number}_total{{path=\"/a\",code=\"200\"}} {number}\n");
        }
        let mut names = ExporterNames::default();
        let before = worker::clock::thread_cpu_ns();
        for look in 0..20 {
            let given = names.given(exposition::read(&text).unwrap(), look);
            assert!(given.len() > 1000);
        }
        let each = (worker::clock::thread_cpu_ns() - before) / 20;
        assert!(each < 500_000_000, "{each} ns");
    }

    #[test]
    fn existing_name_stays_and_reset_counter_is_unknown() {
        let mut names = ExporterNames::default();
        let look = |names: &mut ExporterNames, text: &str, second: u64| {
            let given = names.given(exposition::read(text).unwrap(), second * 1_000_000_000);
            given
                .into_iter()
                .map(|one| (one.of.metric, one.value))
                .collect::<Vec<_>>()
        };
        let first = look(
            &mut names,
            "process_cpu_seconds_total 9\nmemory 1\nprocess_resident_memory_bytes 2\n",
            1,
        );
        assert_eq!(first.iter().filter(|(name, _)| name == "memory").count(), 1);
        assert_eq!((first[0].0.as_str(), first[0].1.is_nan()), ("cpu", true));
        assert!(
            look(&mut names, "process_cpu_seconds_total 1\n", 2)[0]
                .1
                .is_nan()
        );
        let third = look(&mut names, "process_cpu_seconds_total 2\n", 4);
        assert!((third[0].1 - 0.5).abs() < 1e-9);
    }
}
