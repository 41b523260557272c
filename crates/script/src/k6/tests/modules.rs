//! Modules, globals and the built-in libraries.

use super::fixture::{Fixture, block_on, iteration, output_of, problems_of};
use crate::k6::{CallError, Ended, LoadError, Script, Settings};

#[test]
fn console_shows_values() {
    assert_eq!(
        output_of(
            "export default function () {
                console.log('a', 1, true, null, undefined, '%s');
                console.log({ a: 1, b: 'x', c: [1, 'a', undefined], d: {}, e: [] });
                const cycle = {}; cycle.self = cycle; console.log(cycle);
                console.log(new Error('msg'), new Uint8Array([1, 2, 3]), new Uint8Array([1, 2]).buffer, () => 1);
                console.log(new Date(0), [new Date(0)]);
            }"
        ),
        [
            "a 1 true null undefined %s",
            "{ a: 1, b: \"x\", c: [ 1, \"a\", null ], d: {}, e: [] }",
            "{ self: [Circular] }",
            "Error: msg Uint8Array(3) [ 1, 2, 3 ] ArrayBuffer { [Uint8Contents]: <01 02>, byteLength: 2 } [object Function]",
            "\"1970-01-01T00:00:00.000Z\" [ \"1970-01-01T00:00:00.000Z\" ]",
        ]
    );
}

#[test]
fn files_are_imported_required_and_opened_relative_to_the_caller() {
    let files = [
        (
            "main.js",
            "import { twice } from './lib/util.js';
            import common, { named } from './lib/common.js';
            import data from './lib/data.json';
            import typed from './lib/typed';
            const again = require('./lib/common.js');
            const text = open('./data.txt');
            const bytes = open('lib/data.txt', 'b');
            export default function () {
                console.log(twice(2), common.value(), named, data.a[0], typed(20), again === common, text, bytes.byteLength);
                try { open('./data.txt') } catch (e) { console.log(e.message.slice(0, 60)); }
                try { require('k6') } catch (e) { console.log(e.message.slice(0, 60)); }
                console.log(import.meta.url.slice(-7), import.meta.resolve('./lib/util.js').slice(-11));
                console.log(__ENV.HOST, __VU, __ITER, global === globalThis);
            }",
        ),
        (
            "lib/util.js",
            "import { text } from './inner.js';\nexport const twice = (n) => 2 * n + text;",
        ),
        ("lib/inner.js", "export const text = open('./data.txt');"),
        (
            "lib/common.js",
            "var http = require('k6/http');\nundeclared = 1;\nexports.named = 'n' + undeclared;\nexports.value = function () { return typeof http.get; };",
        ),
        ("lib/data.json", "{\"a\": [7]}"),
        ("lib/data.txt", "inner"),
        ("data.txt", "outer"),
        (
            "lib/typed.ts",
            "import type { Options } from 'k6/options';\nenum E { A = 1 }\nexport default (n: number): number => n + E.A;",
        ),
    ];
    let settings = Settings {
        environment: vec![("HOST".to_owned(), "h".to_owned())],
        ..Settings::default()
    };
    let fixture = Fixture::with_files(&files, settings);
    fixture.complete();
    assert_eq!(
        fixture.logs(),
        [
            "Info 4inner function n1 7 21 true outer 5 source=console",
            "Info the \"open\" function is only available in the init stage (i.e source=console",
            "Info the \"require\" function is only available in the init stage ( source=console",
            "Info main.js lib/util.js source=console",
            "Info h 1 0 true source=console",
        ]
    );
    let files = fixture.script.files();
    let names: Vec<&str> = files
        .iter()
        .map(|file| file.name.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "data.txt",
            "common.js",
            "data.json",
            "data.txt",
            "inner.js",
            "typed.ts",
            "util.js",
            "main.js"
        ]
    );
    assert_eq!(files[0].sha256.len(), 64);
}

