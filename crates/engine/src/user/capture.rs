//! Evaluation of captures and checks on a response. The body is decoded and parsed once, on first
//! use.

use std::borrow::Cow;

use measure::Failure;
use plan::{
    scenario::{Index, RegexGroup, ResponseCheck},
    template::Template,
};
use query::{
    jsonpath::{JsonPath, pick},
    markup::{Selector, Tree, XPath, XPathResult},
};
use serde_json::Value;

use super::User;
use crate::program::{CaptureFrom, Checking, Compiled, ContentRules, PathSource};
use codec::{
    Response,
    content::{self, Unpacking, Unreadable},
    reply::MAX_BODY,
};
use worker::{OutputLine, client::StreamedResponse, memory};

/// A response during the evaluation of captures and checks.
pub struct Inspection<'a> {
    pub(super) answer: &'a Response,
    streamed: Option<&'a StreamedResponse>,
    body: Option<Result<Cow<'a, [u8]>, Unreadable>>,
    text: Option<Option<Cow<'a, str>>>,
    json: Option<Option<Value>>,
    html: Option<Tree>,
    xml: Option<Option<Tree>>,
    gave_up: Option<String>,
    room: u64,
    out_of_memory: bool,
    unpacking: Unpacking,
}

impl<'a> Inspection<'a> {
    /// Creates an inspection with a memory limit for decoded data.
    pub fn new(answer: &'a Response, room: u64, unpacking: Unpacking) -> Inspection<'a> {
        Inspection {
            answer,
            streamed: None,
            room,
            unpacking,
            out_of_memory: false,
            body: None,
            text: None,
            json: None,
            html: None,
            xml: None,
            gave_up: None,
        }
    }

    /// Adds the events of a streamed response.
    pub(super) fn with_stream(mut self, streamed: Option<&'a StreamedResponse>) -> Inspection<'a> {
        self.streamed = streamed;
        self
    }

    /// Returns the response as it was received.
    #[must_use]
    pub fn answer(&self) -> &'a Response {
        self.answer
    }

    pub(super) fn take_gave_up(&mut self) -> Option<String> {
        self.gave_up.take()
    }

    /// Returns whether the memory budget was too small to read the response.
    pub fn is_out_of_memory(&self) -> bool {
        self.out_of_memory
    }

    /// Reserves memory. Returns `false` if the budget is exceeded.
    fn affords(&mut self, bytes: u64) -> bool {
        let affords = bytes <= self.room;
        self.out_of_memory |= !affords;
        affords
    }

    /// Returns why the body cannot be read. `None` if it can be read.
    pub fn unreadable(&mut self) -> Option<Unreadable> {
        self.body().as_ref().err().cloned()
    }

    fn body(&mut self) -> &Result<Cow<'a, [u8]>, Unreadable> {
        let answer = self.answer;
        if self.body.is_none() {
            // Use half of the memory, because decoded data is copied once, as text.
            let half = usize::try_from(self.room / 2).unwrap_or(usize::MAX);
            let body = content::decoded(answer, MAX_BODY.min(half), self.unpacking);
            let is_larger = matches!(body, Err(Unreadable::TooLarge));
            self.out_of_memory |= is_larger && half < MAX_BODY && !answer.body_cut;
            self.body = Some(body);
        }
        self.body.get_or_insert(Err(Unreadable::TooLarge))
    }

    /// Returns the body as text. `None` if it cannot be read or the memory budget is exceeded.
    pub fn text(&mut self) -> Option<&str> {
        if self.text.is_none() {
            let size = self.body().as_ref().map_or(0, |body| body.len() as u64);
            if !self.affords(size) {
                self.text = Some(None);
                return None;
            }
            let text = match self.body() {
                Ok(Cow::Borrowed(body)) => Some(String::from_utf8_lossy(body)),
                Ok(Cow::Owned(body)) => Some(String::from_utf8_lossy(body).into_owned().into()),
                Err(_) => None,
            };
            self.text = Some(text);
        }
        self.text.as_ref()?.as_deref()
    }

    /// Returns the body as JSON. `None` if it is not JSON.
    pub fn json(&mut self) -> Option<&Value> {
        if self.json.is_none() {
            if !self.affords_document() {
                self.json = Some(None);
                return None;
            }
            let parsed = self.json_text().map(serde_json::from_str);
            self.json = Some(parsed.and_then(Result::ok));
        }
        self.json.as_ref()?.as_ref()
    }

    fn affords_document(&mut self) -> bool {
        let bytes = self.text().map_or(0, str::len) as u64;
        if memory::parsed_at_most(bytes) <= self.room {
            return true;
        }
        let size = self.text().map_or(0, memory::parsed);
        self.affords(size)
    }

    fn json_text(&mut self) -> Option<&str> {
        Some(self.text()?.trim_start_matches('\u{feff}'))
    }

    fn html(&mut self) -> Option<&Tree> {
        if self.html.is_none() {
            // A node takes about as much memory as a JSON value, and comes from at least three
            // bytes of text.
            let size = self.text()?.len() as u64 * 60;
            if !self.affords(size) {
                return None;
            }
            self.html = Some(Tree::html(self.text()?));
        }
        self.html.as_ref()
    }

