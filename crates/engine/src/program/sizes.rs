//! Sizes of requests on the wire. Requests are built but not sent, so they lack values and cookies
//! from responses.

use plan::{
    Plan, Problem,
    profile::RequestBytes,
    rng::{Purpose, Rng},
};

use super::Program;
use crate::user::Vars;

/// Number of users for whom requests are built. The mean needs several users, because rows and
/// random values differ in length.
const USERS: u64 = 20;

/// Returns the mean request size of each endpoint. On failure, returns all problems of the plan.
pub fn sizes(plan: &Plan, seed: u64) -> Result<Vec<RequestBytes>, Vec<Problem>> {
    let program = Program::compile(plan, seed, None)?;
    let mut sizes: Vec<(RequestBytes, Vec<u64>)> = Vec::new();
    for step in &program.requests {
        let made = (0..USERS).filter_map(|number| {
            let vars = Vars::new(&program, program.seed, number);
            let mut rng = Rng::keyed(seed, Purpose::User, number, 0);
            let built = step
                .build(&program.target, &vars, &mut rng, None, None)
                .ok()?;
            Some(built.bytes.len() as u64)
        });
        let made: Vec<u64> = made.collect();
        let sent = RequestBytes {
            method: step.spec.verb().to_owned(),
            name: step.spec.label.clone(),
            bytes: 0,
        };
        match sizes.iter_mut().find(|(known, _)| *known == sent) {
            Some((_, all)) => all.extend(made),
            None => sizes.push((sent, made)),
        }
    }
    let mean = |(sent, made): (RequestBytes, Vec<u64>)| {
        let bytes = made.iter().sum::<u64>().checked_div(made.len() as u64)?;
        Some(RequestBytes { bytes, ..sent })
    };
    Ok(sizes.into_iter().filter_map(mean).collect())
}
