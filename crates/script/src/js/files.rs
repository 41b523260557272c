//! File access for scripts. They may read files below the folders of the test, and write only where
//! the user allows it.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    rc::Rc,
    time::UNIX_EPOCH,
};

use rquickjs::{Ctx, Object, Result, TypedArray, prelude::Func};

use super::{edge::bytes, native::throw_coded, state::State};

/// Maximum size of a file that a script may read, in bytes.
const LARGEST: u64 = 256 << 20;

/// Adds the functions for files.
pub fn add<'js>(native: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let own = Rc::clone(state);
    let read = move |ctx: Ctx<'js>, path: String| {
        let bytes = readable(&own, &path).and_then(|path| read(&path));
        match bytes {
            Ok(bytes) => TypedArray::<u8>::new(ctx, bytes),
            Err(error) => Err(failed(&ctx, &error, "open", &path)),
        }
    };
    native.set("readFile", Func::from(read))?;
    let own = Rc::clone(state);
    let names = move |ctx: Ctx<'js>, path: String| {
        let names = readable(&own, &path).and_then(|path| names(&path));
        names.map_err(|error| failed(&ctx, &error, "scandir", &path))
    };
    native.set("readFolder", Func::from(names))?;
    let own = Rc::clone(state);
    let about = move |ctx: Ctx<'js>, path: String| {
        let known = readable(&own, &path).and_then(fs::metadata);
        let known = known.map_err(|error| failed(&ctx, &error, "stat", &path))?;
        let about = Object::new(ctx)?;
        about.set("size", known.len() as f64)?;
        about.set("isFile", known.is_file())?;
        about.set("isDirectory", known.is_dir())?;
        let changed = known
            .modified()
            .ok()
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        about.set("mtimeMs", changed.unwrap_or_default().as_secs_f64() * 1e3)?;
        Ok::<_, rquickjs::Error>(about)
    };
    native.set("aboutFile", Func::from(about))?;
    let own = Rc::clone(state);
    let exists = move |path: String| readable(&own, &path).is_ok_and(|path| path.exists());
    native.set("fileExists", Func::from(exists))?;
    let own = Rc::clone(state);
    let write = move |ctx: Ctx<'js>, path: String, content: TypedArray<'js, u8>, appends: bool| {
        let Some(path) = writable(&own, &path) else {
            let message = format!(
                "EACCES: a script may not write '{path}': allow its folder with --script-write, or LOADLINE_SCRIPT_WRITE"
            );
            return Err(throw_coded(&ctx, "EACCES", &message));
        };
        let mut options = fs::OpenOptions::new();
        options
            .create(true)
            .write(true)
            .append(appends)
            .truncate(!appends);
        let written = options
            .open(&path)
            .and_then(|mut file| file.write_all(&bytes(&content)));
        written.map_err(|error| failed(&ctx, &error, "open", &path.to_string_lossy()))
    };
    native.set("writeFile", Func::from(write))
}

/// Resolves a path that may be read.
fn readable(state: &State, path: &str) -> io::Result<PathBuf> {
    let path = fs::canonicalize(path)?;
    let folder = state.settings.file.parent().unwrap_or(Path::new("/"));
    let mut allowed = [Some(folder.to_owned()), std::env::current_dir().ok()]
        .into_iter()
        .flatten();
    let is_below = |root: PathBuf| fs::canonicalize(root).is_ok_and(|root| path.starts_with(root));
    if allowed.any(is_below) {
        Ok(path)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

fn writable(state: &State, path: &str) -> Option<PathBuf> {
    let allowed = fs::canonicalize(state.settings.writes.as_ref()?).ok()?;
    let path = std::path::absolute(path).ok()?;
    // The file may not exist yet, but its folder must.
    let folder = fs::canonicalize(path.parent()?).ok()?;
    let whole = folder.join(path.file_name()?);
    let leads_elsewhere = fs::canonicalize(&whole).is_ok_and(|real| !real.starts_with(&allowed));
    (folder.starts_with(&allowed) && !leads_elsewhere).then_some(whole)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let known = fs::metadata(path)?;
    if !known.is_file() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if known.len() > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    fs::read(path)
}

fn names(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn failed(ctx: &Ctx<'_>, error: &io::Error, call: &str, path: &str) -> rquickjs::Error {
    let (code, what) = match error.kind() {
        io::ErrorKind::NotFound => ("ENOENT", "no such file or directory"),
        io::ErrorKind::PermissionDenied => (
            "EACCES",
            "permission denied: a script reads only files below its test's folder",
        ),
        io::ErrorKind::IsADirectory => ("EISDIR", "illegal operation on a directory"),
        io::ErrorKind::NotADirectory => ("ENOTDIR", "not a directory"),
        io::ErrorKind::FileTooLarge => ("EFBIG", "file too large"),
        _ => ("EIO", "input or output error"),
    };
    throw_coded(ctx, code, &format!("{code}: {what}, {call} '{path}'"))
}
