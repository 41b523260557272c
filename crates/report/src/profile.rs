//! The load profile as text or Markdown. `plan::profile` computes the figures, and this module
//! rounds them.

mod listeners;
mod workloads;

use plan::profile::{Assumed, Bandwidth, Profile};
use record::units::{self, count};

use crate::{
    console::{Columns, wrap},
    markdown::table::MarkdownTable,
};

#[derive(Debug, Clone, Copy, Default)]
pub struct ShownColumn {
    pub markdown: bool,
    pub exact: bool,
    pub columns: Option<Columns>,
}

pub type Machine<'a> = (&'a str, Option<bool>, &'a str);

const WIDTH: usize = 72;
const HEIGHT: usize = 8;
const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const MOST_PHASES: usize = 24;

#[must_use]
pub fn text(
    profile: &Profile,
    curve: Option<&[f64]>,
    machine: &[Machine<'_>],
    rendered: ShownColumn,
) -> String {
    let teller = Teller {
        profile,
        rendered,
        workload: None,
    };
    let mut blocks = vec![teller.head()];
    if profile.workloads.is_empty() {
        blocks.push(teller.scenarios());
        blocks.extend(teller.endpoints());
        blocks.push(teller.load());
    } else {
        blocks.extend(workloads::blocks(&teller));
    }
    blocks.extend(
        curve
            .filter(|_| profile.arrivals.is_some())
            .map(|curve| teller.chart(curve)),
    );
    blocks.extend(teller.phases());
    blocks.extend(teller.clients());
    blocks.extend(teller.listeners());
    blocks.push(teller.needs());
    blocks.push(teller.machine(machine));
    let text = blocks.join("\n\n") + "\n";
    match rendered.columns {
        Some(columns) => narrowed(&text, columns),
        None => text,
    }
}

fn narrowed(text: &str, columns: Columns) -> String {
    let narrow = |line: &str| match line.chars().next() {
        Some('-') => wrap(line, 2, columns),
        Some(first) if first.is_alphabetic() && !line.contains('│') => wrap(line, 0, columns),
        _ => line.to_owned(),
    };
    text.split('\n').map(narrow).collect::<Vec<_>>().join("\n")
}

#[must_use]
pub fn stretches() -> usize {
    WIDTH
}

struct Teller<'a> {
    profile: &'a Profile,
    rendered: ShownColumn,
    /// Name of the workload. `None` if the profile covers the whole plan.
    workload: Option<&'a str>,
}

