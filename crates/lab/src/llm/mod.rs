//! The lab `llm`: streams tokens on a known schedule over HTTP/1.1, in the formats of OpenAI,
//! Anthropic and Ollama. The schedule is computed when a request arrives, and the log contains the
//! time of each write.

mod api;
mod exchange;
mod ledger;
mod schedule;
mod settings;

use crate::draw::Draws;
use crate::random::seed_or_fresh;
use crate::timer::Timer;
use crate::{Bound, LabEntry, LabError, LabKind, LabOptions, own_server, plain_token};
use exchange::LlmState;
use ledger::LlmLedger;
use schedule::Scheduler;
use settings::LlmConfig;

const NAME: &str = "llm";

pub(crate) const LAB: LabEntry = LabEntry {
    name: NAME,
    help: "streams tokens on a known schedule: /v1/chat/completions, /v1/completions, /v1/messages, /api/chat, /api/generate; ttft, gap, tokens, slots, stall, every, bundle, cut, spread=constant|exponential",
    extra: settings::OPTIONS,
    kind: LabKind::OwnLoop(bind),
    token: plain_token,
};

fn bind(options: &LabOptions) -> Result<Bound, LabError> {
    let config = LlmConfig::read(options)?;
    let seed = seed_or_fresh(options.seed);
    let state = LlmState {
        ledger: LlmLedger::new(options.log.as_deref(), seed)?,
        scheduler: Scheduler::new(config.rhythm.clone(), seed),
        cuts: Draws::new(seed),
        timer: Timer::start()?,
        config,
    };
    own_server::bind(options, "http", state, exchange::connection)
}
