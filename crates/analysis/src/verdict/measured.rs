//! Measures the figure of a criterion from the record: scope, value, and whether there are enough
//! samples.

use measure::{
    LabelId, TimeKind, TimeSpan,
    confidence::{self, Standing},
    label,
    label::LabelGroup,
    summary::{KindTimes, Quantile},
};
use plan::{
    Criterion,
    criteria::{MessageFate, Metric, SpanFilter, Stat},
    units::Quantity,
};

use record::{
    LabelTotals, Run,
    history::{Curve, Point},
    units,
};

use super::{
    bound::{Measured, bound, without},
    custom, messages, server,
    subject::{Subject, may_be_of},
};
use crate::{
    exclusions::ExcludedSpans,
    figures::{self, Sampled, per_second},
    steady,
};

pub(super) struct CriterionScope<'a> {
    pub(super) run: &'a Run,
    labels: Option<Vec<LabelId>>,
    phases: Option<Vec<u32>>,
    /// Measured period, rounded to points. `None` means the whole run.
    window: Option<TimeSpan>,
    left_out: ExcludedSpans,
    elapsed_ns: u64,
}

pub(super) fn measure(
    run: &Run,
    criterion: &Criterion,
    elapsed_ns: u64,
) -> Result<Measured, String> {
    if let Metric::Server(name, stat) = &criterion.metric {
        return server::measure(run, name, *stat, criterion, elapsed_ns);
    }
    if let Metric::Custom(name, stat) = &criterion.metric {
        return custom::measure(run, name, *stat, criterion, elapsed_ns);
    }
    let scope = CriterionScope::new(run, criterion, elapsed_ns)?;
    let measured = match &criterion.metric {
        Metric::Time(span, stat) => scope.time(*span, *stat, criterion),
        Metric::Errors => scope.errors(criterion),
        Metric::Rate => Ok(scope.rate(criterion)),
        Metric::TokenRate => scope.token_rate(criterion),
        Metric::Goodput(bounds) => scope.goodput(bounds, criterion),
        Metric::InFlight => Ok(scope.in_flight(criterion)),
        Metric::Unsent => return scope.unsent(criterion),
        Metric::Messages(fate) => return scope.messages(*fate, criterion),
        Metric::LatenessP99 => scope.lateness(criterion),
        Metric::Server(..) | Metric::Custom(..) => Err("measured during the load".into()),
    };
    without(&scope.left_out, measured)
}

/// Returns why a criterion can have no figure, for example because its label or phase does not
/// exist.
pub(super) fn subject_missing(run: &Run, criterion: &Criterion) -> Option<String> {
    if let Some(cause) = criterion
        .steady
        .then(|| steady::possible(run).err())
        .flatten()
    {
        return Some(format!("no steady state is possible: {cause}"));
    }
    let criterion = &Criterion {
        steady: false,
        ..criterion.clone()
    };
    if let Metric::Server(name, _) = &criterion.metric {
        return server::subject_missing(run, name, criterion);
    }
    // The names become known only when the script reports them.
    if matches!(criterion.metric, Metric::Custom(..)) {
        return None;
    }
    if matches!(criterion.metric, Metric::Messages(_)) {
        let mut labels = run.labels.iter();
        let has_clients =
            labels.any(|label| label.group == LabelGroup::Mqtt || messages::is_delivery(label));
        if !has_clients {
            return Some(
                "it counts messages of MQTT clients or to listeners, but this run has neither"
                    .into(),
            );
        }
        // Without a label, messages are counted for the whole run.
        criterion.of.as_ref()?;
    }
    let cause = CriterionScope::new(run, criterion, 0).err()?;
    let known: Vec<&str> = if criterion.phase.is_some() && cause.contains("phase") {
        let phases = run.manifest.phases.iter();
        phases.filter_map(|phase| phase.name.as_deref()).collect()
    } else {
        let labels = run.labels.iter();
        let labels = labels.filter(|label| label.id > label::OTHER && may_be_of(criterion, label));
        labels.map(|label| label.text.as_str()).collect()
    };
    let known: Vec<String> = known
        .iter()
        .take(8)
        .map(|name| format!("\"{name}\""))
        .collect();
    Some(match known.as_slice() {
        [] => cause,
        known => format!("{cause} (there are {})", known.join(", ")),
    })
}

