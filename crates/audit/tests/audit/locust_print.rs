use super::random::{Rng, Samples};

pub struct PrintedRow {
    pub method: &'static str,
    pub name: String,
    pub times: Samples,
    pub failures: usize,
    pub bytes: u64,
}

pub struct Run {
    pub rows: Vec<PrintedRow>,
    pub seconds: f64,
    pub users: u64,
    pub errors: Vec<usize>,
}

pub const PERCENTS: [&str; 11] = [
    "50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "99.9%", "99.99%", "100%",
];

pub fn share(percent: &str) -> f64 {
    percent.trim_end_matches('%').parse::<f64>().unwrap() / 100.0
}

impl Run {
    pub fn requests(&self) -> usize {
        self.rows.iter().map(|row| row.times.n()).sum()
    }

    pub fn failures(&self) -> usize {
        self.rows.iter().map(|row| row.failures).sum()
    }

    pub fn all(&self) -> Samples {
        Samples::new(
            self.rows
                .iter()
                .flat_map(|row| row.times.0.clone())
                .collect(),
        )
    }

    pub fn level(&self) -> f64 {
        self.all().0.iter().sum::<f64>() / 1e3 / self.seconds
    }
}

pub fn run(rng: &mut Rng) -> Run {
    let names = [
        "/",
        "/a b",
        "/items/[id]?x=1|2",
        "login, then more",
        "/\"quoted\"",
        "/100%",
    ];
    let count = rng.whole_number(1, names.len() as u64) as usize;
    let seconds = rng.magnitude(5.0, 4_000.0);
    let mut rows = Vec::new();
    for name in &names[..count] {
        let n = rng.whole_number(5, 400) as usize;
        let base = rng.magnitude(0.3, 3_000.0);
        rows.push(PrintedRow {
            method: ["GET", "POST"][rng.whole_number(0, 1) as usize],
            name: (*name).to_owned(),
            times: Samples::new(rng.times(n, base)),
            failures: if rng.unit() < 0.5 {
                rng.whole_number(0, n as u64) as usize
            } else {
                0
            },
            bytes: rng.whole_number(0, 5_000),
        });
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let mut run = Run {
        rows,
        seconds,
        users: 0,
        errors: Vec::new(),
    };
    run.users = (run.level() * rng.between(1.0, 4.0)).ceil() as u64 + 1;
    run.errors = run
        .rows
        .iter()
        .map(|row| row.failures)
        .filter(|n| *n > 0)
        .collect();
    run
}

fn line(times: &Samples, failures: usize, bytes: f64, seconds: f64) -> Vec<f64> {
    let n = times.n() as f64;
    let median = times.bucketed(0.5).clamp(times.min(), times.max());
    vec![
        n,
        failures as f64,
        median,
        times.mean(),
        times.min(),
        times.max(),
        bytes,
        n / seconds,
        failures as f64 / seconds,
    ]
}

fn lines(run: &Run) -> Vec<(&str, &str, Vec<f64>, &Samples, usize)> {
    run.rows
        .iter()
        .map(|row| {
            let figures = line(&row.times, row.failures, row.bytes as f64, run.seconds);
            (
                row.method,
                row.name.as_str(),
                figures,
                &row.times,
                row.failures,
            )
        })
        .collect()
}

fn mean_bytes(run: &Run) -> f64 {
    let bytes: f64 = run
        .rows
        .iter()
        .map(|row| row.bytes as f64 * row.times.n() as f64)
        .sum();
    bytes / run.requests() as f64
}

pub fn csv(run: &Run) -> String {
    let mut text = format!(
        "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response \
         Time,Average Content Size,Requests/s,Failures/s,{}\r\n",
        PERCENTS.join(",")
    );
    let mut row = |method: &str, name: &str, figures: &[f64], times: &Samples| {
        let name = if name.contains([',', '"']) {
            format!("\"{}\"", name.replace('"', "\"\""))
        } else {
            name.to_owned()
        };
        let figures: Vec<String> = figures
            .iter()
            .map(|x| format!("{x:?}").replace("e-", "e-0"))
            .collect();
        let counts = figures.iter().enumerate();
        let figures: Vec<String> = counts
            .map(|(i, x)| {
                if i < 2 {
                    x.trim_end_matches(".0").to_owned()
                } else {
                    x.clone()
                }
            })
            .collect();
        let percents: Vec<String> = PERCENTS
            .iter()
            .map(|p| times.bucketed(share(p)).to_string())
            .collect();
        text.push_str(&format!(
            "{method},{name},{},{}\r\n",
            figures.join(","),
            percents.join(",")
        ));
    };
    for (method, name, figures, times, _) in lines(run) {
        row(method, name, &figures, times);
    }
    let all = run.all();
    row(
        "",
        "Aggregated",
        &line(&all, run.failures(), mean_bytes(run), run.seconds),
        &all,
    );
    text
}

pub fn terminal(run: &Run) -> String {
    let rule = "--------|------------|-------|-------------|-------|-------|-------|-------|--------|-----------\n";
    let mut text = format!(
        "[2026-11-20 12:34:29,921] vm/INFO/locust.runners: Ramping to {} users at a rate of 3.00 per second\n\
         Type     Name         # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s\n{rule}",
        run.users
    );
    let mut row = |method: &str, name: &str, f: &[f64]| {
        let fails = format!("{}({:.2}%)", f[1], 100.0 * f[1] / f[0]);
        text.push_str(&format!(
            "{method:<8} {name:<76} {:>7} {fails:>12} |{:>7} {:>7} {:>7}{:>7} | {:>7.2} {:>11.2}\n",
            f[0],
            f[3].trunc(),
            f[4].trunc(),
            f[5].trunc(),
            f[2].trunc(),
            f[7],
            f[8]
        ));
    };
    for (method, name, figures, ..) in lines(run) {
        row(method, name, &figures);
    }
    let all = run.all();
    row(
        "",
        "Aggregated",
        &line(&all, run.failures(), 0.0, run.seconds),
    );
    text.push_str("\nResponse time percentiles (approximated)\n");
    text.push_str(&format!(
        "Type     Name  {} # reqs\n{rule}",
        PERCENTS.join("    ")
    ));
    let mut row = |method: &str, name: &str, times: &Samples| {
        let percents: Vec<String> = PERCENTS
            .iter()
            .map(|p| format!("{:>6}", times.bucketed(share(p))))
            .collect();
        text.push_str(&format!(
            "{method:<8} {name:<30} {} {:>6}\n",
            percents.join(" "),
            times.n()
        ));
    };
    for (method, name, _, times, _) in lines(run) {
        row(method, name, times);
    }
    row("", "Aggregated", &all);
    if !run.errors.is_empty() {
        text.push_str("\nError report\n# occurrences      Error\n------------------|------\n");
        for (i, n) in run.errors.iter().enumerate() {
            text.push_str(&format!("{n:<18} GET /: ValueError('wrong {i}')\n"));
        }
        text.push_str("------------------|------\n\n");
    }
    text
}

pub fn markdown(run: &Run) -> String {
    let mut text = format!(
        "With {} simulated users.\n\n\
         | Endpoint | # Requests | # Failures | Avg response (ms) | Requests / s |\n| --- | --: | --: | --: | --: |\n",
        run.users
    );
    for row in &run.rows {
        text.push_str(&format!(
            "| {} | {} | {} | {:.0} | {:.1} |\n",
            row.name.replace('|', "/"),
            row.times.n(),
            row.failures,
            row.times.mean(),
            row.times.n() as f64 / run.seconds
        ));
    }
    text
}