    fn xml(&mut self) -> Option<&Tree> {
        if self.xml.is_none() {
            let size = self.text().map_or(0, |text| text.len() as u64 * 60);
            if !self.affords(size) {
                self.xml = Some(None);
                return None;
            }
            self.xml = Some(self.text().and_then(|text| Tree::xml(text).ok()));
        }
        self.xml.as_ref()?.as_ref()
    }
}

/// The error for a failed strict capture or match, or a search that took too many steps.
pub struct CaptureFailed {
    /// Search that took too many steps. `None` if no search did.
    pub gave_up: Option<String>,
}

/// Returns the value of a non-strict capture that found nothing, which is empty text. Returns
/// `None` (undefined) for a selector, and for a JSON path unless the body is a JSON scalar.
fn nothing(from: &CaptureFrom, inspection: &mut Inspection<'_>) -> Option<Value> {
    let is_undefined = match from {
        CaptureFrom::Json(..) => inspection
            .json()
            .is_none_or(|document| document.is_object() || document.is_array()),
        CaptureFrom::Selector(..) => true,
        _ => false,
    };
    (!is_undefined).then(|| Value::String(String::new()))
}

fn picked(
    rules: &ContentRules,
    inspection: &mut Inspection<'_>,
) -> Option<[Option<Value>; pick::MOST]> {
    if rules.picked.is_empty() || !inspection.affords_document() {
        return None;
    }
    let captures = rules
        .picked
        .iter()
        .map(|index| &rules.captures[*index].from);
    let mut paths = [const { None }; pick::MOST];
    for (path, from) in paths.iter_mut().zip(captures.clone()) {
        *path = from.plain_path();
    }
    let mut found = pick::pick(inspection.json_text()?, paths.iter().flatten().copied())?;
    for (found, from) in found.iter_mut().zip(captures) {
        if matches!(from, CaptureFrom::Json(_, false)) {
            *found = found.take().map(|one| Value::Array(vec![one]));
        }
    }
    Some(found)
}