impl<'a> CriterionScope<'a> {
    pub(super) fn new(
        run: &'a Run,
        criterion: &Criterion,
        elapsed_ns: u64,
    ) -> Result<CriterionScope<'a>, String> {
        let Subject { labels, phases } = Subject::from_criterion(run, criterion)?;
        let window = criterion.steady.then(|| steady::window(run)).transpose()?;
        let mut scope = CriterionScope {
            run,
            labels,
            phases,
            window,
            left_out: ExcludedSpans::default(),
            elapsed_ns,
        };
        scope.left_out = ExcludedSpans::new(run, |span| scope.reaches(span));
        Ok(scope)
    }

    pub(super) fn part(&self) -> LabelTotals {
        if self.window.is_some() {
            let mut sum = LabelTotals::default();
            for point in self.points() {
                sum.slot.add(&point.part.slot);
            }
            return sum;
        }
        self.run.totals.judged(|id, phase| {
            let label = self
                .labels
                .as_ref()
                .map_or(id == label::ALL, |labels| labels.contains(&id));
            label
                && self
                    .phases
                    .as_ref()
                    .is_none_or(|phases| phases.contains(&phase))
        })
    }

    pub(super) fn all_requests(&self) -> LabelTotals {
        self.run.totals.judged(|id, phase| {
            let phases = self.phases.as_ref();
            id == label::ALL && phases.is_none_or(|phases| phases.contains(&phase))
        })
    }

    pub(super) fn is_whole_run(&self) -> bool {
        self.labels.is_none() && self.phases.is_none() && self.window.is_none()
    }

    pub(super) fn is_of_labels(&self) -> bool {
        self.labels.is_some() && !self.is_every_iteration()
    }

    fn is_every_iteration(&self) -> bool {
        self.labels.as_ref().is_some_and(|labels| {
            let iterations = self.run.labels_of(LabelGroup::Iteration);
            iterations.map(|label| label.id).eq(labels.iter().copied())
        })
    }

    pub(super) fn per_second(&self, n: u64) -> f64 {
        per_second(n, self.length_ns())
    }

    fn time(
        &self,
        span: SpanFilter,
        stat: Stat,
        criterion: &Criterion,
    ) -> Result<Measured, String> {
        let samples = Sampled::from_totals(&self.part(), kind_of(span));
        match stat {
            Stat::Mean => mean(&samples, criterion),
            Stat::Max => quantile(&samples, 1.0, criterion, self),
            Stat::Quantile(q) => quantile(&samples, q, criterion, self),
        }
    }

    fn lateness(&self, criterion: &Criterion) -> Result<Measured, String> {
        if self.labels.is_some() {
            return Err("lateness is recorded for the whole run, not per label".into());
        }
        let samples = Sampled::from_totals(&self.part(), TimeKind::Lateness);
        quantile(&samples, 0.99, criterion, self)
    }

    fn errors(&self, criterion: &Criterion) -> Result<Measured, String> {
        let part = self.part();
        let counters = &part.slot.counters;
        let errors = counters.errors();
        share_or_number(errors, counters.ended(), criterion)
            .ok_or_else(|| "no request finished".into())
    }

    fn unsent(&self, criterion: &Criterion) -> Result<Measured, String> {
        if !self.is_whole_run() {
            return Err(
                "unsent arrivals are counted for the whole run, not per label, per phase or in a steady state".into(),
            );
        }
        let arrivals = figures::arrivals(self.run);
        let (Some(planned), Some(unsent)) = (arrivals.planned, arrivals.unsent) else {
            return Err("a closed loop has no planned arrivals".into());
        };
        // An MQTT message may be due but never written.
        let unsent = match self.run.manifest.frontend.as_str() {
            "mqtt" => unsent + messages::counts(self.run).unsent,
            _ => unsent,
        };
        let measured = |unsent| {
            let measured = share_or_number(unsent, planned, criterion);
            measured.ok_or_else(|| "no arrivals were planned".to_owned())
        };
        let least = measured(unsent)?;
        if arrivals.unknown == 0 {
            return Ok(least);
        }
        // Any number of the unknown arrivals may have been sent.
        let most = measured(unsent + arrivals.unknown)?;
        let holds = |one: &Measured| {
            one.value
                .is_some_and(|value| criterion.op.holds(value, one.bound))
        };
        if holds(&least) == holds(&most) {
            return Ok(least);
        }
        Err(unknown_arrivals(arrivals.unknown))
    }

    fn messages(&self, fate: MessageFate, criterion: &Criterion) -> Result<Measured, String> {
        let is_delivery = |id: &LabelId| {
            let mut labels = self.run.labels.iter();
            labels.any(|label| label.id == *id && messages::is_delivery(label))
        };
        let is_of_deliveries = self
            .labels
            .as_ref()
            .is_none_or(|labels| labels.iter().all(is_delivery));
        if !is_of_deliveries || self.phases.is_some() || self.window.is_some() {
            return Err(
                "messages are counted for the whole run: use `of` only with a label of deliveries, and no `in`"
                    .into(),
            );
        }
        let (n, of) = messages::counts(self.run).share(fate, criterion)?;
        share_or_number(n, of, criterion)
            .ok_or_else(|| "no messages were due, so there is no share to judge".into())
    }

    fn rate(&self, criterion: &Criterion) -> Measured {
        let value = per_second(self.part().slot.counters.ended(), self.length_ns());
        plain(value, format!("{}/s", units::rate(value)), criterion)
    }

    /// Returns the total length of the phases until the end of the run. The last phase includes
    /// late completions.
    fn length_ns(&self) -> u64 {
        let whole_ns = self.whole_length_ns();
        if self.left_out.is_empty() || self.window.is_some() {
            return whole_ns;
        }
        let phases = self.phases.as_ref();
        let rows = self.run.totals.rows.iter().filter(|row| {
            self.left_out.has(row.span) && phases.is_none_or(|phases| phases.contains(&row.phase))
        });
        let length = |span: TimeSpan| span.to_ns.min(self.elapsed_ns).saturating_sub(span.from_ns);
        whole_ns.saturating_sub(rows.map(|row| length(row.span)).sum())
    }

    fn whole_length_ns(&self) -> u64 {
        if self.window.is_some() {
            let points = self.points();
            let from = points.iter().map(|point| point.span.from_ns).min();
            let to = points.iter().map(|point| point.span.to_ns).max();
            return to.unwrap_or(0).saturating_sub(from.unwrap_or(0));
        }
        let Some(phases) = &self.phases else {
            return self.elapsed_ns;
        };
        let all = &self.run.manifest.phases;
        let length = |index: &u32| {
            let phase = all.get(*index as usize)?;
            let end = if *index as usize + 1 == all.len() {
                self.elapsed_ns
            } else {
                phase.end_ns.min(self.elapsed_ns)
            };
            Some(end.saturating_sub(phase.start_ns))
        };
        phases.iter().filter_map(length).sum()
    }

    fn in_flight(&self, criterion: &Criterion) -> Measured {
        let is_asked = |span: TimeSpan| self.window.is_none_or(|window| window.contains(span));
        let rows = self.run.totals.rows.iter().filter(|row| {
            is_asked(row.span)
                && !self.left_out.has(row.span)
                && self
                    .phases
                    .as_ref()
                    .is_none_or(|phases| phases.contains(&row.phase))
        });
        let max = rows.map(|row| row.run.in_flight.max).max().unwrap_or(0);
        let mut measured = plain(max as f64, units::count(max), criterion);
        measured.reason = self
            .labels
            .is_some()
            .then(|| "counted over all labels".into());
        measured
    }
}

