//! Names of modules: built-in modules, files as `file:///dir/script.js`, and URLs.

use std::path::{Component, Path, PathBuf};

use super::jslib;

/// Built-in modules that scripts can load.
pub const BUILT_IN: [&str; 12] = [
    "k6",
    "k6/crypto",
    "k6/data",
    "k6/encoding",
    "k6/execution",
    "k6/experimental/websockets",
    "k6/html",
    "k6/http",
    "k6/metrics",
    "k6/timers",
    "k6/websockets",
    "k6/ws",
];

/// Modules of k6 that Loadline does not support yet.
const NOT_YET: [&str; 8] = [
    "k6/browser",
    "k6/crypto/x509",
    "k6/experimental/csv",
    "k6/experimental/fs",
    "k6/experimental/redis",
    "k6/experimental/streams",
    "k6/net/grpc",
    "k6/secrets",
];

/// Modules that k6 removed, with their successors.
const REMOVED: [(&str, &str); 5] = [
    ("k6/experimental/browser", "k6/browser"),
    ("k6/experimental/grpc", "k6/net/grpc"),
    ("k6/experimental/timers", "k6/timers"),
    ("k6/experimental/tracing", "the http-instrumentation jslib"),
    ("k6/experimental/webcrypto", "the global `crypto`"),
];

/// Returns whether a module is native.
pub fn is_native(name: &str) -> bool {
    BUILT_IN.contains(&name) || name == jslib::NATIVE
}

