use formats::LoadErrors;
use init::Draft;

use crate::support::{golden, read, refusal};

const PLAN: &str = include_str!("sources/shop.jmx");

fn file(path: &std::path::Path) -> Result<Vec<u8>, String> {
    match path.to_str() {
        Some("users.csv") => Ok(b"user,password\nada,s3cret\n".to_vec()),
        _ => Err("no such file".to_owned()),
    }
}

fn drafted(text: &str) -> Result<Draft, LoadErrors> {
    init::from_text("shop.jmx", text, &file)
}

#[test]
fn plan_with_login_and_think_time_becomes_a_plan() {
    let (text, _) = read(drafted(PLAN).unwrap());
    golden("jmeter.yml", &text);
}

fn property(name: &str, value: &str) -> String {
    let value = value.replace('&', "&amp;").replace('<', "&lt;");
    format!("<stringProp name=\"{name}\">{value}</stringProp>")
}

fn element(kind: &str, name: &str, properties: &[(&str, &str)], below: &str) -> String {
    let properties = properties.iter().map(|(name, value)| property(name, value));
    let properties: String = properties.collect();
    format!("<{kind} testname=\"{name}\">{properties}</{kind}><hashTree>{below}</hashTree>")
}

fn sampler(name: &str, path: &str, below: &str) -> String {
    let properties = [
        ("HTTPSampler.domain", "shop.example"),
        ("HTTPSampler.path", path),
        ("HTTPSampler.follow_redirects", "true"),
    ];
    element("HTTPSamplerProxy", name, &properties, below)
}

fn group(properties: &[(&str, &str)], below: &str) -> String {
    element("ThreadGroup", "Users", properties, below)
}

const FOREVER: [(&str, &str); 4] = [
    ("ThreadGroup.num_threads", "5"),
    ("LoopController.loops", "-1"),
    ("ThreadGroup.scheduler", "true"),
    ("ThreadGroup.duration", "30"),
];

fn whole(below: &str) -> String {
    let plan = element("TestPlan", "Plan", &[], below);
    format!("<jmeterTestPlan><hashTree>{plan}</hashTree></jmeterTestPlan>")
}

/// Returns the plan for the elements of a thread group. Its comments are not wrapped.
fn steps(below: &str) -> String {
    written(&whole(&group(&FOREVER, below)))
}

