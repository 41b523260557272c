use formats::native::campaign::{Campaign, OnFail, Work, translate_text};

const HEAD: &str = "loadline: 1\nname: Shop\ntarget: http://127.0.0.1:1\nsteps: [{ get: / }]\n";

fn read(rest: &str) -> Result<Campaign, Vec<String>> {
    let text = format!("{HEAD}{rest}");
    translate_text("c.yml", &text)
        .map_err(|errors| errors.problems.iter().map(ToString::to_string).collect())
}

#[test]
fn stage_has_own_load_and_additional_rules() {
    let campaign = read(
        "criteria: [ errors < 1% ]\nstop: [ errors > 5% for 5s: stop ]\nstages:\n\
         - { name: half, load: { rate: 5/s, duration: 10s } }\n\
         - { name: whole, load: { rate: 10/s, duration: 10s }, criteria: [ p95 < 1s ], on-fail: continue }\n\
         - { name: other, run: 'locust -f l.py -H {{ target }}/x --headless', stop: [ p95 > 2s for 10s: stop ] }\n\
         cool-down: { at-most: 30s, rate: 4/s, for: 5s, baseline: whole }\nassumptions: [ one ]\nrecommendations: two\n",
    )
    .unwrap();
    assert_eq!(campaign.name, "Shop");
    let [half, whole, other] = campaign.stages.as_slice() else {
        panic!("{campaign:?}");
    };
    let (Work::Load(half_plan), Work::Load(plan), Work::Command(command)) =
        (&half.work, &whole.work, &other.work)
    else {
        panic!("{campaign:?}");
    };
    assert_eq!(half_plan.name, "Shop · half");
    assert_eq!(half_plan.schedule(0).total(), 50);
    assert_eq!(plan.schedule(0).total(), 100);
    let texts: Vec<&str> = plan
        .policy
        .criteria
        .iter()
        .map(|criterion| criterion.text.as_str())
        .collect();
    assert_eq!(texts, ["errors < 1%", "p95 < 1s"]);
    assert_eq!(
        (half_plan.policy.criteria.len(), half_plan.policy.stop.len()),
        (1, 1)
    );
    assert_eq!(
        (half.on_fail, whole.on_fail),
        (OnFail::Stop, OnFail::Continue)
    );
    assert_eq!(
        command.words,
        ["locust", "-f", "l.py", "-H", "{{ target }}/x", "--headless"]
    );
    assert_eq!(command.criteria, ["errors < 1%"]);
    assert_eq!(
        command.stop,
        ["errors > 5% for 5s: stop", "p95 > 2s for 10s: stop"]
    );
    let cool_down = campaign.cool_down.unwrap();
    assert_eq!(
        (cool_down.at_most_ns, cool_down.baseline),
        (30_000_000_000, 1)
    );
    assert_eq!(campaign.assumptions, ["one"]);
    assert_eq!(campaign.recommendations, ["two"]);
}

#[test]
fn stage_may_have_target_and_reference() {
    let load = "load: { rate: 5/s, duration: 10s }";
    let campaign = read(&format!(
        "stages:\n- {{ name: small, {load}, target: 'lab:sum?work=5ms' }}\n- {{ name: 2, {load}, against: small }}\n"
    ))
    .unwrap();
    let [small, large] = campaign.stages.as_slice() else {
        panic!("{campaign:?}");
    };
    assert_eq!(small.target.as_deref(), Some("lab:sum?work=5ms"));
    assert_eq!((large.target.as_deref(), large.against), (None, Some(0)));
    let (Work::Load(of_small), Work::Load(of_large)) = (&small.work, &large.work) else {
        panic!("{campaign:?}");
    };
    assert_eq!(of_small.target, "lab:sum?work=5ms");
    assert_eq!(of_large.target, "http://127.0.0.1:1");
    for (stages, message) in [
        (
            format!("stages: [{{ name: a, {load}, against: a }}, {{ name: b, {load} }}]\n"),
            "there is no earlier stage `a`: a stage can be compared only with an earlier one",
        ),
        (
            format!("stages: [{{ name: a, {load}, target: [ b ] }}]\n"),
            "`target`",
        ),
    ] {
        let lines = read(&stages).unwrap_err();
        assert!(lines.iter().any(|line| line.contains(message)), "{lines:?}");
    }
}

#[test]
fn tested_and_target_deployments_are_read() {
    let stages = "stages: [{ name: a, load: { rate: 5/s, duration: 10s } }]\n";
    assert_eq!(read(stages).unwrap().scaling, None);
    let text = "tested: { instances: 6, background: 5% }\ntarget-service: { instances: 16 }\n";
    let scaling = read(&format!("{stages}{text}")).unwrap().scaling.unwrap();
    let of =
        |deployment: plan::deployment::Deployment| (deployment.instances, deployment.background);
    assert_eq!(
        (of(scaling.tested), of(scaling.target)),
        ((6, 0.05), (16, 0.0))
    );
}

