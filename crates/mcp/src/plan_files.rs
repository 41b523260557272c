//! Reads plans for agents. A plan is given as text or as a file in the folder of plans, and may
//! only name files in that folder. The contents of all files are kept, so that a run uses exactly
//! the files that were checked.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use formats::{
    Inputs,
    document::{self, Dialect},
    native,
};
use plan::{Plan, Problem};

const MOST_TEXT: usize = 1 << 20;
const MOST_BYTES: u64 = 64 << 20;
/// Name of a plan that was given as text.
const TEXT_NAME: &str = "plan.yml";

/// Keys of plans that start programs or code, with the reasons why they must not run on this
/// server.
const FORBIDDEN_KEYS: [(&str, &str); 4] = [
    ("script", "it runs code"),
    ("mocks", "it starts servers"),
    (
        "mqtt",
        "only HTTP, WebSocket and Socket.IO steps are allowed over MCP",
    ),
    ("stages", "a campaign starts several runs and other tools"),
];

/// A plan as given by an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlanInput {
    /// Text of the plan.
    Text(String),
    /// Path relative to the folder of plans.
    Path(String),
}

/// A plan with the contents of all files from which it was read.
#[derive(Debug)]
pub(crate) struct PlanSnapshot {
    pub plan: Plan,
    /// Path of the plan, relative to the folder of plans.
    pub entry: PathBuf,
    /// Files by their paths relative to the folder of plans.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
}

/// Folder and variables that plans may read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanAccess<'a> {
    pub folder: Option<&'a Path>,
    pub env: &'a [String],
}

impl PlanAccess<'_> {
    /// Reads a plan with all of its files.
    ///
    /// Fails with all problems of the plan.
    pub fn read(&self, input: &PlanInput) -> Result<PlanSnapshot, Vec<Problem>> {
        let only = |line: String| vec![Problem::anywhere(line)];
        let entry = match input {
            PlanInput::Text(text) if text.len() > MOST_TEXT => {
                return Err(only("the plan is larger than 1 MiB".to_owned()));
            }
            PlanInput::Text(_) => PathBuf::from(TEXT_NAME),
            PlanInput::Path(path) => {
                is_native(path).map_err(only)?;
                below(Path::new(path)).ok_or_else(|| only(outside(Path::new(path))))?
            }
        };
        let files = RefCell::new(BTreeMap::new());
        let read = |path: &Path| {
            let inside = below(path).ok_or_else(|| outside(path))?;
            let bytes = match input {
                PlanInput::Text(text) if inside == entry => text.clone().into_bytes(),
                _ => self.file(&inside)?,
            };
            files.borrow_mut().insert(inside, bytes.clone());
            Ok(bytes)
        };
        let inputs = Inputs {
            files: vec![entry.clone()],
            process_env: self.variables(),
            native: true,
            ..Inputs::default()
        };
        let text = read(&entry).map_err(|reason| only(format!("{}: {reason}", entry.display())))?;
        let forbidden = forbidden_keys(&text);
        if !forbidden.is_empty() {
            return Err(forbidden);
        }
        let plan = native::load_with(&inputs, &read).map_err(|errors| errors.problems)?;
        let problems = plan.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(PlanSnapshot {
            plan,
            entry,
            files: files.into_inner(),
        })
    }

    /// Returns the variables that plans may read and that are set.
    pub fn variables(&self) -> Vec<(String, String)> {
        let all = session::inputs::environment().into_iter();
        all.filter(|(name, _)| self.env.contains(name)).collect()
    }

    fn file(&self, inside: &Path) -> Result<Vec<u8>, String> {
        let folder = self.folder.ok_or(
            "files cannot be read: a person must restart the server with --plans DIR".to_owned(),
        )?;
        let reason = |error: std::io::Error| error.to_string();
        let root = folder.canonicalize().map_err(reason)?;
        // A symbolic link must not lead out of the folder.
        let path = root.join(inside).canonicalize().map_err(reason)?;
        if !path.starts_with(&root) {
            return Err(outside(inside));
        }
        let facts = fs::metadata(&path).map_err(reason)?;
        if !facts.is_file() || facts.len() > MOST_BYTES {
            return Err("it is not a regular file of at most 64 MiB".to_owned());
        }
        fs::read(&path).map_err(reason)
    }
}

impl PlanSnapshot {
    /// Returns the hash of all files, which identifies the checked plan.
    pub fn digest(&self) -> String {
        let mut all = Vec::new();
        for (path, bytes) in &self.files {
            let head = format!("{}\0{}\0", path.display(), bytes.len());
            all.extend_from_slice(head.as_bytes());
            all.extend_from_slice(bytes);
        }
        record::sha256(&all)
    }

