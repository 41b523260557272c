//! Starts messages by the schedule, in turn among the publishers of all workers. Background groups
//! have their own pace.

use std::rc::Rc;

use measure::sample::Intended;
use plan::Schedule;

use crate::{counts::add, shared::DriverState, shared::client::Client};

const AT_ONCE: usize = 1024;

pub(crate) struct PublisherPace {
    schedule: Schedule,
    before: u64,
    all: u64,
    publishers: Vec<(u64, Rc<Client>)>,
    is_load: bool,
}

pub(crate) fn all(shared: &DriverState) -> Vec<PublisherPace> {
    if shared.flat_out || shared.counts_connections() {
        return Vec::new();
    }
    let groups = 0..shared.work.groups.len();
    let paces: Vec<PublisherPace> = if shared.is_background() {
        let own = groups.zip(&shared.own);
        own.filter_map(|(number, publications)| {
            let publications = publications.as_ref()?;
            let (all, publishers) = turns(shared, |group| group == number);
            Some(PublisherPace {
                schedule: publications.schedule.clone(),
                before: publications.before,
                all,
                publishers,
                is_load: false,
            })
        })
        .collect()
    } else {
        let (all, publishers) = turns(shared, |_| true);
        vec![PublisherPace {
            schedule: shared.schedule.clone(),
            before: 0,
            all,
            publishers,
            is_load: true,
        }]
    };
    let has_some = |pace: &PublisherPace| !pace.publishers.is_empty();
    paces.into_iter().filter(has_some).collect()
}

impl PublisherPace {
    pub async fn run(self, shared: Rc<DriverState>) {
        let (publishers, schedule) = (&self.publishers, &self.schedule);
        let worker = &shared.worker;
        if !self.is_load {
            add(&shared.counts.planned, self.planned());
        }
        let (mut cycle, mut turn) = (0u64, 0usize);
        let mut dirty: Vec<usize> = Vec::new();
        loop {
            let (place, _) = &publishers[turn];
            let Some(arrival) = schedule.at(self.before + cycle * self.all + place) else {
                break;
            };
            let intended_ns = arrival.intended_ns + shared.shift_ns.get();
            if !self.is_load && intended_ns < shared.open_ns.get() {
                // Background work does not wait for subscriptions, so skip its message.
                add(&shared.counts.held, 1);
                turn += 1;
                if turn == publishers.len() {
                    (turn, cycle) = (0, cycle + 1);
                }
                continue;
            }
            let is_early = intended_ns > worker.clock.now();
            if is_early || dirty.len() >= AT_ONCE {
                for turn in dirty.drain(..) {
                    publishers[turn].1.flush(&shared);
                }
            }
            if is_early {
                let slept = worker.sleep_until(intended_ns, &worker.arrivals_end);
                if slept.await.is_err() {
                    break;
                }
            } else if dirty.is_empty() {
                tokio::task::yield_now().await;
                if worker.arrivals_end.is_aborted() {
                    break;
                }
            }
            let now = worker.clock.now();
            let client = &publishers[turn].1;
            if self.is_load {
                worker.recorder.borrow_mut().run.started += 1;
            }
            client.enqueue(&shared, now, Intended::scheduled(intended_ns));
            dirty.push(turn);
            turn += 1;
            if turn == publishers.len() {
                (turn, cycle) = (0, cycle + 1);
            }
        }
        for turn in dirty {
            publishers[turn].1.flush(&shared);
        }
    }

    fn planned(&self) -> u64 {
        let total = self.schedule.total() - self.before;
        let of = |(place, _): &(u64, Rc<Client>)| {
            (total + self.all - 1).saturating_sub(*place) / self.all
        };
        self.publishers.iter().map(of).sum()
    }
}

fn turns(shared: &DriverState, is_wanted: impl Fn(usize) -> bool) -> (u64, Vec<(u64, Rc<Client>)>) {
    let mut before = 0u64;
    let mut places = Vec::new();
    let mut global = 0u64;
    for (number, group) in shared.work.groups.iter().enumerate() {
        for _ in 0..group.count {
            if group.publish.is_some() && is_wanted(number) {
                places.push((global, before));
                before += 1;
            }
            global += 1;
        }
    }
    let clients = shared.clients.iter().filter_map(|client| {
        let own = u64::from(client.config.global);
        let at = places.binary_search_by_key(&own, |(g, _)| *g).ok()?;
        Some((places[at].1, Rc::clone(client)))
    });
    (before, clients.collect())
}
