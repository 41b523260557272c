use super::random::{Rng, Samples};

pub struct Run {
    pub threads: u64,
    pub connections: u64,
    pub requests: u64,
    pub runtime_us: f64,
    pub bytes: f64,
    pub bad: u64,
    pub latency: Samples,
    pub per_thread: Samples,
    pub with_percentiles: bool,
}

impl Run {
    pub fn rate(&self) -> f64 {
        self.requests as f64 * 1e6 / self.runtime_us
    }
}

pub fn run(rng: &mut Rng) -> Run {
    let threads = rng.whole_number(1, 16);
    let connections = threads * rng.whole_number(1, 30);
    let base = rng.magnitude(20.0, 200_000.0);
    let times = rng.times(600, base);
    let latency = Samples::new(
        times
            .iter()
            .map(|us| us.round().clamp(1.0, 999_000.0))
            .collect(),
    );
    let busy = rng.between(0.3, 1.0);
    let rate = busy * connections as f64 * 1e6 / latency.mean();
    let shortest = (1.1f64).max(620.0 / rate);
    let runtime_us = (rng.magnitude(1.0, 1_800.0).max(shortest) * 1e6).round();
    let requests = ((rate * runtime_us / 1e6).round() as u64).max(1);
    let mean = requests as f64 * 1e6 / runtime_us / threads as f64 * rng.between(0.98, 1.05);
    let spread = rng.between(0.0, 0.6);
    let ticks = (0..200).map(|_| mean * (1.0 + spread * (rng.unit() - 0.5)));
    let per_thread: Vec<f64> = ticks.collect();
    let bytes = requests as f64 * rng.between(100.0, 2_000.0);
    let bad = if rng.unit() < 0.3 {
        rng.whole_number(0, requests)
    } else {
        0
    };
    Run {
        threads,
        connections,
        requests,
        runtime_us,
        bytes,
        bad,
        latency,
        per_thread: Samples::new(per_thread),
        with_percentiles: rng.unit() < 0.7,
    }
}

fn unit(mut value: f64, scale: f64, base: &str, units: &[&str], decimals: usize) -> String {
    let mut unit = base;
    for next in units {
        if value < scale * 0.85 {
            break;
        }
        value /= scale;
        unit = next;
    }
    format!("{value:.decimals$}{unit}")
}

fn time(us: f64, decimals: usize) -> String {
    if us >= 1e6 {
        unit(us / 1e6, 60.0, "s", &["m"], decimals)
    } else {
        unit(us, 1000.0, "us", &["ms"], decimals)
    }
}

fn metric(value: f64) -> String {
    unit(value, 1000.0, "", &["k", "M", "G"], 2)
}

fn binary(value: f64) -> String {
    unit(value, 1024.0, "", &["K", "M", "G", "T"], 2) + "B"
}

fn head(run: &Run, calibration: bool) -> String {
    let planned = time((run.runtime_us / 1e6 - 0.1).floor().max(1.0) * 1e6, 0);
    let mut text = format!(
        "Running {planned} test @ http://127.0.0.1:8088/\n  {} threads and {} connections\n",
        run.threads, run.connections
    );
    if calibration {
        for _ in 0..run.threads {
            text.push_str(
                "  Thread calibration: mean lat.: 0.789ms, rate sampling interval: 10ms\n",
            );
        }
    }
    text.push_str("  Thread Stats   Avg      Stdev     Max   +/- Stdev\n");
    let row = |name: &str, samples: &Samples, rendered: fn(f64) -> String| {
        format!(
            "    {name:<10}{:>8}{:>10}{:>9}{:>8.2}%\n",
            rendered(samples.mean()),
            rendered(samples.stdev()),
            rendered(samples.max()),
            samples.within() * 100.0
        )
    };
    text.push_str(&row("Latency", &run.latency, |us| time(us, 2)));
    text.push_str(&row("Req/Sec", &run.per_thread, metric));
    text
}

fn foot(run: &Run) -> String {
    let seconds = run.runtime_us / 1e6;
    let mut text = format!(
        "  {} requests in {}, {} read\n",
        run.requests,
        time(run.runtime_us, 2),
        binary(run.bytes)
    );
    if run.bad > 0 {
        text.push_str(&format!("  Non-2xx or 3xx responses: {}\n", run.bad));
    }
    text.push_str(&format!(
        "Requests/sec: {:>9.2}\nTransfer/sec: {:>10}\n",
        run.rate(),
        binary(run.bytes / seconds)
    ));
    text
}

pub fn wrk(run: &Run) -> String {
    let mut text = head(run, false);
    if run.with_percentiles {
        text.push_str("  Latency Distribution\n");
        for percent in [50.0, 75.0, 90.0, 99.0] {
            let value = time(run.latency.percentile(percent), 2);
            text.push_str(&format!("{percent:>7.0}%{value:>10}\n"));
        }
    }
    text + &foot(run)
}

pub fn wrk2(run: &Run) -> String {
    let mut text = head(run, true);
    if run.with_percentiles {
        text.push_str("  Latency Distribution (HdrHistogram - Recorded Latency)\n");
        text.push_str(&spectrum(&run.latency));
        let half = Samples::new(run.latency.0.iter().map(|us| (us / 2.0).ceil()).collect());
        text.push_str(
            "\n  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))\n",
        );
        text.push_str(&spectrum(&half));
    }
    text + &foot(run)
}

fn spectrum(samples: &Samples) -> String {
    let mut text = String::new();
    for percent in [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0] {
        let value = time(hdr(samples, percent / 100.0).0, 2);
        text.push_str(&format!("{percent:>7.3}%{value:>10}\n"));
    }
    text.push_str("\n  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n\n");
    for share in [0.0, 0.25, 0.5, 0.75, 0.875, 0.9375, 0.990625, 1.0] {
        let (us, count) = hdr(samples, share);
        let ms = us / 1000.0;
        text.push_str(&if share < 1.0 {
            format!(
                "{ms:>12.3} {share:>12.6} {count:>12} {:>12.2}\n",
                1.0 / (1.0 - share)
            )
        } else {
            format!("{ms:>12.3} {share:>12.6} {count:>12}          inf\n")
        });
    }
    let mean = samples.mean() / 1000.0;
    let stdev = samples.stdev() / 1000.0;
    let (max, n) = (samples.max() / 1000.0, samples.n());
    text.push_str(&format!(
        "#[Mean    = {mean:>12.3}, StdDeviation   = {stdev:>12.3}]\n\
         #[Max     = {max:>12.3}, Total count    = {n:>12}]\n\
         #[Buckets =           27, SubBuckets     =         2048]\n\
         ----------------------------------------------------------\n"
    ));
    text
}

fn hdr(samples: &Samples, share: f64) -> (f64, usize) {
    let rank = ((share * samples.n() as f64).ceil() as usize).max(1);
    let value = samples.0[rank - 1];
    let cell = if value < 2048.0 {
        1.0
    } else {
        2f64.powf((value / 1024.0).log2().floor())
    };
    let end = (value / cell).floor() * cell + cell - 1.0;
    let count = samples.0.iter().filter(|us| **us <= end).count();
    (end, count)
}
