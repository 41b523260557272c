//! Evaluation of criteria on tokens and goodput.

use plan::{Criterion, criteria::GoodputBound, units::Quantity};
use record::units;

use super::{
    bound::Measured,
    measured::{CriterionScope, plain, share_or_number, unknown_arrivals},
};
use crate::{
    figures,
    summary::stream::{Goodput, all_goodputs},
};

impl CriterionScope<'_> {
    pub(super) fn token_rate(&self, criterion: &Criterion) -> Result<Measured, String> {
        let counts = self.part().slot.counters.stream;
        if counts.requests == 0 {
            return Err(NO_STREAMS.into());
        }
        let value = self.per_second(counts.all_tokens());
        Ok(plain(value, format!("{}/s", units::rate(value)), criterion))
    }

    pub(super) fn goodput(
        &self,
        bounds: &[GoodputBound],
        criterion: &Criterion,
    ) -> Result<Measured, String> {
        let all = all_goodputs(self.run);
        let Some(index) = all.iter().position(|known| known == bounds) else {
            return Err("requests are counted during the run: the plan had no such goodput".into());
        };
        let Goodput { good, of } = Goodput::from_part(&self.part(), bounds, index);
        if matches!(criterion.value, Quantity::PerSecond(_)) {
            let value = self.per_second(good);
            return Ok(plain(value, format!("{}/s", units::rate(value)), criterion));
        }
        // Unsent arrivals belong to no label, phase or period.
        let (unsent, unknown) = if self.is_whole_run() {
            let arrivals = figures::arrivals(self.run);
            (arrivals.unsent.unwrap_or(0), arrivals.unknown)
        } else {
            (0, 0)
        };
        let is_of_streams = bounds.iter().any(|bound| bound.span.is_of_streams());
        let none = if is_of_streams {
            NO_STREAMS
        } else {
            "no request finished"
        };
        let measured = |of| share_or_number(good, of, criterion).ok_or_else(|| none.to_owned());
        let most = measured(of + unsent)?;
        // Any number of the unknown arrivals may also be unsent.
        let least = measured(of + unsent + unknown)?;
        let holds = |one: &Measured| {
            let value = one.value?;
            Some(criterion.op.holds(value, one.bound))
        };
        if holds(&most) == holds(&least) {
            return Ok(most);
        }
        Err(unknown_arrivals(unknown))
    }
}

const NO_STREAMS: &str = "no request reads a stream: add `stream` to a request";
