//! Tests of reading and consolidating options.

use proptest::prelude::*;
use serde_json::json;

use super::{
    OptionSource, Options,
    consolidate::{Consolidated, Layers, consolidate},
    flags::{Command, RunFlags},
    settings::{Settings, SummaryMode},
};
use crate::duration::DurationNs;

fn script(value: serde_json::Value) -> Options {
    Options::from_json(&value, OptionSource::Script)
        .unwrap()
        .options
}

fn run(arguments: &[&str]) -> Result<RunFlags, String> {
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    RunFlags::parse(&arguments).map_err(|error| error.to_string())
}

fn merged(layers: &Layers) -> Consolidated {
    consolidate(layers).unwrap()
}

#[test]
fn every_key_of_a_script_is_read() {
    let value: serde_json::Value = serde_json::from_str(
        r#"{
        "paused": false, "vus": "10", "duration": 1500, "iterations": "", "stages": [
            {"duration": "10s", "target": "5"}, {"target": 3}],
        "scenarios": {"a": {"executor": "constant-vus", "duration": "5s", "vus": 3}},
        "executionSegment": "0:1/2", "executionSegmentSequence": "0,1/2,1",
        "noSetup": true, "setupTimeout": "5s", "noTeardown": true, "teardownTimeout": 1,
        "handleSummaryTimeout": "1m", "rps": 5, "dns": {"ttl": "1m", "select": "roundRobin"},
        "maxRedirects": 0, "userAgent": "me", "batch": 3, "batchPerHost": 2,
        "httpDebug": "full", "insecureSkipTLSVerify": true, "tlsCipherSuites": ["A"],
        "tlsVersion": {"min": "tls1.0", "max": "tls1.3"},
        "tlsAuth": [{"domains": ["a"], "cert": "c", "key": "k"}],
        "thresholds": {"m": ["avg<1", {"threshold": "max<2", "abortOnFail": true,
            "delayAbortEval": "10s"}]},
        "throw": true, "blacklistIPs": ["10.0.0.0/8"], "blockHostnames": ["*.a"],
        "hosts": {"a": "1.2.3.4"}, "noConnectionReuse": true, "noVUConnectionReuse": true,
        "minIterationDuration": "1s", "cloud": {}, "ext": {"loadimpact": {}},
        "summaryTrendStats": ["avg"], "summaryTimeUnit": "ms", "systemTags": ["url"],
        "tags": {"a": "b"}, "metricSamplesBufferSize": 1, "noCookiesReset": true,
        "discardResponseBodies": true, "features": ["freeze-env"],
        "userAgnt": 1, "consoleOutput": "x"
    }"#,
    )
    .unwrap();
    let read = Options::from_json(&value, OptionSource::Script).unwrap();
    assert_eq!(read.unknown_fields, ["userAgnt", "consoleOutput"]);
    let options = read.options;
    assert_eq!(options.vus, Some(10));
    assert_eq!(options.duration, Some(DurationNs(1_500_000_000)));
    assert_eq!(options.iterations, None);
    let unset: Vec<_> = options
        .to_json()
        .as_object()
        .unwrap()
        .clone()
        .into_iter()
        .collect();
    let unset = unset.iter().filter(|(_, value)| value.is_null());
    assert_eq!(
        unset.map(|(name, _)| name).collect::<Vec<_>>(),
        ["iterations"]
    );
    let again = script(options.to_json());
    assert_eq!(again, options);
}

#[test]
fn wrong_types_name_their_key() {
    for (value, text) in [
        (
            json!({"vus": true}),
            "\"vus\": expected an integer, but got a boolean",
        ),
        (json!({"vus": 1.5}), "\"vus\": 1.5 is not a valid integer"),
        (
            json!({"throw": "true"}),
            "\"throw\": expected a boolean, but got a string",
        ),
        (
            json!({"duration": "5x"}),
            "\"duration\": '5x' is not a valid duration value",
        ),
        (
            json!({"scenarios": {"a": {"executor": "constant-vus", "vuz": 1}}}),
            "\"scenarios\": scenario \"a\": unknown field \"vuz\" for executor constant-vus",
        ),
        (
            json!({"scenarios": {"a": {"executor": "externally-controlled"}}}),
            "\"scenarios\": unknown executor type 'externally-controlled'",
        ),
        (
            json!({"scenarios": {"a": {"vus": 1}}}),
            "\"scenarios\": scenario 'a' doesn't have a specified executor type",
        ),
    ] {
        let error = Options::from_json(&value, OptionSource::Script).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("parsing options from script got error while parsing {text}")
        );
    }
}

