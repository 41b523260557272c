"""Requests that the functions of a processor send themselves."""

from __future__ import annotations

import gzip
import json
import time

import pytest
from processors import run

REST = "scenarios: [{ flow: [{ function: f }, { get: { url: /load } }] }]"


def reply(request) -> tuple[int, dict[str, str], bytes]:
    """Answers by path: a redirect, a packed body, cookies, an error, or an echo."""
    match request.path:
        case "/moved":
            return 302, {"Location": "/echo"}, b""
        case "/packed":
            return 200, {"Content-Encoding": "gzip", "Content-Type": "text/plain"}, gzip.compress(b"unpacked")
        case "/error":
            return 503, {}, b"busy"
        case _:
            seen = {
                "method": request.method,
                "path": request.path,
                "type": request.headers.get("content-type"),
                "body": request.body.decode(),
            }
            return 200, {"Content-Type": "application/json", "X-Own": "yes"}, json.dumps(seen).encode()


def evaluate(loadline, body: str, **more) -> tuple[object, object]:
    """Evaluates a function body with `base`, and returns its value and the outcome."""
    code = f"""
    exports.f = async (context) => {{
      const base = context.vars.target;
      const get = async () => {{ {body} }};
      console.log('value ' + JSON.stringify(await get()));
    }};
    """
    done = run(loadline, code, REST, reply=reply, **more)
    line = next((line for line in done.stdout.splitlines() if line.startswith("value ")), None)
    assert line, done.stdout + done.stderr
    return json.loads(line.removeprefix("value ")), done


FETCHED = {
    "get": (
        "const r = await fetch(base + '/a?b=1'); return [r.status, r.ok, r.statusText, (await r.json()).path];",
        [200, True, "OK", "/a?b=1"],
    ),
    "json": (
        "const r = await fetch(base + '/a', { method: 'post', headers: { 'Content-Type': 'application/json' }, "
        "body: JSON.stringify({ x: 1 }) });"
        " const { method, type, body } = await r.json(); return [method, type, body];",
        ["POST", "application/json", '{"x":1}'],
    ),
    "form": (
        "const r = await fetch(base, { method: 'PUT', body: new URLSearchParams({ q: 'a b' }) }); const v = await "
        "r.json(); return [v.type, v.body];",
        ["application/x-www-form-urlencoded;charset=UTF-8", "q=a+b"],
    ),
    "multipart": (
        "const form = new FormData(); form.append('a', 'b'); const r = await fetch(base, { method: 'POST', body: form });"
        " const v = await r.json(); return [v.type.split(';')[0], v.body.includes('name=\"a\"\\r\\n\\r\\nb\\r\\n')];",
        ["multipart/form-data", True],
    ),
    "error status": ("const r = await fetch(base + '/error'); return [r.status, r.ok, await r.text()];", [503, False, "busy"]),
    "redirect": (
        "const r = await fetch(base + '/moved', { method: 'POST', body: 'x' }); const v = await r.json();"
        " return [r.redirected, r.url === base + '/echo', v.method, v.body];",
        [True, True, "GET", ""],
    ),
    "manual redirect": (
        "const r = await fetch(base + '/moved', { redirect: 'manual' }); return [r.status, r.headers.get('location')];",
        [302, "/echo"],
    ),
    "forbidden redirect": (
        "try { await fetch(base + '/moved', { redirect: 'error' }); } catch (e) { return [e.name, e.message, e.cause.message]; }",
        ["TypeError", "fetch failed", "unexpected redirect"],
    ),
    "packed": ("return await (await fetch(base + '/packed')).text();", "unpacked"),
    "headers": (
        "const r = await fetch(new Request(base, { headers: [['a', '1'], ['A', '2']] })); return "
        "[r.headers.get('x-own'), [...r.headers.keys()].includes('content-type')];",
        ["yes", True],
    ),
    "parallel": (
        "const all = await Promise.all([1, 2, 3].map(async (n) => (await fetch(base + '/' + n)).json())); return "
        "all.map((v) => v.path);",
        ["/1", "/2", "/3"],
    ),
    "refused": (
        "try { await fetch('http://127.0.0.1:1/'); } catch (e) { return [e.name, e.message, e.cause.code]; }",
        ["TypeError", "fetch failed", "ECONNREFUSED"],
    ),
    "unknown name": ("try { await fetch('http://none.invalid/'); } catch (e) { return e.cause.code; }", "ENOTFOUND"),
    "bad url": ("try { await fetch('nowhere'); } catch (e) { return e.code; }", "ERR_INVALID_URL"),
    "aborted": (
        "const c = new AbortController(); const p = fetch(base, { signal: c.signal }); c.abort(); try { await p; "
        "} catch (e) { return e.name; }",
        "AbortError",
    ),
    "read twice": ("const r = await fetch(base); await r.text(); try { await r.text(); } catch (e) { return e.name; }", "TypeError"),
}