pub fn kind_of(span: SpanFilter) -> TimeKind {
    match span {
        SpanFilter::Response => TimeKind::Response,
        SpanFilter::Service => TimeKind::Service,
        SpanFilter::FirstByte => TimeKind::FirstByte,
        SpanFilter::Iteration | SpanFilter::Transaction => TimeKind::Iteration,
        SpanFilter::FirstEvent => TimeKind::FirstEvent,
        SpanFilter::Ttft => TimeKind::Ttft,
        SpanFilter::Gap => TimeKind::Gap,
        SpanFilter::PerToken => TimeKind::PerToken,
    }
}

/// Returns why a criterion cannot be decided if a lost process may have sent arrivals.
pub(super) fn unknown_arrivals(unknown: u64) -> String {
    format!(
        "it is unknown whether {} more arrivals were sent",
        units::count(unknown)
    )
}

pub(super) fn plain(value: f64, text: String, criterion: &Criterion) -> Measured {
    Measured {
        value: Some(value),
        bound: bound(criterion),
        text,
        certain: true,
        reason: None,
    }
}

pub(super) fn share_or_number(n: u64, of: u64, criterion: &Criterion) -> Option<Measured> {
    if matches!(criterion.value, Quantity::Share(_)) {
        let share = (of > 0).then(|| n as f64 / of as f64)?;
        return Some(plain(
            share,
            format!(
                "{} ({} of {})",
                units::share(share),
                units::count(n),
                units::count(of)
            ),
            criterion,
        ));
    }
    Some(plain(n as f64, units::count(n), criterion))
}

fn quantile(
    samples: &Sampled,
    q: f64,
    criterion: &Criterion,
    scope: &CriterionScope<'_>,
) -> Result<Measured, String> {
    let Some(figure) = samples.quantile(q) else {
        return Err("nothing was measured".into());
    };
    let bound = bound(criterion);
    let open = if q < 1.0 {
        scope.undecided(samples, q, bound as u64)
    } else {
        None
    };
    Ok(Measured {
        value: figure.ns.map(|ns| ns as f64),
        bound,
        text: figure.to_string(),
        certain: open.is_none(),
        reason: open,
    })
}

