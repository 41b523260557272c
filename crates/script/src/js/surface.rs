//! The part of Node.js's API that scripts can use. The JavaScript of a core module is evaluated
//! when a script first requires it.

/// Name of the global object with the native functions.
pub const NATIVE: &str = "loadline:native";

/// JavaScript that defines the global objects: `Buffer`, `URL`, timers, `console`, `process` and
/// others.
pub const GLOBALS: &str = concat!(
    include_str!("surface/url_classes.js"),
    include_str!("surface/globals.js")
);

/// JavaScript that defines `fetch` and its related classes.
pub const FETCH: &str = include_str!("surface/fetch.js");

const MODULES: &[(&str, &str)] = &[
    ("assert", include_str!("surface/assert.js")),
    ("buffer", "module.exports = { Buffer, atob, btoa };"),
    ("console", "module.exports = console;"),
    ("crypto", include_str!("surface/crypto.js")),
    ("events", include_str!("surface/events.js")),
    ("fs", include_str!("surface/fs.js")),
    ("fs/promises", "module.exports = require('fs').promises;"),
    ("http", include_str!("surface/http.js")),
    (
        "https",
        "module.exports = require('http').forScheme('https:');",
    ),
    ("os", include_str!("surface/os.js")),
    ("path", include_str!("surface/path.js")),
    ("path/posix", "module.exports = require('path');"),
    ("perf_hooks", "module.exports = { performance };"),
    ("process", "module.exports = process;"),
    ("querystring", include_str!("surface/querystring.js")),
    (
        "stream",
        concat!(
            include_str!("surface/stream.js"),
            include_str!("surface/stream_writing.js"),
            include_str!("surface/stream_pipeline.js")
        ),
    ),
    (
        "stream/promises",
        "module.exports = require('stream').promises;",
    ),
    ("string_decoder", include_str!("surface/string_decoder.js")),
    (
        "timers",
        "module.exports = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };",
    ),
    (
        "timers/promises",
        include_str!("surface/timers_promises.js"),
    ),
    ("url", include_str!("surface/url.js")),
    ("util", include_str!("surface/util.js")),
];

/// Core modules of Node.js that scripts cannot use.
const OTHERS: &[&str] = &[
    "async_hooks",
    "child_process",
    "cluster",
    "constants",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "http2",
    "inspector",
    "module",
    "net",
    "readline",
    "repl",
    "sys",
    "test",
    "tls",
    "trace_events",
    "tty",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
];

/// Returns whether a name is that of a core module of Node.js.
pub fn is_core(name: &str) -> bool {
    core_module(name).is_some() || OTHERS.contains(&name)
}

/// Returns the source of a core module. `None` if scripts cannot use it.
pub fn core_module(name: &str) -> Option<&'static str> {
    let found = MODULES.iter().find(|(known, _)| *known == name);
    found.map(|(_, source)| *source)
}

/// Returns the names of the core modules that scripts can use.
pub fn core_names() -> Vec<&'static str> {
    let names = MODULES.iter().map(|(name, _)| *name);
    names.filter(|name| !name.contains('/')).collect()
}
