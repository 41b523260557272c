//! Conditions of blocks, and random choice of branches.

use measure::Fault;
use query::filtrex::Filtrex;

use super::{IterationAbort, User};
use crate::program::Choose;
use worker::OutputLine;
use worker::step_trace::StepTrace;

impl User<'_> {
    /// Evaluates a request's condition like the original tool. If evaluation fails, the iteration
    /// ends.
    pub(super) fn condition(&mut self, condition: &Filtrex) -> Result<bool, IterationAbort> {
        let is_true = condition.is_true(&self.vars, &mut self.rng);
        self.unless_given_up(condition, is_true)
    }

    fn unless_given_up(&self, condition: &Filtrex, is_true: bool) -> Result<bool, IterationAbort> {
        match self.vars.take_gave_up() {
            None => Ok(is_true),
            Some(reason) => {
                let name = format!("condition `{}` {reason}", condition.text());
                Err(IterationAbort::Named(name, Fault::Declared))
            }
        }
    }

    pub(super) fn is_true(&mut self, condition: &Filtrex) -> Result<bool, IterationAbort> {
        let is_true = condition.holds(&self.vars, &mut self.rng);
        let is_true = self.unless_given_up(condition, is_true)?;
        if self.worker.common.walks {
            let what = format!("if {}", condition.text());
            self.worker.emit(OutputLine::Step(if is_true {
                StepTrace::Goes(what, "true".to_owned())
            } else {
                StepTrace::LeftOut(what, "its condition is not true")
            }));
        }
        Ok(is_true)
    }

    pub(super) fn choose(&mut self, choose: &Choose) -> usize {
        let mut drawn = self.rng.below(choose.total.max(1));
        let mut taken = choose.branches.len().saturating_sub(1);
        for (index, (_, weight)) in choose.branches.iter().enumerate() {
            if drawn < u64::from(*weight) {
                taken = index;
                break;
            }
            drawn -= u64::from(*weight);
        }
        let (begins, weight) = choose.branches[taken];
        if self.worker.common.walks {
            let (number, of) = (taken + 1, choose.branches.len());
            let how = format!(
                "branch {number} of {of}, weight {weight} of {}",
                choose.total
            );
            self.worker
                .emit(OutputLine::Step(StepTrace::Goes("choose".to_owned(), how)));
        }
        begins
    }
}