impl CriterionScope<'_> {
    /// Returns why the samples do not decide the criterion with 99 % confidence. `None` if they do.
    fn undecided(&self, samples: &Sampled, q: f64, bound: u64) -> Option<String> {
        let inflation = self.inflation(samples.kind(), q, bound);
        let (n, over) = (samples.count() as f64, samples.above(bound) as f64);
        let decided = |factor: f64| {
            let standing =
                confidence::standing((n * factor) as u64, (over * factor) as u64, inflation, q);
            standing != Standing::Open
        };
        if decided(1.0) {
            return None;
        }
        let few = format!(
            "{} samples are too few for a decision with 99 % confidence",
            units::count(samples.count())
        );
        let factor = (1..=40).map(|i| 1.25f64.powi(i)).find(|f| decided(*f));
        Some(match factor {
            Some(factor) => {
                let more = (self.length_ns() as f64 * (factor - 1.0) / 1e9).ceil();
                let seconds = if more == 1.0 { "second" } else { "seconds" };
                format!(
                    "{few}: run about {} more {seconds}",
                    units::count(more as u64)
                )
            }
            None => format!("{few}: the value is too close to the bound"),
        })
    }
}

impl CriterionScope<'_> {
    /// Returns the variance inflation for quantile `q`, because samples are correlated. A single
    /// label has too few samples to estimate it.
    pub(super) fn inflation(&self, kind: TimeKind, q: f64, bound: u64) -> f64 {
        // Wide points include other phases, so the scope's own samples must also be far from the
        // bound.
        let own = Sampled::from_totals(&self.part(), kind).into_times();
        if confidence::is_separated(&own, q, bound)
            || confidence::is_far_from(&own, q, bound)
                && confidence::is_far(&self.parts_over_time(kind), q, bound)
        {
            return 1.0;
        }
        let totals = &self.run.totals;
        // Times of transactions and iterations must not be mixed.
        let group = |id| self.run.label(id).map(|label| label.group);
        let own_group = self.labels.as_ref().and_then(|ids| group(*ids.first()?));
        let wanted = |id| id == label::ALL || own_group.is_none() || group(id) == own_group;
        if let Some(window) = self.window {
            let second = |at_ns| totals.history.second(at_ns);
            let x = match own.quantile(q) {
                Quantile::Ns(ns) => ns,
                _ => bound,
            };
            return totals.inflation_within(
                kind,
                x,
                bound,
                second(window.from_ns)..second(window.to_ns),
                wanted,
            );
        }
        totals.inflation(kind, q, bound, self.phases.as_deref(), wanted)
    }

    fn parts_over_time(&self, kind: TimeKind) -> Vec<KindTimes> {
        let points = self.points();
        points
            .iter()
            .map(|point| Sampled::from_totals(&point.part, kind).into_times())
            .collect()
    }

    fn points(&self) -> Vec<Point> {
        let history = &self.run.totals.history;
        let lines: Vec<&Curve> = match &self.labels {
            None => vec![&history.all],
            Some(_) if self.is_every_iteration() => vec![&history.iterations],
            Some(labels) => labels
                .iter()
                .filter_map(|label| history.labels.get(label))
                .collect(),
        };
        let mut points: Vec<Point> = lines
            .into_iter()
            .flat_map(Curve::points)
            .map(|(_, point)| point)
            .filter(|point| self.reaches(point.span))
            .collect();
        points.sort_by_key(|point| point.span.from_ns);
        points
    }

    fn reaches(&self, span: TimeSpan) -> bool {
        if let Some(window) = self.window {
            return window.contains(span);
        }
        let Some(phases) = &self.phases else {
            return true;
        };
        let all = &self.run.manifest.phases;
        phases.iter().any(|index| {
            let phase = all.get(*index as usize);
            let last = *index as usize + 1 == all.len();
            phase.is_some_and(|phase| {
                span.overlaps(TimeSpan::new(phase.start_ns, phase.end_ns))
                    || last && span.from_ns >= phase.end_ns
            })
        })
    }
}

fn mean(samples: &Sampled, criterion: &Criterion) -> Result<Measured, String> {
    let Some(mean) = samples.mean_ns() else {
        return Err("nothing was answered".into());
    };
    let mut measured = plain(mean, units::time(mean.round() as u64), criterion);
    if samples.unanswered() > 0 {
        measured.certain = false;
        measured.reason = Some(format!(
            "{} requests had no response: the mean does not include them",
            units::count(samples.unanswered())
        ));
    }
    Ok(measured)
}
