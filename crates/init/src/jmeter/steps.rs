//! Walks through samplers, controllers and timers, and drafts their steps.

use serde_json::Value;

use super::{
    JmeterDraft, assertions, condition, extractors,
    sampler::{self, ScopedSampler},
    schedule,
    tree::{BrokenElement, JmxElement},
};
use crate::draft::{self, DraftBlock, DraftBlockKind, DraftBranch, DraftStep, DraftThink};
use crate::unknowns::is_secret;

const SAMPLERS: [&str; 3] = ["HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2"];
const TIMERS: [&str; 4] = [
    "ConstantTimer",
    "UniformRandomTimer",
    "GaussianRandomTimer",
    "PoissonRandomTimer",
];
/// Elements that apply to all samplers in their scope.
const SCOPED: [&str; 3] = ["ConfigTestElement", "HeaderManager", "AuthManager"];
/// Elements that apply to the whole plan, regardless of their position in the tree.
const GLOBAL: [&str; 6] = [
    "Arguments",
    "CookieManager",
    "CSVDataSet",
    "RandomVariableConfig",
    "ConstantThroughputTimer",
    "PreciseThroughputTimer",
];
const LISTENERS: [&str; 5] = [
    "ResultCollector",
    "Summariser",
    "BackendListener",
    "Listener",
    "Visualizer",
];
/// Controllers that have no effect in a plan.
const TRANSPARENT: [&str; 3] = [
    "GenericController",
    "RecordingController",
    "CriticalSectionController",
];

fn is_scoped(kind: &str) -> bool {
    SCOPED.contains(&kind)
        || TIMERS.contains(&kind)
        || extractors::is_extractor(kind)
        || assertions::is_assertion(kind)
}

/// A position during the walk: the elements that apply, and the enclosing groups.
#[derive(Clone, Default)]
pub(super) struct Place<'e, 'x> {
    pub in_effect: Vec<&'e JmxElement<'x>>,
    pub groups: Vec<String>,
    /// Number of enclosing controllers.
    pub depth: usize,
}

impl<'e, 'x> Place<'e, 'x> {
    /// Returns the place below an element with these children.
    pub fn with(&self, children: &'e [JmxElement<'x>]) -> Place<'e, 'x> {
        let mut place = self.clone();
        let scoped = children.iter().filter(|child| is_scoped(child.kind));
        place.in_effect.extend(scoped);
        place
    }
}

/// Drafts the steps of `children`, to which the elements of `place` apply.
pub(super) fn steps<'e, 'x>(
    children: &'e [JmxElement<'x>],
    place: &Place<'e, 'x>,
    context: &mut JmeterDraft<'_>,
) -> Result<Vec<DraftStep>, BrokenElement> {
    let place = place.with(children);
    let mut out = Vec::new();
    for child in children {
        let kind = child.kind;
        out.extend(own_comment(child).map(|text| note(child, &text, context)));
        if SAMPLERS.contains(&kind) {
            out.extend(sampled(child, &place, context)?);
        } else if kind == "TestAction" {
            out.push(action(child, context));
        } else if is_controller(kind) {
            out.extend(controller(child, &place, context)?);
        } else {
            // Elements below it, such as assertions, apply to nothing else.
            out.extend(untranslated(child, context));
        }
    }
    Ok(out)
}

/// Returns a note about an element that a plan cannot express. Listeners are only counted.
fn untranslated(element: &JmxElement<'_>, context: &mut JmeterDraft<'_>) -> Option<DraftStep> {
    let kind = element.kind;
    if LISTENERS.iter().any(|listener| kind.ends_with(listener)) {
        context.listeners += 1;
        return None;
    }
    let is_known = is_scoped(kind) || GLOBAL.contains(&kind);
    (!is_known).then(|| note(element, "not translated", context))
}

/// Returns the comment of the element in JMeter. Omits a comment that mentions a secret.
pub(super) fn own_comment(element: &JmxElement<'_>) -> Option<String> {
    let text = element.property("TestPlan.comments");
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_part = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    let mut names = text.split(|letter| !is_part(letter));
    if words.is_empty() {
        None
    } else if names.any(is_secret) {
        Some("its comment is left out, because it names a secret".to_owned())
    } else {
        Some(format!("comment: {}", words.join(" ")))
    }
}

fn is_controller(kind: &str) -> bool {
    kind.ends_with("Controller") || kind.ends_with("InterleaveControl")
}

fn note(element: &JmxElement<'_>, text: &str, context: &JmeterDraft<'_>) -> DraftStep {
    DraftStep::Note(vec![element.comment(context.file, text)])
}

fn sampled<'e, 'x>(
    element: &'e JmxElement<'x>,
    place: &Place<'e, 'x>,
    context: &mut JmeterDraft<'_>,
) -> Result<Vec<DraftStep>, BrokenElement> {
    let place = place.with(&element.children);
    let mut out = Vec::new();
    for child in &element.children {
        out.extend(untranslated(child, context));
    }
    for timer in place
        .in_effect
        .iter()
        .filter(|one| TIMERS.contains(&one.kind))
    {
        out.push(think(timer, context));
    }
    let sampler = ScopedSampler {
        element,
        in_effect: &place.in_effect,
    };
    let request = sampler::draft(&sampler, context)?;
    out.push(DraftStep::Request(Box::new(request)));
    Ok(out)
}

