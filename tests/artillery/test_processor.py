"""Processors: functions in JavaScript that a script names."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import pathlib
import subprocess

import fake_servers
import processors
import pytest
from processors import run, write

# One function for each point at which one can be called, with the steps that call it. `{end}` is
# replaced by a way to end.
HOOKS = {
    "step": ("(context, events{done})", "scenarios: [{ flow: [{ function: f }, { get: { url: /after } }] }]"),
    "before scenario": ("(context, events{done})", "scenarios: [{ beforeScenario: f, flow: [{ get: { url: /after } }] }]"),
    "after scenario": ("(context, events{done})", "scenarios: [{ afterScenario: f, flow: [{ get: { url: /after } }] }]"),
    "before request": ("(params, context, events{done})", "scenarios: [{ flow: [{ get: { url: /after, beforeRequest: f } }] }]"),
    "after response": (
        "(params, response, context, events{done})",
        "scenarios: [{ flow: [{ get: { url: /after, afterResponse: f } }] }]",
    ),
    "all requests": ("(params, context, events{done})", "scenarios: [{ beforeRequest: [f], flow: [{ get: { url: /after } }] }]"),
}
ENDS = {
    "callback": ("function", "done();", {}),
    "later callback": ("function", "setTimeout(done, 20);", {}),
    "callback twice": ("function", "done(); done(new Error('late'));", {}),
    "callback with an error": ("function", "done(new Error('no luck'));", {"no luck": 1}),
    "callback with a code": ("function", "done({ code: 123 });", {"123": 1}),
    "throw": ("function", "throw new Error('no luck');", {"no luck": 1}),
    "promise": ("async function", "", {}),
    "later promise": ("async function", "await new Promise((resolve) => setTimeout(resolve, 20));", {}),
    "rejection": ("async function", "throw Object.assign(new Error('no luck'), { code: 'ENOLUCK' });", {"ENOLUCK": 1}),
    "later rejection": (
        *("async function", "await new Promise((resolve) => setTimeout(resolve, 20)); throw new Error('no luck');"),
        {"no luck": 1},
    ),
    "plain function with a promise": ("function", "return Promise.resolve();", {}),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("hook", HOOKS)
def test_function_ends_in_each_way_at_each_point(loadline, hook, end):
    arguments, rest = HOOKS[hook]
    kind, body, errors = ENDS[end]
    head = f"{kind} f{arguments.format(done=', done')}"
    code = f"module.exports = {{ f }};\n{head} {{\n  events.emit('counter', 'called', 1);\n  {body}\n}}\n"
    done = run(loadline, code, rest)
    assert done.code == 0, done.stderr
    assert done.counters["called"] == 1
    assert done.errors == errors
    assert done.counters["vusers.failed"] == len(errors)
    sent = hook in ("after scenario", "after response") or not errors
    assert done.lines == (["GET /after"] if sent else [])
    if errors:
        assert "`f` failed: " in done.stderr
        assert "helpers.js:" in done.stderr or end == "callback with a code"


def test_function_that_never_ends_is_named(loadline):
    code = "exports.lost = (context, events, done) => {};"
    done = run(loadline, code, "scenarios: [{ flow: [{ function: lost }] }]", config="  http: { timeout: 1 }")
    text = "`lost` neither called back nor settled its promise"
    assert done.errors == {text: 1}
    assert text in done.stderr


def test_endless_loop_is_stopped(loadline):
    code = "exports.spin = (context, events, done) => { for (;;) {} };"
    done = run(loadline, code, "scenarios: [{ flow: [{ function: spin }] }, { weight: 0, flow: [] }]")
    (error,) = done.errors
    assert "was stopped after 5 s of CPU time without a pause" in error


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("const down = () => down() + 1; down();", "Maximum call stack size exceeded"),
        ("const all = []; for (;;) all.push(new Array(100000).fill(1));", "out of memory"),
        ("context.vars.bad = { get x() { throw new Error('from a getter'); } }; done();", "from a getter"),
    ],
)
def test_failure_of_the_engine_ends_only_the_user(loadline, body, error):
    code = f"exports.f = (context, events, done) => {{ {body} }};"
    done = run(loadline, code, "scenarios: [{ flow: [{ function: f }] }]")
    assert done.errors == {error: 1}
    assert done.counters["vusers.created"] == 1


def test_variables_are_those_of_templates(loadline):
    code = """
    module.exports = {
      begin(context, events, done) {
        const { vars } = context;
        vars.user = { id: 7, tags: ['a', 'b'] };
        vars.total = vars.fixed + 1;
        vars.nothing = undefined;
        delete vars.captured;
        return done();
      },
      change(context, events, done) {
        context.vars.user.tags.push(context.vars.captured);
        context.vars.when = new Date(0);
        done();
      },
      show(context, events, done) {
        console.log(JSON.stringify([context.vars.total, context.vars.user, context.scenario.name, typeof context._uid]));
        done();
      },
    };
    """
    flow = """scenarios: [{ name: mine, flow: [
        { function: begin }, { get: { url: '/{{ user.id }}/{{ total }}/{{ user.tags[1] }}' , capture: { json: $.id, as: captured } } },
        { function: change }, { post: { url: /x, json: { tags: '{{ user.tags }}', when: '{{ when }}' } } }, { function: show } ] }]"""
    done = run(loadline, code, flow, config="  variables: { fixed: 4 }")
    assert done.lines == ["GET /7/5/b", "POST /x"]
    assert json.loads(done.requests[1].body) == {"tags": ["a", "b", "p7"], "when": "1970-01-01T00:00:00.000Z"}
    assert '[5,{"id":7,"tags":["a","b","p7"]},"mine","string"]\n' in done.stdout


def test_users_do_not_share_variables_but_share_the_top_level(loadline):
    code = """
    let users = 0;
    exports.begin = (context, events, done) => {
      users += 1;
      if (context.vars.mine !== undefined) throw new Error('not mine');
      context.vars.mine = users;
      done();
    };
    """
    done = run(loadline, code, "scenarios: [{ flow: [{ function: begin }, { get: { url: '/{{ mine }}' } }] }]", count=3)
    assert done.errors == {}
    assert sorted(done.lines) == ["GET /1", "GET /2", "GET /3"]


def test_request_is_changed_before_it_is_sent(loadline):
    code = """
    const crypto = require('crypto');
    module.exports = {
      sign(params, context, events, done) {
        params.headers['X-Signature'] = crypto.createHmac('sha256', 'key').update(JSON.stringify(params.json)).digest('hex');
        done();
      },
      replace(params, context, events, done) {
        params.method = 'put';
        params.url = params.url.replace('/old', '/new') + '?q={{ who }}';
        params.json = { who: '{{ who }}', n: 1 };
        params.headers = { 'X-Only': 'this' };
        done();
      },
      form(params, context, events, done) { params.form = { a: '1', who: '{{ who }}' }; done(); },
      swap(params, context, events, done) { delete params.json; params.form = { b: '2' }; done(); },
      drop(params, context, events, done) { delete params.json; params.qs = { page: 2 }; done(); },
      see(params, response, context, events, done) {
        const { method, json, extra } = params;
        console.log(JSON.stringify({ url: new URL(params.url).pathname, method, json, extra }));
        done();
      },
      mark(params, context, events, done) { params.extra = 'kept'; params.method = 'put'; done(); },
    };
    """
    flow = """scenarios: [{ flow: [
        { post: { url: /signed, json: { a: 1 }, beforeRequest: sign } },
        { post: { url: /old, headers: { x-gone: 1 }, beforeRequest: replace } },
        { post: { url: /form, beforeRequest: form } },
        { post: { url: /swap, json: { a: 1 }, beforeRequest: swap } },
        { delete: { url: '/drop?page=1', json: { a: 1 }, beforeRequest: drop } },
        { post: { url: /seen, json: { v: '{{ who }}' }, beforeRequest: [mark, sign], afterResponse: see } } ] }]"""
    done = run(loadline, code, flow, config="  variables: { who: me }")
    signed, replaced, form, swapped, dropped, seen = done.requests
    assert signed.headers["x-signature"] == hmac.new(b"key", b'{"a":1}', hashlib.sha256).hexdigest()
    assert (replaced.method, replaced.path) == ("PUT", "/new?q=me")
    assert json.loads(replaced.body) == {"who": "me", "n": 1}
    assert replaced.headers["x-only"] == "this"
    assert replaced.headers["content-type"] == "application/json"
    assert "x-gone" not in replaced.headers
    assert form.body == b"a=1&who=me"
    assert form.headers["content-type"] == "application/x-www-form-urlencoded"
    assert (swapped.body, swapped.headers["content-type"]) == (b"b=2", "application/x-www-form-urlencoded")
    assert (dropped.path, dropped.body) == ("/drop?page=1", b"")
    assert seen.headers["x-signature"]
    assert '{"url":"/seen","method":"PUT","json":{"v":"me"},"extra":"kept"}\n' in done.stdout


# Changes of a request without a body, and whether the client fails.
BODIES = {
    "params.json = { a: 1 }": ("get", True),
    "params.body = 'x'": ("get", True),
    "params.form = { a: '1' }": ("head", True),
    "params.body = 'x'; params.allowGetBody = true": ("get", False),
    "params.body = 'x'; params.method = 'POST'": ("get", False),
    "params.json = { a: 1 }; params.form = { b: '1' }": ("post", True),
    "params.json = { a: 1 }; params.body = 'x'": ("post", False),
}


@pytest.mark.parametrize("change", BODIES)
def test_body_that_the_client_does_not_send_fails(loadline, change):
    method, fails = BODIES[change]
    code = f"exports.f = (params, context, events, done) => {{ {change}; done(); }};"
    done = run(loadline, code, f"scenarios: [{{ flow: [{{ {method}: {{ url: /a, beforeRequest: f }} }}] }}]")
    assert done.errors == ({"ERR_GOT_REQUEST_ERROR": 1} if fails else {})
    assert len(done.requests) == (0 if fails else 1)


def test_script_removes_a_body_that_the_client_does_not_send(loadline):
    code = "exports.f = (params, context, events, done) => { delete params.json; done(); };"
    done = run(loadline, code, "scenarios: [{ flow: [{ get: { url: /a, json: { a: 1 }, beforeRequest: f } }] }]")
    assert done.errors == {}
    assert [request.body for request in done.requests] == [b""]


def test_bytes_are_sent_unchanged_and_received_as_text(loadline):
    code = r"""
    module.exports = {
      buffer(params, context, events, done) { params.body = Buffer.from([0, 255, 123, 123, 128]); done(); },
      array(params, context, events, done) { params.body = new Uint8Array([1, 254]); done(); },
      see(params, response, context, events, done) { console.log('SEEN' + JSON.stringify(response.body)); done(); },
    };
    """
    rest = """scenarios: [{ flow: [
      { post: { url: /a, beforeRequest: buffer, afterResponse: see } },
      { post: { url: /b, beforeRequest: array } },
      { post: { url: /c, json: { a: 1 }, beforeRequest: array } } ] }]"""
    done = run(loadline, code, rest, reply=lambda request: (200, {}, b"\x00\xff\xc3\xa9"))
    # JSON wins over another body.
    assert [request.body for request in done.requests] == [b"\x00\xff{{\x80", b"\x01\xfe", b'{"a":1}']
    seen = next(line for line in done.stdout.splitlines() if line.startswith("SEEN"))
    assert json.loads(seen.removeprefix("SEEN")) == "\x00\ufffdé"


def test_templates_call_functions_of_the_script(loadline):
    code = """
    module.exports = {
      define(context, events, done) {
        const { funcs, vars } = context;
        vars.who = 'me';
        funcs.$plus = (a, b) => a + b;
        funcs.$count = (...all) => all.length;
        funcs.$greet = () => `hi {{ who }} ${vars.id}`;
        funcs.$throw = () => { throw Object.assign(new Error('no luck'), { code: 'ENOLUCK' }); };
        console.log(JSON.stringify([
          funcs.$randomNumber(3, 3), funcs.$randomString(4).length, funcs.$template({ a: '<{{ who }}>' }),
          artillery.util.template('{{ who }}', context),
        ]));
        done();
      },
    };
    """
    rest = """scenarios: [{ flow: [ { get: { url: '/{{ $plus(1, 2) }}', ifTrue: none } }, { function: define },
      { get: { url: /x, capture: { json: $.id, as: id } } },
      { post: { url: '/{{ $plus(1, 2) }}', headers: { x-n: 'n{{ $count() }}', x-none: 'a{{ $none() }}' },
                json: { a: '{{ $greet() }}', b: '{{ $plus(b, 1) }}', c: '{{ $none(1) }}', d: '{{ $count(1, x) }}' } } },
      { get: { url: '/{{ $throw() }}' } } ] }]"""
    done = run(loadline, code, rest)
    assert '[3,4,{"a":"<me>"},"me"]\n' in done.stdout
    sent = done.requests[-1]
    assert done.lines == ["GET /x", "POST /3"]
    assert json.loads(sent.body) == {"a": "hi me p7", "b": "NaN", "d": "2"}
    assert sent.headers["x-n"] == "n0"
    assert "x-none" not in sent.headers
    assert done.errors == {"ENOLUCK": 1}
    assert "`$throw` failed: " in done.stderr
    assert "$none is undefined until the script sets `context.funcs.$none`" in done.stderr


def test_response_is_seen(loadline):
    code = """
    module.exports = { async see(params, response, context, events) {
      const { statusCode, headers, body, timings, url } = response;
      context.vars.token = JSON.parse(body).id;
      events.emit('histogram', 'size', body.length);
      console.log(JSON.stringify([statusCode, headers['content-type'], typeof timings.phases.firstByte, url === params.url]));
    } };
    """
    flow = "scenarios: [{ afterResponse: see, flow: [{ get: { url: /a } }, { get: { url: '/{{ token }}' } }] }]"
    done = run(loadline, code, flow)
    assert done.lines == ["GET /a", "GET /p7"]
    assert '[200,"application/json","number",true]\n' in done.stdout
    assert done.aggregate["summaries"]["size"]["count"] == 2


def test_loop_and_condition_are_decided_by_functions(loadline):
    code = """
    module.exports = {
      more(context, next) { return next(context.vars.$loopCount < 3); },
      async asked(context) { return context.vars.$loopCount < 2; },
      isOdd: (vars) => vars.$loopCount % 2 === 1,
    };
    """
    flow = """scenarios: [{ flow: [
        { loop: [{ get: { url: '/a{{ $loopCount }}' } }], whileTrue: more },
        { loop: [{ get: { url: '/b{{ $loopCount }}' } }], whileTrue: asked, count: 1 },
        { loop: [{ get: { url: '/c{{ $loopCount }}', ifTrue: isOdd } }], count: 4 },
        { get: { url: /d, ifTrue: yes } }, { get: { url: /e, ifTrue: no } } ] }]"""
    done = run(loadline, code, flow, config="  variables: { 'yes': 1, 'no': 0 }")
    assert [line.removeprefix("GET /") for line in done.lines] == ["a0", "a1", "a2", "a3", "b0", "b1", "b2", "c1", "c3", "d"]


def test_custom_metrics_are_shown(loadline):
    code = """
    module.exports = { f(context, events, done) {
      events.emit('counter', 'things', 2);
      events.emit('histogram', 'depth', 1.5);
      events.emit('summary', 'depth', 2.5);
      events.emit('customStat', { stat: 'old', value: 3 });
      events.emit('rate', 'speed');
      events.emit('error', 'noticed');
      done();
    } };
    """
    done = run(loadline, code, "scenarios: [{ flow: [{ function: f }] }]", count=2)
    assert done.counters["things"] == 4
    assert done.errors == {"noticed": 2}
    assert done.counters["vusers.failed"] == 0
    assert (
        done.aggregate["summaries"]["depth"] | {"count": 4, "min": 1.5, "max": 2.5, "mean": 2} == done.aggregate["summaries"]["depth"]
    )
    assert done.aggregate["summaries"]["old"]["count"] == 2
    assert "speed" in done.aggregate["rates"]
    assert "things: ......" in done.stdout
    assert "speed: ......" in done.stdout


def test_error_handler_sees_the_error(loadline):
    code = """
    module.exports = { saw(error, params, context, events, done) {
      events.emit('counter', `saw.${error.code}`, 1);
      done();
    } };
    """
    done = run(loadline, code, "scenarios: [{ onError: saw, flow: [{ get: { url: 'http://127.0.0.1:1/' } }] }]")
    assert done.counters["saw.ECONNREFUSED"] == 1
    assert done.errors == {"ECONNREFUSED": 1}


def test_before_and_after_call_functions(loadline):
    code = """
    module.exports = {
      async login(context) { context.vars.token = 't1'; console.log('before'); },
      bye(context, events, done) { console.log('after'); done(); },
    };
    """
    rest = """before: { flow: [{ function: login }] }
