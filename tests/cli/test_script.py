"""Plans with a script: functions in JavaScript that steps call."""

import json

import fake_servers
import pytest
from conftest import wait_until

PLAN = """loadline: 1
target: {url}
load: {{ count: 3, duration: 1s }}
script: helpers.js
{rest}
"""

HELPERS = """
const crypto = require('crypto');
module.exports = {
  async logIn(context) { context.vars.token = `t-${context.vars.$uuid.length}`; },
  sign(request, context, events, done) {
    request.headers['x-sign'] = crypto.createHash('sha256').update(JSON.stringify(request.json)).digest('hex');
    done();
  },
  read(request, response, context, events, done) { context.vars.seen = response.statusCode; done(); },
  more: (context, next) => next(context.vars.$loopCount < 2),
  broken() { throw new Error('broken on purpose'); },
  note(error, request, context, events, done) { console.log('noted:', error.message); done(); },
};
"""


def run(loadline, rest: str, *flags: str, code: int = 0):
    loadline.write("helpers.js", HELPERS)
    with fake_servers.RecordingServer() as peer:
        done = loadline("run", loadline.write("plan.yml", PLAN.format(url=peer.url, rest=rest)), *flags)
    assert done.returncode == code, done.stdout + done.stderr
    return peer, done


def test_steps_call_functions(loadline):
    rest = """steps:
  - call: logIn
  - post: { url: '/a/{{ token }}', json: { n: 1 }, before: sign, after: [read] }
  - loop: { while: more, steps: [{ get: '/b/{{ seen }}/{{ $loopCount }}' }] }"""
    peer, _ = run(loadline, rest)
    assert sorted(peer.lines) == ["GET /b/200/0"] * 3 + ["GET /b/200/1"] * 3 + ["GET /b/200/2"] * 3 + ["POST /a/t-36"] * 3
    assert all(len(request.headers["x-sign"]) == 64 for request in peer.requests if request.method == "POST")


def test_failing_function_fails_the_iteration(loadline):
    rest = "scenarios: [{ name: s, steps: [{ call: broken }, { get: / }] }]"
    peer, done = run(loadline, rest, code=3)
    assert peer.lines == []
    assert "helpers.js:11:" in done.stdout + done.stderr
    assert "3 started = 0 completed + 3 failed" in done.stdout


def test_function_receives_errors(loadline):
    rest = "scenarios: [{ name: s, on-error: note, steps: [{ get: 'http://127.0.0.1:1/' }] }]"
    _, done = run(loadline, rest, code=3)
    assert done.stdout.count("noted: ") == 3


def test_missing_function_is_refused(loadline):
    _, done = run(loadline, "steps: [{ call: gone }]", code=2)
    names = "broken, logIn, more, note, read, sign"
    assert f"plan.yml:5:17: {loadline.folder}/helpers.js exports no function `gone`: it exports {names}" in done.stderr


def test_missing_script_is_refused(loadline):
    with fake_servers.RecordingServer() as peer:
        plan = PLAN.format(url=peer.url, rest="steps: [{ get: / }]")
        done = loadline("run", loadline.write("plan.yml", plan))
    assert done.returncode == 2
    assert "plan.yml:4:9: `script: helpers.js` cannot be read: " in done.stderr


def test_call_without_script_is_refused(loadline):
    plan = "loadline: 1\ntarget: http://127.0.0.1:9\nload: { count: 1, duration: 1s }\nsteps: [{ call: f }]\n"
    done = loadline("run", loadline.write("plan.yml", plan))
    assert done.returncode == 2
    assert "`f` is not defined: add `script` with the file that exports it" in done.stderr


def test_once_shows_the_calls(loadline):
    _, done = run(loadline, "steps: [{ call: logIn }, { get: '/{{ token }}' }]", "--once")
    assert "call logIn" in done.stdout


METRICS = """
module.exports = {
  report(context, events, done) {
    context.vars.n = (context.vars.n || 0) + 1;
    for (let i = 1; i <= 50; i += 1) events.emit('histogram', 'checkout_ms', i * 2);
    events.emit('counter', 'items', 7);
    events.emit('rate', 'logins');
    events.emit('error', 'card refused');
    done();
  },
  many(context, events, done) {
    for (let i = 0; i < 1200; i += 1) events.emit('counter', `order ${i}`, 1);
    done();
  },
  hostile(context, events, done) {
    events.emit('counter', 'a\\u001b[31m | <b>|' + 'x'.repeat(900), 1);
    done();
  },
};
"""


def run_metrics(loadline, function: str, *flags: str, code: int = 0):
    loadline.write("metrics.js", METRICS)
    plan = """loadline: 1
target: {url}
load: {{ count: 4, duration: 1s }}
script: metrics.js
steps: [{{ call: {function} }}, {{ get: / }}]
"""
    with fake_servers.RecordingServer() as peer:
        path = loadline.write("plan.yml", plan.format(url=peer.url, function=function))
        done = loadline("run", path, "--json", "out.json", *flags)
    assert done.returncode == code, done.stdout + done.stderr
    summary = json.loads((loadline.folder / "out.json").read_text())
    return done, summary, {row["name"]: row for row in summary["custom"]}