impl User<'_> {
    pub(super) fn capture(
        &mut self,
        rules: &ContentRules,
        inspection: &mut Inspection<'_>,
    ) -> Result<(), CaptureFailed> {
        let mut found = Vec::with_capacity(rules.captures.len());
        let mut picked = picked(rules, inspection);
        for (index, capture) in rules.captures.iter().enumerate() {
            let value = match rules.picked.iter().position(|at| *at == index) {
                Some(at) => picked.as_mut().and_then(|picked| picked[at].take()),
                None => self.find(&capture.from, inspection),
            };
            let value = value.filter(|value| *value != Value::String(String::new()));
            let gave_up = inspection.take_gave_up();
            if gave_up.is_some() {
                return Err(CaptureFailed { gave_up });
            }
            let matches = match &capture.equals {
                None => value.is_some(),
                Some(wanted) => value.is_some() && value == wanted.eval(&self.vars, &mut self.rng),
            };
            if capture.strict && !matches {
                return Err(CaptureFailed { gave_up: None });
            }
            if let Some(path) = &capture.store {
                found.push((path, value.or_else(|| nothing(&capture.from, inspection))));
            }
        }
        for (path, value) in found {
            let weight = value.as_ref().map_or(0, memory::weight);
            if !self.hold(path, weight) {
                inspection.out_of_memory = true;
                return Ok(());
            }
            let Some(value) = value else {
                self.vars.unset(path);
                continue;
            };
            if self.worker.common.trace && self.program.is_secret(path.root()) {
                for secret in plan::secret::leaves(&value) {
                    self.worker.emit(OutputLine::Secret(secret));
                }
            }
            self.vars.store(path, value);
        }
        Ok(())
    }

    /// Reserves memory for the new value of a variable. Returns `false` if the budget is exceeded.
    fn hold(&mut self, path: &query::path::Path, weight: u64) -> bool {
        if weight == 0 && self.weights.is_empty() {
            return true;
        }
        let before = self.weights.get(path).copied().unwrap_or(0);
        if !self.held.replace(before, weight) {
            return false;
        }
        self.weights.insert(path.clone(), weight);
        true
    }

    pub(super) fn find(
        &mut self,
        from: &CaptureFrom,
        inspection: &mut Inspection<'_>,
    ) -> Option<Value> {
        match from {
            CaptureFrom::Json(path, pick) => {
                let path = self.path(path)?;
                let document = inspection.json()?;
                if !(document.is_object() || document.is_array()) {
                    return None;
                }
                let mut results = path.find(document);
                match results.len() {
                    0 => None,
                    _ if !pick => Some(Value::Array(
                        results.into_iter().map(Cow::into_owned).collect(),
                    )),
                    1 => results.pop().map(Cow::into_owned),
                    n => Some(
                        results
                            .swap_remove(self.rng.below(n as u64) as usize)
                            .into_owned(),
                    ),
                }
            }
            CaptureFrom::Header(name) => {
                let name = name.to_text(&self.vars, &mut self.rng);
                let dialect = &self.program.http.dialect;
                dialect.header_value(&inspection.answer.headers, &name)
            }
            CaptureFrom::StreamText => Some(inspection.streamed?.text().into()),
            CaptureFrom::StreamEvent(index) => Some(inspection.streamed?.value(*index)?.into()),
            CaptureFrom::Selector(source, attribute, index) => {
                let read = |text: &str| Selector::parse(text).ok();
                let selector = self.compiled(source, read)?;
                let attribute = attribute.as_ref();
                let attribute = attribute.map(|name| name.to_text(&self.vars, &mut self.rng));
                let mut found = selector.find(inspection.html()?, attribute.as_deref());
                let at = match (index, found.len()) {
                    (_, 0) => return None,
                    (Index::At(at), _) => *at,
                    (Index::Last, n) => n - 1,
                    (Index::Random, n) => self.rng.below(n as u64) as usize,
                };
                found.get_mut(at)?.take()
            }
            CaptureFrom::XPath(source, pick) => {
                let read = |text: &str| XPath::parse(text).ok();
                let path = self.compiled(source, read)?;
                match path.find(inspection.xml()?) {
                    XPathResult::Nodes(texts) if texts.is_empty() => None,
                    XPathResult::Nodes(texts) if !pick => Some(texts.into()),
                    XPathResult::Nodes(mut texts) => {
                        let at = self.rng.below(texts.len() as u64) as usize;
                        Some(Value::String(texts.swap_remove(at)))
                    }
                    XPathResult::Text(text) => Some(Value::String(text)),
                    XPathResult::Number(n) => query::value::number(n).map(Value::Number),
                    XPathResult::Bool(yes) => Some(Value::Bool(yes)),
                }
            }
            CaptureFrom::Regexp(regex, group) => {
                let text = inspection.text()?;
                let found = match regex.find(text) {
                    Ok(found) => found?,
                    Err(reason) => {
                        let pattern = regex.pattern();
                        inspection.gave_up =
                            Some(format!("regular expression /{pattern}/ {reason}"));
                        return None;
                    }
                };
                let range = match group {
                    RegexGroup::Index(index) => found.group(*index),
                    RegexGroup::Name(name) => found.named_group(name),
                }?;
                Some(Value::String(text[range].to_owned()))
            }
        }
    }

    pub(super) fn path<'p>(&mut self, source: &'p PathSource) -> Option<Cow<'p, JsonPath>> {
        self.compiled(source, |text| JsonPath::parse(text).ok())
    }

    fn compiled<'p, T: Clone>(
        &mut self,
        source: &'p Compiled<T>,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<Cow<'p, T>> {
        match source {
            Compiled::Ready(ready) => Some(Cow::Borrowed(ready)),
            Compiled::Templated(template) => {
                let text = template.to_text(&self.vars, &mut self.rng);
                read(&text).map(Cow::Owned)
            }
        }
    }

    pub(super) fn failed_check(
        &mut self,
        rules: &ContentRules,
        inspection: &mut Inspection<'_>,
    ) -> Option<Failure> {
        rules
            .checks
            .iter()
            .find(|check| !self.passes(check, inspection))
            .map(|check| {
                Failure::Check(match check {
                    Checking::Plain(check) => check.kind(),
                    Checking::Json(..) => "json",
                    Checking::Regexp(_) => "body",
                })
            })
    }

    pub(super) fn passes(&mut self, check: &Checking, inspection: &mut Inspection<'_>) -> bool {
        let text =
            |user: &mut Self, template: &Template| template.to_text(&user.vars, &mut user.rng);
        match check {
            Checking::Json(path, wanted) => {
                let Some(path) = self.path(path) else {
                    return false;
                };
                let found = inspection
                    .json()
                    .map(|document| path.find(document))
                    .unwrap_or_default();
                match wanted {
                    None => !found.is_empty(),
                    Some(wanted) => {
                        let wanted = wanted.eval(&self.vars, &mut self.rng);
                        found
                            .iter()
                            .any(|value| Some(value.as_ref()) == wanted.as_ref())
                    }
                }
            }
            Checking::Plain(ResponseCheck::Status(codes)) => {
                codes.contains(&inspection.answer.status)
            }
            Checking::Plain(ResponseCheck::Header(name, wanted)) => {
                let wanted = text(self, wanted);
                let dialect = &self.program.http.dialect;
                let value = dialect.header_text(&inspection.answer.headers, name);
                value.as_deref() == Some(wanted.as_str())
            }
            Checking::Plain(ResponseCheck::BodyContains(wanted)) => {
                let wanted = text(self, wanted);
                inspection.text().is_some_and(|body| body.contains(&wanted))
            }
            Checking::Regexp(regex) => {
                let found = inspection.text().map(|text| regex.find(text));
                matches!(found, Some(Ok(Some(_))))
            }
            Checking::Plain(
                ResponseCheck::JsonEquals(..)
                | ResponseCheck::JsonExists(_)
                | ResponseCheck::BodyMatches { .. },
            ) => false,
        }
    }
}
