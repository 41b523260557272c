//! The keys of a native plan by mapping. Other keys are rejected with the nearest name.

pub const PLAN: &[&str] = &[
    "loadline",
    "name",
    "about",
    "target",
    "load",
    "max-duration",
    "http",
    "allow-hosts",
    "variables",
    "csv",
    "steps",
    "scenarios",
    "setup",
    "teardown",
    "criteria",
    "stop",
    "mqtt",
    "server",
    "mocks",
    "assume",
    "secrets",
    "excerpts",
    "stages",
    "cool-down",
    "tested",
    "target-service",
    "assumptions",
    "recommendations",
];
/// Keys of a plan that only campaigns have.
pub const CAMPAIGN: &[&str] = &[
    "stages",
    "cool-down",
    "tested",
    "target-service",
    "assumptions",
    "recommendations",
];
/// `about`
pub const ABOUT: &[&str] = &["objective", "owner", "environment", "links", "tags"];
/// `tested` and `target-service`
pub const DEPLOYMENT: &[&str] = &["instances", "background"];
/// An item of `stages`.
pub const STAGE: &[&str] = &[
    "name", "load", "run", "criteria", "stop", "on-fail", "target", "against",
];
/// `cool-down` as a mapping.
pub const COOL_DOWN: &[&str] = &["at-most", "rate", "for", "baseline"];
/// `load`, or an item of it.
pub const PHASE: &[&str] = &[
    "rate",
    "from",
    "to",
    "count",
    "pause",
    "users",
    "duration",
    "name",
    "arrivals",
    "max-users",
    "level",
    "steps",
    "base",
    "peak",
    "hold",
    "ramp",
    "at",
];
/// `users` as a mapping.
pub const USERS: &[&str] = &["from", "to"];
/// `assume`
pub const ASSUME: &[&str] = &["latency", "answer"];
/// An item of `server`.
pub const SOURCE: &[&str] = &["from", "query", "only", "counters", "pools"];
/// An item of a source's `pools`
pub const POOL: &[&str] = &["busy", "limit", "waiting"];
/// `http`
pub const HTTP: &[&str] = &[
    "timeout",
    "connections",
    "verify",
    "redirects",
    "headers",
    "cookies",
    "tls",
    "resolve",
    "unix",
];
/// `mqtt`
pub const MQTT: &[&str] = &[
    "host",
    "version",
    "tls",
    "verify",
    "user",
    "password",
    "keep-alive",
    "connect-rate",
    "publish",
    "subscribe",
];
/// `mqtt.publish`, or an item of it.
pub const MQTT_PUBLISH: &[&str] = &[
    "clients",
    "topic",
    "rate",
    "load",
    "volume",
    "qos",
    "payload",
    "retain",
    "in-flight",
    "client-id",
    "first",
    "user",
    "password",
    "clean",
];
/// `mqtt.subscribe`, or an item of it.
pub const MQTT_SUBSCRIBE: &[&str] = &[
    "clients",
    "topic",
    "qos",
    "client-id",
    "first",
    "user",
    "password",
    "clean",
];
/// `http.tls`
pub const TLS: &[&str] = &["ca", "cert", "key", "server-name"];
/// `csv`, or an item of it.
pub const CSV: &[&str] = &[
    "file",
    "columns",
    "header",
    "order",
    "delimiter",
    "numbers",
    "as",
];
/// An item of `scenarios`.
pub const SCENARIO: &[&str] = &["name", "weight", "volume", "steps"];
/// `volume` as a mapping.
pub const VOLUME: &[&str] = &["volume", "hours", "clustering", "growth"];
/// Steps that are not requests. Other steps are named by their method.
pub const STEPS: &[&str] = &["think", "loop", "log", "exit", "choose"];
pub const KEYS_WITH_STEPS: &[&str] = &["if", "group", "steps"];
/// An item of `choose`.
pub const BRANCH: &[&str] = &["weight", "steps"];
pub const REQUEST: &[&str] = &[
    "url",
    "name",
    "headers",
    "query",
    "json",
    "body",
    "form",
    "multipart",
    "cookies",
    "auth",
    "redirects",
    "capture",
    "check",
    "expect",
    "times",
];
/// An item of `multipart` as a mapping.
pub const PART: &[&str] = &["value", "file", "type", "filename"];
/// `auth`
pub const AUTH: &[&str] = &["user", "password"];
/// An item of `capture` as a mapping.
pub const CAPTURE: &[&str] = &[
    "json", "header", "regexp", "group", "flags", "optional", "all",
];
/// An item of `check`.
pub const CHECK: &[&str] = &["status", "header", "json", "body"];
/// `loop`
pub const LOOP: &[&str] = &["count", "over", "index", "element", "steps"];
/// `think` as a mapping.
pub const THINK: &[&str] = &["time", "jitter"];
/// An item of `mocks`.
pub const MOCK: &[&str] = &["port", "latency", "routes", "faults"];
pub const ROUTE: &[&str] = &[
    "status", "headers", "json", "body", "latency", "remember", "recall", "forget",
];
pub const EPISODIC: &[&str] = &["mean", "episodes"];
/// `episodes`
pub const EPISODES: &[&str] = &["every", "for", "latency"];
/// `queue`
pub const QUEUE: &[&str] = &["capacity", "workers"];
