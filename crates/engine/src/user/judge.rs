//! Evaluation of a response: determines the result of the request, whether the iteration continues,
//! and the recorded sample.

use measure::{Failure, Fault, Sample, Status, accumulator::Event, sample::RequestOutcome};
use plan::{
    mutant::{self, Mutant},
    rng::Rng,
};

use super::{
    IterationAbort, User,
    capture::{CaptureFailed, Inspection},
    hook::{ResponseContext, Unexpected},
    ongoing::Ongoing,
};
use crate::program::RequestStep;
use codec::{Response, content::Unreadable};
use worker::client::{Built, Moments};

impl User<'_> {
    /// Evaluates a response and returns the result of the request. Fails if the iteration ends.
    pub(super) fn judge(
        &mut self,
        ongoing: &mut Ongoing<'_>,
        result: Result<(), IterationAbort>,
        early: Option<EarlyResults>,
    ) -> (RequestOutcome, Result<(), IterationAbort>) {
        match result {
            Err(IterationAbort::Fault(fault, step)) => {
                return (
                    RequestOutcome::Unanswered(fault),
                    Err(IterationAbort::Fault(fault, step)),
                );
            }
            Err(IterationAbort::Named(name, fault)) => {
                return (
                    RequestOutcome::Unanswered(fault),
                    Err(IterationAbort::Named(name, fault)),
                );
            }
            Err(IterationAbort::NamedInStep(name, fault, step)) => {
                return (
                    RequestOutcome::Unanswered(fault),
                    Err(IterationAbort::NamedInStep(name, fault, step)),
                );
            }
            Err(end @ IterationAbort::Refused(status, _)) => {
                return (RequestOutcome::Failed(Failure::Status(status)), Err(end));
            }
            Err(end @ IterationAbort::Answered(failure, ..)) => {
                return (RequestOutcome::Failed(failure), Err(end));
            }
            Err(other) => return (RequestOutcome::Ok, Err(other)),
            Ok(()) => {}
        }
        let answer = std::mem::take(&mut ongoing.exchange.answer);
        let streamed = ongoing.exchange.streamed.take();
        let mut inspection =
            Inspection::new(&answer, self.worker.memory.left(), self.program.unpacking)
                .with_stream(streamed.as_deref());
        let (mut ended, mut result) = self.verdict(ongoing, &answer, &mut inspection, early);
        if inspection.is_out_of_memory() {
            // Without memory for the response, its content is unknown.
            let fault = Fault::OutOfMemory;
            ongoing.unexpected = None;
            ended = RequestOutcome::Unanswered(fault);
            result = Err(IterationAbort::Fault(fault, Some(ongoing.step.index)));
        }
        drop(inspection);
        ongoing.exchange.answer = answer;
        ongoing.exchange.streamed = streamed;
        (ended, result)
    }

    fn verdict(
        &mut self,
        ongoing: &mut Ongoing<'_>,
        answer: &Response,
        inspection: &mut Inspection<'_>,
        early: Option<EarlyResults>,
    ) -> (RequestOutcome, Result<(), IterationAbort>) {
        let step = ongoing.step;
        let rules = self.program.rules;
        if step.want.body
            && let Some(reason) = inspection.unreadable()
        {
            let what = match reason {
                Unreadable::TooLarge => {
                    let fault = Fault::BodyTooLarge;
                    return (
                        RequestOutcome::Unanswered(fault),
                        Err(IterationAbort::Fault(fault, Some(step.index))),
                    );
                }
                Unreadable::Unknown(encoding) => format!("encoding {encoding} is not supported"),
                Unreadable::Broken(encoding) => format!("the body is invalid {encoding}"),
            };
            ongoing.unexpected = Some(what);
            let failure = status_failure(step, rules.status_fails, answer.status)
                .unwrap_or(Failure::Encoding);
            let end = IterationAbort::Answered(failure, Fault::BadEncoding, step.index);
            return (RequestOutcome::Failed(failure), Err(end));
        }
        let (captured, scripted) = match early {
            Some(early) => (early.captured, early.scripted),
            None => (self.capture(&step.content, inspection), Ok(())),
        };
        // Expected values may use captured values. Checks run even if a capture failed.
        let asked = ongoing.asked.take();
        let hooked = self.hooked(
            step,
            asked.as_ref(),
            inspection,
            ongoing.exchange.moments.done,
        );
        let unexpected = match hooked {
            Err(Unexpected {
                kind,
                what,
                ends_user,
            }) => {
                ongoing.unexpected = Some(what);
                let failure = Failure::Check(kind);
                if let Some(error) = ends_user {
                    return (
                        RequestOutcome::Failed(failure),
                        Err(IterationAbort::Unexpected(kind, error)),
                    );
                }
                Some(failure)
            }
            Ok(()) => None,
        };
        if let Err(CaptureFailed { gave_up }) = captured {
            ongoing.unexpected = gave_up.or(ongoing.unexpected.take());
            let failure =
                status_failure(step, rules.status_fails, answer.status).unwrap_or(Failure::Capture);
            return (
                RequestOutcome::Failed(failure),
                Err(IterationAbort::Capture(Some(step.index))),
            );
        }
        let stranded = (ongoing.stranded && !step.spec.expected_status.contains(&answer.status))
            .then_some(Failure::Status(answer.status));
        let failure = status_failure(step, rules.status_fails, answer.status)
            .or(stranded)
            .or_else(|| self.failed_check(&step.content, inspection))
            .or(unexpected);
        match failure {
            None => (RequestOutcome::Ok, scripted),
            Some(failure) if rules.failure_ends_iteration => (
                RequestOutcome::Failed(failure),
                Err(IterationAbort::Failed(failure)),
            ),
            Some(failure) => (RequestOutcome::Failed(failure), scripted),
        }
    }

    /// Evaluates captures, and then calls the script functions that receive the response. `None` if
    /// the response cannot be read.
    pub(super) async fn answer_script(
        &mut self,
        ongoing: &mut Ongoing<'_>,
    ) -> Option<EarlyResults> {
        let began_ns = self.worker.clock.now();
        let (captured, called) = self.start_after_response(ongoing)?;
        let scripted = match called {
            None => Ok(()),
            Some(called) => self.script_result(called, began_ns).await.map(|_| ()),
        };
        Some(EarlyResults { captured, scripted })
    }

    fn hooked(
        &mut self,
        step: &RequestStep,
        sent: Option<&Built>,
        inspection: &mut Inspection<'_>,
        now_ns: u64,
    ) -> Result<(), Unexpected> {
        let Some(hook) = self.hook.as_ref().filter(|_| step.looks.answers) else {
            return Ok(());
        };
        hook.borrow_mut().answered(&mut ResponseContext {
            step,
            base: &self.program.target,
            sent,
            answer: inspection,
            vars: &self.vars,
            rng: &mut self.rng,
            worker: self.worker,
            now_ns,
        })
    }

    pub(super) fn book(
        &self,
        ongoing: &Ongoing<'_>,
        ended: RequestOutcome,
        result: &Result<(), IterationAbort>,
        drawn_from: Rng,
    ) {
        let exchange = &ongoing.exchange;
        let moments = &exchange.moments;
        let status = Some(exchange.answer.status).filter(|status| *status > 0);
        let status = status.map(Status::Http);
        let sample = Sample {
            label: ongoing.step.label,
            intended: exchange.intended,
            started_ns: moments.started,
            first_write_ns: moments.first_write,
            first_read_ns: moments.first_read,
            done_ns: moments.done,
            ended,
            status,
            bytes_out: moments.bytes_out,
            bytes_in: moments.bytes_in,
            trace: exchange.sent_trace(),
        };
        let mut recorder = self.worker.recorder.borrow_mut();
        if status.is_some() && !ongoing.step.spec.opens_connection() {
            let complete = !matches!(ended, RequestOutcome::Unanswered(_))
                && !matches!(result, Err(IterationAbort::Answered(..)));
            let response = StepResponse {
                step: ongoing.step.index,
                called: ongoing.called.as_deref(),
                moments,
                answer: &exchange.answer,
            };
            report_response(&mut recorder, self.worker, response, complete);
        }
        if mutant::is(Mutant::DropTimeouts)
            && ended == RequestOutcome::Unanswered(Fault::ResponseTimeout)
        {
            return;
        }
        recorder.sample(&sample);
        let streamed = exchange.streamed.as_ref();
        let streamed = streamed.map(|streamed| streamed.sample(moments, ended));
        if let Some(streamed) = &streamed {
            recorder.stream(streamed);
        }
        self.count_good(&mut recorder, &sample, streamed.as_ref());
        drop(recorder);
        self.record_first(&sample, || self.sample(ongoing, ended, result, drawn_from));
    }
}

