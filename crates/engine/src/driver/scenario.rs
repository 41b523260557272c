//! The scenario driver. Starts virtual users by the schedule (open model), or keeps a number of
//! users active (closed model).

use std::{
    cell::{Cell, RefCell},
    pin::Pin,
    rc::Rc,
    sync::Arc,
};

use measure::{
    Fault, NoAnswer,
    accumulator::Event,
    sample::{Intended, RequestOutcome},
};
use plan::{
    ActivePeriod, Load, Shape, UserPhase,
    mutant::{self, Mutant},
    units::{MILLISECOND, SECOND},
};

use super::{
    Driver,
    adjustable::{Steered, UserPool, WorkerArrivals},
    takeover::TakeoverArrivals,
};
use crate::{
    program::{CompiledLoad, Program},
    publications::{Publications, Publishers},
    user::{self, Env, IterationStart, UserIo, hook::Hooks, script::ScriptHost},
};
use worker::{
    Worker,
    client::{Client, HttpClientConfig},
    load_control::{LOOK_NS, LoadControl},
    memory,
};

/// Starts this worker's arrivals of the schedule (number ≡ worker modulo workers), or its share of
/// the users in a closed model.
pub struct ScenarioDriver {
    /// This worker's copy of the program.
    pub program: Program,
    /// Settings of the HTTP client.
    pub settings: HttpClientConfig,
    /// Hooks of the front end for requests and responses.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Publications of the run. `None` if the plan has no listeners.
    pub publications: Option<Arc<Publications>>,
}

impl Driver for ScenarioDriver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let hooks = self.hooks.as_deref();
            let Some(script) = load_script(hooks, &worker, &self.settings) else {
                return;
            };
            let client = Rc::new(Client::new(&worker, self.settings));
            let publishers = self
                .publications
                .map(|publications| Rc::new(Publishers::new(&worker, publications)));
            let env = Env {
                worker,
                client,
                program: self.program,
                hook: hooks.and_then(Hooks::hook).map(RefCell::new),
                script,
                publishers: publishers.clone(),
            };
            run(Rc::new(env)).await;
            if let Some(publishers) = publishers {
                publishers.finish();
            }
        })
    }
}

/// Loads the worker's instance of the script, if the plan has one. Returns `None` if loading
/// failed, which stops the run.
pub(super) fn load_script(
    hooks: Option<&dyn Hooks>,
    worker: &Rc<Worker>,
    settings: &HttpClientConfig,
) -> Option<Option<Rc<dyn ScriptHost>>> {
    let Some(scripts) = hooks.and_then(Hooks::scripts) else {
        return Some(None);
    };
    match scripts.load(worker, settings) {
        Ok(host) => Some(Some(host)),
        Err(reason) => {
            worker.common.stop.fail(&reason);
            None
        }
    }
}

pub(crate) async fn run(env: Rc<Env>) {
    let start = |index| {
        let env = Rc::clone(&env);
        tokio::task::spawn_local(async move { run_load(&env, index).await })
    };
    // The first load runs in this task. Other tasks exist only if there are several workloads.
    let others: Vec<_> = (1..env.program.loads.len()).map(start).collect();
    run_load(&env, 0).await;
    for other in others {
        match other.await {
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            _ => {}
        }
    }
    drain(&env).await;
}

async fn run_load(env: &Rc<Env>, index: usize) {
    let Some(load) = env.program.loads.get(index) else {
        return;
    };
    match &load.load {
        Load::Open { .. } | Load::Once => open(env, index, load).await,
        Load::Closed { users, phases, .. } => match &env.worker.common.load_control {
            Some(load_control) => closed_steered(env, load_control).await,
            None => closed(env, index, *users, phases).await,
        },
        // Workloads are not nested.
        Load::Several { .. } => {}
    }
}

