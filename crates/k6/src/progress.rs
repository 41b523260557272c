//! Terminal output at the start and during a run.
//!
//! Entry points: [`start_block`] once, then [`refresh`] for each refresh, with the state of the run
//! and of its scenarios. [`columns`] formats the columns of a scenario.

use std::fmt::Write as _;

use crate::{
    duration::{DurationNs, fixed_width},
    scenario::{Executor, Plan, Scenario},
    text::width,
};

/// Loadline's own banner: five lines, without empty lines around it.
pub const BANNER: &str = "\
       ___
   ___/  /      Loadline
  /     /       runs k6 scripts
 /  ___/        k6-compatible 2.2.0
/__/";

/// Returns the text to print before the run, including the empty lines around it. `script` is the
/// script as typed, and `outputs` are descriptions.
#[must_use]
pub fn start_block(script: &str, outputs: &[String], plan: &Plan) -> String {
    let outputs = match outputs {
        [] => "-".to_owned(),
        outputs => outputs.join(", "),
    };
    let count = plan.scenarios.len();
    let noun = if count == 1 { "scenario" } else { "scenarios" };
    let mut text = format!(
        "\n{BANNER}\n\n\n     execution: local\n        script: {script}\n        output: {outputs}\n\n     \
         scenarios: (100.00%) {count} {noun}, {} max VUs, {} max duration (incl. graceful stop):\n",
        plan.max_vus(),
        go(plan.max_duration_ns()),
    );
    for scenario in &plan.scenarios {
        let description = scenario.description();
        let _ = writeln!(text, "              * {}: {description}", scenario.name);
    }
    text.push('\n');
    text
}

fn go(ns: u64) -> DurationNs {
    DurationNs(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The state of the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunState {
    /// Whether the run is paused.
    pub is_paused: bool,
    /// Nanoseconds since the start of the load.
    pub elapsed_ns: u64,
    /// Maximum duration in nanoseconds.
    pub max_duration_ns: u64,
    /// Number of virtual users that are running an iteration.
    pub active_vus: u64,
    /// Number of virtual users that exist.
    pub initialized_vus: u64,
    /// Maximum number of virtual users.
    pub max_vus: u64,
    /// Number of complete iterations.
    pub complete: u64,
    /// Number of interrupted iterations.
    pub interrupted: u64,
}

impl RunState {
    fn line(&self) -> String {
        let word = if self.is_paused { "paused" } else { "running" };
        let elapsed = fixed_width(go(self.elapsed_ns), go(self.max_duration_ns));
        let columns = digits(self.max_vus);
        format!(
            "{word} ({elapsed}), {:0columns$}/{:0columns$} VUs, {} complete and {} interrupted \
             iterations",
            self.active_vus, self.initialized_vus, self.complete, self.interrupted
        )
    }
}

/// Returns the line to show while virtual users are being initialised.
#[must_use]
pub fn init_line(initialized: u64, planned: u64) -> String {
    let share = match planned {
        0 => 1.0,
        planned => initialized as f64 / planned as f64,
    };
    format!(
        "Init      [{}] {initialized}/{planned} VUs initialized",
        percentage(share)
    )
}

/// What a scenario is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    /// The scenario is running.
    #[default]
    Running,
    /// The scenario is waiting for its start time.
    Waiting,
    /// The regular end has passed, and iterations are finishing.
    Stopping,
    /// The scenario was interrupted.
    Interrupted,
    /// The scenario has finished.
    Done,
}

impl Status {
    const fn sign(self) -> char {
        match self {
            Status::Running => ' ',
            Status::Waiting => '•',
            Status::Stopping => '↓',
            Status::Interrupted => '✗',
            Status::Done => '✓',
        }
    }
}

/// The state of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScenarioState {
    /// What the scenario is doing.
    pub status: Status,
    /// Nanoseconds since the start of the load.
    pub elapsed_ns: u64,
    /// Number of active virtual users.
    pub active_vus: u64,
    /// Number of virtual users that are running an iteration, for arrival-rate executors.
    pub busy_vus: u64,
    /// Number of started iterations, for executors with a fixed number of iterations.
    pub iterations: u64,
}

/// The line of a scenario before its columns are aligned.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioLine {
    name: String,
    status: Status,
    share: f64,
    columns: Vec<String>,
}

