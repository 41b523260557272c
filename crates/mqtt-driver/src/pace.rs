//! Has messages taken up when the schedule says so: publishers take turns, over all workers, so that their messages together are as
//! the load has them. How they travel is the client's business.

use std::rc::Rc;

use measure::sample::Intended;

use crate::{client::Client, shared::Shared};

/// So many messages are taken up before anything else is looked at.
const AT_ONCE: usize = 1024;

pub(crate) async fn run(shared: Rc<Shared>) {
    if shared.flat_out || shared.counts_connections() {
        return;
    }
    let publishers: Vec<(u64, Rc<Client>)> = turns(&shared);
    if publishers.is_empty() {
        return;
    }
    let worker = &shared.worker;
    let all = shared.work.publishers();
    let (mut cycle, mut turn) = (0u64, 0usize);
    let mut dirty: Vec<usize> = Vec::new();
    loop {
        let (place, _) = &publishers[turn];
        let Some(arrival) = shared.schedule.at(cycle * all + place) else {
            break;
        };
        let is_early = arrival.intended_ns > worker.clock.now();
        if is_early || dirty.len() >= AT_ONCE {
            for turn in dirty.drain(..) {
                publishers[turn].1.go_on(&shared);
            }
        }
        if is_early {
            let slept = worker.sleep_until(arrival.intended_ns, &worker.arrivals_end);
            if slept.await.is_err() {
                break;
            }
        } else if dirty.is_empty() {
            // Behind schedule: answers are to be read all the same.
            tokio::task::yield_now().await;
            if worker.arrivals_end.is_aborted() {
                break;
            }
        }
        let now = worker.clock.now();
        let client = &publishers[turn].1;
        worker.recorder.borrow_mut().run.started += 1;
        client.take_up(&shared, now, Intended::scheduled(arrival.intended_ns));
        dirty.push(turn);
        turn += 1;
        if turn == publishers.len() {
            (turn, cycle) = (0, cycle + 1);
        }
    }
    for turn in dirty {
        publishers[turn].1.go_on(&shared);
    }
}

/// This worker's publishers, each with its place among all.
fn turns(shared: &Shared) -> Vec<(u64, Rc<Client>)> {
    let mut before = 0u64;
    let mut places = Vec::new();
    let mut global = 0u64;
    for group in &shared.work.groups {
        for _ in 0..group.count {
            if group.publish.is_some() {
                places.push((global, before));
                before += 1;
            }
            global += 1;
        }
    }
    let clients = shared.clients.iter().filter_map(|client| {
        let own = u64::from(client.made.global);
        let at = places.binary_search_by_key(&own, |(g, _)| *g).ok()?;
        Some((places[at].1, Rc::clone(client)))
    });
    clients.collect()
}
