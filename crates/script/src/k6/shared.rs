//! Data that all virtual users of a script share: sources, compiled code, opened files, metrics and
//! shared arrays.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use ::k6::metric::Registry;
use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use sha2::{Digest, Sha256};

use super::{jslib, names};
use crate::js::{edge::Code, modules::plain_text, typescript};

/// Downloads a module from another host by its URL. Returns its source, or the reason for a
/// failure.
pub type Fetch = Arc<dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync>;

/// Settings for loading a script.
#[derive(Clone, Default)]
pub struct Settings {
    /// Content of `__ENV`.
    pub environment: Vec<(String, String)>,
    /// Whether `--compatibility-mode=base` is set, which disables TypeScript and `global`.
    pub is_base: bool,
    /// Source of the script. `None` means that the source is read from the file.
    pub source: Option<String>,
    /// Contents by name, if the script comes from an archive. No other files are read then.
    pub files: Option<Arc<HashMap<String, Arc<[u8]>>>>,
    /// Downloads modules. `None` means that imports from other hosts are refused.
    pub fetch: Option<Fetch>,
}

/// A file that a script has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFile {
    /// Name: `file:///dir/script.js` or a URL.
    pub name: String,
    /// SHA-256 of the content, in hexadecimal digits.
    pub sha256: String,
    /// Content of the file.
    pub content: Arc<[u8]>,
}

/// How to run a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    Module,
    CommonJs,
    Json,
}

/// A source file of a script.
pub struct Source {
    pub kind: SourceKind,
    /// Text of the source, which is JavaScript or JSON.
    pub text: String,
    /// Bytecode of the module. The first virtual user compiles it.
    pub code: OnceLock<Code>,
}

/// Why a source cannot be used, with its line and column.
pub struct SourceError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// The data that all virtual users of a script share.
pub struct Shared {
    pub settings: Settings,
    /// Name of the script.
    pub main: String,
    registry: Mutex<Registry>,
    arrays: Mutex<HashMap<String, Arc<Vec<Box<str>>>>>,
    files: Mutex<BTreeMap<String, Arc<[u8]>>>,
    sources: Mutex<HashMap<String, Arc<Source>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new(main: String, settings: Settings) -> Shared {
        Shared {
            settings,
            main,
            registry: Mutex::default(),
            arrays: Mutex::default(),
            files: Mutex::default(),
            sources: Mutex::default(),
        }
    }