async fn open(env: &Rc<Env>, index: usize, load: &CompiledLoad) {
    let worker = &env.worker;
    let schedule = &load.schedule;
    let share = worker.share();
    let caps = load.caps(worker.common.share);
    let give_up = worker
        .common
        .drain_ns
        .map(|drain| schedule.end_ns().saturating_add(drain));
    let mut drift = Drift::default();
    let mut arrivals = match (&worker.common.load_control, &worker.common.takeovers) {
        (Some(load_control), _) => WorkerArrivals::Steered(Steered::new(load_control, share)),
        (None, Some(takeovers)) => WorkerArrivals::TakeoverArrivals(TakeoverArrivals::new(
            takeovers,
            schedule,
            share,
            worker.position(),
        )),
        (None, None) => WorkerArrivals::Planned(schedule.shard(share.index, share.of)),
    };
    while let Some(planned) = arrivals.next(worker).await {
        let mut arrival = planned;
        if mutant::is(Mutant::NowPlusPeriod) {
            arrival.intended_ns = drift.next(arrival.intended_ns);
        }
        let mut now = worker.clock.now();
        if now < arrival.intended_ns {
            let slept = worker.sleep_until(arrival.intended_ns, &worker.arrivals_end);
            let cut_short = slept.await.is_err();
            now = worker.clock.now();
            // The schedule decides whether an arrival exactly at the end was planned.
            let is_over = cut_short || worker.arrivals_end.is_aborted();
            let end = worker.recorder.borrow().arrivals_end_ns();
            if is_over && end.is_none_or(|end| !schedule.is_due(arrival.intended_ns, end)) {
                break;
            }
        } else if worker.arrivals_end.is_aborted() {
            break;
        }
        if give_up.is_some_and(|end| now > end) || worker.is_without_lease(now) {
            break;
        }
        if !arrivals.is_due(planned) {
            continue;
        }
        drift.came(now);
        worker.sample_levels(now);
        worker.recorder.borrow_mut().advance(now);
        let cap = caps.get(arrival.phase as usize).copied().flatten();
        if !load.try_admit(cap) {
            let mut recorder = worker.recorder.borrow_mut();
            recorder.run.skipped += 1;
            recorder.frontend(now, &Event::UserSkipped);
            continue;
        }
        if !worker.memory.take(memory::USER) {
            // A planned arrival that never started counts as unsent.
            load.leave();
            worker.remark(format!(
                "waiting users used up the memory limit, so some arrivals were not started; {}",
                memory::ADVICE
            ));
            // Yield to waiting users. Otherwise, they would never return their permits.
            tokio::task::coop::consume_budget().await;
            continue;
        }
        worker.recorder.borrow_mut().run.started += 1;
        let start = IterationStart {
            number: arrival.number,
            intended: Intended::scheduled(arrival.intended_ns),
            scenario: load.draw.index(arrival.number),
            seed: load.seed,
            counts_arrival: load.counts_arrivals,
        };
        spawn(Rc::clone(env), index, start);
        // If the schedule is far behind, no earlier call waits, so yield here.
        tokio::task::coop::consume_budget().await;
    }
    pause(env, load).await;
}

async fn pause(env: &Env, load: &CompiledLoad) {
    let ends_in_a_pause = match &load.load {
        Load::Open { phases, .. } => phases
            .last()
            .is_some_and(|phase| matches!(phase.shape, Shape::Pause)),
        _ => false,
    };
    if ends_in_a_pause {
        let end = load.schedule.end_ns();
        let worker = &env.worker;
        let _ = worker.sleep_until(end, &worker.arrivals_end).await;
    }
}