#[test]
fn modules_that_cannot_be_loaded_are_all_listed() {
    assert_eq!(
        problems_of(&[
            (
                "a.js",
                "import sql from 'k6/x/sql';\nimport './b.js';\nimport { browser } from 'k6/browser';\nimport x from 'https://a.test/x.js';\nexport default function () {}"
            ),
            ("b.js", "import './none.js';\nimport 'k6/nope';"),
        ])
        .iter()
        .map(|line| line.split(": ").next().unwrap().to_owned() + if line.contains("k6/x/sql") { " x" } else { "" })
        .collect::<Vec<_>>(),
        ["a.js:1:17 x", "a.js:3:25", "b.js:1:8", "b.js:2:8", "https://a.test/x.js:1:1"]
    );
    assert!(
        problems_of(&[("a.js", "export default function () {\n  let x = ;\n}")])[0]
            .starts_with("a.js:2:11: SyntaxError:")
    );
    assert_eq!(
        problems_of(&[
            ("a.js", "import { f } from './b.js';\nf();"),
            ("b.js", "export function f() {\n  null.x;\n}")
        ]),
        ["b.js:2:3: TypeError: cannot read property 'x' of null"]
    );
}

#[test]
fn common_js_scripts_and_standard_input_run() {
    let fixture = Fixture::new(
        "var k6 = require('k6');\nmodule.exports.options = { vus: 3 };\nmodule.exports.default = function () { console.log(typeof k6.check); };",
    );
    assert_eq!(fixture.script.options(), &serde_json::json!({"vus": 3}));
    fixture.complete();
    assert_eq!(fixture.logs(), ["Info function source=console"]);
    let settings = Settings {
        source: Some(
            "const n: number = 1;\nexport default function () { console.log(n); }".to_owned(),
        ),
        ..Settings::default()
    };
    let fixture = Fixture::with_files(&[("-", "")], settings);
    fixture.complete();
    assert_eq!(fixture.logs(), ["Info 1 source=console"]);
}

#[test]
fn remote_modules_are_downloaded_once_and_open_no_files() {
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let own = count.clone();
    let settings = Settings {
        fetch: Some(std::sync::Arc::new(move |url: &str| {
            own.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            match url {
                "https://a.test/lib/x.js" => Ok(b"import { y } from '../y.js';\nexport const x = y + 1;\nexport let error; try { open('./z') } catch (e) { error = e.message; }".to_vec()),
                "https://a.test/y.js" => Ok(b"export const y = 1;".to_vec()),
                _ => Err(format!("{url}: 404")),
            }
        })),
        ..Settings::default()
    };
    let script = "import { x, error } from 'https://a.test/lib/x.js';
        export default () => { console.log(x, error); }";
    let fixture = Fixture::with_files(&[("a.js", script)], settings);
    fixture.complete();
    assert_eq!(
        fixture.logs(),
        [
            "Info 2 `https://a.test/lib/x.js` is on another host, so it cannot open local files source=console"
        ]
    );
    assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 2);
    let files = fixture.script.files();
    assert!(files.iter().any(|file| file.name == "https://a.test/y.js"));
}

