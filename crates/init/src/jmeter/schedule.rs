//! Loads of thread groups: numbers of users over time, numbers of arrivals, and the schedules of
//! the open model.

use serde_json::{Value, json};

/// A period in which the number of users changes linearly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UserStretch {
    pub seconds: f64,
    pub from: f64,
    pub to: f64,
}

/// Threads that start, run and stop together, like a row of the Ultimate Thread Group. Times are in
/// seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadWave {
    pub threads: f64,
    pub delay: f64,
    pub up: f64,
    pub hold: f64,
    pub down: f64,
}

impl ThreadWave {
    fn stretches(&self) -> [UserStretch; 4] {
        let stretch = |seconds, from, to| UserStretch { seconds, from, to };
        [
            stretch(self.delay, 0.0, 0.0),
            stretch(self.up, 0.0, self.threads),
            stretch(self.hold, self.threads, self.threads),
            stretch(self.down, self.threads, 0.0),
        ]
    }
}

/// Returns the number of users at the given time. At a jump, `is_after` selects the value after it.
fn users_at(stretches: &[UserStretch], time: f64, is_after: bool) -> f64 {
    let mut begin = 0.0;
    let mut value = 0.0;
    for stretch in stretches.iter().filter(|one| one.seconds > 0.0) {
        let end = begin + stretch.seconds;
        let is_within = if is_after {
            time >= begin - 1e-9 && time < end - 1e-9
        } else {
            time > begin + 1e-9 && time <= end + 1e-9
        };
        if is_within {
            let share = (time - begin) / stretch.seconds;
            value = stretch.from + (stretch.to - stretch.from) * share;
        }
        begin = end;
    }
    value
}

/// Adds up the users of several groups.
pub fn sum(groups: &[Vec<UserStretch>]) -> Vec<UserStretch> {
    let mut times = vec![0.0];
    for group in groups {
        let mut time = 0.0;
        for stretch in group {
            time += stretch.seconds;
            times.push(time);
        }
    }
    times.sort_by(f64::total_cmp);
    times.dedup_by(|one, other| (*one - *other).abs() < 1e-9);
    let total = |time: f64, is_after: bool| {
        let users = groups.iter().map(|group| users_at(group, time, is_after));
        users.sum::<f64>().round()
    };
    let pairs = times.windows(2).map(|pair| UserStretch {
        seconds: pair[1] - pair[0],
        from: total(pair[0], true),
        to: total(pair[1], false),
    });
    pairs.collect()
}

pub fn waves(waves: &[ThreadWave]) -> Vec<UserStretch> {
    let each: Vec<Vec<UserStretch>> = waves.iter().map(|wave| wave.stretches().to_vec()).collect();
    sum(&each)
}

/// Converts periods to phases of a plan.
pub fn phases(stretches: &[UserStretch]) -> Vec<Value> {
    let used = stretches.iter().filter(|stretch| stretch.seconds > 0.0);
    let phases = used.map(|stretch| {
        let (from, to) = (stretch.from as u64, stretch.to as u64);
        let duration = seconds(stretch.seconds);
        match (from, to) {
            (0, 0) => json!({"pause": duration}),
            (from, to) if from == to => json!({"users": from, "duration": duration}),
            (from, to) => json!({"users": {"from": from, "to": to}, "duration": duration}),
        }
    });
    phases.collect()
}

/// Formats a time in the notation of plans.
pub fn seconds(seconds: f64) -> String {
    let milliseconds = (seconds * 1000.0).round().max(1.0);
    if milliseconds % 60_000.0 == 0.0 {
        format!("{}m", milliseconds / 60_000.0)
    } else if milliseconds % 1000.0 == 0.0 {
        format!("{}s", milliseconds / 1000.0)
    } else {
        format!("{milliseconds}ms")
    }
}

