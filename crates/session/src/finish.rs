//! The last stage of a run: output, derived files, exports, `teardown` and the exit code. The order
//! ensures that a later failure cannot lose figures.

use measure::ScriptThreshold;
use record::redact::Redactor;

use crate::{
    derived_files, exit,
    finished::FinishedRun,
    observer::{RunObserver, RunOutcome},
    setup_teardown,
};

impl FinishedRun {
    /// Writes all output of the run and returns the exit code.
    pub fn finish(mut self, frontend: &mut dyn RunObserver) -> u8 {
        frontend.ended(&self);
        self.record(frontend.thresholds());
        let (run, rest) = (&self.run, &self.rest);
        let page = frontend.page(run);
        frontend.computed(&page);
        let derived = derived_files::derive(run, &page, &rest.sink);
        frontend.files_written(derived.report.as_deref());
        // Do not index probes, which belong to a search, or parts, which belong to another run.
        if rest.plan.policy.probing.is_none() && run.manifest.share.is_none() {
            derived_files::index(run, &page, &rest.sink);
        }
        let json = derived_files::write_json(&page, rest.json.as_deref(), &rest.sink);
        let exported = rest.exports.write(run, &page.summary, &rest.sink);
        let code = frontend.code(&RunOutcome {
            run,
            summary: &page.summary,
            cause: self.cause.as_ref(),
            signal: self.signal,
            error: self.error.as_ref(),
            files_written: derived.is_written && json && exported,
            strict: rest.plan.policy.strict,
        });
        let after = setup_teardown::after(rest, Some(frontend.observer()));
        exit::with_after(code, after, frontend.after_failed())
    }

    fn record(&mut self, thresholds: Vec<ScriptThreshold>) {
        if thresholds.is_empty() {
            return;
        }
        let redactor = Redactor::new(&self.rest.plan, &self.rest.secrets, self.rest.salt);
        if let Err(error) = self.run.write_thresholds(thresholds, &redactor) {
            let text = format!("cannot record the thresholds of the script: {error}");
            self.rest.sink.warning(&text);
        }
    }
}