/// Results of evaluating a response before its checks.
pub(super) struct EarlyResults {
    captured: Result<(), CaptureFailed>,
    /// Whether the script's functions ended the iteration.
    scripted: Result<(), IterationAbort>,
}

/// Response to a request step, as passed to the front end.
pub(super) struct StepResponse<'a> {
    /// Index of the request step.
    pub step: u32,
    /// Name of the request, if the step computes one.
    pub called: Option<&'a str>,
    pub moments: &'a Moments,
    pub answer: &'a Response,
}

/// Reports a response to the front end, and whether it is the last response and complete.
pub(super) fn report_response(
    recorder: &mut measure::Recorder,
    worker: &worker::Worker,
    response: StepResponse<'_>,
    last: bool,
) {
    let StepResponse {
        step,
        called,
        moments,
        answer,
    } = response;
    let head = Event::Head {
        step,
        status: answer.status,
        sent_wall_ns: worker.wall_ns(moments.sent),
        last,
        called,
        server_ms: answer.server_ms,
    };
    recorder.frontend(moments.head, &head);
    recorder.frontend(
        moments.done.max(moments.head),
        &Event::Body {
            bytes: answer.body_bytes,
            total_ns: moments
                .done
                .max(moments.head)
                .saturating_sub(moments.started),
            last,
            opening: moments.opening,
        },
    );
}

fn status_failure(step: &RequestStep, status_fails: bool, status: u16) -> Option<Failure> {
    (status_fails && status >= 400 && !step.spec.expected_status.contains(&status))
        .then_some(Failure::Status(status))
}
