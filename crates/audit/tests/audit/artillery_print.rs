use std::collections::BTreeMap;

use super::random::{Rng, Samples, decimal};

const LONGEST_MS: f64 = 990.0;

#[derive(Clone, Default)]
pub struct Block {
    pub counters: BTreeMap<String, u64>,
    pub rate: Option<u64>,
    pub response: Vec<f64>,
    pub session: Vec<f64>,
    pub first_ms: u64,
    pub last_ms: u64,
}

pub struct Run {
    pub summary: Block,
    pub periods: Vec<Block>,
    pub total_s: u64,
}

impl Block {
    fn add(&mut self, name: &str, n: u64) {
        *self.counters.entry(name.to_owned()).or_default() += n;
    }

    pub fn get(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }
}

pub fn run(rng: &mut Rng) -> Run {
    let periods = rng.whole_number(1, 12);
    let scenarios = rng.whole_number(1, 3);
    let base = rng.magnitude(0.5, 60.0);
    let rate = rng.magnitude(3.0, 400.0);
    let begin = 1_795_178_010_000 + rng.whole_number(0, 9_000);
    let mut all = Vec::new();
    for i in 0..periods {
        let start = 1_795_178_010_000 + i * 10_000;
        let from = start.max(begin);
        let width = if i + 1 == periods {
            rng.whole_number(1_000, 9_999)
        } else {
            9_999
        };
        let to = (start + width).max(from + 1_000);
        all.push(block(rng, scenarios, base, rate, from, to));
    }
    let mut summary = Block {
        first_ms: all[0].first_ms,
        last_ms: all[all.len() - 1].last_ms,
        ..Block::default()
    };
    for period in &all {
        for (name, n) in &period.counters {
            summary.add(name, *n);
        }
        summary.response.extend(&period.response);
        summary.session.extend(&period.session);
    }
    let rates: u64 = all.iter().filter_map(|period| period.rate).sum();
    summary.rate = Some((rates as f64 / all.len() as f64).round() as u64);
    let length = (summary.last_ms - summary.first_ms) / 1000;
    Run {
        total_s: length + rng.whole_number(0, 2),
        summary,
        periods: all,
    }
}

fn block(rng: &mut Rng, scenarios: u64, base: f64, rate: f64, from: u64, to: u64) -> Block {
    let mut block = Block {
        first_ms: from,
        last_ms: to,
        ..Block::default()
    };
    let seconds = (to - from) as f64 / 1e3;
    let requests = (rate * seconds).round().max(1.0) as u64;
    let refused = if rng.unit() < 0.3 {
        requests / rng.whole_number(5, 50)
    } else {
        0
    };
    let answers = requests - refused;
    let bad = if rng.unit() < 0.4 {
        answers / rng.whole_number(4, 40)
    } else {
        0
    };
    block.add("http.requests", requests);
    for (name, n) in [
        ("http.responses", answers),
        ("http.codes.200", answers - bad),
        ("http.codes.503", bad),
        ("errors.ECONNREFUSED", refused),
        ("http.downloaded_bytes", answers * 12),
    ] {
        if n > 0 {
            block.add(name, n);
        }
    }
    let mut users = 0;
    for i in 0..scenarios {
        let n = rng.whole_number(1, 500);
        block.add(&format!("vusers.created_by_name.scenario {i}"), n);
        users += n;
    }
    let refused_users = refused.min(users);
    block.add("vusers.created", users + (refused - refused_users));
    if refused > refused_users {
        block.add("vusers.created_by_name.others", refused - refused_users);
    }
    block.add("vusers.failed", refused);
    if users > refused_users {
        block.add("vusers.completed", users - refused_users);
        block.session = rng
            .times((users - refused_users) as usize, base * 10.0)
            .into_iter()
            .map(|ms| (ms.min(LONGEST_MS) * 10.0).round() / 10.0)
            .collect();
    }
    block.response = rng
        .times(answers as usize, base)
        .into_iter()
        .map(|ms| ms.min(LONGEST_MS).round())
        .collect();
    block.rate = Some((requests as f64 / seconds.max(1.0)).round() as u64);
    block
}