fn written(jmx: &str) -> String {
    let (text, _) = read(drafted(jmx).unwrap());
    let lines = text.lines().map(str::trim_start).collect::<Vec<_>>();
    lines.join("\n").replace("\n# ", " ")
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn thread_groups_become_loads() {
    let one = sampler("a", "/", "");
    let load = |properties: &[(&str, &str)]| written(&whole(&group(properties, &one)));
    let forever = load(&FOREVER);
    assert_has(
        &forever,
        &["load: { users: 5, duration: 30s }", "cookies: false"],
    );
    let ramp = load(&[
        ("ThreadGroup.num_threads", "${__P(n,10)}"),
        ("ThreadGroup.ramp_time", "20"),
        ("LoopController.loops", "1"),
    ]);
    assert_has(
        &ramp,
        &[
            "load: { count: 10, duration: 20s }",
            "JMeter reads `ThreadGroup.num_threads` from `${__P(n,10)}`, which is 10 here",
        ],
    );
    let loops = load(&[
        ("ThreadGroup.num_threads", "3"),
        ("ThreadGroup.ramp_time", "6"),
        ("LoopController.loops", "4"),
    ]);
    assert_has(
        &loops,
        &["load: { count: 3, duration: 6s }", "- loop:\ncount: 4"],
    );
    let endless = load(&[
        ("ThreadGroup.num_threads", "2"),
        ("LoopController.loops", "-1"),
    ]);
    assert_has(
        &endless,
        &[
            "TO FILL IN: the duration",
            "load: { users: 2, duration: 1m }",
        ],
    );
}

#[test]
fn thread_groups_of_plugins_become_loads() {
    let one = sampler("a", "/", "");
    let schedule = "rate(0/min) random_arrivals(1 min) rate(120/min) even_arrivals(2 min)";
    let open = element(
        "OpenModelThreadGroup",
        "Open",
        &[("OpenModelThreadGroup.schedule", schedule)],
        &one,
    );
    assert_has(
        &written(&whole(&open)),
        &[
            "- { from: 0/s, to: 2/s, arrivals: poisson, duration: 1m }",
            "- { rate: 2/s, duration: 2m }",
        ],
    );
    let concurrency = [
        ("TargetLevel", "10"),
        ("RampUp", "1"),
        ("Steps", "2"),
        ("Hold", "5"),
        ("Unit", "M"),
    ];
    let concurrency = element(
        "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup",
        "Many",
        &concurrency,
        &one,
    );
    assert_has(
        &written(&whole(&concurrency)),
        &[
            "- { users: 5, duration: 30s }",
            "- { users: 10, duration: 30s }",
            "- { users: 10, duration: 5m }",
        ],
    );
    let cells: String = ["10", "0", "10", "20", "5"]
        .map(|cell| property("1", cell))
        .concat();
    let ultimate = format!(
        "<kg.apc.jmeter.threads.UltimateThreadGroup testname=\"U\"><collectionProp name=\"ultimatethreadgroupdata\"><collectionProp name=\"x\">{cells}</collectionProp></collectionProp></kg.apc.jmeter.threads.UltimateThreadGroup><hashTree>{one}</hashTree>"
    );
    assert_has(
        &written(&whole(&ultimate)),
        &[
            "- { users: { from: 0, to: 10 }, duration: 10s }",
            "- { users: 10, duration: 20s }",
            "- { users: { from: 10, to: 0 }, duration: 5s }",
        ],
    );
    let stepping = [
        ("ThreadGroup.num_threads", "25"),
        ("Threads initial delay", "5"),
        ("Start users count", "10"),
        ("Start users count burst", "5"),
        ("Start users period", "30"),
        ("rampUp", "2"),
        ("flighttime", "60"),
        ("Stop users count", "20"),
        ("Stop users period", "1"),
    ];
    let stepping = element(
        "kg.apc.jmeter.threads.SteppingThreadGroup",
        "S",
        &stepping,
        &one,
    );
    assert_has(
        &written(&whole(&stepping)),
        &[
            "- { pause: 5s }\n- { users: { from: 0, to: 5 }, duration: 2s }\n- { users: 5, duration: 30s }",
            "- { users: { from: 5, to: 15 }, duration: 2s }\n- { users: 15, duration: 30s }",
            "- { users: { from: 15, to: 25 }, duration: 2s }\n- { users: 25, duration: 1m }\n- { users: 5, duration: 1s }",
        ],
    );
    let unknown = element("example.OtherThreadGroup", "O", &[], &one);
    assert_has(
        &written(&whole(&unknown)),
        &["TO FILL IN: the load of this OtherThreadGroup, which is not supported"],
    );
}

#[test]
fn once_only_steps_run_before_the_loops_of_a_thread() {
    let once = element(
        "OnceOnlyController",
        "Login",
        &[],
        &sampler("l", "/login", ""),
    );
    let plan = |loops: &str, below: &str| {
        let load = [
            ("ThreadGroup.num_threads", "3"),
            ("ThreadGroup.ramp_time", "6"),
            ("LoopController.loops", loops),
            ("ThreadGroup.duration", "30"),
            ("ThreadGroup.scheduler", "true"),
        ];
        written(&whole(&group(&load, below)))
    };
    let other = sampler("a", "/a", "");
    let position =
        |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let text = plan("4", &format!("{once}{other}"));
    let order = ["/login", "- loop:", "/a"].map(|part| position(&text, part));
    assert!(
        order.is_sorted() && !text.contains("once per thread"),
        "{text}"
    );
    // Cases: not first, below a condition, or in an endless loop.
    let condition = element(
        "IfController",
        "If",
        &[("IfController.condition", "true")],
        &once,
    );
    for text in [
        plan("4", &format!("{other}{once}")),
        plan("4", &format!("{condition}{other}")),
        plan("-1", &format!("{once}{other}")),
    ] {
        position(
            &text,
            "JMeter runs the steps of this controller once per thread",
        );
    }
}

#[test]
fn comments_of_elements_stay_without_secrets() {
    let plan = |text: &str| {
        let request = sampler("a", "/a", "");
        let below = element(
            "GenericController",
            "Part",
            &[("TestPlan.comments", text)],
            &request,
        );
        written(&whole(&group(
            &[FOREVER.as_slice(), &[("TestPlan.comments", "As on Monday")]].concat(),
            &below,
        )))
    };
    let text = plan("Buys\n one");
    assert_has(
        &text,
        &[
            "ThreadGroup `Users`: comment: As on Monday",
            "comment: Buys one",
        ],
    );
    let text = plan("the password is tulip");
    assert_has(
        &text,
        &["its comment is left out, because it names a secret"],
    );
    assert!(!text.contains("tulip"), "{text}");
}

#[test]
fn several_groups_share_a_load() {
    let buyers = group(&FOREVER, &sampler("buy", "/buy", ""));
    let mut readers = FOREVER;
    readers[0].1 = "15";
    let readers = group(&readers, &sampler("read", "/read", ""));
    let setup = element(
        "SetupThreadGroup",
        "Before",
        &[("ThreadGroup.num_threads", "1")],
        &element(
            "TransactionController",
            "Reset",
            &[],
            &sampler("reset", "/reset", ""),
        ),
    );
    let text = written(&whole(&format!("{setup}{buyers}{readers}")));
    assert_has(
        &text,
        &[
            "load: { users: 20, duration: 30s }",
            "scenarios:\n- name: Users\nsteps:",
            "- name: Users 2\nweight: 3\nsteps:",
            "setup:\n- get:\nurl: /reset",
        ],
    );
}

#[test]
fn sampler_outside_of_a_group_is_listed() {
    let stray = sampler("stray", "http://stray.example/", "");
    let inner = format!(
        "{}{}",
        sampler("a", "/a", ""),
        sampler("b", "http://b.example/b", "")
    );
    assert_has(
        &written(&whole(&format!("{stray}{}", group(&FOREVER, &inner)))),
        &[
            "skipped, because it is not in a thread group",
            "target: http://shop.example\n",
            "url: http://b.example/b",
        ],
    );
}

#[test]
fn controllers_become_flow() {
    let one = sampler("a", "/a", "");
    let two = sampler("b", "/b", "");
    let condition = |text: &str| {
        element(
            "IfController",
            "If",
            &[("IfController.condition", text)],
            &one,
        )
    };
    let percent = element(
        "ThroughputController",
        "Some",
        &[
            ("ThroughputController.style", "1"),
            ("ThroughputController.percentThroughput", "25"),
        ],
        &one,
    );
    let repeated = |condition: &str| {
        element(
            "WhileController",
            "While",
            &[("WhileController.condition", condition)],
            &two,
        )
    };
    let text = steps(&format!(
        "{}{}{}{}{}{percent}{}{}",
        element("CSVDataSet", "Users", &[("filename", "users.csv")], ""),
        condition("${__groovy(vars.get(\"user\") == 'ada' && ${__P(n,1)} < 3)}"),
        condition("${__jexl3(${JMeterThread.last_sample_ok} && f(1))}"),
        condition("\"${user}\"==\"ada\" || ${user} > 5"),
        element("RandomController", "Any", &[], &format!("{one}{two}")),
        repeated("${__groovy(f())}"),
        repeated("${__jexl3(\"${user}\" != \"ada\")}"),
    ));
    assert_has(
        &text,
        &[
            "TO FILL IN: the condition. The steps below always run here",
            "- if: 'user == \"ada\" and n < 3'",
            "- if: 'user == \"ada\" or user > 5'",
            "- choose:\n- weight: 1\nsteps:\n- get:\nurl: /a",
            "- if: 'random() * 100 < 25'",
            "TO FILL IN: JMeter repeats the steps below while `${__groovy(f())}` holds",
            "- loop:\ncount: 1000\nsteps:\n- if: 'user != \"ada\"'",
        ],
    );
}

#[test]
fn extractors_become_captures() {
    let json = [
        ("JSONPostProcessor.referenceNames", "first;all"),
        (
            "JSONPostProcessor.jsonPathExprs",
            "$.items[*].id;$.items[*].id",
        ),
        ("JSONPostProcessor.match_numbers", "1;-1"),
    ];
    let regexp = [
        ("RegexExtractor.refname", "third"),
        ("RegexExtractor.regex", "n=(\\d+)"),
        ("RegexExtractor.template", "$1$"),
        ("RegexExtractor.match_number", "3"),
    ];
    let boundary = [
        ("BoundaryExtractor.refname", "csrf"),
        ("BoundaryExtractor.lboundary", "value=\"("),
        ("BoundaryExtractor.rboundary", "\""),
    ];
    let below = [
        element("JSONPostProcessor", "J", &json, ""),
        element("RegexExtractor", "R", &regexp, ""),
        element("BoundaryExtractor", "B", &boundary, ""),
    ];
    let uses = sampler("one", "/one/${first}/${all_2}/${csrf}", "");
    let list = sampler("list", "/list", &below.concat());
    assert_has(
        &steps(&format!("{list}{uses}")),
        &[
            "first: { json: '$.items[*].id', optional: true, all: true }",
            "all: { json: '$.items[*].id', all: true, optional: true }",
            "csrf: { regexp: 'value=\"\\(([\\s\\S]*?)\"', group: 1, optional: true }",
            "url: '/one/{{ first[0] }}/{{ all[1] }}/{{ csrf }}'",
            "Plans cannot capture match 3",
        ],
    );
}

#[test]
fn assertions_become_checks() {
    let assertion = |field: &str, kind: &str, text: &str| {
        format!(
            "<ResponseAssertion testname=\"R\"><collectionProp name=\"Asserion.test_strings\">{}</collectionProp>{}{}</ResponseAssertion><hashTree/>",
            property("1", text),
            property("Assertion.test_field", field),
            property("Assertion.test_type", kind)
        )
    };
    let json = [
        ("JSON_PATH", "$.n"),
        ("EXPECTED_VALUE", "5"),
        ("JSONVALIDATION", "true"),
    ];
    let duration = [("DurationAssertion.duration", "250")];
    let checks = [
        assertion("Assertion.response_code", "1", "20[01]"),
        assertion("Assertion.response_data", "2", "id=\\d+"),
        assertion("Assertion.response_data", "6", "error"),
        assertion("Assertion.response_headers", "16", "etag"),
        element("JSONPathAssertion", "JA", &json, ""),
        element("DurationAssertion", "D", &duration, ""),
    ];
    let list = sampler("list", "/list", &checks.concat());
    let other = sampler("other", "/other", "");
    assert_has(
        &steps(&format!("{list}{other}")),
        &[
            "{ status: [200, 201] }",
            "matched: { regexp: 'id=\\d+' }",
            "not checked: that the text does not occur",
            "not checked: the response headers",
            "{ json: { $.n: 5 } }",
            "- 'max of \"list\" < 250ms'",
        ],
    );
}

#[test]
fn throughput_timer_becomes_an_arrival_rate() {
    let timer = "<ConstantThroughputTimer testname=\"T\"><intProp name=\"calcMode\">2</intProp><doubleProp><name>throughput</name><value>120.0</value><savedValue>0.0</savedValue></doubleProp></ConstantThroughputTimer><hashTree/>";
    let text = steps(&format!(
        "{timer}{}{}",
        sampler("a", "/a", ""),
        sampler("b", "/b", "")
    ));
    assert_has(
        &text,
        &[
            "load: { rate: 1/s, duration: 30s, max-users: 5 }",
            "2/s requests, 2 in each iteration, by at most 5 users",
        ],
    );
}

#[test]
fn malformed_plan_is_refused_in_one_line() {
    for (text, reason) in [
        (
            "<jmeterTestPlan><hashTree>".to_owned(),
            "shop.jmx:1:1: this is not XML: the root node was opened but never closed",
        ),
        (
            "<jmeterTestPlan/>".to_owned(),
            "shop.jmx:1:1: a JMeter plan must be a `jmeterTestPlan` with a `hashTree`",
        ),
        (
            whole(&group(&FOREVER, "")),
            "shop.jmx:1:27: this JMeter plan has no enabled HTTP sampler",
        ),
        (
            PLAN.replace(">GET</stringProp>", ">BREW</stringProp>"),
            "shop.jmx:121:9: `brew` is not a method that plans support: disable the sampler",
        ),
    ] {
        assert_eq!(refusal(drafted(&text)), reason);
    }
    let mut deep = String::new();
    for _ in 0..80 {
        deep.push_str("<GenericController/><hashTree>");
    }
    deep.push_str(&"</hashTree>".repeat(80));
    let line = refusal(drafted(&whole(&group(&FOREVER, &deep))));
    assert!(
        line.contains("elements are nested more than 60 levels deep"),
        "{line}"
    );
}