/// Returns a number of milliseconds. `None` if the value is unknown.
fn milliseconds(element: &JmxElement<'_>, name: &str, context: &JmeterDraft<'_>) -> Option<f64> {
    let text = context.scope.expand(&element.property(name));
    match text.trim() {
        "" => Some(0.0),
        text => text
            .parse::<f64>()
            .ok()
            .filter(|time| (0.0..1e10).contains(time)),
    }
}

fn think(timer: &JmxElement<'_>, context: &JmeterDraft<'_>) -> DraftStep {
    let delay = milliseconds(timer, "ConstantTimer.delay", context);
    let range = milliseconds(timer, "RandomTimer.range", context);
    let (Some(delay), Some(range)) = (delay, range) else {
        return note(
            timer,
            "TO FILL IN: the think time, because its value is unknown",
            context,
        );
    };
    // JMeter adds 0 to `range` to the delay, while a plan adds or subtracts up to the jitter.
    let (time, jitter) = match timer.kind {
        "UniformRandomTimer" => (delay + range / 2.0, range / 2.0),
        "GaussianRandomTimer" => (delay, range),
        "PoissonRandomTimer" => (delay + range, 0.0),
        _ => (delay, 0.0),
    };
    if time <= 0.0 {
        return note(timer, "no think time, because it is 0", context);
    }
    let text = |milliseconds: f64| schedule::seconds(milliseconds / 1000.0);
    DraftStep::Think(DraftThink {
        time: text(time),
        jitter: Some(jitter).filter(|jitter| *jitter > 0.0).map(text),
    })
}

/// Drafts a Flow Control Action: a pause, or a comment about an action that plans do not have.
fn action(element: &JmxElement<'_>, context: &JmeterDraft<'_>) -> DraftStep {
    let is_pause = element.property("ActionProcessor.action").trim() == "1";
    let time = milliseconds(element, "ActionProcessor.duration", context);
    match time.filter(|time| is_pause && *time > 0.0) {
        Some(time) => DraftThink::fixed(schedule::seconds(time / 1000.0)),
        None => note(element, "not translated", context),
    }
}

fn block(comments: Vec<String>, kind: DraftBlockKind, steps: Vec<DraftStep>) -> Vec<DraftStep> {
    if steps.is_empty() {
        return Vec::new();
    }
    vec![DraftStep::Block(DraftBlock {
        comments,
        kind,
        steps,
    })]
}

fn controller<'e, 'x>(
    element: &'e JmxElement<'x>,
    place: &Place<'e, 'x>,
    context: &mut JmeterDraft<'_>,
) -> Result<Vec<DraftStep>, BrokenElement> {
    let mut place = place.clone();
    let group = (element.kind == "TransactionController" && !context.is_unmeasured)
        .then(|| draft::group_name(&element.name, &place.groups));
    place.groups.extend(group.clone());
    place.depth += 1;
    if let "RandomController" | "InterleaveControl" = element.kind {
        return branches(element, &place, context);
    }
    if let "ModuleController" | "IncludeController" | "TestFragmentController" = element.kind {
        return Ok(vec![note(
            element,
            "not translated, with all elements below it",
            context,
        )]);
    }
    // Only before the first request of its group can its steps run before the loops.
    let is_first = place.depth == 1 && context.origins.len() == context.origins_before;
    let steps = steps(&element.children, &place, context)?;
    let listed = |text: &str, context: &JmeterDraft<'_>, steps: Vec<DraftStep>| {
        let mut all = vec![note(element, text, context)];
        all.extend(steps);
        all
    };
    if let Some(group) = group {
        return Ok(block(Vec::new(), DraftBlockKind::Group(group), steps));
    }
    Ok(match element.kind {
        "TransactionController" => steps,
        kind if TRANSPARENT.contains(&kind) => steps,
        "LoopController" => repeated(element, steps, context),
        "IfController" => {
            let written = element.property("IfController.condition");
            match condition::translate(&written, context) {
                Some(condition) => block(Vec::new(), DraftBlockKind::If(condition), steps),
                None => {
                    let text = "TO FILL IN: the condition. The steps below always run here";
                    listed(text, context, steps)
                }
            }
        }
        "WhileController" => repeated_while(element, steps, context),
        "OnceOnlyController" => {
            if let (true, Some(once)) = (is_first, &mut context.once) {
                once.extend(steps);
                context.origins_before = context.origins.len();
                return Ok(Vec::new());
            }
            let text = "JMeter runs the steps of this controller once per thread, but this plan \
                runs them in every iteration";
            listed(text, context, steps)
        }
        "ThroughputController" => throughput(element, steps, context),
        "RandomOrderController" => {
            listed("JMeter changes the order of these steps", context, steps)
        }
        _ => listed(
            "not translated. The steps below run once here",
            context,
            steps,
        ),
    })
}