impl Teller<'_> {
    fn head(&self) -> String {
        let title = format!("Load profile of {}", self.profile.name);
        let title = if self.rendered.markdown {
            format!("# {title}")
        } else {
            title
        };
        let what = match self.profile.full_per_second {
            Some(full) => format!(
                "1x is {} arrivals per second, the sum of all scenario volumes. Nothing was sent.",
                exactly(full)
            ),
            None => "Nothing was sent.".to_owned(),
        };
        format!("{title}\n\n{what}")
    }

    fn heading(&self, text: &str) -> String {
        let text = match self.workload {
            Some(name) => &format!("{text} of {name}"),
            None => text,
        };
        if self.rendered.markdown {
            format!("## {text}")
        } else {
            text.to_owned()
        }
    }

    fn table(&self, heads: &[&str]) -> MarkdownTable {
        if self.rendered.markdown {
            MarkdownTable::new(heads)
        } else {
            MarkdownTable::as_text(heads)
        }
    }

    fn rate(&self, per_second: f64) -> String {
        if self.rendered.exact {
            exactly(per_second)
        } else {
            rounded(per_second)
        }
    }

    fn scenarios(&self) -> String {
        let profile = self.profile;
        let has_volumes = profile.full_per_second.is_some();
        let tps: Vec<String> = profile
            .columns
            .iter()
            .map(|column| format!("{} TPS", column.name))
            .collect();
        let mut heads = vec!["Scenario"];
        if has_volumes {
            heads.extend(["<Volume", "1x exactly"]);
        } else {
            heads.push("Share");
        }
        heads.extend(tps.iter().map(String::as_str));
        heads.push("Requests each");
        let mut table = self.table(&heads);
        for row in &profile.scenarios {
            let mut cells = vec![row.name.clone()];
            if has_volumes {
                cells.push(row.volume.clone().unwrap_or_default());
                cells.push(row.volume_per_second.map_or_else(|| "–".into(), exactly));
            } else {
                cells.push(units::share(row.share));
            }
            cells.extend(row.per_second.iter().map(|rate| self.rate(*rate)));
            cells.push(units::decimal(row.requests));
            table.row(cells);
        }
        if profile.scenarios.len() > 1 {
            let mut cells = vec!["Total".to_owned()];
            if has_volumes {
                cells.push(String::new());
                cells.push(profile.full_per_second.map_or_else(String::new, exactly));
            } else {
                cells.push(units::share(
                    profile.scenarios.iter().map(|row| row.share).sum(),
                ));
            }
            cells.extend(
                profile
                    .columns
                    .iter()
                    .map(|column| self.rate(column.per_second)),
            );
            cells.push(String::new());
            table.row(cells);
        }
        format!("{}\n\n{table}", self.heading("Scenarios"))
            .trim_end()
            .to_owned()
    }

    fn endpoints(&self) -> Option<String> {
        let profile = self.profile;
        if profile.columns.is_empty() || profile.endpoints.is_empty() {
            return None;
        }
        let rps: Vec<String> = profile
            .columns
            .iter()
            .map(|column| format!("{} RPS", column.name))
            .collect();
        let heads: Vec<&str> = ["Endpoint"]
            .into_iter()
            .chain(rps.iter().map(String::as_str))
            .collect();
        let mut table = self.table(&heads);
        for row in &profile.endpoints {
            let rates = row.per_second.iter().map(|rate| self.rate(*rate));
            table.row([row.name.clone()].into_iter().chain(rates));
        }
        let totals = profile
            .requests_per_second
            .iter()
            .map(|rate| self.rate(*rate));
        table.row(["Total".to_owned()].into_iter().chain(totals));
        let mut notes =
            vec!["This assumes that no request fails: a failed request ends its iteration."];
        if !self.rendered.exact {
            notes.push("Figures and totals are rounded separately; --exact shows more digits.");
        }
        if !profile.is_known {
            notes.push("Some loops, conditions or pauses depend on responses; steps whose count is unknown before the run are counted once.");
        }
        let left_out = match profile.columns_omitted {
            0 => String::new(),
            n => format!(" {n} more rates of the load are not shown."),
        };
        Some(format!(
            "{}\n\n{table}\n{}{left_out}",
            self.heading("Endpoints"),
            notes.join(" ")
        ))
    }

    fn load(&self) -> String {
        let profile = self.profile;
        let text = match (profile.users, profile.arrivals) {
            (Some(users), _) => format!(
                "{} users{} for {}. Each user starts again when its iteration ends. The number of iterations depends on the responses.",
                count(u64::from(users)),
                if profile.users_come_and_go {
                    " at most (the number changes)"
                } else {
                    ""
                },
                units::duration(profile.end_ns)
            ),
            (None, Some(arrivals)) => {
                let about = if profile.requests_are_exact {
                    ""
                } else {
                    "about "
                };
                let requests = profile.requests.unwrap_or_default().round() as u64;
                format!(
                    "{} arrivals in {}, {about}{} requests.",
                    count(arrivals),
                    units::duration(profile.end_ns),
                    count(requests)
                )
            }
            (None, None) => String::new(),
        };
        format!("{}\n\n{text}", self.heading("Load over time"))
    }

    fn chart(&self, curve: &[f64]) -> String {
        let most = curve.iter().copied().fold(0.0, f64::max);
        let scale = units::rate(most);
        let margin = scale.chars().count().max(1);
        let mut lines = Vec::new();
        for row in (0..HEIGHT).rev() {
            let axis = match row {
                row if row + 1 == HEIGHT => scale.as_str(),
                0 => "0",
                _ => "",
            };
            let cells: String = curve
                .iter()
                .map(|rate| {
                    let eighths = if most > 0.0 {
                        rate / most * (HEIGHT * 8) as f64
                    } else {
                        0.0
                    };
                    let eighths = if *rate > 0.0 { eighths.max(1.0) } else { 0.0 };
                    let here = (eighths.round() as usize).saturating_sub(row * 8).min(8);
                    EIGHTHS[here]
                })
                .collect();
            lines.push(format!("{axis:>margin$} │{}", cells.trim_end()));
        }
        let end = units::duration(self.profile.end_ns);
        let gap = WIDTH.saturating_sub(3 + end.chars().count());
        lines.push(format!("{:margin$} └{}", "", "─".repeat(WIDTH)));
        lines.push(format!("{:margin$}  0 s{:gap$}{end}", "", ""));
        let what = "arrivals per second";
        let chart = format!("{what}\n{}", lines.join("\n"));
        if self.rendered.markdown {
            format!("```text\n{chart}\n```")
        } else {
            chart
        }
    }

    fn phases(&self) -> Option<String> {
        let phases = &self.profile.phases;
        if phases.is_empty() {
            return None;
        }
        let mut table = self.table(&["Phase", "From", "To", "Arrivals/s", "Arrivals", "Requests"]);
        for phase in phases.iter().take(MOST_PHASES) {
            let (from, to) = (phase.from_per_second, phase.to_per_second);
            let rate = if from == to {
                units::rate(from)
            } else {
                format!("{} → {}", units::rate(from), units::rate(to))
            };
            table.row([
                phase.name.clone(),
                units::duration(phase.start_ns),
                units::duration(phase.end_ns),
                rate,
                count(phase.arrivals),
                count(phase.requests.round() as u64),
            ]);
        }
        let more = match phases.len().saturating_sub(MOST_PHASES) {
            0 => String::new(),
            n => format!("\n… and {n} more phases"),
        };
        Some(format!("{table}{more}").trim_end().to_owned())
    }

    fn clients(&self) -> Option<String> {
        let rows = &self.profile.clients;
        if rows.is_empty() {
            return None;
        }
        let mut table = self.table(&["MQTT", "Clients", "<Topic", "QoS", "Messages/s", "Messages"]);
        for row in rows {
            table.row([
                row.does.to_owned(),
                count(u64::from(row.clients)),
                row.topic.clone(),
                row.qos.to_string(),
                row.per_second
                    .map_or_else(|| "–".into(), |rate| self.rate(rate)),
                row.messages.map_or_else(|| "–".into(), count),
            ]);
        }
        let heading = self.heading("In addition to the scenarios");
        Some(format!("{heading}\n\n{table}").trim_end().to_owned())
    }

    fn needs(&self) -> String {
        let profile = self.profile;
        let mut lines = vec![self.in_flight(), self.bandwidth()];
        for table in &profile.tables {
            let rows = count(table.rows);
            let text = match table.needed {
                _ if table.at_random => format!("{rows} rows, chosen at random: rows may repeat"),
                None => format!("{rows} rows, shared by all users"),
                Some(needed) if needed <= table.rows => format!(
                    "{rows} rows, {} needed: each is used at most once",
                    count(needed)
                ),
                Some(needed) => format!(
                    "{rows} rows, {} needed: each is used about {} times",
                    count(needed),
                    units::decimal(
                        (needed as f64 / table.rows.max(1) as f64 * 10.0).round() / 10.0
                    )
                ),
            };
            lines.push(format!("{}: {text}", table.source));
        }
        format!("{}\n\n{}", self.heading("Needs"), bullets(&lines))
    }

    fn in_flight(&self) -> String {
        let profile = self.profile;
        let Assumed { latency_ns, .. } = profile.assumed;
        if profile.users.is_some() {
            return "in flight: one per user".to_owned();
        }
        let Some(latency) = latency_ns else {
            return "in flight: unknown; set the duration of a request with `--latency 300ms` or `assume: { latency: 300ms }`".to_owned();
        };
        let by_column =
            profile
                .columns
                .iter()
                .zip(&profile.in_flight)
                .map(|(column, in_flight)| {
                    format!(
                        "{} and {} at {}",
                        several(&self.rate(in_flight.users), "user"),
                        several(
                            &self.rate(in_flight.requests.unwrap_or_default()),
                            "request"
                        ),
                        column.name
                    )
                });
        let by_column: Vec<String> = by_column.collect();
        format!(
            "in flight if a request takes {}: {} (rate × time)",
            units::duration(latency),
            by_column.join(", ")
        )
    }

    fn bandwidth(&self) -> String {
        let profile = self.profile;
        let peak = |of: fn(&Bandwidth) -> Option<f64>| {
            let figures: Option<Vec<f64>> = profile.bandwidth.iter().map(of).collect();
            let figures = figures.filter(|figures| !figures.is_empty())?;
            Some(format!(
                "{}/s",
                units::bytes(Profile::peak(figures).round() as u64)
            ))
        };
        if profile.has_users() {
            return "bandwidth: depends on how fast responses arrive".to_owned();
        }
        let sent = peak(|bandwidth| bandwidth.sent)
            .unwrap_or_else(|| "unknown: requests contain values from responses".to_owned());
        let received = peak(|bandwidth| bandwidth.received).unwrap_or_else(|| {
            "unknown; set the size of a response with `--answer 2kB` or `assume: { answer: 2kB }`"
                .to_owned()
        });
        format!("bandwidth at the highest rate: {sent} to the service, {received} from the service")
    }

    fn machine(&self, machine: &[Machine<'_>]) -> String {
        let line = |(about, enough, text): &Machine<'_>| {
            let word = match enough {
                Some(true) => "enough",
                Some(false) => "NOT ENOUGH",
                None => "unknown",
            };
            format!("{about}: {word}: {text}")
        };
        let lines: Vec<String> = machine.iter().map(line).collect();
        format!(
            "{}\n\n{}",
            self.heading("Can this machine send this load?"),
            bullets(&lines)
        )
    }
}

pub(crate) fn rounded(per_second: f64) -> String {
    let whole = per_second.round();
    if per_second == 0.0 {
        exactly(per_second)
    } else if (whole - per_second).abs() <= 0.05 * per_second {
        count(whole as u64)
    } else {
        let places = if per_second < 1.0 {
            (1.0 - per_second.log10().floor()) as usize
        } else {
            1
        };
        format!("{per_second:.places$}")
    }
}

fn several(number: &str, what: &str) -> String {
    let many = if number == "1" || number == "1.00" {
        ""
    } else {
        "s"
    };
    format!("{number} {what}{many}")
}

fn exactly(per_second: f64) -> String {
    if (0.1..999.5).contains(&per_second) {
        format!("{per_second:.2}")
    } else {
        units::rate(per_second)
    }
}

fn bullets(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    lines.join("\n")
}