#[test]
fn base_mode_has_no_typescript_and_no_global() {
    let settings = || Settings {
        is_base: true,
        ..Settings::default()
    };
    let fixture = Fixture::with_files(
        &[(
            "a.js",
            "export default () => { console.log(typeof global); };",
        )],
        settings(),
    );
    fixture.complete();
    assert_eq!(fixture.logs(), ["Info undefined source=console"]);
    let folder = super::fixture::Folder::new(&[("a.ts", "const n: number = 1;")]);
    let problems = Script::load(&folder.0.join("a.ts"), settings());
    match problems.err() {
        Some(LoadError::Problems(problems)) => assert!(problems[0].contains("a.ts:1:")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn modules_are_not_imported_during_iterations() {
    let fixture = Fixture::with_files(
        &[
            ("a.js", "export default () => import('./b.js');"),
            ("b.js", "export default 1;"),
        ],
        Settings::default(),
    );
    match fixture.run() {
        Ended::Failed(error) => assert_eq!(
            error.message,
            "Uncaught (in promise) GoError: import() is not supported: import the module at the \
             top of the file"
        ),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_vu_runs_one_iteration_at_a_time() {
    let fixture = Fixture::new("export default function () {}");
    block_on(async {
        let vu = fixture.vu(1).await;
        let mut first = Box::pin(vu.run(iteration(0)));
        assert_eq!(vu.run(iteration(1)).await, Ended::Completed);
        assert_eq!(first.as_mut().await, Ended::Completed);
    });
    let fixture =
        Fixture::new("import { sleep } from 'k6'; export default function () { sleep(1); }");
    block_on(async {
        let vu = fixture.vu(1).await;
        let own = vu.clone();
        let first = tokio::task::spawn_local(async move { own.run(iteration(0)).await });
        while fixture.host.in_flight.get() == 0 {
            tokio::task::yield_now().await;
        }
        assert!(matches!(vu.run(iteration(1)).await, Ended::Failed(_)));
        assert_eq!(first.await.unwrap(), Ended::Completed);
    });
}

#[test]
fn shared_arrays_are_created_once_and_cannot_be_changed() {
    let fixture = Fixture::new(
        "import { SharedArray } from 'k6/data';
        import { Counter } from 'k6/metrics';
        const users = new SharedArray('users', () => { console.log('created'); return [{ n: 1, deep: { x: [1] } }, { n: 2 }, 3]; });
        const made = new Counter('made');
        export default function () {
            console.log(users.length, users[0].n, users[2], users[3], users.at(-1), users.map((u) => u.n).join());
            let sum = 0;
            for (const user of users) sum += user.n || 0;
            users.forEach((u, i) => { sum += i; });
            console.log(sum, users[0] === users[0], JSON.stringify(users), 1 in users, 9 in users, Object.keys(users).join());
            for (const write of [() => { users[0] = 1; }, () => users.push(1), () => { users[0].deep.x[0] = 2; }, () => { delete users[0]; }])
                try { write(); console.log('written'); } catch (e) { console.log(e.name); }
            made.add(1);
        }",
    );
    block_on(async {
        for number in 1..3 {
            assert_eq!(
                fixture.vu(number).await.run(iteration(0)).await,
                Ended::Completed
            );
        }
    });
    let logs = fixture.logs();
    let expected = [
        "Info 3 1 3 undefined 3 1,2, source=console",
        "Info 6 false [{\"n\":1,\"deep\":{\"x\":[1]}},{\"n\":2},3] true false 0,1,2 source=console",
        "Info TypeError source=console",
        "Info TypeError source=console",
        "Info TypeError source=console",
        "Info TypeError source=console",
    ];
    assert_eq!(logs[..6], expected);
    assert_eq!(logs[6..], expected);
    assert_eq!(
        fixture.samples("made", &["scenario"]),
        ["1 scenario=default"; 2]
    );
}

#[test]
fn metrics_report_values_with_tags() {
    let fixture = Fixture::new(
        "import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
        const c = new Counter('c1'), g = new Gauge('g1'), r = new Rate('r1'), t = new Trend('t1', true);
        new Trend('http_req_duration', true);
        export default function () {
            c.add(2, { a: 'b', n: 1 }); g.add(1.5); r.add(true); r.add(0); r.add(7); t.add('3');
            console.log(c.name, c.add('x'), c instanceof Counter);
            try { new Counter('late') } catch (e) { console.log(e.message); }
            try { c.add(1, { bad: {} }) } catch (e) { console.log(e.message); }
        }",
    );
    fixture.complete();
    assert_eq!(fixture.samples("c1", &["a", "n"]), ["2 a=b n=1"]);
    assert_eq!(fixture.samples("g1", &[]), ["1.5"]);
    assert_eq!(fixture.samples("r1", &[]), ["1", "0", "1"]);
    assert_eq!(fixture.samples("t1", &[]), ["3"]);
    assert_eq!(
        fixture.logs(),
        [
            "Warning 'x' is an invalid value for metric 'c1', a number or a boolean value is expected",
            "Info c1 false true source=console",
            "Info metrics must be declared in the init context source=console",
            "Info invalid value for metric tag 'bad': only String, Boolean and Number types are accepted as a metric tag values source=console",
        ]
    );
    assert_eq!(
        problems_of(&[(
            "a.js",
            "import { Counter, Gauge } from 'k6/metrics';\nnew Counter('x1');\nnew Gauge('x1');"
        )]),
        ["a.js:3:5: GoError: metric 'x1' already exists but with type counter, instead of gauge"]
    );
}

#[test]
fn execution_describes_the_run_and_changes_tags() {
    let fixture = Fixture::new(
        "import exec, { vu } from 'k6/execution';
        import { check } from 'k6';
        export default function () {
            console.log(exec.scenario.name, exec.scenario.executor, exec.scenario.iterationInTest, vu.idInTest, exec.instance.vusActive);
            exec.vu.tags.mine = 1;
            vu.metrics.tags['other'] = 'x';
            check(1, { ok: true });
            delete exec.vu.tags.other;
            check(1, { ok: true });
            console.log(JSON.stringify(exec.vu.tags), Object.keys(exec.test.options).join());
            try { exec.vu.tags.bad = {}; } catch (e) { console.log(e.name); }
            exec.test.fail('soft');
            try { exec.test.abort('enough'); } finally { console.log('never'); }
        }",
    );
    assert_eq!(fixture.run(), Ended::Interrupted);
    assert_eq!(
        fixture.logs(),
        [
            "Info default constant-vus 0 1 3 source=console",
            "Info {\"mine\":\"1\",\"scenario\":\"default\"} paused,scenarios source=console",
            "Info TypeError source=console",
        ]
    );
    assert_eq!(
        fixture.samples("checks", &["mine", "other"]),
        ["1 mine=1 other=x", "1 mine=1"]
    );
    assert_eq!(fixture.host.failed.borrow().as_deref(), Some("soft"));
    assert_eq!(fixture.host.aborted.borrow().as_deref(), Some("enough"));
}

#[test]
fn encodings_and_hashes_have_their_known_values() {
    assert_eq!(
        output_of(
            "import encoding from 'k6/encoding';
            import crypto_, { hmac, md5, createHash } from 'k6/crypto';
            export default async function () {
                console.log(encoding.b64encode('hällo?>'), encoding.b64encode('a?>', 'rawurl'), encoding.b64decode('YT8-', 'rawurl', 's'), encoding.b64decode('YWI=').byteLength);
                console.log(md5('x', 'hex'), crypto_.sha256('', 'base64').length, hmac('sha256', 'key', 'The quick brown fox jumps over the lazy dog', 'hex'));
                const hash = createHash('sha1'); hash.update('a'); hash.update(new Uint8Array([98, 99]).buffer);
                console.log(hash.digest('hex'), hash.digest('binary').byteLength, crypto_.randomBytes(5).byteLength, crypto_.hexEncode('az'));
                const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc'));
                console.log(crypto_.hexEncode(digest).slice(0, 16), crypto.randomUUID().length, crypto.getRandomValues(new Uint32Array(3)).length);
                console.log(new TextDecoder().decode(new TextEncoder().encode('täxt')), new TextEncoder().encode('ä').length);
                const key = await crypto.subtle.importKey('raw', new TextEncoder().encode('key'), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
                const text = new TextEncoder().encode('The quick brown fox jumps over the lazy dog');
                const mac = await crypto.subtle.sign('HMAC', key, text);
                console.log(crypto_.hexEncode(mac).slice(0, 16), await crypto.subtle.verify('HMAC', key, mac, text), await crypto.subtle.verify('HMAC', key, new Uint8Array(32), text));
                try { await crypto.subtle.importKey('pkcs8', text, { name: 'ECDSA' }) } catch (e) { console.log(e.name, e.message); }
                try { createHash('nope') } catch (e) { console.log(e.message); }
            }"
        ),
        [
            "aMOkbGxvPz4= YT8- a?> 2",
            "9dd4e461268c8034f5c8564e155c67a6 44 f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
            "a9993e364706816aba3e25717850c26c9cd0d89d 20 5 617a",
            "ba7816bf8f01cfea 36 3",
            "täxt 2",
            "f7bc83f430538424 true false",
            "NotSupportedError crypto.subtle.importKey() supports only raw keys for HMAC, not pkcs8 keys for ECDSA",
            "invalid algorithm: nope",
        ]
    );
}

#[test]
fn setup_teardown_and_summary_have_their_data() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        let seen = 0;
        export function setup() { http.get('http://a.test/'); return { token: 't', skipped: undefined }; }
        export default function (data) { data.count = (data.count || 0) + 1; seen = data.count; console.log(data.token, seen); }
        export function teardown(data) { console.log('end', data.token); }
        export function handleSummary(data) { return { stdout: `${data.metrics.x}`, 'out.bin': new Uint8Array([1]).buffer }; }",
    );
    assert_eq!(
        fixture.script.functions(),
        ["default", "handleSummary", "setup", "teardown"]
    );
    block_on(async {
        let zero = fixture.vu(0).await;
        let data = zero.call_setup().await.unwrap().unwrap();
        assert_eq!(data, "{\"token\":\"t\"}");
        let vu = fixture.vu(1).await;
        for number in 0..2 {
            let mut iteration = iteration(number);
            iteration.data = Some(data.as_str().into());
            assert_eq!(vu.run(iteration).await, Ended::Completed);
        }
        zero.call_teardown(Some(data.as_str().into()))
            .await
            .unwrap();
        let outputs = zero
            .call_handle_summary("{\"metrics\":{\"x\":4}}".to_owned())
            .await
            .unwrap()
            .unwrap();
        let outputs: Vec<(String, Vec<u8>)> = outputs
            .into_iter()
            .map(|output| (output.target, output.content))
            .collect();
        assert_eq!(
            outputs,
            [
                ("stdout".to_owned(), b"4".to_vec()),
                ("out.bin".to_owned(), vec![1])
            ]
        );
        let failed = Fixture::new(
            "export function setup() { throw new Error('no'); }\nexport default () => {}",
        );
        match failed.vu(0).await.call_setup().await {
            Err(CallError::Failed(error)) => assert_eq!(error.message, "Error: no"),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(
        fixture.logs(),
        [
            "Info t 1 source=console",
            "Info t 2 source=console",
            "Info end t source=console"
        ]
    );
    assert_eq!(
        fixture.samples("http_reqs", &["group", "scenario"]),
        ["1 group=::setup"]
    );
}

#[test]
fn checks_and_groups_refuse_what_k6_refuses() {
    let lines = output_of(
        "import { check, group, fail, randomSeed } from 'k6';
        export default function () {
            const errors = [
                () => check(1, { 'a::b': true }),
                () => check(1, { a: async () => true }),
                () => group('a'),
                () => group('a', async () => {}),
                () => check(1, { a: () => { throw new Error('own'); }, b: true }),
                () => fail('failed'),
            ];
            for (const run of errors) try { run(); console.log('none'); } catch (e) { console.log(String(e).slice(0, 70)); }
            randomSeed(5); const one = Math.random(); randomSeed(5);
            console.log(one === Math.random(), one >= 0 && one < 1);
            console.log(check(1, { a: 1, b: (v) => v === 1 }), check(1, { a: '' }));
        }",
    );
    assert_eq!(
        lines,
        [
            "GoError: group and check names may not contain '::'",
            "GoError: the built-in check() does not support async functions as argu",
            "GoError: group() requires a callback as a second argument",
            "GoError: group() does not support async functions as arguments, please",
            "Error: own",
            "GoError: failed",
            "true true",
            "true false",
        ]
    );
}

#[test]
fn missing_scripts_and_aborts_in_the_init_code_are_distinguished() {
    let folder = super::fixture::Folder::new(&[(
        "a.js",
        "import exec from 'k6/execution';\ntry { exec.test.abort('no host'); } catch (e) {}",
    )]);
    let load = |name: &str| Script::load(&folder.0.join(name), Settings::default()).err();
    assert_eq!(load("a.js"), Some(LoadError::Aborted("no host".to_owned())));
    assert!(matches!(load("b.js"), Some(LoadError::MissingScript(text)) if text.contains("b.js")));
}