    /// Writes all files to a folder and returns the path of the plan.
    ///
    /// Fails with a one-line error if a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, String> {
        for (inside, bytes) in &self.files {
            let path = folder.join(inside);
            let parent = path.parent().unwrap_or(folder);
            let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, bytes));
            written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(folder.join(&self.entry))
    }
}

/// Resolves `.` and `..`. Returns `None` for a path that is absolute or leads out of the folder.
fn below(path: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir if inside.pop() => {}
            _ => return None,
        }
    }
    (!inside.as_os_str().is_empty()).then_some(inside)
}

fn forbidden_keys(bytes: &[u8]) -> Vec<Problem> {
    let text = String::from_utf8_lossy(bytes);
    // Syntax errors are reported when the plan is read.
    let document = document::parse(0, &text, Dialect::Core).ok();
    let Some(root) = document.and_then(|document| document.root) else {
        return Vec::new();
    };
    let forbidden = FORBIDDEN_KEYS
        .iter()
        .filter(|(key, _)| root.get(key).is_some());
    let lines = forbidden.map(|(key, why)| {
        Problem::anywhere(format!(
            "remove `{key}`: it is not allowed over MCP, because {why}"
        ))
    });
    lines.collect()
}

fn outside(path: &Path) -> String {
    format!(
        "{}: the file is outside of the folder of plans: use a relative path of a file in it",
        path.display()
    )
}

/// Fails for files of other tools, which contain or start user code.
fn is_native(path: &str) -> Result<(), String> {
    let extension = Path::new(path).extension().and_then(|text| text.to_str());
    match extension {
        Some("yml" | "yaml" | "json") => Ok(()),
        _ => Err(format!(
            "{path}: only native plans (.yml, .yaml, .json) can be run over MCP, because other tools' scripts contain code"
        )),
    }
}

/// Returns the plan with this text after the first line.
#[cfg(test)]
pub(crate) fn plan_of(text: &str) -> Plan {
    let access = PlanAccess {
        folder: None,
        env: &[],
    };
    let text = format!("loadline: 1\n{text}");
    access.read(&PlanInput::Text(text)).unwrap().plan
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS: PlanAccess<'static> = PlanAccess {
        folder: None,
        env: &[],
    };

    fn message(access: PlanAccess<'_>, input: &PlanInput) -> String {
        access.read(input).unwrap_err()[0].to_string()
    }

    fn text(extra: &str) -> PlanInput {
        PlanInput::Text(format!(
            "loadline: 1\ntarget: http://127.0.0.1:1\nload: {{ rate: 1/s, duration: 1s }}\n{extra}steps:\n  - get: /\n"
        ))
    }

    #[test]
    fn digest_depends_on_every_byte() {
        let a = ACCESS.read(&text("")).unwrap();
        let b = ACCESS.read(&text("# x\n")).unwrap();
        assert_eq!(a.digest(), ACCESS.read(&text("")).unwrap().digest());
        assert_ne!(a.digest(), b.digest());
        assert_eq!(a.files.len(), 1);
    }

    #[test]
    fn files_need_a_folder_of_plans() {
        let error = message(ACCESS, &text("csv: { file: a.csv }\n"));
        assert!(error.contains("--plans DIR"), "{error}");
    }

    #[test]
    fn files_outside_of_the_folder_are_refused() {
        let folder = std::env::temp_dir().join(format!("mcp-plans-{}", std::process::id()));
        fs::create_dir_all(folder.join("in")).unwrap();
        fs::write(folder.join("secret.csv"), "a\n1\n").unwrap();
        fs::write(folder.join("in/a.csv"), "a\n1\n").unwrap();
        let _ = std::os::unix::fs::symlink("../secret.csv", folder.join("in/link.csv"));
        let inside = folder.join("in");
        let access = PlanAccess {
            folder: Some(&inside),
            env: &[],
        };
        for path in [
            "../secret.csv",
            "/etc/passwd",
            "link.csv",
            "b/../../secret.csv",
        ] {
            let error = message(access, &text(&format!("csv: {{ file: '{path}' }}\n")));
            assert!(error.contains("outside of the folder"), "{path}: {error}");
        }
        let read = access.read(&text("csv: { file: b/../a.csv }\n")).unwrap();
        assert_eq!(read.files.len(), 2);
        let out = folder.join("out");
        assert!(read.write(&out).unwrap().is_file() && out.join("a.csv").is_file());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn scripts_and_unnamed_variables_are_refused() {
        let error = message(ACCESS, &PlanInput::Path("a.js".to_owned()));
        assert!(error.contains("only native plans"), "{error}");
        for key in ["script: a.js", "mocks: { }", "mqtt: { host: a }"] {
            let error = message(ACCESS, &text(&format!("{key}\n")));
            assert!(error.contains("it is not allowed over MCP"), "{error}");
        }
        let error = message(ACCESS, &text("variables: { a: '{{ $env.HOME }}' }\n"));
        assert!(error.contains("HOME"), "{error}");
    }
}
