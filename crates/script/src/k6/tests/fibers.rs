//! Suspending, interrupting and ending virtual users.

use std::{future::poll_fn, task::Poll};

use super::fixture::{Fixture, block_on, iteration};
use crate::k6::{Ended, ScriptError};

fn failure(ended: Ended) -> ScriptError {
    match ended {
        Ended::Failed(error) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn vus_wait_inside_nested_callbacks_of_native_functions() {
    let fixture = Fixture::new(
        "import { check, group, sleep } from 'k6';
        let own = 0;
        export default function () {
            const sum = group('a', () => [1, 2, 3].map((n) => {
                check(n, { 'waits': (m) => { sleep(0.01 * (__VU % 7)); own += m; return true; } });
                return JSON.parse(JSON.stringify({ toJSON() { sleep(0.001); return n; } }));
            }).reduce((a, b) => a + b));
            try { null.x } catch (e) { if (!e.stack.includes('script.js:8')) throw e; }
            console.log(`${__VU} ${__ITER} ${sum} ${own}`);
        }",
    );
    block_on(async {
        let mut tasks = Vec::new();
        for number in 1..=200 {
            let vu = fixture.vu(number).await;
            tasks.push(tokio::task::spawn_local(async move {
                for number in 0..3 {
                    assert_eq!(vu.run(iteration(number)).await, Ended::Completed);
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    let mut logs = fixture.logs();
    logs.sort();
    let mut expected: Vec<String> = (1..=200)
        .flat_map(|vu| {
            (0..3).map(move |n| format!("Info {vu} {n} 6 {} source=console", 6 * (n + 1)))
        })
        .collect();
    expected.sort();
    assert_eq!(logs, expected);
    assert!(fixture.host.most_in_flight.get() > 100);
    assert_eq!(fixture.samples("checks", &[]).len(), 200 * 3 * 3);
    assert_eq!(
        fixture.samples("checks", &["group", "check"])[0],
        "1 group=::a check=waits"
    );
}

#[test]
fn errors_have_the_stack_of_the_script() {
    let fixture = Fixture::new(
        "import { group, sleep } from 'k6';\nfunction inner() {\n  sleep(0.001);\n  \
         throw new TypeError('no');\n}\nexport default function () {\n  \
         group('g', () => inner());\n}\n",
    );
    let error = failure(fixture.run());
    assert_eq!(error.message, "TypeError: no");
    let file = format!("file://{}/script.js", fixture.folder.0.display());
    let lines: Vec<&str> = error.stack.lines().collect();
    assert!(
        lines[0].starts_with(&format!("\tat inner ({file}:4:")),
        "{lines:?}"
    );
    assert!(error.stack.contains(&format!("{file}:7:")), "{lines:?}");
    assert!(error.position().unwrap().starts_with(&format!("{file}:4:")));
}

#[test]
fn interrupted_iterations_run_no_catch_and_no_finally() {
    let fixture = Fixture::new(
        "import { group, sleep } from 'k6';
        export default function () {
            try {
                group('g', () => { try { sleep(1000); } finally { console.log('finally'); } });
            } catch (e) { console.log('caught'); } finally { console.log('finally'); }
            console.log('after');
        }",
    );
    fixture.host.is_stuck.set(true);
    block_on(async {
        let mut tasks = Vec::new();
        for number in 1..=20 {
            let vu = fixture.vu(number).await;
            let own = vu.clone();
            let task = tokio::task::spawn_local(async move { own.run(iteration(0)).await });
            tasks.push((vu, task));
        }
        while fixture.host.in_flight.get() < 20 {
            tokio::task::yield_now().await;
        }
        for (vu, task) in tasks {
            vu.interrupt();
            assert_eq!(task.await.unwrap(), Ended::Interrupted);
            fixture.host.is_stuck.set(false);
            // The virtual user can be used again.
            assert_eq!(vu.run(iteration(1)).await, Ended::Completed);
            fixture.host.is_stuck.set(true);
        }
    });
    assert_eq!(fixture.host.in_flight.get(), 0);
    assert_eq!(fixture.logs().len(), 20 * 3);
}

#[test]
fn dropped_iterations_end_their_fiber() {
    let fixture = Fixture::new(
        "import { sleep } from 'k6';
        export default function () {
            for (;;) { try { [1].forEach(() => sleep(1)); } catch (e) {} }
        }",
    );
    fixture.host.is_stuck.set(true);
    block_on(async {
        let vu = fixture.vu(1).await;
        let mut run = Box::pin(vu.run(iteration(0)));
        poll_fn(|cx| {
            assert!(run.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        assert_eq!(fixture.host.in_flight.get(), 1);
        drop(run);
        assert_eq!(fixture.host.in_flight.get(), 0);
    });
    assert!(fixture.logs().is_empty());
}

#[test]
fn endless_loops_are_interrupted_and_let_others_run() {
    let fixture = Fixture::new(
        "export default function () {
            if (__VU === 2) { console.log('other'); return; }
            try { for (;;) {} } finally { console.log('finally'); }
        }",
    );
    block_on(async {
        let (busy, other) = (fixture.vu(1).await, fixture.vu(2).await);
        let own = busy.clone();
        let task = tokio::task::spawn_local(async move { own.run(iteration(0)).await });
        assert_eq!(other.run(iteration(0)).await, Ended::Completed);
        tokio::task::yield_now().await;
        assert!(!task.is_finished());
        busy.interrupt();
        assert_eq!(task.await.unwrap(), Ended::Interrupted);
    });
    assert_eq!(fixture.logs(), ["Info other source=console"]);
}

#[test]
fn endless_loops_fail_after_their_cpu_time() {
    let fixture = Fixture::new("export default function () {\n  for (;;) {}\n}\n");
    let error = failure(fixture.run());
    assert_eq!(
        error.message,
        "the script was stopped after 5 s of CPU time without a pause"
    );
    assert!(error.position().unwrap().contains("script.js:"), "{error}");
}

#[test]
fn deep_recursion_is_an_error_of_the_script() {
    for body in [
        "const f = () => f() + 1; f();",
        "const f = () => [1].map(f); f();",
        "const o = {}; o.toString = () => `${o}`; `${o}`;",
        "const o = { toJSON() { return JSON.stringify(o); } }; JSON.stringify(o);",
        "JSON.parse('['.repeat(200000));",
        "new RegExp('('.repeat(100000));",
        "let a = []; for (let i = 0; i < 100000; i++) { a = [a]; } JSON.stringify(a);",
        "let a = []; for (let i = 0; i < 100000; i++) { a = [a]; } console.log(a); null.x;",
        "let a = []; for (let i = 0; i < 100000; i++) { a = [a]; } a.flat(Infinity); null.x;",
        "let a = []; for (let i = 0; i < 100000; i++) { a = [a]; } String(a); null.x;",
        "/(a+)+b/.test('a'.repeat(25)); null.x;",
        "eval('('.repeat(100000));",
        "import_deep();",
    ] {
        let source = format!("export default function () {{ {body} }}");
        let error = failure(Fixture::new(&source).run());
        assert!(!error.message.is_empty(), "{body}");
    }
    // The init code has the same limit.
    let fixture = Fixture::new(
        "let depth = 0; function f() { depth++; f(); }
        try { f(); } catch (e) {}
        export default function () { if (depth < 1000) throw new Error(depth); }",
    );
    fixture.complete();
}

#[test]
fn asynchronous_functions_timers_and_rejections_are_waited_for() {
    let fixture = Fixture::new(
        "import { sleep } from 'k6';
        const later = (ms) => new Promise((done) => setTimeout(() => done(ms), ms));
        export default async function () {
            const all = await Promise.all([later(20), later(5)]);
            sleep(0.001);
            console.log(all.join());
            let ticks = 0;
            const id = setInterval(() => { if (++ticks === 3) { clearInterval(id); console.log('ticks'); } }, 2);
            setTimeout((a) => console.log(a), 100, 'last');
            clearTimeout(setTimeout(() => console.log('never'), 1));
        }",
    );
    fixture.complete();
    let logs = fixture.logs().join("\n");
    assert_eq!(
        logs,
        "Info 20,5 source=console\nInfo ticks source=console\nInfo last source=console"
    );
    let rejected =
        Fixture::new("export default function () { Promise.reject(new Error('lost')); }");
    assert_eq!(
        failure(rejected.run()).message,
        "Uncaught (in promise) Error: lost"
    );
    let rejected = Fixture::new("export default async function () { throw new Error('lost'); }");
    assert_eq!(
        failure(rejected.run()).message,
        "Uncaught (in promise) Error: lost"
    );
}

#[test]
fn memory_limit_is_an_error_of_the_script() {
    let mut fixture = Fixture::new(
        "export default function () { const a = []; for (;;) a.push('x'.repeat(1000) + a.length); }",
    );
    fixture.options.memory_limit = 8 << 20;
    failure(fixture.run());
}

#[test]
fn native_functions_work_or_fail_at_the_end_of_the_stack() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        import { SharedArray } from 'k6/data';
        import { check, group } from 'k6';
        import exec from 'k6/execution';
        import { parseHTML } from 'k6/html';
        import { URL } from 'https://jslib.k6.io/url/1.0.0/index.js';
        const nested = JSON.parse('['.repeat(400) + ']'.repeat(400));
        const shared = new SharedArray('s', () => [nested]);
        const page = '<div>'.repeat(500);
        const calls = [
            (res) => res.json('a.b.@flatten'), (res) => res.json(), (res) => JSON.stringify(res),
            () => shared[0], () => console.log([[[[nested]]]]), () => parseHTML(page).find('div').size(),
            () => new URL('http://a.test/x?y').searchParams.get('y'), () => exec.vu.tags.x,
            () => http.post('http://a.test/', { a: 1, f: http.file('x') }).headers,
            () => group('g', () => check(1, { a: () => true })), () => crypto.randomUUID(),
        ];
        export default function () {
            const res = http.get('http://a.test/');
            for (const call of calls) {
                let tries = 0;
                const descend = () => {
                    try { descend(); } catch (e) { if (tries++ < 40) try { call(res); } catch (e) {} throw e; }
                };
                try { descend(); } catch (e) { }
                call(res);
            }
            console.log('survived');
        }",
    );
    let nested = format!(
        "{{\"a\":{{\"b\":{}1{}}}}}",
        "[".repeat(120),
        "]".repeat(120)
    );
    fixture.answer(move |_| super::fixture::ok(&nested));
    fixture.complete();
    assert_eq!(
        fixture.logs().last().unwrap(),
        "Info survived source=console"
    );
}

#[test]
fn deeply_nested_scripts_are_refused() {
    for source in ["(".repeat(20_000), "!".repeat(20_000), "[".repeat(20_000)] {
        let problems = super::fixture::problems_of(&[("a.js", &source)]);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("a.js:"), "{problems:?}");
    }
}

#[test]
fn names_of_other_environments_are_explained() {
    let error = failure(Fixture::new("export default function () { new URL('x'); }").run());
    assert_eq!(
        error.message,
        "ReferenceError: URL is not defined: import it from \
         https://jslib.k6.io/url/1.0.0/index.js"
    );
}

#[test]
fn interrupted_asynchronous_functions_are_silent() {
    let fixture = Fixture::new(
        "import { sleep, group } from 'k6';
        const later = () => new Promise((done) => setTimeout(done, 1000));
        export default async function () {
            if (__ITER === 1) { console.log('again'); return; }
            const report = (text) => () => console.log(text);
            Promise.resolve().then(report('job'));
            later().then(report('timer'), report('rejected')).finally(report('finally'));
            try { group('g', () => sleep(1000)); } catch (e) { console.log('caught'); }
        }",
    );
    fixture.host.is_stuck.set(true);
    block_on(async {
        let vu = fixture.vu(1).await;
        let own = vu.clone();
        let task = tokio::task::spawn_local(async move { own.run(iteration(0)).await });
        while fixture.host.in_flight.get() == 0 {
            tokio::task::yield_now().await;
        }
        vu.interrupt();
        assert_eq!(task.await.unwrap(), Ended::Interrupted);
        fixture.host.is_stuck.set(false);
        assert_eq!(vu.run(iteration(1)).await, Ended::Completed);
    });
    assert_eq!(fixture.logs(), ["Info again source=console"]);
    assert!(fixture.samples("group_duration", &[]).is_empty());
}

#[test]
fn ended_vus_release_their_runtime() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        import exec from 'k6/execution';
        import { Counter } from 'k6/metrics';
        const kept = [new Counter('kept_metric'), exec, http];
        export default function () {
            kept.push(http.get('http://a.test/'), new http.CookieJar());
            kept[3].json; kept.self = kept; setTimeout(() => kept, 1e9);
        }",
    );
    fixture.host.is_stuck.set(false);
    block_on(async {
        let mut vus = Vec::new();
        for number in 1..=5 {
            let vu = fixture.vu(number).await;
            let own = vu.clone();
            let mut run = Box::pin(async move { own.run(iteration(0)).await });
            // Some virtual users are dropped while they wait.
            for _ in 0..number {
                let ready = poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx).is_ready())).await;
                assert!(!ready);
                tokio::task::yield_now().await;
            }
            vus.push(vu);
        }
    });
    assert_eq!(std::rc::Rc::strong_count(&fixture.host), 1);
    assert_eq!(fixture.host.in_flight.get(), 0);
}

#[test]
fn workers_share_a_script() {
    fn shared<T: Send + Sync>(value: std::sync::Arc<T>) -> std::sync::Arc<T> {
        value
    }
    let fixture = Fixture::new(
        "import { SharedArray } from 'k6/data';
        const users = new SharedArray('users', () => Array.from({ length: 100 }, (_, i) => ({ i })));
        export function double(n) { return 2 * n; }
        export default function () { if (double(users[__ITER].i) !== 2 * __ITER) throw new Error('other'); }",
    );
    let script = shared(fixture.script.clone());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let script = script.clone();
            std::thread::spawn(move || {
                let worker = Fixture::from_script(script);
                block_on(async {
                    let vu = worker.vu(1).await;
                    for number in 0..50 {
                        assert_eq!(vu.run(iteration(number)).await, Ended::Completed);
                    }
                });
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn jobs_of_a_failed_iteration_do_not_run_in_the_next_one() {
    let fixture = Fixture::new(
        "import { sleep } from 'k6';
        export default function () {
            if (__ITER > 0) { console.log('next'); return; }
            const late = (text) => () => { console.log(text); setTimeout(() => console.log('timer'), 1); };
            Promise.resolve().then(late('job')).then(late('second job'));
            (async () => { await null; sleep(1); console.log('async'); })();
            setTimeout(late('first timer'), 1);
            throw new Error('stop');
        }",
    );
    block_on(async {
        let vu = fixture.vu(1).await;
        let error = failure(vu.run(iteration(0)).await);
        assert_eq!(error.message, "Error: stop");
        assert_eq!(vu.run(iteration(1)).await, Ended::Completed);
    });
    assert_eq!(fixture.logs(), ["Info next source=console"]);
    assert_eq!(fixture.host.in_flight.get(), 0);
}

#[test]
fn variables_of_a_scenario_are_undone_in_the_next_one() {
    let fixture = Fixture::with_files(
        &[(
            "script.js",
            "export default function () {
                const { BASE, OWN, toString } = __ENV;
                console.log(BASE, OWN, typeof toString, Object.keys(__ENV).length);
            }",
        )],
        crate::k6::Settings {
            environment: vec![("BASE".to_owned(), "b".to_owned())],
            ..crate::k6::Settings::default()
        },
    );
    let in_scenario = |scenario: &str, env: &[(&str, &str)]| {
        let mut next = iteration(0);
        next.info.scenario = scenario.to_owned();
        let env = env.iter();
        next.env = env.map(|(k, v)| (k.to_string(), v.to_string())).collect();
        next
    };
    let all = [
        ("BASE", "1"),
        ("BASE", "2"),
        ("OWN", "3"),
        ("toString", "4"),
    ];
    block_on(async {
        let vu = fixture.vu(1).await;
        for next in [
            in_scenario("a", &all),
            in_scenario("b", &[("OWN", "5")]),
            in_scenario("c", &[]),
            in_scenario("a", &all),
        ] {
            assert_eq!(vu.run(next).await, Ended::Completed);
        }
    });
    assert_eq!(
        fixture.logs(),
        [
            "Info 2 3 string 3 source=console",
            "Info b 5 function 2 source=console",
            "Info b undefined function 1 source=console",
            "Info 2 3 string 3 source=console",
        ]
    );
}
