//! A script that has been loaded once, to find its errors, options and functions before the run.

use std::{
    collections::{HashSet, VecDeque},
    path::Path,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use ::k6::metric::Registry;
use rquickjs::Value as Js;

use super::{
    errors::{ScriptError, throw},
    host::VuId,
    names,
    shared::{ScriptFile, Settings, Shared, SourceKind},
    state::VuOptions,
    vu::{CallError, Vu},
};
use crate::js::{imports::named_modules, typescript};

/// Maximum number of files to read, and of problems to report.
const MOST: usize = 1000;

/// Why a script cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The file of the script cannot be read, for this reason.
    MissingScript(String),
    /// Modules that cannot be loaded, syntax errors, or an exception in the init code. There is one
    /// line for each, with file, line and column.
    Problems(Vec<String>),
    /// The init code called `exec.test.abort`. Contains its text, which may be empty.
    Aborted(String),
}

/// A loaded script, which all workers share.
pub struct Script {
    shared: Arc<Shared>,
    options: serde_json::Value,
    functions: Vec<String>,
    others: Vec<String>,
}

impl Script {
    /// Loads a script: resolves all modules and runs the init code once, with `__VU` 0.
    ///
    /// # Errors
    ///
    /// Fails if a file or module is missing, or if the init code throws or aborts.
    pub fn load(path: &Path, settings: Settings) -> Result<Arc<Script>, LoadError> {
        let absolute = std::path::absolute(path)
            .map_err(|error| LoadError::MissingScript(format!("{}: {error}", path.display())))?;
        let main = names::of_file(&names::normal(&absolute));
        let shared = Arc::new(Shared::new(main, settings));
        let main = shared.read(&shared.main);
        main.map_err(LoadError::MissingScript)?;
        let problems = check_on_large_stack(&shared);
        if !problems.is_empty() {
            return Err(LoadError::Problems(problems));
        }
        let exports = run_init(&shared)?;
        Ok(Arc::new(Script {
            shared,
            options: exports.options,
            functions: exports.functions,
            others: exports.others,
        }))
    }

    /// Returns the exported `options` as JSON. Empty if the script has none.
    #[must_use]
    pub fn options(&self) -> &serde_json::Value {
        &self.options
    }

    /// Returns the names of the exported functions, such as `default` and `setup`.
    #[must_use]
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// Returns whether the script exports a function with this name.
    #[must_use]
    pub fn has_function(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function == name)
    }

    /// Returns the names of exports that are not functions. `setup` must not be one of them.
    #[must_use]
    pub fn other_exports(&self) -> &[String] {
        &self.others
    }

    /// Returns the metrics declared so far. Virtual users may declare more.
    #[must_use]
    pub fn metrics(&self) -> Registry {
        self.shared.registry().clone()
    }

    /// Returns the name of the script, such as `file:///dir/script.js`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.main
    }

    /// Returns whether the files come from an archive.
    #[must_use]
    pub fn is_archived(&self) -> bool {
        self.shared.settings.files.is_some()
    }

    /// Returns all files that were read, sorted by name.
    #[must_use]
    pub fn files(&self) -> Vec<ScriptFile> {
        self.shared.files()
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// The exports of the init code.
struct Exports {
    options: serde_json::Value,
    functions: Vec<String>,
    others: Vec<String>,
}

fn run_init(shared: &Arc<Shared>) -> Result<Exports, LoadError> {
    let failed = |error: &ScriptError| LoadError::Problems(vec![located(error)]);
    let vu = Vu::create(shared, None, VuId::default(), VuOptions::default());
    let vu = vu.map_err(|error| failed(&error))?;
    let vu = std::rc::Rc::new(vu);
    let exports = async {
        vu.initialize().await?;
        vu.read_exports(|exports| {
            let (mut functions, mut others) = (Vec::new(), Vec::new());
            for name in exports.keys::<String>() {
                let name = name?;
                let value: Js<'_> = exports.get(name.as_str())?;
                match value.is_function() {
                    true => functions.push(name),
                    false => others.push(name),
                }
            }
            let options: Js<'_> = exports.get("options")?;
            let json = exports.ctx().json_stringify(options)?;
            let json = json.map(|json| json.to_string()).transpose()?;
            let options = match json {
                Some(json) => serde_json::from_str(&json).map_err(|error| {
                    let message = format!("the exported options cannot be read as JSON: {error}");
                    throw(exports.ctx(), &message)
                })?,
                None => serde_json::json!({}),
            };
            Ok(Exports {
                options,
                functions,
                others,
            })
        })
        .await
    };
    // Nothing here waits for external events, so polling again is enough.
    let mut exports = pin!(exports);
    let mut context = Context::from_waker(Waker::noop());
    let result = loop {
        if let Poll::Ready(result) = exports.as_mut().poll(&mut context) {
            break result;
        }
    };
    result.map_err(|error| match error {
        CallError::Failed(error) => failed(&error),
        CallError::Interrupted => LoadError::Aborted(vu.aborted().unwrap_or_default()),
    })
}

/// Returns an error with the position at which it first occurred.
fn located(error: &ScriptError) -> String {
    match error.position() {
        Some(position) => format!("{}: {}", names::shown(position), error.message),
        None => error.message.clone(),
    }
}

/// Stack size for parsing scripts, whose expressions may be deeply nested.
const PARSER_STACK: usize = 256 << 20;

fn check_on_large_stack(shared: &Arc<Shared>) -> Vec<String> {
    let own = Arc::clone(shared);
    let thread = std::thread::Builder::new().stack_size(PARSER_STACK);
    let checked = thread.spawn(move || check_modules(&own));
    match checked.map(std::thread::JoinHandle::join) {
        Ok(Ok(problems)) => problems,
        Ok(Err(_)) => vec!["internal error while the script was parsed".to_owned()],
        Err(error) => vec![format!(
            "cannot start a thread that parses the script: {error}"
        )],
    }
}

/// Reads all modules that the script and its modules import. Returns a line for each problem.
fn check_modules(shared: &Shared) -> Vec<String> {
    let mut waiting = VecDeque::from([shared.main.clone()]);
    let (mut seen, mut problems) = (HashSet::new(), Vec::new());
    while let Some(name) = waiting.pop_front() {
        if seen.len() >= MOST || problems.len() >= MOST || !seen.insert(name.clone()) {
            continue;
        }
        let shown = names::shown(&name);
        let source = match shared.source(&name) {
            Ok(source) => source,
            Err(error) => {
                problems.push(format!(
                    "{shown}:{}:{}: {}",
                    error.line, error.column, error.message
                ));
                continue;
            }
        };
        if source.kind == SourceKind::Json {
            continue;
        }
        for (span, specifier, _) in named_modules(&source.text, Path::new("module.js")) {
            match shared.resolve(&name, &specifier) {
                Ok(found) if names::is_native(&found) => {}
                Ok(found) => waiting.push_back(found),
                Err(message) => {
                    let (line, column) = typescript::position(&source.text, span.start as usize);
                    problems.push(format!("{shown}:{line}:{column}: {message}"));
                }
            }
        }
    }
    problems
}