/// Returns the line of a scenario.
#[must_use]
pub fn columns(scenario: &Scenario, state: &ScenarioState) -> ScenarioLine {
    let own_ns = state.elapsed_ns.saturating_sub(scenario.start_time_ns);
    let line = |share, columns| ScenarioLine {
        name: scenario.name.clone(),
        status: state.status,
        share,
        columns,
    };
    if state.status == Status::Waiting {
        let left = scenario.start_time_ns.saturating_sub(state.elapsed_ns);
        let left = fixed_width(go(left), go(scenario.start_time_ns));
        return line(0.0, vec!["waiting".to_owned(), left]);
    }
    let executor = &scenario.executor;
    let total = go(executor.end_ns());
    let is_ramp = matches!(executor, Executor::RampingVus(_));
    let total_text = match is_ramp {
        true => fixed_width(total, total),
        false => total.to_string(),
    };
    let time = match own_ns < executor.end_ns() && state.status != Status::Done {
        true => format!("{}/{total_text}", fixed_width(go(own_ns), total)),
        false => total_text,
    };
    let by_time = executor.progress_at(own_ns);
    let counted = |total: u64| match total {
        0 => 1.0,
        total => (state.iterations as f64 / total as f64).min(1.0),
    };
    let pad = digits(executor.max_vus());
    match executor {
        Executor::ConstantVus { vus, .. } => line(by_time, vec![format!("{vus} VUs"), time]),
        Executor::SharedIterations {
            vus, iterations, ..
        } => {
            let pad = digits(*iterations);
            let done = format!("{:0pad$}/{iterations} shared iters", state.iterations);
            line(counted(*iterations), vec![format!("{vus} VUs"), time, done])
        }
        Executor::PerVuIterations {
            vus, iterations, ..
        } => {
            let all = vus.saturating_mul(*iterations);
            let pad = digits(all);
            let done = format!(
                "{:0pad$}/{all} iters, {iterations} per VU",
                state.iterations
            );
            line(counted(all), vec![format!("{vus} VUs"), time, done])
        }
        Executor::RampingVus(_) => {
            let max = executor.max_vus();
            let vus = format!("{:0pad$}/{max} VUs", state.active_vus);
            line(by_time, vec![vus, time])
        }
        Executor::ConstantArrivalRate(_) | Executor::RampingArrivalRate(_) => {
            let vus = format!("{:0pad$}/{:0pad$} VUs", state.busy_vus, state.active_vus);
            let rate = executor.rate_at(own_ns).unwrap_or(0.0);
            line(by_time, vec![vus, time, format!("{rate:.2} iters/s")])
        }
    }
}

const MAX_NAME: usize = 30;
const MAX_BAR: usize = 38;
/// Width below which a percentage is shown instead of a bar.
const MIN_BAR: usize = 9;

fn short_name(name: &str) -> String {
    match name.chars().count() > MAX_NAME {
        true => name
            .chars()
            .take(MAX_NAME - 3)
            .chain("...".chars())
            .collect(),
        false => name.to_owned(),
    }
}

fn percentage(share: f64) -> String {
    format!(" {:>3.0}% ", (share * 100.0).clamp(0.0, 100.0))
}

fn bar(share: f64, cells: usize) -> String {
    let filled = (share.clamp(0.0, 1.0) * cells as f64) as usize;
    match filled {
        0 => "-".repeat(cells),
        filled if filled >= cells => "=".repeat(cells),
        filled => format!("{}>{}", "=".repeat(filled - 1), "-".repeat(cells - filled)),
    }
}

