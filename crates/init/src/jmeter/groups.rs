//! Thread groups, and the load that they produce.

use serde_json::{Value, json};

use super::{
    schedule::{self, ThreadWave, UserStretch},
    tree::JmxElement,
    variables::JmeterScope,
};

/// Length of a load that JMeter would run until it is stopped.
const UNKNOWN_LENGTH: f64 = 60.0;
/// Maximum number of periods for the steps in which threads start, and for those in which they
/// stop.
const MOST_STRETCHES: usize = 2_000;

#[derive(Debug, Clone, PartialEq)]
pub enum GroupLoad {
    Users(Vec<UserStretch>),
    /// Each thread starts once, and runs its loops.
    Threads {
        count: u64,
        seconds: f64,
    },
    Arrivals(Vec<Value>),
}

#[derive(Debug)]
pub struct ThreadGroup<'e, 'x> {
    pub element: &'e JmxElement<'x>,
    pub load: GroupLoad,
    /// Number of loops of each thread. `None` means that a thread loops as long as the load lasts.
    pub loops: Option<u64>,
    pub comments: Vec<String>,
}

impl GroupLoad {
    /// Returns the weight of the group relative to other groups.
    fn weight(&self) -> u64 {
        match self {
            GroupLoad::Users(stretches) => {
                let most = stretches.iter().map(|one| one.from.max(one.to));
                most.fold(1.0, f64::max) as u64
            }
            GroupLoad::Threads { count, .. } => *count,
            GroupLoad::Arrivals(_) => 1,
        }
    }

    pub fn phases(&self) -> Vec<Value> {
        match self {
            GroupLoad::Users(stretches) => schedule::phases(stretches),
            GroupLoad::Threads { count, seconds } => {
                vec![json!({"count": count, "duration": schedule::seconds(*seconds)})]
            }
            GroupLoad::Arrivals(phases) => phases.clone(),
        }
    }
}

pub fn is_group(kind: &str) -> bool {
    kind.ends_with("ThreadGroup")
}

/// Reads the load of a thread group. `None` if the group has no threads.
pub fn read<'e, 'x>(
    element: &'e JmxElement<'x>,
    file: &str,
    scope: &JmeterScope,
) -> Option<ThreadGroup<'e, 'x>> {
    let mut reader = GroupReader {
        element,
        file,
        scope,
        comments: Vec::new(),
    };
    let own = super::steps::own_comment(element);
    own.iter().for_each(|text| reader.comment(text));
    let mut loops = None;
    let load = match element.kind {
        "UltimateThreadGroup" => reader.ultimate(),
        "ConcurrencyThreadGroup" => reader.concurrency(),
        "SteppingThreadGroup" => reader.stepping(),
        "OpenModelThreadGroup" => {
            loops = Some(1);
            reader.open_model()
        }
        "ThreadGroup" | "SetupThreadGroup" | "PostThreadGroup" => {
            loops = reader.loops();
            reader.plain(loops)?
        }
        _ => {
            let kind = element.kind;
            let text = format!("TO FILL IN: the load of this {kind}, which is not supported");
            reader.comment(&text);
            GroupLoad::Users(vec![UserStretch {
                seconds: UNKNOWN_LENGTH,
                from: 1.0,
                to: 1.0,
            }])
        }
    };
    Some(ThreadGroup {
        element,
        load,
        loops,
        comments: reader.comments,
    })
}

struct GroupReader<'r, 'x> {
    element: &'r JmxElement<'x>,
    file: &'r str,
    scope: &'r JmeterScope,
    comments: Vec<String>,
}

impl GroupReader<'_, '_> {
    fn comment(&mut self, text: &str) {
        self.comments.push(self.element.comment(self.file, text));
    }

    /// Returns a non-negative number, or 0 if it is missing.
    fn number(&mut self, name: &str) -> f64 {
        let written = self.element.property(name);
        let text = self.scope.expand(&written);
        if text.trim().is_empty() {
            return 0.0;
        }
        match text.trim().parse::<f64>() {
            Ok(number) if (0.0..=1e7).contains(&number) => {
                self.fixed(name, &written, text.trim());
                number
            }
            _ => {
                let text = format!("TO FILL IN: `{name}` is `{written}`, which has no known value");
                self.comment(&text);
                1.0
            }
        }
    }

    /// Adds a note that a load uses a fixed number where JMeter reads a variable or a property.
    fn fixed(&mut self, name: &str, written: &str, text: &str) {
        if written.contains("${") {
            let written = written.trim();
            self.comment(&format!(
                "JMeter reads `{name}` from `{written}`, which is {text} here: `load` cannot use variables, so edit the number there"
            ));
        }
    }