after: { flow: [{ function: bye }] }
scenarios: [{ flow: [{ get: { url: '/{{ token }}' } }] }]"""
    done = run(loadline, code, rest)
    assert done.lines == ["GET /t1"]
    assert "before\n" in done.stdout
    assert "after\n" in done.stdout


def test_missing_function_is_counted_and_named(loadline):
    flow = """scenarios: [{ beforeRequest: gone, flow: [{ function: nope }, { get: { url: /a } }] }]"""
    done = run(loadline, "exports.other = () => {};", flow)
    assert done.code == 0
    assert done.lines == ["GET /a"]
    assert done.errors == {'Undefined function "nope"': 1}
    for name in ("nope", "gone"):
        assert f"WARNING: custom function {name} could not be found in " in done.stderr


MODULES = {
    "lib/index.js": "exports.name = 'folder'; exports.file = __filename; exports.cycle = require('./cycle');",
    "lib/cycle.js": "const index = require('./index'); module.exports = () => index.name;",
    "data.json": '{"from": "json"}',
    "node_modules/plain/package.json": '{"name": "plain", "main": "src/main.js"}',
    "node_modules/plain/src/main.js": "module.exports = class Plain { value() { return 'main'; } };",
    "node_modules/both/package.json": (
        '{"name": "both", "type": "module", "exports": {".": {"import": "./m.mjs", "require": "./c.cjs"}, "./sub": "./sub.js"}}'
    ),
    "node_modules/both/m.mjs": "export const kind = 'import'; export default () => 'default';",
    "node_modules/both/c.cjs": "exports.kind = 'require';",
    "node_modules/both/sub.js": "export const sub = 1;",
}


def test_modules_are_found_like_in_node(loadline):
    for name, text in MODULES.items():
        write(loadline, name, text)
    code = """
    const path = require('path');
    const lib = require('./lib');
    const Plain = require('plain');
    exports.f = (context, events, done) => {
      console.log(JSON.stringify([
        lib.name, path.basename(lib.file), lib.cycle(), require('./data').from, new Plain().value(),
        require('both').kind, require('both/sub').sub, path.basename(__dirname) !== '', require('./lib') === lib,
      ]));
      done();
    };
    """
    done = run(loadline, code, "scenarios: [{ flow: [{ function: f }] }]")
    assert '["folder","index.js","folder","json","main","require",1,true,true]\n' in done.stdout, done.stderr


def test_es_module_imports_like_in_node(loadline):
    for name, text in MODULES.items():
        write(loadline, name, text)
    code = """
    import { readFileSync } from 'node:fs';
    import data from './data.json' with { type: 'json' };
    import lib, { name } from './lib/index.js';
    import call, { kind } from 'both';
    import Plain from 'plain';
    const later = await Promise.resolve('waited');
    export async function f(context, events) {
      const { basename } = await import('path');
      console.log(JSON.stringify([
        data.from, name, lib.cycle(), kind, call(), new Plain().value(), later, basename(import.meta.url),
        readFileSync(new URL('data.json', import.meta.url), 'utf8').length,
      ]));
    }
    """
    done = run(loadline, code, "scenarios: [{ flow: [{ function: f }] }]", processor="helpers.mjs")
    assert '["json","folder","folder","import","default","main","waited","helpers.mjs",16]\n' in done.stdout, done.stderr


REFUSED = [
    ("exports.f = (;", "helpers.js:1:14: SyntaxError"),
    ("const x = 1;\nrequire('./gone');", "helpers.js:2:1: Error: Cannot find module './gone' from "),
    ("\nrequire('lodash');", "run `npm install lodash` there"),
    ("const net = require('net');", "helpers.js:1:12: Error: the Node.js module `net` is not available to scripts"),
    ("throw new Error('at the top');", "helpers.js:1:11: Error: at the top"),
    ("require('./native.node');", "is a native module, which cannot be loaded"),
    ("require('./bad.json');", "bad.json is not JSON"),
]


@pytest.mark.parametrize(("code", "line"), REFUSED)
def test_processor_that_cannot_be_loaded_is_refused_before_the_run(loadline, code, line):
    loadline.write("native.node", "")
    loadline.write("bad.json", "{")
    done = run(loadline, code, "scenarios: [{ flow: [{ get: { url: / } }] }]")
    assert done.code == 11
    assert done.requests == []
    assert line in done.stderr, done.stderr
    assert "s.yml:3:14: the processor cannot be loaded: " in done.stderr


def test_missing_binding_is_refused(loadline):
    loadline.write("other.mjs", "export const known = 1;")
    done = run(loadline, "import { unknown } from './other.mjs';", "scenarios: [{ flow: [] }]", processor="helpers.mjs")
    assert done.code == 11
    assert "unknown" in done.stderr


def test_files_are_read_below_the_test_and_written_where_allowed(loadline):
    write(loadline, "data/users.csv", "id,name\n1,Ann\n")
    write(loadline, "out/keep", "")
    code = """
    const fs = require('fs');
    const tried = (run) => { try { return run(); } catch (error) { return error.code; } };
    exports.f = (context, events, done) => {
      console.log(JSON.stringify([
        fs.readFileSync(__dirname + '/data/users.csv', 'utf8').split('\\n')[1], fs.existsSync('data'), fs.readdirSync('data'),
        tried(() => fs.readFileSync('/etc/passwd')), tried(() => fs.readFileSync('none')), tried(() => fs.writeFileSync('x', 'x')),
        tried(() => fs.appendFileSync('out/log', 'line\\n')),
      ]));
      done();
    };
    """
    rest = "scenarios: [{ flow: [{ function: f }] }]"
    done = run(loadline, code, rest)
    assert '["1,Ann",true,["users.csv"],"EACCES","ENOENT","EACCES","EACCES"]\n' in done.stdout
    done = run(loadline, code, rest, env={"LOADLINE_SCRIPT_WRITE": str(loadline.folder / "out")})
    assert '"EACCES",null]\n' in done.stdout
    assert (loadline.folder / "out/log").read_text() == "line\n"


# An expression of the Node surface, and its value in JSON as Node.js 22 gives it.
SURFACE = {
    "Buffer.from('aé').toString('base64')": "YcOp",
    "Buffer.from('YcOp', 'base64').toString()": "aé",
    "Buffer.concat([Buffer.from('a'), Buffer.from([98])]).toString('hex')": "6162",
    "Buffer.from('abc').equals(Buffer.from('abc'))": True,
    "Buffer.alloc(4).writeUInt32BE(258) && 1": 1,
    "btoa('hi') + atob('aGk=')": "aGk=hi",
    "new URL('/b?x=1#h', 'http://a.example:80/').href": "http://a.example/b?x=1#h",
    "(() => { const u = new URL('http://a/'); u.searchParams.set('q', 'a b'); return u.href; })()": "http://a/?q=a+b",
    "new URLSearchParams({ a: '1', b: '&' }).toString()": "a=1&b=%26",
    "require('path').join('a', '..', 'b', './c.js')": "b/c.js",
    "require('path').extname('x/y.tar.gz')": ".gz",
    "require('path').relative('/a/b', '/a/c/d')": "../c/d",
    "require('crypto').createHash('md5').update('a').digest('hex')": "0cc175b9c0f1b6a831c399e269772661",
    "require('crypto').randomUUID().length": 36,
    "require('crypto').randomBytes(8).length": 8,
    "require('crypto').timingSafeEqual(Buffer.from('a'), Buffer.from('a'))": True,
    "require('util').format('%s %d %j', 'a', 1, { b: 2 })": 'a 1 {"b":2}',
    "require('util').inspect({ a: [1, 'x'], b: { c: { d: { e: 1 } } } })": "{ a: [ 1, 'x' ], b: { c: { d: [Object] } } }",
    "new (require('events'))().on('x', () => {}).emit('x')": True,
    "require('querystring').stringify({ a: [1, 2], b: 'x y' })": "a=1&a=2&b=x%20y",
    "require('url').parse('http://u:p@a.b:8/c?d=1').pathname": "/c",
    "require('os').cpus().length > 0": True,
    "(() => { try { require('assert').strictEqual(1, 2); } catch (e) { return e.code; } })()": "ERR_ASSERTION",
    "await (async () => { const { subtle } = require('crypto').webcrypto;"
    " const key = await subtle.importKey('raw', Buffer.from('key'), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);"
    " return Buffer.from(await subtle.sign('HMAC', key, Buffer.from('data'))).toString('hex').slice(0, 16); })()": "5031fe3d989c6d15",
    "await require('crypto').subtle.digest('SHA-3', Buffer.from('a')).catch((error) => error.name)": "NotSupportedError",
    "Buffer.from(await require('crypto').subtle.digest('SHA-1', Buffer.from('a'))).toString('hex').slice(0, 8)": "86f7e437",
    "structuredClone({ a: new Date(0), b: [1] }).b[0]": 1,
    "typeof performance.now()": "number",
    "process.env.MY_OWN": "set",
    "process.argv.length > 0 && typeof process.hrtime()[1]": "number",
    "new TextDecoder().decode(new TextEncoder().encode('ü'))": "ü",
    "typeof artillery.testRunId": "string",
    "new (require('string_decoder').StringDecoder)().write(Buffer.from('é')) ": "é",
    "[1, 2, 3].at(-1) + Object.groupBy([1], () => 'k').k.length": 4,
}


def test_surface_of_node_gives_its_values(loadline):
    values = ",\n".join(SURFACE)
    code = f"exports.f = async () => console.log('VALUES' + JSON.stringify([{values}]));"
    done = run(loadline, code, "scenarios: [{ flow: [{ function: f }] }]", env={"MY_OWN": "set"})
    line = next(line for line in done.stdout.splitlines() if line.startswith("VALUES"))
    assert dict(zip(SURFACE, json.loads(line.removeprefix("VALUES")), strict=True)) == SURFACE


STREAMS = """
const { Readable, Writable, Duplex, Transform, PassThrough, finished } = require('stream');
const { pipeline } = require('node:stream/promises');
const { inherits } = require('util');
const EventEmitter = require('events');
const text = (stream) => new Promise((resolve) => {
  let all = '';
  stream.on('data', (chunk) => { all += chunk; });
  stream.on('end', () => resolve(all));
});
const cases = {
  async pipeline() {
    const upper = new Transform({
      transform(chunk, encoding, done) { done(null, chunk.toString().toUpperCase()); },
      flush(done) { this.push('!'); done(); },
    });
    const seen = [];
    const write = (chunk, encoding, done) => { seen.push(chunk.toString()); done(); };
    await pipeline(Readable.from(['a', 'b']), upper, new Writable({ write }));
    return seen.join('');
  },
  async functions() {
    const seen = [];
    const twice = async function* (source) { for await (const part of source) yield part + part; };
    await pipeline(['p', 'q'], twice, async (source) => { for await (const part of source) seen.push(part); });
    return seen.join();
  },
  async 'slow writer'() {
    const seen = [];
    const write = (part, encoding, done) => setTimeout(() => { seen.push(part); done(); }, 1);
    await pipeline(Readable.from([1, 2, 3, 4]), new Writable({ highWaterMark: 2, objectMode: true, write }));
    return seen.join();
  },
  async 'error of a part'() {
    const failing = new Transform({ transform(chunk, encoding, done) { done(new Error('bad')); } });
    return pipeline(Readable.from(['a']), failing, new PassThrough()).catch((error) => error.message);
  },
  'early end': () => new Promise((resolve) => finished(new PassThrough().destroy(), (error) => resolve(error.code))),
  async encoding() {
    const source = Readable.from([Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)], { objectMode: false });
    return text(source.setEncoding('utf8'));
  },
  async 'own reader'() {
    let n = 0;
    return text(new Readable({ read() { n += 1; this.push(n === 4 ? null : String(n)); } }));
  },
  async sizes() {
    const [source, parts] = [new PassThrough(), []];
    source.end('hello world');
    source.on('readable', () => { for (let part; (part = source.read(4)) !== null; ) parts.push(part.toString()); });
    await new Promise((resolve) => source.on('end', resolve));
    return parts.join('|');
  },
  async iteration() {
    const source = new PassThrough({ objectMode: true });
    for (let i = 0; i < 100; i++) source.write(i);
    source.end();
    let sum = 0;
    for await (const part of source) sum += part;
    return sum;
  },
  async 'old style'() {
    function Old() { this.readable = true; }
    inherits(Old, require('stream').Stream);
    function Both(options) { Duplex.call(this, options); }
    inherits(Both, Duplex);
    const [old, target] = [new Old(), new PassThrough()];
    old.pipe(target);
    old.emit('data', 'old');
    old.emit('end');
    const both = new Both();
    return [await text(target), both instanceof Writable, both instanceof Readable, old instanceof EventEmitter].join();
  },
  async 'data at once'() {
    const [stream, seen] = [new PassThrough(), []];
    stream.on('data', (chunk) => seen.push(String(chunk)));
    stream.write('a');
    stream.write('b');
    return seen.join();
  },
  async files() {
    const { createReadStream } = require('fs');
    const missing = await pipeline(createReadStream('none'), new PassThrough()).catch((error) => error.code);
    return [(await text(createReadStream(__filename, 'utf8'))).length > 100, missing].join();
  },
};
exports.f = async () => {
  const all = {};
  for (const [name, run] of Object.entries(cases)) all[name] = await run();
  console.log('STREAMS' + JSON.stringify(all));
};
"""

# What Node.js 22 prints.
STREAMED = {
    "pipeline": "AB!",
    "functions": "pp,qq",
    "slow writer": "1,2,3,4",
    "error of a part": "bad",
    "early end": "ERR_STREAM_PREMATURE_CLOSE",
    "encoding": "é",
    "own reader": "123",
    "sizes": "hell|o wo|rld",
    "iteration": 4950,
    "old style": "old,true,true,true",
    "data at once": "a,b",
    "files": "true,ENOENT",
}


def test_streams_behave_like_in_node(loadline):
    done = run(loadline, STREAMS, "scenarios: [{ flow: [{ function: f }] }]")
    line = next(line for line in done.stdout.splitlines() if line.startswith("STREAMS"))
    assert json.loads(line.removeprefix("STREAMS")) == STREAMED


def test_data_is_signed(loadline, tmp_path):
    """OpenSSL verifies the signatures."""
    private, public = tmp_path / "key.pem", tmp_path / "public.pem"
    for make, hashed in [
        (["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "SHA256"),
        (["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], "SHA384"),
    ]:
        subprocess.run(["openssl", *make, "-out", private], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
        loadline.write("key.pem", private.read_text())
        code = f"""
        const {{ createSign }} = require('crypto');
        const key = require('fs').readFileSync(__dirname + '/key.pem', 'utf8');
        const signed = () => createSign('{hashed}').update('da').update('ta').sign(key, 'hex');
        exports.f = async () => console.log('SIGNED' + signed());
        """
        done = run(loadline, code, "scenarios: [{ flow: [{ function: f }] }]")
        line = next(line for line in done.stdout.splitlines() if line.startswith("SIGNED"))
        (tmp_path / "signature").write_bytes(bytes.fromhex(line.removeprefix("SIGNED")))
        (tmp_path / "data").write_text("data")
        check = ["openssl", "dgst", f"-{hashed.lower()}", "-verify", public, "-signature", tmp_path / "signature", tmp_path / "data"]
        assert subprocess.run(check, capture_output=True, text=True).stdout == "Verified OK\n"


def test_console_goes_where_that_of_node_goes(loadline):
    code = """
    exports.f = (context, events, done) => {
      console.log('out %s', { a: 1 }, [1, 'b']);
      console.error('err');
      console.group('g');
      console.info('in\\ngroup');
      console.groupEnd();
      console.count();
      done();
    };
    """
    done = run(loadline, code, "scenarios: [{ flow: [{ function: f }] }]")
    assert "out { a: 1 } [ 1, 'b' ]\ng\n  in\n  group\ndefault: 1\n" in done.stdout
    assert "err\n" in done.stderr
    assert "err\n" not in done.stdout


def test_script_runs_under_loadline_run(loadline):
    code = "exports.f = (context, events, done) => { context.vars.x = 'y'; done(); };"
    loadline.write("helpers.js", code)
    with fake_servers.RecordingServer() as peer:
        script = loadline.write(
            "s.yml",
            processors.SCRIPT.format(
                url=peer.url,
                processor="helpers.js",
                count=2,
                config="",
                rest="scenarios: [{ flow: [{ function: f }, { get: { url: '/{{ x }}' } }] }]",
            ),
        )
        done = loadline("run", script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert peer.lines == ["GET /y", "GET /y"]


def test_page_lists_the_surface(loadline):
    """The reference has the globals and the members of each core module that a script sees."""
    code = (pathlib.Path(__file__).parent / "list_surface.js").read_text()
    done = run(loadline, code, "scenarios: [{ flow: [{ function: f }] }]")
    line = next(line for line in done.stdout.splitlines() if line.startswith("TABLE"))
    table = "\n".join(json.loads(line.removeprefix("TABLE")))
    page = pathlib.Path(__file__).parents[2] / "docs/reference/processor.md"
    before, rest = page.read_text().split("<!-- surface -->\n")
    old, after = rest.split("\n<!-- /surface -->")
    if os.environ.get("UPDATE_DOCS"):
        page.write_text(f"{before}<!-- surface -->\n{table}\n<!-- /surface -->{after}")
    else:
        assert old == table, "run again with UPDATE_DOCS=1"