pub fn text(run: &Run, with_periods: bool) -> String {
    let mut text = String::from(
        "Test run id: t1234\nPhase started: load (index: 0, duration: 60s) 12:00:00(+0000)\n\n",
    );
    let rule = |n| "-".repeat(n);
    if with_periods {
        for period in &run.periods {
            let width = (period.last_ms - period.first_ms) as f64 / 1e3;
            let rule = rule(38);
            text.push_str(&format!(
                "{rule}\nMetrics for period to: 12:00:10(+0000) (width: {width}s)\n{rule}\n\n"
            ));
            text.push_str(&metrics(period));
            text.push_str("\n\n");
        }
    }
    let rule = rule(32);
    text.push_str(&format!(
        "All VUs finished. Total time: {}\n\n{rule}\nSummary report @ 12:01:00(+0000)\n{rule}\n\n",
        total(run.total_s)
    ));
    text.push_str(&metrics(&run.summary));
    text
}

fn total(seconds: u64) -> String {
    let one = |n: u64, unit: &str| format!("{n} {unit}{}", if n == 1 { "" } else { "s" });
    match seconds / 60 {
        0 => one(seconds, "second"),
        minutes => format!(
            "{}, {}",
            one(minutes, "minute"),
            one(seconds % 60, "second")
        ),
    }
}

fn metrics(block: &Block) -> String {
    let line = |name: &str, value: &str| {
        let dots = ".".repeat(79usize.saturating_sub(name.len() + 1));
        format!("{name}: {dots} {value}\n")
    };
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    for (name, n) in &block.counters {
        lines.insert(name.clone(), line(name, &n.to_string()));
    }
    if let Some(rate) = block.rate {
        lines.insert(
            "http.request_rate".into(),
            line("http.request_rate", &format!("{rate}/sec")),
        );
    }
    for (name, samples) in histograms(block) {
        let mut text = format!("{name}:\n");
        for (key, value) in statistics(&samples) {
            if ["min", "max", "mean", "median", "p95", "p99"].contains(&key) {
                text.push_str(&line(&format!("  {key}"), &value));
            }
        }
        lines.insert(name.into(), text);
    }
    lines.into_values().collect()
}

fn histograms(block: &Block) -> Vec<(&'static str, Samples)> {
    [
        ("http.response_time", &block.response),
        ("vusers.session_length", &block.session),
    ]
    .into_iter()
    .filter(|(_, samples)| !samples.is_empty())
    .map(|(name, samples)| (name, Samples::new(samples.clone())))
    .collect()
}

fn statistics(samples: &Samples) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("min", decimal(samples.min())),
        ("max", decimal(samples.max())),
        ("count", samples.n().to_string()),
        ("mean", decimal(samples.mean())),
    ];
    for (name, q) in [
        ("p50", 0.5),
        ("median", 0.5),
        ("p75", 0.75),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
        ("p999", 0.999),
    ] {
        all.push((name, decimal(samples.sketched(q))));
    }
    all
}

pub fn json(run: &Run) -> String {
    let block = |block: &Block, period: serde_json::Value| {
        let summaries: serde_json::Map<String, serde_json::Value> = histograms(block)
            .into_iter()
            .map(|(name, samples)| {
                let figures = statistics(&samples)
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), serde_json::from_str(&value).unwrap()));
                (
                    name.to_owned(),
                    serde_json::Value::Object(figures.collect()),
                )
            })
            .collect();
        serde_json::json!({
            "counters": block.counters,
            "rates": { "http.request_rate": block.rate },
            "firstMetricAt": block.first_ms,
            "lastMetricAt": block.last_ms,
            "period": period,
            "summaries": summaries,
            "histograms": summaries,
        })
    };
    let periods: Vec<_> = run
        .periods
        .iter()
        .map(|period| {
            block(
                period,
                (period.first_ms / 10_000 * 10_000).to_string().into(),
            )
        })
        .collect();
    let whole_number = serde_json::json!({
        "aggregate": block(&run.summary, 1_795_178_020_000_u64.into()),
        "intermediate": periods,
    });
    format!("{whole_number:#}")
}