async fn closed(env: &Rc<Env>, index: usize, users: u32, phases: &[UserPhase]) {
    let worker = &env.worker;
    let share = worker.share();
    let end_ns = env.program.loads[index].schedule.end_ns();
    let whole = ActivePeriod {
        from_ns: 0,
        until_ns: end_ns,
    };
    let mut stays: Vec<(ActivePeriod, u32, Rc<Cell<u64>>)> = Vec::new();
    // With one user each, not all workloads may run on the first worker.
    let is_own = |user: &u32| share.has(u64::from(*user) + index as u64);
    for user in (0..users).filter(is_own) {
        let own = if phases.is_empty() {
            vec![whole]
        } else {
            ActivePeriod::all(phases, user, end_ns)
        };
        let rounds: Rc<Cell<u64>> = Rc::default();
        stays.extend(own.into_iter().map(|stay| (stay, user, Rc::clone(&rounds))));
    }
    stays.sort_by_key(|(stay, user, _)| (stay.from_ns, *user));
    for (stay, user, rounds) in stays {
        if worker.clock.now() < stay.from_ns
            && worker
                .sleep_until(stay.from_ns, &worker.arrivals_end)
                .await
                .is_err()
        {
            break;
        }
        let state = UserIo::default();
        let place = worker.enter(&state.limit);
        let env = Rc::clone(env);
        tokio::task::spawn_local(async move {
            let _entered = ActiveUserGuard {
                worker: &env.worker,
                place,
            };
            // Iteration numbers must stay unique across several active periods.
            let next = |now| {
                let number = rounds.get() * u64::from(users) + u64::from(user);
                let is_left = env.program.iterations.is_none_or(|most| number < most);
                (now < stay.until_ns && is_left).then(|| {
                    rounds.set(rounds.get() + 1);
                    number
                })
            };
            run_closed_user(&env, index, &state, next).await;
        });
    }
    // This wait keeps the driver alive until no more iterations start.
    while env.program.iterations.is_some() && worker.users.get() > 0 {
        let next_ns = (worker.clock.now() + worker::deadlines::TICK_NS).min(end_ns);
        let is_over = worker
            .sleep_until(next_ns, &worker.arrivals_end)
            .await
            .is_err();
        if is_over || next_ns == end_ns {
            return;
        }
    }
    if env.program.iterations.is_none() {
        let _ = worker.sleep_until(end_ns, &worker.arrivals_end).await;
    }
}

/// Runs a closed model whose load can be changed.
async fn closed_steered(env: &Rc<Env>, load_control: &LoadControl) {
    let worker = &env.worker;
    let share = worker.share();
    let end_ns = env.program.schedule.end_ns();
    let pool = Rc::new(UserPool::new(load_control));
    let mut known = pool.version();
    let mut coming = pool.coming(share, 0);
    loop {
        let now = worker.clock.now();
        pool.renew();
        if pool.version() != known {
            known = pool.version();
            coming = pool.coming(share, now);
        }
        while let Some((_, user)) = coming.front().filter(|(from_ns, _)| *from_ns <= now) {
            begin(env, &pool, *user);
            coming.pop_front();
        }
        if now >= end_ns {
            break;
        }
        let next_ns = coming.front().map_or(end_ns, |(from_ns, _)| *from_ns);
        let until_ns = next_ns.min(now + LOOK_NS).min(end_ns);
        if worker
            .sleep_until(until_ns, &worker.arrivals_end)
            .await
            .is_err()
        {
            break;
        }
    }
}

/// Starts a user of a changeable load, unless it is already running.
fn begin(env: &Rc<Env>, pool: &Rc<UserPool>, user: u32) {
    let member = pool.member(user);
    if member.goes_on.replace(true) {
        return;
    }
    let state = UserIo::default();
    let place = env.worker.enter(&state.limit);
    let (env, pool) = (Rc::clone(env), Rc::clone(pool));
    tokio::task::spawn_local(async move {
        let _entered = ActiveUserGuard {
            worker: &env.worker,
            place,
        };
        run_closed_user(&env, 0, &state, |now| pool.next(&member, user, now)).await;
        member.goes_on.set(false);
    });
}

/// Maximum time that a stopped run waits for its users if the plan sets no limit, in nanoseconds.
const STOPPED_NS: u64 = 5 * SECOND;

/// Known defect for tests: a schedule that adds a period to the current time and therefore drifts.
#[derive(Debug, Default)]
struct Drift {
    planned_ns: u64,
    came_ns: u64,
}

