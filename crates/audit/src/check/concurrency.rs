//! Checks Little's law: rate × mean time = requests in flight. The product is compared with
//! connections, users, or the sampled level.

use crate::import::{
    PrintedFigure, PrintedReport, Range,
    model::{Bound, InFlight, PrintedRow, Rates},
};

use record::units;

use super::{
    checker::{Checker, MARGIN, by, time},
    finding::Severity,
};

const FULL: f64 = 0.97;
const WAITING: f64 = 0.5;
const LOWEST_LEVEL: f64 = 0.05;
const FEWEST: f64 = 20.0;
const ERRORS: f64 = 4.0;

pub fn check(checker: &mut Checker, report: &PrintedReport) {
    if let (Some(bound), false) = (&report.bound, report.rates == Rates::Current) {
        bounded(checker, report, bound);
    }
    if let Some(in_flight) = &report.in_flight {
        sampled(checker, report, in_flight);
    }
}

struct Product<'a> {
    factors: Vec<(&'a PrintedFigure, &'a PrintedFigure)>,
}

impl<'a> Product<'a> {
    fn new(report: &'a PrintedReport, bound: &'a Bound) -> Option<Product<'a>> {
        let factors = |row: &'a PrintedRow| {
            let mean = row
                .latency
                .as_ref()
                .and_then(|latency| latency.mean.as_ref());
            Some((row.rate.as_ref()?, mean?))
        };
        if let (Some(rate), Some(mean)) = (&report.all.rate, &bound.mean) {
            return Some(Product {
                factors: vec![(rate, mean)],
            });
        }
        let all = factors(&report.all).map(|factors| vec![factors]);
        let factors = all.or_else(|| report.rows.iter().map(factors).collect())?;
        (!factors.is_empty()).then_some(Product { factors })
    }

    fn range(&self) -> Range {
        let products = self
            .factors
            .iter()
            .map(|(rate, mean)| rate.range.times(mean.range));
        products.fold(Range::exactly(0.0), Range::plus)
    }

    fn value(&self) -> f64 {
        self.factors
            .iter()
            .map(|(rate, mean)| rate.value * mean.value)
            .sum()
    }

    fn in_words(&self) -> String {
        let each = |(rate, mean): &(&PrintedFigure, &PrintedFigure)| {
            format!("{}/s × {}", units::rate(rate.value), mean.render())
        };
        self.factors
            .iter()
            .map(each)
            .collect::<Vec<_>>()
            .join(" + ")
    }

    fn figures(&self) -> Vec<&'a PrintedFigure> {
        let means = self.factors.iter().map(|(_, mean)| *mean);
        means
            .chain(self.factors.iter().map(|(rate, _)| *rate))
            .collect()
    }
}

fn bounded(checker: &mut Checker, report: &PrintedReport, bound: &Bound) {
    let Some(product) = Product::new(report, bound) else {
        return;
    };
    checker.look();
    let (level, limit) = (product.range(), bound.figure.range);
    let mut figures = product.figures();
    figures.push(&bound.figure);
    let share = product.value() / bound.figure.value;
    let law = format!(
        "{} = {} requests in flight",
        product.in_words(),
        units::rate(product.value())
    );
    if level.low > limit.high * (1.0 + MARGIN) {
        let allowed = match figures.as_slice() {
            [_, rate, bound] => format!(
                "; at this rate, {} {} allow a mean of at most {}",
                bound.render(),
                bound.name,
                time(bound.value / rate.value)
            ),
            _ => String::new(),
        };
        let because = if bound.because.is_empty() {
            String::new()
        } else {
            format!("; {}", bound.because)
        };
        let text = format!(
            "{law}, on {} {} ({}){because}{allowed}",
            bound.figure.render(),
            bound.what,
            by(product.value(), bound.figure.value),
        );
        let kind =
            if level.low > limit.high * bound.contradicts_above && report.rates == Rates::Whole {
                Severity::Contradiction
            } else {
                Severity::Remark
            };
        checker.find(kind, "Little's law", &figures, text);
    } else if bound.should_be_full && level.high < limit.low * FULL && share > WAITING {
        let text = format!(
            "{law}, on {} {}: {} of their time is not spent in requests: think time, a generator that could not keep up, or a slow start that the mean includes",
            bound.figure.render(),
            bound.what,
            units::share(1.0 - share),
        );
        checker.find(Severity::Remark, "Little's law", &figures, text);
    }
}

/// Checks the sampled level, allowing for sampling uncertainty.
fn sampled(checker: &mut Checker, report: &PrintedReport, in_flight: &InFlight) {
    let (Some(rate), Some(span)) = (&report.all.rate, &report.span) else {
        return;
    };
    let in_request: f64 = in_flight.times.iter().map(|figure| figure.value).sum();
    let level = rate.value * in_request;
    let requests = report.all.requests.as_ref();
    if level < LOWEST_LEVEL || requests.is_some_and(|requests| requests.value < FEWEST) {
        return;
    }
    checker.look();
    let samples = span.seconds.value / in_flight.every_s.max(2.0 * in_request);
    let variance = level.max(in_flight.mean.value) * in_flight.max.max(1.0);
    let error = ERRORS * (variance / samples.max(1.0)).sqrt();
    // A worker that was waiting for a CPU takes its sample when it wakes, together with the
    // requests that it then sends. The sample may therefore show any level.
    let held_up = in_flight.waiting * in_flight.max;
    let should = Range::exactly(level).widened(MARGIN, error + held_up);
    if should.gap(in_flight.mean.range) > 0.0 {
        let text = format!(
            "{}, but {}/s × {} = {} requests in flight ({})",
            in_flight.mean.named(),
            units::rate(rate.value),
            time(in_request),
            units::rate(level),
            by(in_flight.mean.value, level)
        );
        let mut figures = vec![&in_flight.mean, rate];
        figures.extend(&in_flight.times);
        checker.find(Severity::Contradiction, "Little's law", &figures, text);
    }
}