/// Returns the name of a file.
pub fn of_file(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Returns the path in the name of a file. `None` for other modules.
pub fn path(name: &str) -> Option<&Path> {
    name.strip_prefix("file://").map(Path::new)
}

/// Returns a name for messages. A file is shown as a path.
pub fn shown(name: &str) -> &str {
    name.strip_prefix("file://").unwrap_or(name)
}

/// Resolves a module that another module imports.
///
/// `exists` returns whether a file exists.
///
/// # Errors
///
/// Returns the reason why the module cannot be loaded, with advice.
pub fn resolve(
    base: &str,
    specifier: &str,
    exists: &dyn Fn(&Path) -> bool,
) -> Result<String, String> {
    if specifier == jslib::NATIVE && jslib::find(base).is_some() {
        return Ok(specifier.to_owned());
    }
    if specifier == "k6" || specifier.starts_with("k6/") {
        return built_in(specifier);
    }
    if specifier.starts_with("https://") {
        return Ok(specifier.to_owned());
    }
    if let Some(path) = specifier.strip_prefix("file://") {
        if base.starts_with("https://") {
            return Err(format!(
                "origin ({base}) not allowed to load local file: {specifier}"
            ));
        }
        return file(Path::new(path), specifier, exists);
    }
    if let Some((scheme, _)) = specifier.split_once("://") {
        return Err(format!(
            "only supported schemes for imports are file and https, {specifier} has `{scheme}`"
        ));
    }
    if specifier.starts_with("./") || specifier.starts_with("../") || specifier.starts_with('/') {
        return relative(base, specifier, exists);
    }
    let is_bare = !specifier.starts_with("github.com/") && !specifier.starts_with("cdnjs.com/");
    let package = path(base).filter(|_| is_bare);
    package
        .and_then(|file| find_package(file, specifier))
        .map(|path| of_file(&path))
        .ok_or_else(|| {
            format!(
                "The moduleSpecifier \"{specifier}\" couldn't be recognised as something k6 \
                 supports. Write `./` before the name of a file, or install the package in \
                 `node_modules`"
            )
        })
}

fn built_in(name: &str) -> Result<String, String> {
    if BUILT_IN.contains(&name) {
        return Ok(name.to_owned());
    }
    if name.starts_with("k6/x/") {
        return Err(format!(
            "`{name}` is a k6 extension, which is Go code and cannot be loaded: remove the import"
        ));
    }
    if let Some((_, successor)) = REMOVED.iter().find(|(removed, _)| *removed == name) {
        return Err(format!("k6 removed the module `{name}`: use {successor}"));
    }
    let available = BUILT_IN.join(", ");
    if NOT_YET.contains(&name) {
        return Err(format!(
            "the module `{name}` is not supported: available are {available}"
        ));
    }
    Err(format!(
        "the module `{name}` does not exist: available are {available}"
    ))
}

fn relative(base: &str, specifier: &str, exists: &dyn Fn(&Path) -> bool) -> Result<String, String> {
    if base.starts_with("https://") {
        let joined = url::Url::parse(base).and_then(|base| base.join(specifier));
        return joined
            .map(String::from)
            .map_err(|error| format!("`{specifier}` is not a valid address: {error}"));
    }
    let folder = path(base).and_then(Path::parent).unwrap_or(Path::new("/"));
    file(&normal(&folder.join(specifier)), specifier, exists)
}

/// Finds a file. Where k6 would fail, tries the extensions that bundlers add.
fn file(path: &Path, specifier: &str, exists: &dyn Fn(&Path) -> bool) -> Result<String, String> {
    let with = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    let mut candidates = vec![path.to_path_buf()];
    candidates.extend([".ts", ".js", ".mjs", "/index.ts", "/index.js"].map(with));
    if path.extension().is_some_and(|ending| ending == "js") {
        candidates.push(path.with_extension("ts"));
    }
    let found = candidates.into_iter().find(|path| exists(path));
    found.map(|path| of_file(&path)).ok_or_else(|| {
        format!(
            "The moduleSpecifier \"{specifier}\" couldn't be found on local disk. Correct its \
             path: the file {} does not exist",
            path.display()
        )
    })
}

/// Removes `.` and `..` without resolving links, as in URLs.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// Finds a package in `node_modules`, as bundlers for k6 do.
fn find_package(file: &Path, specifier: &str) -> Option<PathBuf> {
    let conditions = ["import", "module", "browser", "default"];
    let resolver = oxc_resolver::Resolver::new(oxc_resolver::ResolveOptions {
        condition_names: conditions.map(str::to_owned).into(),
        extensions: [".js", ".mjs", ".ts", ".json"].map(str::to_owned).into(),
        main_fields: ["module", "main"].map(str::to_owned).into(),
        ..oxc_resolver::ResolveOptions::default()
    });
    let found = resolver.resolve(file.parent()?, specifier).ok()?;
    Some(found.full_path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve_file(base: &str, specifier: &str) -> Result<String, String> {
        resolve(base, specifier, &Path::is_file)
    }

    #[test]
    fn names_that_cannot_be_loaded_are_refused_with_a_reason() {
        let refused = |name: &str| resolve_file("file:///t/x.js", name).unwrap_err();
        assert!(refused("k6/x/sql").contains("is a k6 extension"));
        assert!(refused("k6/browser").contains("is not supported"));
        assert!(refused("k6/nothing").contains("the module `k6/nothing` does not exist"));
        assert!(refused("k6/experimental/timers").contains("use k6/timers"));
        assert_eq!(
            refused("http://a.test/x.js"),
            "only supported schemes for imports are file and https, http://a.test/x.js has `http`"
        );
        assert!(refused("lodash").starts_with(
            "The moduleSpecifier \"lodash\" couldn't be recognised as something k6 supports."
        ));
        assert!(
            refused("./none.js")
                .starts_with("The moduleSpecifier \"./none.js\" couldn't be found on local disk.")
        );
        assert_eq!(
            resolve_file("https://a.test/b/c.js", "file:///etc/x.js").unwrap_err(),
            "origin (https://a.test/b/c.js) not allowed to load local file: file:///etc/x.js"
        );
    }

    #[test]
    fn relative_names_of_remote_modules_are_urls() {
        assert_eq!(
            resolve_file("https://a.test/b/c.js", "../d.js").unwrap(),
            "https://a.test/d.js"
        );
        assert_eq!(
            resolve_file("file:///t/x.js", "k6/http").unwrap(),
            "k6/http"
        );
    }
}
