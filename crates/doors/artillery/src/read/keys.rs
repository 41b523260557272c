//! The allow-list: every key that Artillery knows, level by level, and what becomes of it here. Plain data, from which checks
//! and documentation are made; a key that is not in it is one that Artillery ignores too.

/// Where a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The script itself.
    Root,
    /// `config`
    Config,
    /// `config.http`
    Http,
    /// `config.http.defaults` (and the older `config.defaults`)
    Defaults,
    /// `config.tls`
    Tls,
    /// An item of `config.phases`
    Phase,
    /// An item of `config.payload`
    Payload,
    /// `options` of a payload
    CsvOptions,
    /// `config.plugins`
    Plugins,
    /// An item of `scenarios`
    Scenario,
    /// A step's own key
    Step,
    /// `config.http.cookieJarOptions`
    CookieJar,
    /// A part of `formData`
    FormData,
    /// Beside `parallel`
    Parallel,
    /// Beside `loop`
    Loop,
    /// Beside `think`
    Think,
    /// Inside a request
    Request,
    /// Inside `capture`
    Capture,
    /// Inside `match`
    Match,
}

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It works.
    Yes,
    /// It is refused; the text says what to do.
    No(&'static str),
    /// It is read over with a note; the text says why.
    Noted(&'static str),
}

/// One known key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Where it stands.
    pub level: Level,
    /// Its name.
    pub name: &'static str,
    /// What becomes of it.
    pub support: Support,
}

const fn yes(level: Level, name: &'static str) -> Key {
    Key {
        level,
        name,
        support: Support::Yes,
    }
}

const fn no(level: Level, name: &'static str, what_to_do: &'static str) -> Key {
    Key {
        level,
        name,
        support: Support::No(what_to_do),
    }
}

const fn noted(level: Level, name: &'static str, why: &'static str) -> Key {
    Key {
        level,
        name,
        support: Support::Noted(why),
    }
}

const NO_JS: &str =
    "JavaScript hooks are not supported yet: replace them by templates, captures and variables";
const NO_WS: &str = "the engines ws and socketio are not supported yet: keep these scenarios in a script of their own";