def test_custom_metrics_are_reported(loadline):
    done, summary, rows = run_metrics(loadline, "report")
    assert {name: (row["kind"], row["count"]) for name, row in rows.items()} == {
        "checkout_ms": ("histogram", 200),
        "items": ("counter", 28),
        "logins": ("rate", 4),
        "card refused": ("error", 4),
    }
    values = rows["checkout_ms"]["values"]
    assert (values["min"], values["mean"], values["max"]) == (2, 51, 100)
    assert values["p95"] == pytest.approx(96, rel=0.001)
    assert rows["items"]["per_second"] == pytest.approx(28e9 / summary["run"]["elapsed_ns"])
    assert "  items (counter): 28, " in done.stdout
    assert "  checkout_ms (histogram): 200, " in done.stdout
    assert "not counted" not in done.stdout + done.stderr
    report = (loadline.folder / summary["record"] / "report.md").read_text()
    assert "## Custom metrics" in report
    assert "| checkout\\_ms " in report
    series = json.loads((loadline.folder / summary["record"] / "series.json").read_text())["custom"]
    assert {one["name"]: sum(one["count"]) for one in series} == {name: row["count"] for name, row in rows.items()}
    (histogram,) = [one for one in series if one["kind"] == "histogram"]
    assert max(p95 for p95 in histogram["p95"] if p95 is not None) == pytest.approx(96, rel=0.001)


def test_criteria_name_custom_metrics(loadline):
    held = ["custom.checkout_ms p75 < 90ms", "custom.checkout_ms max <= 100", "custom.items > 27", "custom.logins > 1/s"]
    flags = [flag for check in held for flag in ("--check", check)]
    done, summary, rows = run_metrics(loadline, "report", *flags)
    assert [judged["judgement"] for judged in summary["criteria"]] == ["PASS"] * 4
    assert rows["checkout_ms"]["judged"] == ["values/p75", "values/max"]
    assert "p75 76.1*" in done.stdout
    assert "28*" in done.stdout
    assert "76.1\\*" in (loadline.folder / summary["record"] / "report.md").read_text()
    run_metrics(loadline, "report", "--check", 'custom."card refused" < 4', code=1)


def test_unknown_custom_metric_is_not_judged(loadline):
    done, summary, _ = run_metrics(loadline, "report", "--check", "custom.chekout_ms p95 < 1s", code=5)
    assert "the script did not report `chekout_ms` (it reported items, checkout_ms, logins, card refused)" in " ".join(
        done.stdout.split()
    )
    _, summary, _ = run_metrics(loadline, "report", "--check", "custom.items p95 < 5", code=5)
    assert "`items` has no values" in summary["criteria"][0]["reason"]


def test_too_many_names_are_counted_together(loadline):
    done, _, rows = run_metrics(loadline, "many")
    assert len(rows) <= 1001
    assert sum(row["count"] for row in rows.values()) == 4800
    assert rows["(other names)"]["count"] >= 200
    assert "more than 1,000 custom metrics" in " ".join(done.stdout.split())


def test_hostile_names_are_escaped_and_cut(loadline):
    done, summary, rows = run_metrics(loadline, "hostile")
    (name,) = rows
    assert len(name) == 200
    assert "\x1b" not in done.stdout
    assert "<b>" not in (loadline.folder / summary["record"] / "report.md").read_text()


def test_merge_and_nodes_add_custom_metrics(loadline):
    _, _, rows = run_metrics(loadline, "report", "--on", "local", "--nodes", "2")
    assert (rows["items"]["count"], rows["checkout_ms"]["count"]) == (28, 200)


def test_compare_lists_custom_metrics(loadline):
    runs = [run_metrics(loadline, "report")[1]["record"] for _ in range(2)]
    done = loadline("compare", *runs)
    text = " ".join(done.stdout.split())
    assert "Custom metrics (not judged): items count 28 → 28, " in text
    assert "checkout_ms p95 96.1 → 96.1, " in text


def test_merge_adds_custom_metrics(loadline):
    run_metrics(loadline, "report", "--on", "local", "--nodes", "2")
    parts = sorted((loadline.folder / ".loadline/runs/last/parts").iterdir())
    merged = loadline("merge", *parts, "--json", "merged.json")
    assert merged.returncode == 0, merged.stderr
    summary = json.loads((loadline.folder / "merged.json").read_text())
    assert {row["name"]: row["count"] for row in summary["custom"]}["items"] == 28


def test_killed_run_keeps_custom_metrics(loadline):
    loadline.write("metrics.js", METRICS)
    plan = """loadline: 1
target: {url}
load: {{ rate: 20/s, duration: 60s }}
script: metrics.js
steps: [{{ call: report }}, {{ get: / }}]
"""
    with fake_servers.RecordingServer() as peer:
        process = loadline.start("run", loadline.write("plan.yml", plan.format(url=peer.url)))
        counters = loadline.folder / ".loadline/runs/last/counters.jsonl"

        def has_metrics() -> bool:
            # On a busy machine, nothing ends in the first interval.
            _, found, rest = (counters.read_text() if counters.exists() else "").partition('"custom"')
            return bool(found) and '"end":true' in rest

        wait_until(has_metrics, "an interval with metrics")
        process.kill()
        process.communicate(timeout=10)
    report = loadline("report", "last", "--json", "out.json")
    assert report.returncode == 0, report.stderr
    rows = {row["name"]: row["count"] for row in json.loads((loadline.folder / "out.json").read_text())["custom"]}
    assert rows["items"] == 7 * rows["logins"] > 0