/// Maximum number of rounds of a loop that JMeter repeats while a condition is true.
const MOST_ROUNDS: u64 = 1000;

/// Repeats the steps, each time only if the condition is true. After it has become false, the
/// remaining rounds do nothing, so the result equals that of a loop with a condition.
fn repeated_while(
    element: &JmxElement<'_>,
    steps: Vec<DraftStep>,
    context: &mut JmeterDraft<'_>,
) -> Vec<DraftStep> {
    let written = element.property("WhileController.condition");
    let (text, steps) = match condition::translate(&written, context) {
        Some(condition) => {
            let round = block(Vec::new(), DraftBlockKind::If(condition), steps);
            let count = Value::from(MOST_ROUNDS);
            let text = format!(
                "JMeter repeats these steps while the condition holds. Here that ends after {MOST_ROUNDS} rounds: set `count` to the usual number, so that `plan` computes the load"
            );
            (text, block(Vec::new(), DraftBlockKind::Loop(count), round))
        }
        None => {
            let condition = written.replace(char::is_control, " ");
            let condition = if condition.trim().is_empty() {
                "the last request succeeds".to_owned()
            } else {
                format!("`{}` holds", condition.trim())
            };
            let text = format!(
                "TO FILL IN: JMeter repeats the steps below while {condition}, but here they run once. Write the condition as a function in a file named by `script`, and put the steps into `loop: {{ while: FUNCTION, steps: [...] }}`"
            );
            (text, steps)
        }
    };
    let mut all = vec![note(element, &text, context)];
    all.extend(steps);
    all
}

fn repeated(
    element: &JmxElement<'_>,
    steps: Vec<DraftStep>,
    context: &mut JmeterDraft<'_>,
) -> Vec<DraftStep> {
    let written = element.property("LoopController.loops");
    let text = context.scope.expand(&written);
    match text.trim().parse::<i64>() {
        Ok(0) => vec![note(element, "left out, because it has 0 loops", context)],
        Ok(count @ 1..=1_000_000) => {
            block(Vec::new(), DraftBlockKind::Loop(Value::from(count)), steps)
        }
        Err(_) if !text.trim().is_empty() => {
            let count = Value::String(context.resolve(&written));
            block(Vec::new(), DraftBlockKind::Loop(count), steps)
        }
        _ => {
            let text = "TO FILL IN: the number of loops. JMeter repeats it forever, but here it runs \
                once";
            let comments = vec![element.comment(context.file, text)];
            block(comments, DraftBlockKind::Loop(Value::from(1)), steps)
        }
    }
}

fn throughput(
    element: &JmxElement<'_>,
    steps: Vec<DraftStep>,
    context: &JmeterDraft<'_>,
) -> Vec<DraftStep> {
    let style = element.property("ThroughputController.style");
    let percent = element.property("ThroughputController.percentThroughput");
    let percent = context.scope.expand(&percent).trim().parse::<f64>().ok();
    let percent = percent.filter(|percent| style.trim() == "1" && (0.0..=100.0).contains(percent));
    match percent {
        Some(percent) => {
            let condition = format!("random() * 100 < {percent}");
            block(Vec::new(), DraftBlockKind::If(condition), steps)
        }
        None => {
            let text = "TO FILL IN: how often these steps run. JMeter runs them a number of times in total";
            let mut all = vec![note(element, text, context)];
            all.extend(steps);
            all
        }
    }
}

/// Turns each child of a random or interleave controller into a branch.
fn branches<'e, 'x>(
    element: &'e JmxElement<'x>,
    place: &Place<'e, 'x>,
    context: &mut JmeterDraft<'_>,
) -> Result<Vec<DraftStep>, BrokenElement> {
    let place = place.with(&element.children);
    let mut out = Vec::new();
    let mut branches = Vec::new();
    for child in &element.children {
        let steps = steps(std::slice::from_ref(child), &place, context)?;
        if steps.iter().any(DraftStep::is_active) {
            branches.push(DraftBranch { weight: 1, steps });
        } else {
            out.extend(steps);
        }
    }
    if element.kind == "InterleaveControl" {
        let text = "JMeter takes these branches in turn; this plan chooses one at random";
        out.push(note(element, text, context));
    }
    if !branches.is_empty() {
        out.push(DraftStep::Choose(branches));
    }
    Ok(out)
}

/// Returns the number of requests that an iteration sends if all conditions are true. A choice
/// counts as its longest branch.
pub(super) fn requests_of(steps: &[DraftStep]) -> u64 {
    let count = |step: &DraftStep| match step {
        DraftStep::Request(request) => u64::from(!request.off),
        DraftStep::Block(block) => {
            let inner = requests_of(&block.steps);
            match &block.kind {
                DraftBlockKind::Loop(count) => inner.saturating_mul(count.as_u64().unwrap_or(1)),
                _ => inner,
            }
        }
        DraftStep::Choose(branches) => {
            let most = branches.iter().map(|branch| requests_of(&branch.steps));
            most.max().unwrap_or(0)
        }
        _ => 0,
    };
    steps.iter().map(count).fold(0, u64::saturating_add)
}