@pytest.mark.parametrize("case", FETCHED)
def test_fetch(loadline, case):
    body, expected = FETCHED[case]
    value, done = evaluate(loadline, body)
    assert value == expected, done.stderr
    # What functions send is not part of the load.
    assert done.counters["http.requests"] == 1
    assert done.lines[-1] == "GET /load"


NODE = {
    "get": (
        "get(base + '/a', (res) => { let text = ''; res.on('data', (part) => text += part); res.on('end', () => "
        "resolve([res.statusCode, JSON.parse(text).path])); })",
        [200, "/a"],
    ),
    "post": (
        "(() => { const r = request({ hostname: new URL(base).hostname, port: new URL(base).port, path: '/p', "
        "method: 'POST', headers: { 'content-type': 'text/x' } },"
        " async (res) => { let text = ''; for await (const part of res) text += part; const v = JSON.parse(text); "
        "resolve([v.method, v.type, v.body]); });"
        " r.write('a'); r.end('b'); })()",
        ["POST", "text/x", "ab"],
    ),
    "redirects stay": ("get(base + '/moved', (res) => resolve([res.statusCode, res.headers.location]))", [302, "/echo"]),
    "refused": ("get('http://127.0.0.1:1/').on('error', (e) => resolve(e.code))", "ECONNREFUSED"),
    "destroyed": ("get(base, () => resolve('answered')).on('error', (e) => resolve(e.code)).destroy()", "ECONNRESET"),
    "wrong scheme": ("(() => { try { get('https://a.example/'); } catch (e) { resolve(e.code); } })()", "ERR_INVALID_PROTOCOL"),
}


@pytest.mark.parametrize("case", NODE)
def test_http_module(loadline, case):
    call, expected = NODE[case]
    value, done = evaluate(loadline, f"const {{ get, request }} = require('http'); return new Promise((resolve) => {{ {call}; }});")
    assert value == expected, done.stderr
    assert done.counters["http.requests"] == 1


def test_user_waits_for_a_slow_response(loadline):
    """The wait is longer than the time limit for functions that do nothing, which is 1 s here."""

    def slow(request) -> tuple[int, dict[str, str], bytes]:
        if request.path == "/slow":
            time.sleep(1.5)
        return 200, {}, b"{}"

    code = "exports.f = async (context) => { context.vars.x = (await fetch(context.vars.target + '/slow')).status; };"
    rest = "scenarios: [{ flow: [{ function: f }, { get: { url: '/load/{{ x }}' } }] }]"
    done = run(loadline, code, rest, reply=slow, config="  http: { timeout: 1 }")
    assert done.lines == ["GET /slow", "GET /load/200"]
    assert done.errors == {}


def test_requests_of_functions_are_in_no_statistic(loadline):
    code = "exports.f = async (context) => { for (let i = 0; i < 3; i++) await (await fetch(context.vars.target + '/own')).text(); };"
    done = run(loadline, code, REST)
    assert done.lines == ["GET /own"] * 3 + ["GET /load"]
    summary = loadline.folder / "summary.json"
    assert loadline("report", "last", "--json", summary).returncode == 0
    known = json.loads(summary.read_text())
    assert known["requests"]["issued"] == 1, known["requests"]