    fn loops(&mut self) -> Option<u64> {
        let written = self.element.property("LoopController.loops");
        let text = self.scope.expand(&written);
        match text.trim().parse::<i64>() {
            Ok(loops) => {
                self.fixed("LoopController.loops", &written, text.trim());
                u64::try_from(loops).ok()
            }
            Err(_) if self.element.flag("LoopController.continue_forever") => None,
            Err(_) => {
                if !written.trim().is_empty() {
                    let text =
                        format!("TO FILL IN: the loop count is `{written}`; this plan uses 1");
                    self.comment(&text);
                }
                Some(1)
            }
        }
    }

    fn plain(&mut self, loops: Option<u64>) -> Option<GroupLoad> {
        let threads = self.number("ThreadGroup.num_threads").floor();
        if threads < 1.0 || loops == Some(0) {
            return None;
        }
        let ramp = self.number("ThreadGroup.ramp_time");
        let is_scheduled = self.element.flag("ThreadGroup.scheduler");
        let duration = self.number("ThreadGroup.duration");
        let delay = self.number("ThreadGroup.delay");
        let duration = Some(duration).filter(|duration| is_scheduled && *duration > 0.0);
        let delay = if is_scheduled { delay } else { 0.0 };
        if loops.is_some() {
            if let Some(duration) = duration {
                let duration = schedule::seconds(duration);
                self.comment(&format!(
                    "JMeter stops threads that still loop after {duration}; this plan does not"
                ));
            }
            if delay > 0.0 {
                let delay = schedule::seconds(delay);
                self.comment(&format!("JMeter waits {delay} before the first thread"));
            }
            let seconds = if ramp > 0.0 {
                ramp
            } else {
                if threads > 1.0 {
                    self.comment(
                        "JMeter starts all threads at the same time; this plan starts \
                        them within 1s",
                    );
                }
                1.0
            };
            return Some(GroupLoad::Threads {
                count: threads as u64,
                seconds,
            });
        }
        let duration = duration.unwrap_or_else(|| {
            let text = "TO FILL IN: the duration. JMeter runs this group until it is stopped";
            self.comment(text);
            ramp + UNKNOWN_LENGTH
        });
        let up = ramp.min(duration);
        let reached = if ramp > duration {
            threads * duration / ramp
        } else {
            threads
        };
        let stretch = |seconds, from, to| UserStretch { seconds, from, to };
        Some(GroupLoad::Users(vec![
            stretch(delay, 0.0, 0.0),
            stretch(up, 0.0, reached.floor().max(1.0)),
            stretch(duration - up, threads, threads),
        ]))
    }

    fn ultimate(&mut self) -> GroupLoad {
        let mut waves = Vec::new();
        for row in self.element.list("ultimatethreadgroupdata") {
            let cells = row.texts();
            let numbers = cells
                .iter()
                .map(|cell| self.scope.expand(cell).trim().parse::<f64>());
            let numbers: Result<Vec<f64>, _> = numbers.collect();
            match numbers.as_deref() {
                Ok([threads, delay, up, hold, down])
                    if [threads, delay, up, hold, down]
                        .iter()
                        .all(|number| (0.0..=1e7).contains(*number)) =>
                {
                    waves.push(ThreadWave {
                        threads: *threads,
                        delay: *delay,
                        up: *up,
                        hold: *hold,
                        down: *down,
                    });
                }
                _ => {
                    let row = cells.join(", ");
                    self.comment(&format!("TO FILL IN: the row of threads `{row}`"));
                }
            }
        }
        self.users(schedule::waves(&waves))
    }

    fn concurrency(&mut self) -> GroupLoad {
        let unit = self.element.property("Unit");
        let factor = if unit.trim().starts_with(['M', 'm']) {
            60.0
        } else {
            1.0
        };
        let target = self.number("TargetLevel").floor();
        let (up, hold) = (self.number("RampUp") * factor, self.number("Hold") * factor);
        let steps = self.number("Steps").floor().min(1000.0);
        let mut stretches = Vec::new();
        if steps >= 1.0 && up > 0.0 {
            for step in 1..=steps as u32 {
                let users = (target * f64::from(step) / steps).round();
                stretches.push(UserStretch {
                    seconds: up / steps,
                    from: users,
                    to: users,
                });
            }
        } else {
            stretches.push(UserStretch {
                seconds: up,
                from: 0.0,
                to: target,
            });
        }
        stretches.push(UserStretch {
            seconds: hold,
            from: target,
            to: target,
        });
        self.users(stretches)
    }

