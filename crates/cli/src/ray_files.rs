//! Collects the files and variables that remote nodes need. Files keep their relative paths within
//! a folder.

use std::{
    env,
    path::{Component, Path, PathBuf},
};

use plan::Plan;
use serde_json::Value;

use crate::args;

const MOST: u64 = 100 << 20;
const OWN: [&str; 5] = [
    "LOADLINE_RUNS",
    "LOADLINE_PYTHON",
    "LOADLINE_ENDS_WITH",
    "LOADLINE_LAB",
    "LOADLINE_MOCKS",
];

pub struct Shipped {
    pub files: Vec<(String, Vec<u8>)>,
    pub folder: String,
}

pub fn collect(args: &args::RunArgs, plan: &Plan) -> Result<Shipped, String> {
    let here =
        env::current_dir().map_err(|error| format!("cannot read the current folder: {error}"))?;
    let named = plan
        .provenance
        .files
        .iter()
        .chain(&plan.provenance.dependencies)
        .map(PathBuf::from);
    let flags = [&args.cacert, &args.cert, &args.key];
    let flags = flags.into_iter().flatten().cloned();
    let bodies = args
        .data
        .iter()
        .filter_map(|data| data.strip_prefix('@'))
        .map(PathBuf::from);
    let mut files: Vec<PathBuf> = named.chain(flags).chain(bodies).collect();
    files.sort();
    files.dedup();
    // Nodes resolve the names again in their folder.
    let spelled = spelled_out(args, &files);
    for path in &mut files {
        if !path.is_absolute() {
            continue;
        }
        if spelled.contains(path) {
            return Err(format!(
                "{} is an absolute path, which does not exist on other machines: use a path relative to this folder, for example ./data/users.csv",
                path.display()
            ));
        }
        *path = formats::files::relative(path, &here);
    }
    files.sort();
    files.dedup();
    let up = files.iter().map(|path| ups(path)).max().unwrap_or(0);
    let mut base = here.as_path();
    for _ in 0..up {
        base = base
            .parent()
            .ok_or("a file path leads above the root folder")?;
    }
    let folder = here.strip_prefix(base).unwrap_or(Path::new("."));
    let mut shipped = Vec::new();
    let mut bytes = 0;
    for path in &files {
        let content =
            formats::files::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        bytes += content.len() as u64;
        if bytes > MOST {
            return Err(format!(
                "the files of the test are larger than {}, the maximum that can be sent: use fewer rows",
                record::units::bytes(MOST)
            ));
        }
        shipped.push((plain(&folder.join(path)), content));
    }
    let folder = plain(folder);
    Ok(Shipped {
        files: shipped,
        folder: if folder.is_empty() {
            ".".to_owned()
        } else {
            folder
        },
    })
}

fn spelled_out(args: &args::RunArgs, files: &[PathBuf]) -> Vec<PathBuf> {
    let mut texts: Vec<String> = vec![serde_json::to_string(args).unwrap_or_default()];
    let contents = files
        .iter()
        .filter_map(|path| formats::files::read_to_string(path).ok());
    texts.extend(contents);
    let absolute = files.iter().filter(|path| path.is_absolute());
    let is_in = |path: &&PathBuf| {
        let path = path.to_string_lossy();
        texts.iter().any(|text| text.contains(path.as_ref()))
    };
    absolute.filter(is_in).cloned().collect()
}

fn ups(path: &Path) -> usize {
    let (mut depth, mut most) = (0isize, 0);
    for part in path.components() {
        match part {
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
        most = most.max(-depth);
    }
    most.unsigned_abs()
}

fn plain(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    parts.join("/")
}

pub fn environment(files: &[(String, Vec<u8>)], test: &Value) -> Vec<(String, String)> {
    let test = test.to_string();
    let texts: Vec<&str> = files
        .iter()
        .filter_map(|(_, content)| std::str::from_utf8(content).ok())
        .chain([test.as_str()])
        .collect();
    let all = session::inputs::environment().into_iter();
    let wanted = all.filter(|(name, _)| {
        let is_ours = name.starts_with("LOADLINE_");
        let is_named = name.len() > 1 && texts.iter().any(|text| text.contains(name.as_str()));
        (is_ours || is_named) && !OWN.contains(&name.as_str())
    });
    wanted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_keep_their_places_below_what_is_common() {
        for (path, up) in [
            ("a/b.yml", 0),
            ("../x.csv", 1),
            ("a/../../y", 1),
            ("./z", 0),
            ("a/../b", 0),
        ] {
            assert_eq!(ups(Path::new(path)), up, "{path}");
        }
        assert_eq!(
            plain(Path::new("work/tests/../data/./x.csv")),
            "work/data/x.csv"
        );
    }

    #[test]
    fn only_what_is_named_goes_along() {
        let files = vec![("plan.yml".to_owned(), b"token: {{ $env.PATH }}".to_vec())];
        let names: Vec<String> = environment(&files, &Value::Null)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert!(names.contains(&"PATH".to_owned()));
        assert!(!names.contains(&"HOME".to_owned()));
    }
}