/// Every key that Artillery knows.
pub const KEYS: &[Key] = &[
    yes(Level::Root, "config"),
    yes(Level::Root, "scenarios"),
    yes(Level::Root, "before"),
    yes(Level::Root, "after"),
    yes(Level::Config, "target"),
    yes(Level::Config, "phases"),
    yes(Level::Config, "environments"),
    yes(Level::Config, "variables"),
    yes(Level::Config, "payload"),
    yes(Level::Config, "http"),
    yes(Level::Config, "tls"),
    yes(Level::Config, "defaults"),
    yes(Level::Config, "timeout"),
    yes(Level::Config, "mode"),
    yes(Level::Config, "plugins"),
    yes(Level::Config, "engine"),
    noted(
        Level::Config,
        "processor",
        "its code is not run, and no step of this script asks for a function of it",
    ),
    noted(
        Level::Config,
        "engines",
        "no scenario needs more than the HTTP engine",
    ),
    yes(Level::Config, "ensure"),
    yes(Level::Config, "apdex"),
    yes(Level::Config, "fake-data"),
    noted(Level::Config, "ws", "no scenario uses the WebSocket engine"),
    noted(
        Level::Config,
        "socketio",
        "no scenario uses the Socket.IO engine",
    ),
    noted(Level::Config, "bundling", "there is nothing to bundle"),
    noted(
        Level::Config,
        "includeFiles",
        "it only matters on cloud workers",
    ),
    noted(
        Level::Config,
        "statsInterval",
        "periods are 10 seconds long",
    ),
    yes(Level::Http, "timeout"),
    yes(Level::Http, "pool"),
    yes(Level::Http, "defaults"),
    noted(
        Level::Http,
        "maxSockets",
        "Artillery ignores it: use `pool`",
    ),
    yes(Level::Http, "extendedMetrics"),
    yes(Level::Http, "cookieJarOptions"),
    yes(Level::CookieJar, "looseMode"),
    yes(Level::CookieJar, "rejectPublicSuffixes"),
    yes(Level::CookieJar, "prefixSecurity"),
    noted(
        Level::CookieJar,
        "allowSpecialUseDomain",
        "cookies of hosts like localhost are always taken",
    ),
    no(
        Level::Http,
        "distributedTracing",
        "trace headers are not supported yet: remove it, or set `traceparent` in `headers`",
    ),
    yes(Level::Defaults, "headers"),
    yes(Level::Defaults, "cookie"),
    yes(Level::Defaults, "strictCapture"),
    yes(Level::Defaults, "think"),
    yes(Level::Tls, "rejectUnauthorized"),
    yes(Level::Tls, "ca"),
    yes(Level::Tls, "cert"),
    yes(Level::Tls, "key"),
    yes(Level::Tls, "servername"),
    no(
        Level::Tls,
        "pfx",
        "unpack it: `openssl pkcs12 -in FILE -nodes` prints what `cert` and `key` take",
    ),
    no(
        Level::Tls,
        "passphrase",
        "unlock the key first: `openssl pkey -in KEY` prints what `key` takes",
    ),
    yes(Level::Phase, "name"),
    yes(Level::Phase, "duration"),
    yes(Level::Phase, "pause"),
    yes(Level::Phase, "arrivalRate"),
    yes(Level::Phase, "arrivalCount"),
    yes(Level::Phase, "rampTo"),
    yes(Level::Phase, "maxVusers"),
    yes(Level::Phase, "mode"),
    yes(Level::Payload, "path"),
    yes(Level::Payload, "fields"),
    yes(Level::Payload, "order"),
    yes(Level::Payload, "skipHeader"),
    yes(Level::Payload, "delimiter"),
    yes(Level::Payload, "skipEmptyLines"),
    yes(Level::Payload, "cast"),
    yes(Level::Payload, "loadAll"),
    yes(Level::Payload, "name"),
    yes(Level::Payload, "options"),
    yes(Level::CsvOptions, "delimiter"),
    yes(Level::CsvOptions, "quote"),
    yes(Level::CsvOptions, "comment"),
    yes(Level::CsvOptions, "trim"),
    yes(Level::CsvOptions, "bom"),
    yes(Level::CsvOptions, "cast"),
    yes(Level::CsvOptions, "relax_column_count"),
    yes(Level::CsvOptions, "skip_empty_lines"),
    yes(Level::Plugins, "metrics-by-endpoint"),
    yes(Level::Plugins, "ensure"),
    yes(Level::Plugins, "expect"),
    yes(Level::Plugins, "apdex"),
    yes(Level::Plugins, "fake-data"),
    no(Level::Plugins, "hls", "video streams are not supported"),
    noted(
        Level::Plugins,
        "publish-metrics",
        "results are not sent anywhere",
    ),
    noted(Level::Plugins, "slack", "results are not sent anywhere"),
    noted(
        Level::Plugins,
        "memory-inspector",
        "there is no Node.js process to inspect",
    ),
    noted(Level::Plugins, "cloud", "results are not sent anywhere"),
    noted(
        Level::Plugins,
        "artillery-cloud",
        "results are not sent anywhere",
    ),
    yes(Level::Scenario, "name"),
    yes(Level::Scenario, "weight"),
    yes(Level::Scenario, "flow"),
    yes(Level::Scenario, "engine"),
    no(Level::Scenario, "beforeScenario", NO_JS),
    no(Level::Scenario, "afterScenario", NO_JS),
    no(Level::Scenario, "beforeRequest", NO_JS),
    no(Level::Scenario, "afterResponse", NO_JS),
    no(Level::Scenario, "onError", NO_JS),
    no(Level::Scenario, "socketio", NO_WS),
    no(Level::Scenario, "ws", NO_WS),
    yes(Level::Step, "loop"),
    yes(Level::Step, "think"),
    yes(Level::Step, "log"),
    no(Level::Step, "function", NO_JS),
    yes(Level::Step, "parallel"),
    no(Level::Step, "connect", NO_WS),
    no(Level::Step, "send", NO_WS),
    no(Level::Step, "wait", NO_WS),
    no(Level::Step, "emit", NO_WS),
    yes(Level::Parallel, "parallel"),
    yes(Level::Parallel, "limit"),
    yes(Level::FormData, "value"),
    yes(Level::FormData, "fromFile"),
    yes(Level::FormData, "contentType"),
    yes(Level::Loop, "loop"),
    yes(Level::Loop, "count"),
    yes(Level::Loop, "over"),
    yes(Level::Loop, "loopValue"),
    yes(Level::Loop, "loopElement"),
    noted(
        Level::Loop,
        "whileTrue",
        "it names a function, and no processor defines one: the loop goes by its other keys, as in Artillery",
    ),
    yes(Level::Think, "think"),
    yes(Level::Think, "jitter"),
    yes(Level::Request, "url"),
    yes(Level::Request, "uri"),
    yes(Level::Request, "name"),
    yes(Level::Request, "headers"),
    yes(Level::Request, "json"),
    yes(Level::Request, "body"),
    yes(Level::Request, "form"),
    yes(Level::Request, "qs"),
    yes(Level::Request, "cookie"),
    yes(Level::Request, "auth"),
    yes(Level::Request, "gzip"),
    yes(Level::Request, "followRedirect"),
    yes(Level::Request, "capture"),
    yes(Level::Request, "match"),
    yes(Level::Request, "allowGetBody"),
    yes(Level::Request, "formData"),
    noted(
        Level::Request,
        "setContentLengthHeader",
        "the length of a multipart body is always sent",
    ),
    yes(Level::Request, "probability"),
    yes(Level::Request, "ifTrue"),
    no(Level::Request, "beforeRequest", NO_JS),
    no(Level::Request, "afterResponse", NO_JS),
    no(Level::Request, "http2", "HTTP/2 is not supported yet"),
    yes(Level::Request, "maxRedirects"),
    no(
        Level::Request,
        "https",
        "TLS options of a single request are not supported yet: use `config.tls`",
    ),
    no(
        Level::Request,
        "encoding",
        "it is not supported yet: bodies are UTF-8",
    ),
    yes(Level::Request, "expect"),
    noted(
        Level::Request,
        "timeout",
        "Artillery ignores it here: use `config.http.timeout`",
    ),
    yes(Level::Capture, "json"),
    yes(Level::Capture, "header"),
    yes(Level::Capture, "regexp"),
    yes(Level::Capture, "group"),
    yes(Level::Capture, "flags"),
    yes(Level::Capture, "as"),
    yes(Level::Capture, "strict"),
    yes(Level::Capture, "multiple"),
    yes(Level::Capture, "value"),
    yes(Level::Capture, "xpath"),
    yes(Level::Capture, "selector"),
    yes(Level::Capture, "attr"),
    yes(Level::Capture, "index"),
    noted(
        Level::Capture,
        "transform",
        "Artillery 2 has no transforms: the captured value stays as it is",
    ),
    yes(Level::Match, "json"),
    yes(Level::Match, "header"),
    yes(Level::Match, "regexp"),
    yes(Level::Match, "group"),
    yes(Level::Match, "flags"),
    yes(Level::Match, "value"),
    yes(Level::Match, "strict"),
    yes(Level::Match, "multiple"),
    yes(Level::Match, "xpath"),
    yes(Level::Match, "selector"),
    yes(Level::Match, "attr"),
    yes(Level::Match, "index"),
];