/// Reads a schedule of the open model: `rate(1/sec) random_arrivals(5 min) rate(10/sec)`. `None` if
/// it contains anything else.
pub fn open_model(schedule: &str) -> Option<Vec<Value>> {
    let mut phases: Vec<Value> = Vec::new();
    let mut rate: Option<f64> = None;
    let mut is_open = false;
    let mut rest = schedule.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('(')?;
        let (argument, after) = after.split_once(')')?;
        match name.trim() {
            "rate" => {
                let new = arrival_rate(argument)?;
                if is_open {
                    set_end(phases.last_mut()?, new);
                }
                rate = Some(new);
                is_open = false;
            }
            "pause" => {
                phases.push(json!({"pause": seconds(time(argument)?)}));
                is_open = false;
            }
            kind @ ("even_arrivals" | "random_arrivals") => {
                let rate = rate?;
                let mut phase = json!({"rate": rate, "duration": seconds(time(argument)?)});
                if kind == "random_arrivals" {
                    phase["arrivals"] = json!("poisson");
                }
                phases.push(phase);
                is_open = true;
            }
            _ => return None,
        }
        rest = after.trim_start();
    }
    let rates = phases.iter_mut().map(finished);
    let phases: Vec<Value> = rates.collect();
    let has_arrivals = phases.iter().any(|phase| phase.get("pause").is_none());
    has_arrivals.then_some(phases)
}

/// Turns the last phase into a linear ramp to the rate `end`.
fn set_end(phase: &mut Value, end: f64) {
    let begin = phase["rate"].as_f64();
    if begin.is_some_and(|begin| begin != end)
        && let Some(map) = phase.as_object_mut()
    {
        map.remove("rate");
        let rest = std::mem::take(map);
        map.insert("from".to_owned(), json!(begin));
        map.insert("to".to_owned(), json!(end));
        map.extend(rest);
    }
}

/// Adds the unit to the rates of a phase. A rate of 0 becomes a pause.
fn finished(phase: &mut Value) -> Value {
    if phase["rate"].as_f64() == Some(0.0) {
        return json!({"pause": phase["duration"]});
    }
    for key in ["rate", "from", "to"] {
        if let Some(rate) = phase.get(key).and_then(Value::as_f64) {
            phase[key] = Value::from(rate_text(rate));
        }
    }
    phase.take()
}

/// Formats a rate per second in a unit that keeps it exact.
pub fn rate_text(per_second: f64) -> String {
    if per_second == 0.0 {
        return "0/s".to_owned();
    }
    let units = [(1.0, "s"), (60.0, "m"), (3600.0, "h"), (86_400.0, "d")];
    let whole = units.iter().find(|(factor, _)| {
        let rate = per_second * factor;
        (rate - rate.round()).abs() < 1e-6 && rate >= 1.0
    });
    match whole {
        Some((factor, unit)) => format!("{}/{unit}", (per_second * factor).round()),
        None => format!("{per_second:.6}/s"),
    }
}

fn arrival_rate(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
    let number: f64 = number.trim().parse().ok()?;
    let rate = number / unit_seconds(unit.trim())?;
    (0.0..=1e9).contains(&rate).then_some(rate)
}

fn time(text: &str) -> Option<f64> {
    let text = text.trim();
    let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let number: f64 = text[..at].trim().parse().ok()?;
    let seconds = number * unit_seconds(text[at..].trim())?;
    (seconds > 0.0 && seconds < 1e7).then_some(seconds)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 0.001,
        "" | "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_of_threads_add_up() {
        let wave = |threads, delay, up, hold, down| ThreadWave {
            threads,
            delay,
            up,
            hold,
            down,
        };
        let sum = waves(&[
            wave(10.0, 0.0, 10.0, 20.0, 0.0),
            wave(5.0, 10.0, 0.0, 10.0, 10.0),
        ]);
        assert_eq!(
            phases(&sum),
            [
                json!({"users": {"from": 0, "to": 10}, "duration": "10s"}),
                json!({"users": 15, "duration": "10s"}),
                json!({"users": {"from": 15, "to": 10}, "duration": "10s"}),
            ]
        );
    }

    #[test]
    fn schedules_of_the_open_model_become_phases() {
        let read = |text| open_model(text).map(Value::from);
        assert_eq!(
            read("rate(0/min) random_arrivals(1 min) rate(120/min) even_arrivals(90s) pause(5 s)"),
            Some(json!([
                {"from": "0/s", "to": "2/s", "duration": "1m", "arrivals": "poisson"},
                {"rate": "2/s", "duration": "90s"},
                {"pause": "5s"},
            ]))
        );
        for text in [
            "",
            "rate(1/s)",
            "even_arrivals(1 s)",
            "rate(1/s) start(2)",
            "rate(x) pause(1)",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