#[test]
fn environment_sets_lists_maps_and_flags() {
    let lookup = |name: &str| {
        let text = match name {
            "K6_VUS" => "5",
            "K6_STAGES" => "10s:5,:0",
            "K6_NO_VU_CONNECTION_REUSE" => "true",
            "K6_BLACKLIST_IPS" => "10.0.0.0/8,::1",
            "K6_TAGS" => "a:b,c:d:e",
            "K6_SUMMARY_TREND_STATS" => "avg,p(99)",
            "K6_DURATION" | "K6_LINGER" => "",
            "K6_NO_COLOR" => "1",
            "K6_OUT" => "json=a,csv=fileName=b,saveInterval=1s",
            "K6_SUMMARY_MODE" => "full",
            _ => return None,
        };
        Some(text.to_owned())
    };
    let options = Options::from_env(&lookup).unwrap();
    assert_eq!(options.vus, Some(5));
    assert_eq!(options.duration, None);
    assert_eq!(options.stages.map(|stages| stages.len()), Some(2));
    assert_eq!(options.tags.unwrap().get("c"), Some("d:e"));
    assert_eq!(options.no_vu_connection_reuse, Some(true));
    let settings = Settings::from_env(&lookup).unwrap();
    assert_eq!(settings.no_color, Some(true));
    assert_eq!(settings.summary_mode, Some(SummaryMode::Full));
    assert_eq!(
        settings.out.unwrap(),
        ["json=a", "csv=fileName=b,saveInterval=1s"]
    );
    let bad = |name: &str| (name == "K6_VUS").then(|| "x".to_owned());
    assert!(
        Options::from_env(&bad)
            .unwrap_err()
            .to_string()
            .starts_with("K6_VUS: ")
    );
}

#[test]
fn flags_follow_pflag() {
    for arguments in [
        ["-u10", "-d", "5s", "a.js"],
        ["-u=10", "a.js", "--duration", "5s"],
        ["--vus=10", "--duration=5s", "--", "a.js"],
        ["--vus", "10", "-d5s", "a.js"],
    ] {
        let flags = run(&arguments).unwrap();
        assert_eq!(flags.script, "a.js");
        assert_eq!(flags.options.vus, Some(10));
        assert_eq!(flags.options.duration, Some(DurationNs::from_secs(5)));
    }
    let flags = run(&[
        "-qpw",
        "--no-setup=false",
        "--http-debug",
        "-e",
        "A=b=c",
        "-eB",
        "--tag",
        "x=y",
        "-o",
        "json=a",
        "--out=csv",
        "-s",
        "10s:5",
        "--stage",
        ":0",
        "-",
    ])
    .unwrap();
    assert_eq!(flags.script, "-");
    assert_eq!(flags.settings.quiet, Some(true));
    assert_eq!(
        (flags.options.paused, flags.options.throw),
        (Some(true), Some(true))
    );
    assert_eq!(flags.options.no_setup, Some(false));
    assert_eq!(flags.options.http_debug.as_deref(), Some("headers"));
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(flags.settings.env, [pair("A", "b=c"), pair("B", "")]);
    assert_eq!(flags.settings.out.unwrap(), ["json=a", "csv"]);
    assert_eq!(flags.options.stages.unwrap().len(), 2);
}

#[test]
fn wrong_command_lines_have_pflags_errors() {
    for (arguments, text) in [
        (&["--xyz", "a.js"][..], "unknown flag: --xyz"),
        (&["-x", "a.js"], "unknown shorthand flag: 'x' in -x"),
        (&["-qx", "a.js"], "unknown shorthand flag: 'x' in -x"),
        (&["a.js", "--vus"], "flag needs an argument: --vus"),
        (&["a.js", "-u"], "flag needs an argument: 'u' in -u"),
        (
            &["-u", "x", "a.js"],
            "invalid argument \"x\" for \"-u, --vus\" flag: parsing \"x\": invalid syntax",
        ),
        (
            &["-e", "1a=b", "a.js"],
            "invalid environment variable name '1a'",
        ),
        (&["--summary-mode", "x", "a.js"], "invalid summary mode"),
        (
            &[],
            "arg should either be \"-\", if reading script from stdin, or a path to a script file",
        ),
        (
            &["--no-setup", "false", "a.js"],
            "arg should either be \"-\", if reading script from stdin, or a path to a script file",
        ),
    ] {
        assert_eq!(run(arguments).unwrap_err(), text);
    }
    assert_eq!(run(&["--help"]).unwrap().settings.help, Some(true));
    let archive = ["-O", "a.tar", "a.js"].map(str::to_owned);
    let flags = RunFlags::parse_for(Command::Archive, &archive).unwrap();
    assert_eq!(flags.settings.archive_out.as_deref(), Some("a.tar"));
    assert!(run(&["-O", "a.tar", "a.js"]).is_err());
}

#[test]
fn removed_flags_work_with_a_warning() {
    let flags = run(&["--no-summary", "a.js"]).unwrap();
    assert_eq!(flags.settings.summary_mode, Some(SummaryMode::Disabled));
    assert_eq!(flags.settings.warnings.len(), 1);
    let flags = run(&["--summary-mode=legacy", "a.js"]).unwrap();
    assert_eq!(flags.settings.summary_mode, Some(SummaryMode::Legacy));
    assert_eq!(flags.settings.warnings.len(), 1);
}