/// Returns the text of one refresh: an empty line, the line of the run, and the lines of the
/// scenarios. `terminal_columns` is the width of the terminal, or `None` without a terminal.
#[must_use]
pub fn refresh(
    run: &RunState,
    scenarios: &[ScenarioLine],
    terminal_columns: Option<usize>,
) -> Vec<String> {
    let names: Vec<String> = scenarios.iter().map(|own| short_name(&own.name)).collect();
    let longest_name = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let mut widths: Vec<usize> = Vec::new();
    for (index, text) in scenarios
        .iter()
        .flat_map(|own| own.columns.iter().enumerate())
    {
        match widths.get_mut(index) {
            Some(own) => *own = width(text).max(*own),
            None => widths.push(width(text)),
        }
    }
    let mut lines = vec![String::new(), run.line()];
    let right: usize = widths.iter().map(|own| own + 2).sum();
    let free = terminal_columns.map(|columns| columns.saturating_sub(longest_name + 5 + right));
    for (scenario, name) in scenarios.iter().zip(&names) {
        let bar = match free {
            Some(free) if free >= MIN_BAR => bar(scenario.share, free.min(MAX_BAR)),
            _ => percentage(scenario.share),
        };
        let spaces = " ".repeat(longest_name - width(name));
        let sign = scenario.status.sign();
        let mut line = format!("{name}{spaces} {sign} [{bar}]");
        for (text, to) in scenario.columns.iter().zip(&widths) {
            let spaces = " ".repeat(to + 1 - width(text));
            let _ = write!(line, " {text}{spaces}");
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{OptionSource, Options};
    use serde_json::{Value, json};

    const S: u64 = 1_000_000_000;

    fn plan(options: Value) -> Plan {
        let options = Options::from_json(&options, OptionSource::Script).unwrap();
        crate::scenario::plan(&options.options, &|_| true).unwrap()
    }

    #[test]
    fn start_block_lists_scenarios() {
        let plan = plan(json!({"vus": 10, "duration": "30s"}));
        let block = start_block("script.js", &[], &plan);
        assert!(block.starts_with(&format!("\n{BANNER}\n\n")));
        assert_eq!(BANNER.lines().count(), 5);
        let expected = "

     execution: local
        script: script.js
        output: -

     scenarios: (100.00%) 1 scenario, 10 max VUs, 1m0s max duration (incl. graceful stop):
              * default: 10 looping VUs for 30s (gracefulStop: 30s)

";
        assert!(block.ends_with(expected), "{block}");
    }

    #[test]
    fn lines_have_k6s_columns() {
        let plan = plan(json!({"vus": 10, "duration": "30s"}));
        let state = ScenarioState {
            elapsed_ns: 5 * S,
            active_vus: 10,
            ..ScenarioState::default()
        };
        let run = RunState {
            elapsed_ns: 5 * S,
            max_duration_ns: plan.max_duration_ns(),
            active_vus: 10,
            initialized_vus: 10,
            max_vus: 10,
            complete: 120,
            ..RunState::default()
        };
        let scenario = columns(&plan.scenarios[0], &state);
        assert_eq!(
            refresh(&run, std::slice::from_ref(&scenario), None).join("\n"),
            "\nrunning (0m05.0s), 10/10 VUs, 120 complete and 0 interrupted iterations\n\
             default   [  17% ] 10 VUs  05.0s/30s"
        );
        let wide = refresh(&run, std::slice::from_ref(&scenario), Some(100));
        assert_eq!(
            wide[2],
            "default   [=====>--------------------------------] 10 VUs  05.0s/30s"
        );
        let narrow = refresh(&run, &[scenario], Some(34));
        assert_eq!(narrow[2], "default   [  17% ] 10 VUs  05.0s/30s");
    }

    #[test]
    fn each_executor_has_its_columns() {
        let stages = json!([{"duration": "10s", "target": 100}]);
        let scenarios = json!({
            "a": {"executor": "shared-iterations", "vus": 10, "iterations": 100},
            "b": {"executor": "per-vu-iterations", "vus": 10, "iterations": 2},
            "c": {"executor": "ramping-vus", "stages": stages},
            "d": {"executor": "ramping-arrival-rate", "preAllocatedVUs": 5, "maxVUs": 100,
                "stages": stages},
            "e-name-that-is-longer-than-thirty": {"executor": "constant-vus", "duration": "1s",
                "startTime": "1m"},
        });
        let plan = plan(json!({"scenarios": scenarios}));
        let lines: Vec<_> = plan
            .scenarios
            .iter()
            .map(|scenario| {
                let is_waiting = scenario.start_time_ns > 0;
                columns(
                    scenario,
                    &ScenarioState {
                        status: if is_waiting {
                            Status::Waiting
                        } else {
                            Status::Running
                        },
                        elapsed_ns: 5 * S,
                        active_vus: 5,
                        busy_vus: 3,
                        iterations: 5,
                    },
                )
            })
            .collect();
        let lines = refresh(&RunState::default(), &lines, None);
        let expected = [
            "a                                [   5% ] 10 VUs       00m05.0s/10m0s  005/100 shared iters",
            "b                                [  25% ] 10 VUs       00m05.0s/10m0s  05/20 iters, 2 per VU",
            "c                                [  50% ] 005/100 VUs  05.0s/10.0s",
            "d                                [  50% ] 003/005 VUs  05.0s/10s       50.00 iters/s",
            "e-name-that-is-longer-than-... • [   0% ] waiting      0m55.0s",
        ];
        assert_eq!(lines[2..], expected);
    }

    #[test]
    fn names_and_bars_are_limited() {
        assert_eq!(bar(1.0, 10), "==========");
        assert_eq!(bar(0.0, 10), "----------");
        assert_eq!(bar(0.5, 10), "====>-----");
        assert_eq!(init_line(0, 10), "Init      [   0% ] 0/10 VUs initialized");
    }
}