#[test]
fn cool_down_defaults_to_a_minute() {
    let stages = "stages: [{ name: a, load: { rate: 5/s, duration: 10s } }]\n";
    let usual = read(stages).unwrap().cool_down.unwrap();
    assert_eq!(
        (usual.at_most_ns, usual.settled_ns, usual.baseline),
        (60_000_000_000, 10_000_000_000, 0)
    );
    assert_eq!(
        read(&format!("{stages}cool-down: false\n"))
            .unwrap()
            .cool_down,
        None
    );
    let commands = translate_text(
        "c.yml",
        "loadline: 1\nstages: [{ name: a, run: [wrk, -d1s, 'http://127.0.0.1:1/a b'] }]\n",
    )
    .unwrap();
    assert_eq!(commands.cool_down, None);
    assert!(matches!(&commands.stages[0].work, Work::Command(command) if command.words.len() == 3));
}

fn wrong(load: &str) -> Vec<(String, &'static str)> {
    vec![
        (
            "load: { rate: 1/s, duration: 1s }\n".to_owned(),
            "c.yml:1:1: this plan has no `stages`: use `loadline run`",
        ),
        (
            format!("stages: [{{ name: a, {load} }}]\nload: {{ rate: 1/s, duration: 1s }}\n"),
            "c.yml:6:1: a campaign cannot have its own load: move this into a stage",
        ),
        ("stages: []\n".to_owned(), "c.yml:5:9: `stages` is empty"),
        (
            "stages: 5\n".to_owned(),
            "c.yml:5:9: `stages` must be a list, not a number",
        ),
        (
            format!("stages: [{{ {load} }}]\n"),
            "c.yml:5:10: a stage needs a `name`",
        ),
        (
            format!("stages: [{{ name: a, {load} }}, {{ name: a, {load} }}]\n"),
            "there is another stage `a`: give this one a different name",
        ),
        (
            "stages: [{ name: a }]\n".to_owned(),
            "a stage needs a `load`, or another tool's command line in `run`",
        ),
        (
            format!("stages: [{{ name: a, {load}, run: wrk }}]\n"),
            "a stage cannot have both `load` and `run`: remove one",
        ),
        (
            format!("stages: [{{ name: a, laod: 1, {load} }}]\n"),
            "unknown key `laod`: did you mean `load`?",
        ),
        (
            format!("stages: [{{ name: a, {load}, on-fail: retry }}]\n"),
            "`on-fail: retry` is not known: use stop or continue",
        ),
        (
            "stages: [{ name: a, run: wrk 'a b' }]\n".to_owned(),
            "c.yml:5:30: no shell reads this",
        ),
        (
            "stages: [{ name: a, run: [] }]\n".to_owned(),
            "`run` is empty",
        ),
        (
            "stages: [{ name: a, load: { rate: 5, duration: 10 } }]\n".to_owned(),
            "`10` has no unit",
        ),
        (
            format!("stages: [{{ name: a, {load}, criteria: [ p95 < 1x ] }}]\n"),
            "c.yml:5:76: `x` is not a unit",
        ),
        (
            format!("stages: [{{ name: a, {load} }}]\ncool-down: 5s\n"),
            "c.yml:6:12: a cool-down of at most 5 s is too short for the service to stay stable for 10 s",
        ),
        (
            format!("stages: [{{ name: a, {load} }}]\ncool-down: {{ rate: 1/s }}\n"),
            "10 iterations in 10 s are too few: at least 20 are needed",
        ),
        (
            format!("stages: [{{ name: a, {load} }}]\ncool-down: {{ baseline: b }}\n"),
            "there is no stage `b`",
        ),
        (
            format!("stages: [{{ name: a, {load} }}]\ncool-down: {{ most: 5s }}\n"),
            "unknown key `most`",
        ),
        (
            format!("stages: [{{ name: a, {load} }}]\nassumptions: [ 5 ]\n"),
            "`assumptions` must be text, not a number",
        ),
    ]
}

