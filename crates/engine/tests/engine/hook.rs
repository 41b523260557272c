//! Hooks of a front end.

use engine::{
    HookInterest, Interest,
    hook::{AnswerHook, Hooks, RequestContext, ResponseContext, Unexpected},
};
use measure::accumulator::{Accumulator, Event, Tally};
use plan::Extension;

use super::{
    Arc, EngineOptions, Failure, Load, OutputLine, RecordedRun, Request, get, label,
    peer::{Peer, ok},
    plan, request, run_with,
};

struct Words;

impl HookInterest for Words {
    fn looks(&self, request: &Request) -> Interest {
        let wants = request.extension.is_some();
        Interest {
            body: wants,
            sent: wants,
            calls: wants,
            answers: wants,
            ..Interest::default()
        }
    }
}

impl Hooks for Words {
    fn hook(&self) -> Option<Box<dyn AnswerHook>> {
        Some(Box::new(Seen(0)))
    }
}

struct Seen(u64);

impl AnswerHook for Seen {
    fn call(&mut self, asked: &mut RequestContext<'_>) -> Option<String> {
        Some(format!("call {}", asked.request.url()))
    }

    fn answered(&mut self, answered: &mut ResponseContext<'_, '_>) -> Result<(), Unexpected> {
        self.0 += 1;
        answered.emit("seen", self.0);
        let extension = answered.step.spec.extension.as_ref();
        let wanted = extension.and_then(Extension::get::<String>).expect("ours");
        let text = answered.answer.text().unwrap_or_default().to_owned();
        let sent = answered.sent.expect("it is looked at");
        answered.print(format!("{} {wanted} in {text}\n", sent.target.path));
        if text.contains(wanted.as_str()) {
            return Ok(());
        }
        Err(Unexpected {
            kind: "words",
            what: format!("no {wanted}"),
            ends_user: Some("no such word".into()),
        })
    }
}

#[derive(Default)]
struct Heard(Tally);

impl Accumulator for Heard {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        let (name, n) = match event {
            Event::Custom { name, value } => ((*name).to_owned(), *value),
            Event::Head { called, .. } => (called.unwrap_or("by its step").to_owned(), 1),
            _ => return,
        };
        *self.0.counters.entry(name).or_default() += n;
    }

    fn take(&mut self) -> Tally {
        std::mem::take(&mut self.0)
    }
}

fn wanting(path: &str, word: &str) -> Request {
    Request {
        extension: Some(Extension::new(word.to_owned()).expect("plain data")),
        ..get(path)
    }
}

fn once(peer: &Peer, hooks: Option<Arc<dyn Hooks>>) -> RecordedRun {
    let steps = ["/a", "/b", "/c"].map(|path| match path {
        "/a" => request(get(path)),
        "/b" => request(wanting(path, "hello")),
        _ => request(wanting(path, "good-bye")),
    });
    let mut steps = Vec::from(steps);
    steps.push(request(get("/never")));
    let options = EngineOptions {
        hooks,
        frontend: Some(Arc::new(|| Box::new(Heard::default()))),
        ..EngineOptions::default()
    };
    run_with(&plan(&peer.url(), Load::Once, steps), options)
}

#[test]
fn hook_receives_records_prints_and_fails() {
    let peer = Peer::start(|_| ok("hello"));
    let recorded = once(&peer, Some(Arc::new(Words)));
    let lines: Vec<&OutputLine> = recorded.lines.iter().collect();
    assert_eq!(
        lines,
        [
            &OutputLine::Text("/b hello in hello\n".into()),
            &OutputLine::Text("/c good-bye in hello\n".into())
        ]
    );
    let all = recorded.total(label::ALL).counters;
    assert_eq!((all.ok, all.failed), (2, 1));
    assert_eq!(all.failures.0, [(Failure::Check("words"), 1)]);
    assert_eq!(peer.heads().len(), 3);
    let mut tally = Tally::default();
    for interval in &recorded.intervals {
        tally.merge(interval.frontend.clone());
    }
    let url = |path| format!("call {}{path}", peer.url());
    let wanted = [
        ("by its step".to_owned(), 1),
        (url("/b"), 1),
        (url("/c"), 1),
        ("seen".to_owned(), 3),
    ];
    assert_eq!(tally.counters, wanted.into());
}

#[test]
fn run_without_hooks_calls_none() {
    let peer = Peer::start(|_| ok("hello"));
    let recorded = once(&peer, None);
    assert!(recorded.lines.is_empty());
    assert_eq!(recorded.total(label::ALL).counters.ok, 4);
}