#[test]
fn higher_layers_win_and_hide_the_execution_of_lower_ones() {
    let scenarios = json!({"a": {"executor": "constant-vus", "duration": "5s"}});
    let layers = Layers {
        config: script(json!({"vus": 1, "duration": "1s", "tags": {"a": "1", "b": "1"}})),
        script: script(json!({"scenarios": scenarios, "batch": 7, "tags": {"a": "2"}})),
        env: Options::default(),
        cli: run(&["-d", "5s", "a.js"]).unwrap().options,
    };
    let both = merged(&layers);
    assert_eq!(
        both.warnings,
        ["\"cli\" level configuration overrode scenarios configuration entirely"]
    );
    assert_eq!(both.options.scenarios, None);
    assert_eq!(both.options.vus, Some(1));
    assert_eq!(both.options.batch, Some(7));
    assert_eq!(both.options.tags.as_ref().unwrap().get("b"), None);
    let only_vus = Layers {
        cli: run(&["-u", "5", "a.js"]).unwrap().options,
        ..layers.clone()
    };
    assert!(merged(&only_vus).options.scenarios.is_some());
    let merging = Layers {
        cli: run(&["--features=merge-run-tags", "a.js"]).unwrap().options,
        ..layers
    };
    let tags = merged(&merging).options.tags.unwrap();
    assert_eq!((tags.get("a"), tags.get("b")), (Some("2"), Some("1")));
}

#[test]
fn summary_options_are_checked() {
    let error = |options| {
        let layers = Layers {
            script: options,
            ..Layers::default()
        };
        consolidate(&layers).unwrap_err().to_string()
    };
    assert_eq!(
        error(script(json!({"summaryTimeUnit": "h"}))),
        "invalid summary time unit 'h', use 's', 'ms' or 'us'"
    );
    assert_eq!(
        error(script(json!({"summaryTrendStats": ["p95"]}))),
        "invalid trend stat 'p95', unknown format"
    );
    let stats = merged(&Layers::default()).trend_stats();
    assert_eq!(stats.len(), 6);
}

proptest! {
    #[test]
    fn no_command_line_makes_the_parser_panic(
        arguments in prop::collection::vec(
            "-{0,2}[a-zé=0-9:,.-]{0,12}|--(vus|stage|dns|tag)=?.{0,6}", 0..5)
    ) {
        let _ = RunFlags::parse(&arguments);
    }

    #[test]
    fn no_value_of_an_option_makes_the_reader_panic(
        key in prop::sample::select(super::KEYS.iter().map(|key| key.name).collect::<Vec<_>>()),
        value in any_json(),
    ) {
        let options = json!({ key: value });
        if let Ok(read) = Options::from_json(&options, OptionSource::Script) {
            let _ = read.options.to_json();
            let _ = crate::scenario::plan(&read.options, &|_| true);
        }
    }

    #[test]
    fn no_scenario_makes_the_planner_panic(
        kind in prop::sample::select(vec!["constant-vus", "shared-iterations", "ramping-vus",
            "per-vu-iterations", "constant-arrival-rate", "ramping-arrival-rate"]),
        keys in prop::collection::vec(prop::sample::select(vec!["vus", "iterations", "duration",
            "maxDuration", "startVUs", "gracefulRampDown", "rate", "timeUnit", "maxVUs",
            "startRate", "preAllocatedVUs", "startTime", "gracefulStop"]), 0..6),
        numbers in prop::collection::vec(prop_oneof![-5_i64..100, any::<i64>()], 6),
        targets in prop::collection::vec((-1_i64..100_000, -1_i64..1_000), 0..3),
    ) {
        let stages = targets.iter().map(|(ms, target)| json!({"duration": ms, "target": target}));
        let mut scenario = json!({"executor": kind});
        if kind.starts_with("ramping") {
            scenario["stages"] = stages.collect();
        }
        for (key, number) in keys.iter().zip(&numbers) {
            scenario[*key] = json!(number);
        }
        let other = json!({"executor": "constant-vus", "duration": "5s"});
        let options = json!({"scenarios": {"a": scenario, "b": other}});
        if let Ok(read) = Options::from_json(&options, OptionSource::Script)
            && let Ok(plan) = crate::scenario::plan(&read.options, &|_| true)
        {
            let _ = (plan.planned_vus(), plan.max_vus(), plan.max_duration_ns());
            for scenario in &plan.scenarios {
                let _ = scenario.description();
                let _ = scenario.executor.rate_at(1_000);
                let arrivals = scenario.executor.arrivals();
                let _ = arrivals.map(|own| (own.planned(1_000_000), own.iter().take(5).count()));
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        any::<f64>().prop_map(|value| json!(value)),
        "[a-z0-9:.*/{}<>-]{0,8}".prop_map(|value| json!(value)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::Array),
            prop::collection::vec(("[a-z{}:]{0,6}|duration|target|executor", inner), 0..4)
                .prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}