    /// Reads a Stepping Thread Group: threads start in steps, stay, and stop in steps.
    fn stepping(&mut self) -> GroupLoad {
        let threads = self.number("ThreadGroup.num_threads").floor();
        let step = |count: f64| {
            if count >= 1.0 {
                count
            } else {
                threads.max(1.0)
            }
        };
        let start = step(self.number("Start users count").floor());
        let burst = self.number("Start users count burst").floor();
        let stop = step(self.number("Stop users count").floor());
        let (ramp, period) = (self.number("rampUp"), self.number("Start users period"));
        let stretch = |seconds, from, to| UserStretch { seconds, from, to };
        let mut stretches = vec![stretch(self.number("Threads initial delay"), 0.0, 0.0)];
        let mut users = 0.0;
        while users < threads && stretches.len() < MOST_STRETCHES {
            let more = if users == 0.0 && burst >= 1.0 {
                burst
            } else {
                start
            };
            let next = f64::min(users + more, threads);
            stretches.push(stretch(ramp, users, next));
            if next < threads {
                stretches.push(stretch(period, next, next));
            }
            users = next;
        }
        stretches.push(stretch(self.number("flighttime"), users, users));
        let period = self.number("Stop users period");
        users -= stop;
        while users > 0.0 && stretches.len() < 2 * MOST_STRETCHES {
            stretches.push(stretch(period, users, users));
            users -= stop;
        }
        self.users(stretches)
    }

    fn users(&mut self, stretches: Vec<UserStretch>) -> GroupLoad {
        let has_users = stretches
            .iter()
            .any(|one| one.seconds > 0.0 && one.from.max(one.to) >= 1.0);
        if has_users {
            return GroupLoad::Users(stretches);
        }
        self.comment("TO FILL IN: the load, which is empty in this group");
        GroupLoad::Users(vec![UserStretch {
            seconds: UNKNOWN_LENGTH,
            from: 1.0,
            to: 1.0,
        }])
    }

    fn open_model(&mut self) -> GroupLoad {
        let schedule = self.element.property("OpenModelThreadGroup.schedule");
        let schedule = self.scope.expand(&schedule);
        if let Some(phases) = schedule::open_model(&schedule) {
            return GroupLoad::Arrivals(phases);
        }
        let schedule = schedule.replace(char::is_control, " ");
        self.comment(&format!("TO FILL IN: the schedule `{}`", schedule.trim()));
        GroupLoad::Arrivals(vec![json!({"rate": "1/s", "duration": "30s"})])
    }
}

/// The load of all groups together, with the weight of each group as a scenario.
pub struct CommonLoad {
    pub phases: Vec<Value>,
    pub weights: Vec<u32>,
    pub comments: Vec<String>,
}

/// Combines the loads of groups that run concurrently.
pub fn combine(groups: &[ThreadGroup<'_, '_>]) -> CommonLoad {
    let weights: Vec<u64> = groups.iter().map(|group| group.load.weight()).collect();
    let divisor = weights.iter().copied().fold(0, greatest_divisor).max(1);
    let weights = weights
        .iter()
        .map(|weight| u32::try_from(weight / divisor).unwrap_or(u32::MAX));
    let mut common = CommonLoad {
        phases: Vec::new(),
        weights: weights.collect(),
        comments: groups
            .iter()
            .flat_map(|group| group.comments.clone())
            .collect(),
    };
    let users: Option<Vec<Vec<UserStretch>>> = groups
        .iter()
        .map(|group| match &group.load {
            GroupLoad::Users(stretches) => Some(stretches.clone()),
            _ => None,
        })
        .collect();
    let starts = groups
        .iter()
        .try_fold((0, 0.0_f64), |(all, longest), group| match group.load {
            GroupLoad::Threads { count, seconds } => Some((all + count, longest.max(seconds))),
            _ => None,
        });
    let note = "The thread groups share one load. Each iteration draws its scenario by weight.";
    match (groups, users, starts) {
        ([group], _, _) => common.phases = group.load.phases(),
        (_, Some(users), _) => {
            common.comments.push(note.to_owned());
            common.phases = schedule::phases(&schedule::sum(&users));
        }
        (_, None, Some((count, seconds))) => {
            common.comments.push(note.to_owned());
            common.phases = GroupLoad::Threads { count, seconds }.phases();
        }
        _ => {
            common.phases = groups
                .first()
                .map(|group| group.load.phases())
                .unwrap_or_default();
            common.comments.push(
                "TO FILL IN: the load. A plan cannot combine these thread groups; this is the first one's load.".to_owned(),
            );
            common.comments.extend(groups.iter().skip(1).map(|group| {
                let phases = group
                    .load
                    .phases()
                    .iter()
                    .map(crate::yaml::flow)
                    .collect::<Vec<_>>();
                format!("- {}: {}", group.element.title(), phases.join(", "))
            }));
        }
    }
    common
}

fn greatest_divisor(one: u64, other: u64) -> u64 {
    if other == 0 {
        one
    } else {
        greatest_divisor(other, one % other)
    }
}