fn wrong_deployments(load: &str) -> Vec<(String, &'static str)> {
    vec![
        (
            format!("stages: [{{ name: a, {load} }}]\ntested: {{ instances: 6 }}\n"),
            "c.yml:6:1: `tested` requires `target-service`",
        ),
        (
            format!("target-service: {{ instances: 6 }}\nstages: [{{ name: a, {load} }}]\n"),
            "c.yml:5:1: `target-service` requires `tested`",
        ),
        (
            format!(
                "stages: [{{ name: a, {load} }}]\ntested: {{ instances: 0 }}\ntarget-service: {{ instances: 2 }}\n"
            ),
            "c.yml:6:22: `instances: 0` must be a whole number, 1 or more",
        ),
        (
            format!(
                "stages: [{{ name: a, {load} }}]\ntested: {{ background: 5% }}\ntarget-service: {{ instances: 2 }}\n"
            ),
            "c.yml:6:9: `tested` requires `instances`, the number of instances",
        ),
        (
            format!(
                "stages: [{{ name: a, {load} }}]\ntested: {{ instances: 2 }}\ntarget-service: {{ instances: 2, background: 100% }}\n"
            ),
            "c.yml:7:45: `background: 100%` leaves no capacity for the load",
        ),
        (
            format!(
                "stages: [{{ name: a, {load} }}]\ntested: {{ instances: 2 }}\ntarget-service: {{ instances: 2, background: 5 }}\n"
            ),
            "c.yml:7:45: `background: 5` is not a share",
        ),
        (
            format!(
                "stages: [{{ name: a, {load} }}]\ntested: {{ instances: 2 }}\ntarget-service: 16\n"
            ),
            "c.yml:7:17: `target-service` must be a mapping, not a number",
        ),
        (
            format!(
                "stages: [{{ name: a, {load} }}]\ntested: {{ instances: 2 }}\ntarget-service: {{ instance: 16 }}\n"
            ),
            "c.yml:7:19: unknown key `instance`: did you mean `instances`?",
        ),
    ]
}

#[test]
fn errors_have_position_and_advice() {
    let load = "load: { rate: 5/s, duration: 10s }";
    for (rest, message) in wrong(load).into_iter().chain(wrong_deployments(load)) {
        let reported = read(&rest).unwrap_err();
        assert!(
            reported.iter().any(|line| line.contains(message)),
            "{rest}\n{reported:#?}\n{message}"
        );
    }
    let twice = read(
        "tokne: 1\nstages: [{ name: a, load: { rate: 5/s, duration: 1s } }, { name: b, load: { rate: 5/s, duration: 1s } }]\n",
    );
    assert_eq!(twice.unwrap_err().len(), 1);
    let none = translate_text(
        "c.yml",
        "loadline: 1\ncool-down: 60s\nstages: [{ name: a, run: wrk -d1s http://127.0.0.1:1 }]\n",
    );
    let none = none.unwrap_err().problems;
    assert!(
        none[0].to_string().contains(
            "c.yml:2:1: a cool-down probes the service with the `steps` or `scenarios` of the plan"
        ),
        "{none:?}"
    );
}