impl Drift {
    fn next(&mut self, planned_ns: u64) -> u64 {
        let gap = planned_ns.saturating_sub(self.planned_ns);
        self.planned_ns = planned_ns;
        self.came_ns + gap
    }

    fn came(&mut self, now_ns: u64) {
        self.came_ns = now_ns;
    }
}

fn spawn(env: Rc<Env>, index: usize, start: IterationStart) {
    // Register the user first, so that a wait for all users includes this one.
    let state = UserIo::default();
    let place = env.worker.enter(&state.limit);
    tokio::task::spawn_local(async move {
        let worker = &env.worker;
        let entered = ActiveUserGuard { worker, place };
        user::run(&env, &state, start).await;
        drop(entered);
        worker.memory.give(memory::USER);
        env.program.loads[index].leave();
    });
}

/// Registers an active user. Dropping it removes the registration, even on panic.
struct ActiveUserGuard<'a> {
    worker: &'a Worker,
    place: usize,
}

impl Drop for ActiveUserGuard<'_> {
    fn drop(&mut self) {
        self.worker.leave(self.place);
    }
}

/// Runs one user of a closed model for one active period. `next` returns the number of the
/// iteration to start at a time, or `None` to stop.
async fn run_closed_user(
    env: &Env,
    index: usize,
    state: &UserIo,
    next: impl Fn(u64) -> Option<u64>,
) {
    let (worker, load) = (&env.worker, &env.program.loads[index]);
    let backoff = BackOff::default();
    loop {
        let now = worker.clock.now();
        let is_over = worker.arrivals_end.is_aborted() || state.limit.is_aborted();
        if is_over || worker.is_without_lease(now) {
            break;
        }
        let Some(number) = next(now) else {
            break;
        };
        worker.recorder.borrow_mut().run.started += u64::from(load.counts_arrivals);
        let start = IterationStart {
            number,
            intended: Intended::after_previous(now, 0),
            scenario: load.draw.index(number),
            seed: load.seed,
            counts_arrival: load.counts_arrivals,
        };
        let ended = user::run(env, state, start).await;
        if let Some(pause) = backoff.after(ended) {
            let now = worker.clock.now();
            if worker
                .sleep_until(now.saturating_add(pause), &state.limit)
                .await
                .is_err()
            {
                break;
            }
        }
        tokio::task::coop::consume_budget().await;
    }
}

/// Exponential back-off after failed connects, so that a closed loop does not spin on a closed
/// port.
#[derive(Debug, Default)]
struct BackOff {
    refused: Cell<u32>,
}

impl BackOff {
    fn after(&self, ended: RequestOutcome) -> Option<u64> {
        let RequestOutcome::Unanswered(fault) = ended else {
            self.refused.set(0);
            return None;
        };
        let connecting = matches!(
            fault.class(),
            NoAnswer::Refused | NoAnswer::Dns | NoAnswer::Tls | NoAnswer::Generator
        );
        if !connecting || fault == Fault::Unfinished {
            return None;
        }
        let times = self.refused.get();
        self.refused.set(times + 1);
        Some(((10 * MILLISECOND) << times.min(7)).min(SECOND))
    }
}

async fn drain(env: &Env) {
    let worker = &env.worker;
    let planned_end = if worker.arrivals_end.is_aborted() {
        0
    } else {
        env.program.schedule.end_ns()
    };
    let last = worker.clock.now().max(planned_end);
    let mut end = worker
        .common
        .drain_ns
        .map(|drain| last.saturating_add(drain));
    while worker.users.get() > 0 {
        let now = worker.clock.now();
        if end.is_none() && worker.arrivals_end.is_aborted() {
            // A stop ends the run even if the plan lets users finish without a limit.
            end = Some(now.saturating_add(STOPPED_NS));
        }
        if end.is_some_and(|end| now >= end) {
            worker.abort();
        }
        let never = worker::deadlines::Limit::default();
        let _ = worker
            .sleep_until(now + worker::deadlines::TICK_NS, &never)
            .await;
    }
}