    pub fn registry(&self) -> MutexGuard<'_, Registry> {
        lock(&self.registry)
    }

    /// Returns the elements of a shared array as JSON. `None` if it does not exist yet.
    pub fn array(&self, name: &str) -> Option<Arc<Vec<Box<str>>>> {
        lock(&self.arrays).get(name).cloned()
    }

    /// Adds a shared array. If it already exists, returns the existing array.
    pub fn add_array(&self, name: &str, elements: Vec<Box<str>>) -> Arc<Vec<Box<str>>> {
        let mut arrays = lock(&self.arrays);
        let array = arrays.entry(name.to_owned());
        Arc::clone(array.or_insert_with(|| Arc::new(elements)))
    }

    /// Returns all files that were read, sorted by name.
    pub fn files(&self) -> Vec<ScriptFile> {
        let files = lock(&self.files);
        let file = |(name, content): (&String, &Arc<[u8]>)| ScriptFile {
            name: name.clone(),
            sha256: Sha256::digest(content)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            content: Arc::clone(content),
        };
        files.iter().map(file).collect()
    }

    /// Resolves a module that another module imports.
    ///
    /// # Errors
    ///
    /// Returns the reason why the module cannot be loaded, with advice.
    pub fn resolve(&self, base: &str, specifier: &str) -> Result<String, String> {
        names::resolve(base, specifier, &|path| match &self.settings.files {
            Some(files) => files.contains_key(&names::of_file(path)),
            None => path.is_file(),
        })
    }

    /// Reads a file by its name, once per process.
    ///
    /// # Errors
    ///
    /// Returns the reason why the file cannot be read.
    pub fn read(&self, name: &str) -> Result<Arc<[u8]>, String> {
        if let Some(content) = lock(&self.files).get(name) {
            return Ok(Arc::clone(content));
        }
        let content = self.read_new(name)?;
        let mut files = lock(&self.files);
        Ok(Arc::clone(files.entry(name.to_owned()).or_insert(content)))
    }

    fn read_new(&self, name: &str) -> Result<Arc<[u8]>, String> {
        if name == self.main
            && let Some(source) = &self.settings.source
        {
            return Ok(source.as_bytes().into());
        }
        if let Some(files) = &self.settings.files {
            let content = files.get(name).cloned();
            return content.ok_or_else(|| {
                format!(
                    "cannot read {}: it is not in the archive",
                    names::shown(name)
                )
            });
        }
        if let Some(path) = names::path(name) {
            let read = fs::read(path);
            return read
                .map(Into::into)
                .map_err(|error| format!("cannot read {}: {error}", path.display()));
        }
        let Some(fetch) = &self.settings.fetch else {
            return Err(format!(
                "`{name}` is on another host, and `--offline` forbids downloads: \
                 save it next to the script and import the file"
            ));
        };
        fetch(name).map(Into::into)
    }

    /// Returns a source by its name, and reads it if necessary.
    ///
    /// # Errors
    ///
    /// Returns the reason why the source cannot be used.
    pub fn source(&self, name: &str) -> Result<Arc<Source>, SourceError> {
        if let Some(source) = lock(&self.sources).get(name) {
            return Ok(Arc::clone(source));
        }
        let text = match jslib::find(name) {
            Some(text) => text.to_owned(),
            None => {
                let content = self.read(name).map_err(|message| SourceError {
                    line: 1,
                    column: 1,
                    message,
                })?;
                plain_text(&content)
            }
        };
        let source = Arc::new(self.classify(name, text)?);
        let mut sources = lock(&self.sources);
        Ok(Arc::clone(sources.entry(name.to_owned()).or_insert(source)))
    }

    fn classify(&self, name: &str, text: String) -> Result<Source, SourceError> {
        let path = PathBuf::from(name);
        let new = |kind, text| Source {
            kind,
            text,
            code: OnceLock::new(),
        };
        if path.extension().is_some_and(|ending| ending == "json") {
            return Ok(new(SourceKind::Json, text));
        }
        let is_typescript = typescript::is_typescript(Path::new(name))
            || (name == self.main && self.settings.source.is_some());
        let kind = match kind_of(&text) {
            Ok(kind) => return Ok(new(kind, text)),
            Err(error) if !is_typescript || self.settings.is_base => return Err(error),
            Err(_) => {
                let stripped = typescript::strip_types(&text).map_err(|refusal| SourceError {
                    line: refusal.line,
                    column: refusal.column,
                    message: format!("SyntaxError: {}", refusal.message),
                })?;
                (kind_of(&stripped)?, stripped)
            }
        };
        Ok(new(kind.0, kind.1))
    }
}

/// Parses JavaScript and returns its kind.
fn kind_of(source: &str) -> Result<SourceKind, SourceError> {
    let allocator = Allocator::default();
    let kind = SourceType::default().with_unambiguous(true);
    let parsed = Parser::new(&allocator, source, kind).parse();
    // CommonJS code may have `return` at the top level. The engine checks it.
    let errors = parsed.errors.iter();
    let mut errors = errors.filter(|error| !error.message.contains("'return' statement"));
    if let Some(error) = errors.next() {
        let label = error.labels.as_ref().and_then(|labels| labels.first());
        let offset = label.map_or(0, |label| label.offset());
        let (line, column) = typescript::position(source, offset);
        return Err(SourceError {
            line,
            column,
            message: format!("SyntaxError: {}", error.message),
        });
    }
    Ok(match parsed.program.source_type.is_module() {
        true => SourceKind::Module,
        false => SourceKind::CommonJs,
    })
}