#[test]
fn stage_is_selected_by_name() {
    let text = format!(
        "{HEAD}stages:\n- {{ name: half, load: {{ rate: 5/s, duration: 10s }} }}\n- {{ name: other, run: wrk }}\n"
    );
    let folder = std::env::temp_dir().join(format!("loadline-stages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("c.yml");
    std::fs::write(&file, text).unwrap();
    let load = |stage: Option<&str>| {
        let inputs = formats::Inputs {
            files: vec![file.clone()],
            stage: stage.map(ToOwned::to_owned),
            ..formats::Inputs::default()
        };
        formats::native::load(&inputs).map_err(|errors| errors.to_string())
    };
    assert_eq!(load(Some("half")).unwrap().schedule(0).total(), 50);
    for (stage, message) in [
        (
            None,
            "5:1: this plan has stages: use `loadline campaign` to run all of them, or `--stage 'half'` to run one",
        ),
        (
            Some("hafl"),
            "there is no stage `hafl`: did you mean `half`?",
        ),
        (
            Some("other"),
            "the stage `other` runs another tool: run that command directly",
        ),
    ] {
        let reported = load(stage).unwrap_err();
        assert!(reported.contains(message), "{reported}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn campaign_keys_require_stages() {
    for (line, key) in [
        ("tested: { instances: 6 }", "tested"),
        ("target-service: { instances: 16 }", "target-service"),
        ("assumptions: [ Nobody leaves. ]", "assumptions"),
        ("recommendations: two", "recommendations"),
        ("cool-down: 5s", "cool-down"),
    ] {
        let text = format!("{HEAD}load: {{ rate: 1/s, duration: 1s }}\n{line}\n");
        let errors = formats::native::translate_text("c.yml", &text).unwrap_err();
        let reported: Vec<String> = errors.problems.iter().map(ToString::to_string).collect();
        let wanted = format!("c.yml:6:1: `{key}` is only allowed in a campaign with `stages`");
        assert!(
            reported.len() == 1 && reported[0].starts_with(&wanted),
            "{reported:?}"
        );
    }
}

#[test]
fn dashboards_have_urls_with_known_placeholders() {
    let stages = "stages:\n- { name: half, load: { rate: 5/s, duration: 10s } }\n";
    let show = |links: &str| read(&format!("{stages}show: {{ links: {{ {links} }} }}\n"));
    let campaign = show("Grafana: 'https://g.example/d?from={{ from_ms }}&to={{ to_ms }}'");
    let dashboards = campaign.unwrap().content.dashboards;
    assert_eq!(dashboards[0].name, "Grafana");
    let url = dashboards[0].url.fill(1, 2);
    assert_eq!(url, "https://g.example/d?from=1&to=2");
    for (url, message) in [
        (
            "ftp://g.example",
            "`ftp://g.example` is not a link: start it with http:// or https://",
        ),
        (
            "http://g.example/{{ from }}",
            "`{{ from }}` is not known in a link: use from_ms, to_ms, from_s, to_s",
        ),
        (
            "http://g.example/{{ to_s }",
            "`http://g.example/{{ to_s }` has `{{` without `}}`: add it after the name",
        ),
    ] {
        let problems = show(&format!("G: '{url}'")).unwrap_err();
        assert_eq!(problems, [format!("c.yml:7:21: {message}")]);
    }
}

#[test]
fn todays_volume_does_not_affect_the_load() {
    let plan = |volume: &str| {
        let text = format!(
            "loadline: 1\nname: Shop\ntarget: http://127.0.0.1:1\nscenarios:\n\
             - {{ name: a, volume: {volume}, steps: [{{ get: / }}] }}\n\
             stages: [{{ name: one, load: {{ level: 1x, duration: 10s }} }}]\n"
        );
        let read = translate_text("c.yml", &text);
        let problems = |errors: formats::LoadErrors| {
            let problems = errors.problems.iter().map(ToString::to_string);
            problems.collect::<Vec<String>>()
        };
        read.map_err(problems).map(|campaign| {
            let Work::Load(plan) = &campaign.stages[0].work else {
                panic!("{campaign:?}");
            };
            let volume = plan.scenarios()[0].volume.clone().unwrap();
            (plan.schedule(0).total(), volume.text, volume.today)
        })
    };
    let (total, text, today) = plan("{ volume: 36000/h, today: 1000/d }").unwrap();
    assert_eq!((total, text.as_str()), (100, "36000/h"));
    let today = today.unwrap();
    assert_eq!(today.text, "1000/d");
    assert!((today.rate.as_f64() - 1000.0 / 86_400.0).abs() < 1e-9);
    let peak = plan("{ volume: 36000/h, today: { volume: 1000, hours: 10, clustering: 2 } }");
    let today = peak.unwrap().2.unwrap();
    assert_eq!(today.text, "1000 in 10 h × 2");
    for (volume, problem) in [
        (
            "{ volume: 36000/h, today: 1000 }",
            "`1000` has no unit of time",
        ),
        (
            "{ volume: 36000/h, today: { hours: 3 } }",
            "the number is missing",
        ),
        (
            "{ volume: 36000/h, today: { volume: 1/h, growth: 20% } }",
            "growth",
        ),
        ("{ volume: 36000/h, today: 0/h }", "has no arrivals"),
    ] {
        let problems = plan(volume).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("c.yml:5:"), "{problems:?}");
        assert!(problems[0].contains(problem), "{problems:?}");
    }
}

#[test]
fn time_zone_is_a_known_name_or_an_offset() {
    let stages = "stages:\n- { name: half, load: { rate: 5/s, duration: 10s } }\n";
    let show = |zone: &str| read(&format!("{stages}show: {{ time-zone: {zone} }}\n"));
    for (text, shown) in [
        ("America/New_York", "America/New_York"),
        ("america/new_york", "America/New_York"),
        ("UTC-05:00", "UTC-05:00"),
        ("+5:30", "UTC+05:30"),
    ] {
        let zone = show(text).unwrap().content.time_zone.unwrap();
        assert_eq!(zone.to_string(), shown);
    }
    assert_eq!(read(stages).unwrap().content.time_zone, None);
    for (text, advice) in [
        ("Amerika/New_York", "did you mean `America/New_York`?"),
        ("Nowhere", "use a name such as America/New_York"),
        ("UTC+15:00", "database"),
    ] {
        let problems = show(text).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        let begin = format!("c.yml:7:20: `time-zone: {text}` is not in this machine's");
        assert!(problems[0].starts_with(&begin), "{problems:?}");
        assert!(problems[0].contains(advice), "{problems:?}");
    }
}