/// Where each level stands, in the page's words and order.
const LEVELS: &[(Level, &str)] = &[
    (Level::Root, "The script"),
    (Level::Config, "`config`"),
    (Level::Http, "`config.http`"),
    (
        Level::Defaults,
        "`config.http.defaults`, and the older `config.defaults`",
    ),
    (Level::CookieJar, "`config.http.cookieJarOptions`"),
    (Level::Tls, "`config.tls`"),
    (Level::Phase, "Items of `config.phases`"),
    (Level::Payload, "`config.payload`"),
    (Level::CsvOptions, "`options` of a payload"),
    (Level::Plugins, "`config.plugins`"),
    (
        Level::Scenario,
        "Items of `scenarios`; `before` and `after`",
    ),
    (
        Level::Step,
        "Steps (in addition to every HTTP method of IANA's registry)",
    ),
    (Level::Loop, "With `loop`"),
    (Level::Parallel, "With `parallel`"),
    (Level::Think, "With `think`"),
    (Level::Request, "Requests"),
    (Level::FormData, "Parts of `formData`"),
    (Level::Capture, "`capture`"),
    (Level::Match, "`match`"),
];

/// The whole list as a table for the page: what is supported, refused with which advice, and read over with which note.
#[must_use]
pub fn table() -> String {
    let mut out = String::from("| where | supported | refused | noted |\n|---|---|---|---|\n");
    for (level, place) in LEVELS {
        let supported: Vec<String> = of(*level)
            .filter(|key| key.support == Support::Yes)
            .map(|key| format!("`{}`", key.name))
            .collect();
        let refused = reasons(*level, |support| match support {
            Support::No(what_to_do) => Some(what_to_do),
            _ => None,
        });
        let noted = reasons(*level, |support| match support {
            Support::Noted(why) => Some(why),
            _ => None,
        });
        let cells = [supported.join(", "), refused, noted];
        let cells = cells.map(|cell| {
            if cell.is_empty() {
                "–".to_owned()
            } else {
                cell
            }
        });
        out.push_str(&format!("| {place} | {} |\n", cells.join(" | ")));
    }
    out
}

/// Keys with the same reason together.
fn reasons(level: Level, reason: impl Fn(Support) -> Option<&'static str>) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for key in of(level) {
        let Some(why) = reason(key.support) else {
            continue;
        };
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(key.name),
            None => groups.push((why, vec![key.name])),
        }
    }
    let group = |(why, names): &(&str, Vec<&str>)| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("{}: {why}", names.join(", "))
    };
    groups.iter().map(group).collect::<Vec<_>>().join("; ")
}

/// The keys of a level.
pub fn of(level: Level) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.level == level)
}

/// A known key.
pub fn find(level: Level, name: &str) -> Option<&'static Key> {
    of(level).find(|key| key.name == name)
}
