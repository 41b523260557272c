"""`loadline k6 run`: scripts end to end, with k6's output and exit codes."""

from __future__ import annotations

import csv
import gzip
import json
import re
import signal

import fake_servers
import pytest
from certificates import serve
from conftest import wait_until

OPEN = "import http from 'k6/http';\nimport { check, group, sleep, fail } from 'k6';\nimport exec from 'k6/execution';\n"


@pytest.fixture
def server():
    with fake_servers.RecordingServer() as server:
        yield server


@pytest.fixture
def k6(loadline, server):
    """Runs a script against the server, whose URL is in `__ENV.BASE`."""

    def run(script: str, *flags: str, code: int = 0, name: str = "script.js"):
        loadline.write(name, OPEN + script)
        done = loadline("k6", "run", "-e", f"BASE={server.url}", *flags, name)
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}{done.stderr}"
        return done

    return run


def values(done, name: str) -> str:
    """Returns what the summary shows of a metric."""
    return re.search(rf"^    {name}\.+: (.*)$", done.stdout, re.MULTILINE)[1].strip()


GET = "export default function () { http.get(`${__ENV.BASE}/a`); }\n"


def test_a_script_without_options_runs_once(k6, server):
    done = k6(GET)
    assert server.lines == ["GET /a"]
    assert "* default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)" in done.stdout
    assert values(done, "iterations").startswith("1 ")
    assert "default ✓ [ 100% ] 1 VUs" in done.stdout


def test_flags_replace_the_options_of_the_script(k6, server):
    script = "export const options = { vus: 7, duration: '1h' };\n" + GET
    done = k6(script, "--vus", "2", "--iterations", "10")
    assert len(server.lines) == 10
    assert "10 iterations shared among 2 VUs" in done.stdout


SCENARIOS = """
const seen = {};
export const options = { scenarios: {
  per_vu: { executor: 'per-vu-iterations', vus: 3, iterations: 2, exec: 'mark', env: { WHO: 'per_vu' } },
  shared: { executor: 'shared-iterations', vus: 2, iterations: 7, exec: 'mark', env: { WHO: 'shared' } },
  arrivals: { executor: 'constant-arrival-rate', rate: 20, duration: '1s', preAllocatedVUs: 4,
    exec: 'mark', env: { WHO: 'arrivals' } },
  ramping: { executor: 'ramping-arrival-rate', startRate: 0, stages: [{ target: 20, duration: '1s' }], preAllocatedVUs: 4,
    exec: 'mark', env: { WHO: 'ramping' } },
} };
export function mark() { http.get(`${__ENV.BASE}/${__ENV.WHO}/${exec.scenario.iterationInTest}`); }
"""


def test_executors_start_the_iterations_that_they_promise(k6, server):
    done = k6(SCENARIOS)
    starts = {
        name: sorted(line for line in server.lines if f"/{name}/" in line) for name in ("per_vu", "shared", "arrivals", "ramping")
    }
    # The area under a ramp from 0 to 20/s over one second is 10.
    assert {name: len(lines) for name, lines in starts.items()} == {"per_vu": 6, "shared": 7, "arrivals": 20, "ramping": 10}
    # Each iteration of a scenario has a number of its own.
    assert all(len(set(lines)) == len(lines) for lines in starts.values())
    assert values(done, "iterations").startswith("43 ")


def test_looping_users_stop_at_the_end(k6, server):
    script = "export const options = { vus: 3, duration: '1s' };\n" + GET.replace("; }", "; sleep(0.4); }")
    done = k6(script)
    # Iterations start at 0, 0.4 and 0.8 s, and the last ones finish within the graceful stop.
    assert len(server.lines) == 9
    assert "0 interrupted" in done.stdout


def test_graceful_stop_interrupts_iterations(k6):
    script = """
export const options = { scenarios: { slow: { executor: 'constant-vus', vus: 2, duration: '1s', gracefulStop: '0s' } } };
export default function () { try { sleep(60); } finally { http.get(`${__ENV.BASE}/never`); } }
"""
    done = k6(script)
    assert "0 complete and 2 interrupted iterations" in done.stdout
    assert "No script iterations fully finished" in done.stderr


def test_ramping_users_stop_from_the_highest_number(k6, server):
    script = """
export const options = { scenarios: { ramp: { executor: 'ramping-vus', startVUs: 3,
  stages: [{ target: 3, duration: '500ms' }, { target: 1, duration: '0s' }, { target: 1, duration: '500ms' }],
  gracefulRampDown: '0s' } } };
export default function () { sleep(0.1); http.get(`${__ENV.BASE}/${__VU}/${__ITER}`); }
"""
    done = k6(script)
    counts = [sum(line.startswith(f"GET /{vu}/") for line in server.lines) for vu in (1, 2, 3)]
    assert counts[0] > max(counts[1:]), counts
    assert "3 interrupted" not in done.stdout


def test_arrivals_without_a_free_user_are_dropped(k6, loadline):
    script = """
export const options = { scenarios: { busy: { executor: 'constant-arrival-rate', rate: 10, duration: '1s', preAllocatedVUs: 2 } } };
export default function () { sleep(1.5); }
"""
    done = k6(script)
    assert values(done, "dropped_iterations").startswith("8 ")
    assert "Insufficient VUs, reached 2 active VUs and cannot initialize more" in done.stderr
    arrivals = loadline.summary()["arrivals"]
    assert (arrivals["planned"], arrivals["started"], arrivals["skipped"]) == (10, 2, 8), arrivals


CHECKS = """
import { Counter, Trend } from 'k6/metrics';
const hits = new Counter('hits');
const size = new Trend('size');
export const options = { iterations: 4, thresholds: { %s } };
export default function () {
  group('outer', () => {
    const res = http.get(`${__ENV.BASE}/a`, { tags: { kind: 'page' } });
    check(res, { 'is ok': (r) => r.status === 200, 'is odd': () => __ITER %% 2 === 1 });
    size.add(__ITER + 1);
    hits.add(2);
  });
}
"""


def test_checks_metrics_and_thresholds_are_summarised(k6):
    held = "hits: ['count==8'], size: ['avg==2.5', 'max<5'], 'http_reqs{kind:page}': ['count==4'], checks: ['rate>0.7']"
    done = k6(CHECKS % held)
    assert values(done, "checks_succeeded") == "75.00% 6 out of 8"
    assert "    ✗ is odd\n      ↳  50% — ✓ 2 / ✗ 2\n" in done.stdout
    assert values(done, "hits").startswith("8 ")
    assert " ".join(values(done, "size").split()) == "avg=2.5 min=1 med=2.5 max=4 p(90)=3.7 p(95)=3.85"
    assert "✓ 'avg==2.5' avg=2.5" in done.stdout


def test_a_crossed_threshold_ends_with_99(k6):
    done = k6(CHECKS % "hits: ['count>8'], size: ['max<4']", code=99)
    assert "✗ 'count>8' count=8" in done.stdout
    assert "thresholds on metrics 'hits, size' have been crossed" in done.stderr


REPORTED = """
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
const [orders, level, paid, size] = [new Counter('orders'), new Gauge('level'), new Rate('paid'), new Trend('size')];
export const options = { iterations: 4, thresholds: { checks: ['rate>0.9'], 'size{kind:a}': ['max<=3', 'min>5'] } };
export default function () {
  const response = http.get(`${__ENV.BASE}/a`);
  orders.add(0.5);
  level.add(exec.scenario.iterationInTest);
  paid.add(exec.scenario.iterationInTest === 0);
  size.add(exec.scenario.iterationInTest, { kind: 'a' });
  check(response, { 'is 200': (r) => r.status === 200 });
  group('basket', () => check(response, { 'is empty': (r) => r.body.length > 99 }));
}
"""


def test_reports_show_thresholds_checks_and_metrics_of_the_script(k6, loadline):
    k6(REPORTED, code=99)
    summary = loadline.summary()
    found = {(row["kind"], row["name"]): (row["count"], row.get("values")) for row in summary["custom"]}
    assert found[("sum", "orders")] == (4, {"sum": 2})
    assert found[("gauge", "level")] == (4, {"min": 0, "mean": 1.5, "max": 3})
    assert found[("share", "paid")] == (4, {"share": 0.25})
    assert found[("histogram", "size")][1]["p50"] == pytest.approx(1, rel=0.001)
    assert found[("check", "is 200")] == (4, {"share": 1})
    assert found[("check", "basket::is empty")] == (4, {"share": 0})
    criteria = {row["text"]: (row["judgement"], row["measured"]) for row in summary["criteria"]}
    assert criteria == {
        "checks rate>0.9": ("FAIL", "rate=50.00%"),
        "size{kind:a} max<=3": ("PASS", "max=3"),
        "size{kind:a} min>5": ("FAIL", "min=0"),
    }
    text = (loadline.folder / ".loadline/runs/last/report.md").read_text()
    assert re.search(r"basket::is empty +\| check +\| +4 \|", text)
    # A report that is made again has the same criteria.
    assert loadline("report", "last").returncode == 0
    assert loadline.summary()["criteria"] == summary["criteria"]


def test_thresholds_without_samples_are_inconclusive(k6, loadline):
    options = "export const options = { thresholds: { 'http_req_duration{name:x}': ['p(95)<3'], http_reqs: ['count>0'] } };\n"
    k6(options + GET)
    rows = [(row["text"], row["judgement"], row["measured"], row["reason"]) for row in loadline.summary()["criteria"]]
    assert rows == [
        ("http_req_duration{name:x} p(95)<3", "INCONCLUSIVE", None, "there were no samples"),
        ("http_reqs count>0", "PASS", "count=1", None),
    ]


EXTREMES = """
import { Counter, Gauge, Trend } from 'k6/metrics';
const [cents, size, huge] = [new Counter('cents'), new Trend('size'), new Gauge('huge')];
export default function () {
  for (const value of [0.1, 0.2, -0.5, 1 / 0]) cents.add(value);
  for (const value of [1e308, 1e308, -1 / 0]) size.add(value);
  huge.add(1e300);
  http.get(`${__ENV.BASE}/a`);
}
"""


def test_extreme_values_of_metrics_are_recorded(k6, loadline):
    k6(EXTREMES)
    found = {row["name"]: (row["count"], row["values"]) for row in loadline.summary()["custom"]}
    assert found["cents"] == (3, {"sum": pytest.approx(-0.2)})
    assert (found["size"][0], found["size"][1]["max"], found["huge"][1]["max"]) == (2, 1e308, 1e300)
    assert "damaged" not in loadline("report", "last").stdout


def test_secrets_of_variables_are_not_in_the_record(loadline, server):
    options = "export const options = { thresholds: { 'http_reqs{token:Sesame12345}': ['count>=0'] } };\n"
    script = "export default () => check(http.get(`${__ENV.BASE}/a`), { [`with ${__ENV.API_TOKEN}`]: (r) => r.status === 200 });\n"
    loadline.write("script.js", OPEN + options + script)
    run = loadline("k6", "run", "-e", f"BASE={server.url}", "-e", "API_TOKEN=Sesame12345", "script.js")
    assert run.returncode == 0, run.stderr
    files = [path for path in (loadline.folder / ".loadline/runs").rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [path.name for path in files if b"Sesame12345" in path.read_bytes()] == []
    # A secret has the same digits in all places.
    summary = json.dumps(loadline.summary(), ensure_ascii=False)
    assert len(set(re.findall("‹redacted:[0-9a-f]+›", summary))) == 1


def test_a_threshold_can_stop_the_run(k6):
    script = """
export const options = { vus: 1, duration: '60s', thresholds: { checks: [{ threshold: 'rate>0.5', abortOnFail: true }] } };
export default function () { check(1, { never: () => false }); sleep(0.1); }
"""
    done = k6(script, code=99)
    assert "at least one has abortOnFail enabled, stopping test prematurely" in done.stderr


def test_setup_hands_data_to_iterations_and_teardown(k6, server, loadline):
    script = """
export const options = { iterations: 2 };
export function setup() { http.get(`${__ENV.BASE}/setup`); return { token: 'abc' }; }
export default function (data) { http.get(`${__ENV.BASE}/${data.token}`); }
export function teardown(data) { http.get(`${__ENV.BASE}/end/${data.token}`); }
"""
    done = k6(script)
    assert server.lines == ["GET /setup", "GET /abc", "GET /abc", "GET /end/abc"]
    assert values(done, "http_reqs").startswith("4 ")
    # Only the load is recorded.
    assert loadline.summary()["requests"]["issued"] == 2


SLOW_SETUP = "export const options = { setupTimeout: '100ms' };\nexport function setup() { sleep(9); }\n"
UNKNOWN_EXEC = "export const options = { scenarios: { s: { executor: 'constant-vus', exec: 'gone', duration: '1s' } } };\n"


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("export default function () { exec.test.abort('enough'); }", 108, "test aborted: enough"),
        ("export default function () { exec.test.fail('no'); }", 110, "test run was marked as failed"),
        ("export function setup() { throw new Error('no data'); }\n" + GET, 107, "Error: no data"),
        (
            "export const options = { setupTimeout: '100ms' };\nexport function setup() { sleep(9); }\n" + GET,
            100,
            "setup() execution timed out",
        ),
        ("throw new Error('at once');\n" + GET, 107, "at once"),
        ("export const options = { vus: 'many' };\n" + GET, 104, 'got error while parsing \\"vus\\"'),
        ("export const options = { thresholds: { nothing: ['avg<1'] } };\n" + GET, 104, "nothing"),
        (
            "export const options = { tlsAuth: [{ cert: '', key: '' }, { cert: '', key: '' }] };\n" + GET,
            104,
            "option `tlsAuth` with several certificates is not supported",
        ),
        ("export const options = { tlsAuth: [{ cert: 'x', key: 'y' }] };\n" + GET, 104, "the client certificate: "),
        (
            "export const options = { scenarios: { s: { executor: 'constant-vus', exec: 'gone', duration: '1s' } } };\n" + GET,
            104,
            "'gone'",
        ),
        ("import { browser } from 'k6/browser';\n" + GET, 107, "script.js:4:"),
        ("import x from 'k6/x/sql';\n" + GET, 107, "script.js:4:"),
        ("import x from './gone.js';\n" + GET, 107, "script.js:4:"),
    ],
)
def test_a_run_that_fails_says_why(k6, server, script, code, message):
    done = k6(script, code=code)
    assert message in done.stderr, done.stderr
    assert "panicked" not in done.stderr


def test_an_exception_fails_its_iteration_only(k6):
    done = k6("export const options = { iterations: 3 };\nexport default function () { throw new Error('boom'); }")
    assert values(done, "iterations").startswith("3 ")
    assert done.stderr.count('msg="Error: boom\\n\\tat ') == 3
    assert "script.js:5:" in done.stderr


def test_wrong_usage_ends_with_255(loadline):
    done = loadline("k6", "run", "--nonsense", "x.js")
    assert (done.returncode, "unknown flag: --nonsense" in done.stderr) == (255, True)
    done = loadline("k6", "run", "gone.js")
    assert (done.returncode, "gone.js" in done.stderr) == (255, True)


def test_a_signal_runs_teardown_and_prints_the_summary(loadline, server):
    script = """
export const options = { vus: 2, duration: '60s' };
export default function () { http.get(`${__ENV.BASE}/a`); sleep(60); }
export function teardown() { http.get(`${__ENV.BASE}/teardown`); }
"""
    loadline.write("script.js", OPEN + script)
    with loadline.start("k6", "run", "-e", f"BASE={server.url}", "script.js") as run:
        wait_until(lambda: len(server.lines) == 2, "both requests")
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=20)
    assert run.returncode == 105, err
    assert server.lines[-1] == "GET /teardown"
    assert "█ TOTAL RESULTS" in out
    assert "test run was aborted because k6 received a 'interrupt' signal" in err


def test_handle_summary_replaces_the_text(k6, loadline):
    script = """
export default function () {}
export function handleSummary(data) {
  return { stdout: `iterations: ${data.metrics.iterations.values.count}\\n`, 'out.json': JSON.stringify(data.state) };
}
"""
    done = k6(script, "-q")
    assert done.stdout == "iterations: 1\n"
    assert json.loads((loadline.folder / "out.json").read_text())["testRunDurationMs"] > 0


def test_summary_is_exported(k6, loadline):
    k6(CHECKS % "hits: ['count>8']", "--summary-export", "summary.json", code=99)
    exported = json.loads((loadline.folder / "summary.json").read_text())
    assert exported["metrics"]["hits"]["count"] == 8
    # In this file, true means failed.
    assert exported["metrics"]["hits"]["thresholds"] == {"count>8": True}


def test_every_sample_is_written(k6, loadline):
    k6(CHECKS % "", "--out", "json=samples.json.gz", "--out", "csv=samples.csv")
    with gzip.open(loadline.folder / "samples.json.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    points = [line for line in lines if line["type"] == "Point" and line["metric"] == "http_reqs"]
    assert len(points) == 4
    assert (points[0]["data"]["tags"]["kind"], points[0]["data"]["tags"]["group"]) == ("page", "::outer")
    with (loadline.folder / "samples.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sum(row["metric_name"] == "http_reqs" for row in rows) == 4
    assert {row["method"] for row in rows if row["metric_name"] == "http_req_duration"} == {"GET"}


def test_record_has_requests_by_name_and_intended_times(k6, loadline):
    script = """
export const options = { scenarios: { steady: { executor: 'constant-arrival-rate', rate: 10, duration: '1s', preAllocatedVUs: 5 } } };
export default function () { http.get(`${__ENV.BASE}/item/${__ITER}`, { tags: { name: 'item' } }); }
"""
    k6(script)
    assert loadline.summary()["arrivals"]["planned"] == 10
    report = loadline("report")
    assert re.search(r"^GET item +10 ", report.stdout, re.MULTILINE)
    assert "steady: 10.00 iterations/s for 1s" in report.stdout.replace("\n  ", " ")


def test_run_recognises_scripts(loadline, server):
    loadline.write("script.js", OPEN + GET)
    done = loadline("run", "script.js", "--", "-e", f"BASE={server.url}")
    assert done.returncode == 0, done.stderr
    assert server.lines == ["GET /a"]
    refused = loadline("run", "script.js", "--target", server.url)
    assert refused.returncode == 2
    assert "--target is not available for a k6 script" in refused.stderr


def test_typescript_modules_and_data_are_loaded(k6, loadline, server):
    loadline.write("users.json", json.dumps([{"name": "ann"}, {"name": "bob"}]))
    loadline.write("helper.ts", "export const path = (name: string): string => `/${name}`;\n")
    script = """
import { SharedArray } from 'k6/data';
import { path } from './helper.ts';
const users = new SharedArray('users', () => JSON.parse(open('./users.json')));
export const options = { iterations: 2 };
export default function (): void {
  const user: { name: string } = users[exec.scenario.iterationInTest % users.length];
  http.get(`${__ENV.BASE}${path(user.name)}`);
}
"""
    k6(script, name="script.ts")
    assert sorted(server.lines) == ["GET /ann", "GET /bob"]


def test_failed_requests_are_no_exceptions(k6):
    done = k6(
        "export default function () { const r = http.get('http://127.0.0.1:1/'); check(r, { 'code': (r) => r.error_code === 1212 }); }"
    )
    assert values(done, "checks_succeeded") == "100.00% 1 out of 1"
    assert values(done, "http_req_failed") == "100.00% 1 out of 1"
    assert 'msg="Request Failed" error="Get \\"http://127.0.0.1:1/\\"' in done.stderr


def test_requests_of_interrupted_iterations_are_recorded(loadline):
    script = """
export const options = { scenarios: { slow: { executor: 'constant-vus', vus: 3, duration: '1s', gracefulStop: '0s' } } };
export default function () { http.get(`${__ENV.BASE}/a`); }
"""
    with fake_servers.FakeServer(fake_servers.never_answer) as server:
        loadline.write("script.js", OPEN + script)
        done = loadline("k6", "run", "-e", f"BASE={server.url}", "script.js")
    assert done.returncode == 0, done.stderr
    requests = loadline.summary()["requests"]
    assert (requests["issued"], requests["ok"], requests["adds_up"]) == (3, 0, True), requests


def test_users_of_a_later_scenario_are_not_taken(k6):
    script = """
export const options = { scenarios: {
  a: { executor: 'constant-arrival-rate', rate: 20, duration: '2s', preAllocatedVUs: 1, maxVUs: 10, exec: 'busy' },
  b: { executor: 'constant-vus', vus: 3, duration: '1s', startTime: '1s' },
} };
export function busy() { sleep(0.4); }
export default function () { sleep(0.1); http.get(`${__ENV.BASE}/b`); }
"""
    done = k6(script)
    assert "fewer VUs than planned" not in done.stderr
    assert "b ✓ [ 100% ] 3 VUs" in done.stdout
    assert int(values(done, "http_reqs").split()[0]) >= 9


def test_a_second_signal_ends_teardown(loadline, server):
    script = """
export const options = { vus: 1, duration: '60s' };
export default function () { http.get(`${__ENV.BASE}/a`); sleep(60); }
export function teardown() { http.get(`${__ENV.BASE}/teardown`); sleep(50); }
"""
    loadline.write("script.js", OPEN + script)
    with loadline.start("k6", "run", "-e", f"BASE={server.url}", "script.js") as run:
        wait_until(lambda: server.lines, "the first request")
        run.send_signal(signal.SIGINT)
        wait_until(lambda: "GET /teardown" in server.lines, "teardown")
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=20)
    assert run.returncode == 105, err


def test_a_signal_ends_setup(loadline, server):
    script = """
export function setup() { http.get(`${__ENV.BASE}/setup`); sleep(50); }
export default function () { http.get(`${__ENV.BASE}/a`); }
"""
    loadline.write("script.js", OPEN + script)
    with loadline.start("k6", "run", "-e", f"BASE={server.url}", "script.js") as run:
        wait_until(lambda: server.lines, "setup")
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=20)
    assert (run.returncode, server.lines) == (105, ["GET /setup"]), err


def test_options_of_the_test_name_the_scenario_of_shortcuts(k6):
    script = """
export const options = { stages: [{ duration: '300ms', target: 1 }] };
export default function () {
  const scenario = exec.test.options.scenarios.default;
  check(scenario, { ramp: (s) => s.executor === 'ramping-vus' && s.stages[0].target === 1 && s.stages[0].duration === '300ms' });
  sleep(0.2);
}
"""
    done = k6(script)
    assert values(done, "checks_succeeded").startswith("100.00%")


def test_rates_begin_when_the_users_exist(k6):
    script = """
const end = Date.now() + 300;
while (Date.now() < end) {}
export const options = { vus: 4, iterations: 4 };
export default function () { sleep(1); }
"""
    done = k6(script)
    # The initialisation takes more than a second, which is not part of the test.
    assert float(values(done, "iterations").split()[1].removesuffix("/s")) > 2


def test_bytes_of_setup_are_counted(k6):
    done = k6("export function setup() { http.get(`${__ENV.BASE}/setup`); }\nexport default function () {}")
    assert values(done, "data_received").split()[:2] != ["0", "B"]


def test_criteria_of_the_environment_decide_the_exit_code(loadline, server):
    loadline.write("script.js", OPEN + GET)
    done = loadline("run", "script.js", "--check", "p99 < 1ns", "--", "-e", f"BASE={server.url}")
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (("--profiling-enabled",), "--profiling-enabled"),
        (("--new-machine-readable-summary", "--summary-export", "s.json"), "--new-machine-readable-summary"),
        (("--type", "archive"), "--type"),
        (("--features", "freeze-env"), "feature `freeze-env`"),
        (("--linger",), "--linger"),
    ],
)
def test_flags_without_effect_are_refused(k6, server, flags, name):
    done = k6(GET, *flags, code=104)
    assert f"{name} is not supported: " in done.stderr
    assert server.lines == []


def test_thresholds_on_tags_that_no_sample_has_are_refused(k6, server):
    options = "export const options = { thresholds: { 'http_req_duration{ocsp_status:good}': ['p(95)<1'] } };\n"
    done = k6(options + GET, code=104)
    assert "tag `ocsp_status` in the threshold on" in done.stderr
    assert server.lines == []


def test_dropped_arrivals_of_a_mixed_run_are_in_the_ledger(k6, loadline):
    script = """
export const options = { scenarios: {
  busy: { executor: 'constant-arrival-rate', rate: 10, duration: '1s', preAllocatedVUs: 1, exec: 'slow' },
  user: { executor: 'constant-vus', vus: 1, duration: '1s' },
} };
export function slow() { sleep(1.5); }
export default function () { sleep(0.2); }
"""
    k6(script)
    summary = loadline.summary()
    arrivals = summary["arrivals"]
    assert (arrivals["planned"], arrivals["started"], arrivals["skipped"], arrivals["adds_up"]) == (10, 1, 9, True)
    assert not any("iterations could not start" in note for note in summary["notes"])


def test_unstarted_iterations_of_closed_loops_are_in_the_notes(k6, loadline):
    script = """
export const options = { scenarios: {
  arrivals: { executor: 'constant-arrival-rate', rate: 2, duration: '1s', preAllocatedVUs: 2, exec: 'fast' },
  user: { executor: 'per-vu-iterations', vus: 1, iterations: 9, maxDuration: '1s' },
} };
export function fast() {}
export default function () { sleep(1.5); }
"""
    k6(script)
    summary = loadline.summary()
    assert (summary["arrivals"]["planned"], summary["arrivals"]["completed"]) == (2, 2)
    assert any(note.startswith("8 iterations could not start") for note in summary["notes"])


FACTS = """
const seen = (response) => [response.proto, response.remote_ip, response.remote_port, response.tls_version, response.tls_cipher_suite];
export const options = { insecureSkipTLSVerify: true, systemTags: ['proto', 'tls_version', 'ip'],
  thresholds: { 'http_reqs{tls_version:tls1.3,proto:HTTP/2.0,ip:127.0.0.1}': ['count==3'] } };
export default function () {
  const response = http.get(`${__ENV.LAB}/a`);
  console.log(seen(response).join(' '), response.headers['X-Missing'] === undefined);
  http.batch([`${__ENV.LAB}/b`, `${__ENV.LAB}/c`]);
}
"""


def test_servers_choose_http2_and_responses_tell_the_connection(k6, start_lab, certificates):
    lab = start_lab("http2", f"cert={certificates / 'server.pem'}", f"key={certificates / 'server.key'}")
    done = k6(FACTS, "-e", f"LAB={lab.url}")
    port = lab.url.rsplit(":", 1)[1]
    assert f"HTTP/2.0 127.0.0.1 {port} tls1.3 TLS_" in done.stderr
    assert values(done, "http_reqs").startswith("3 ")


def test_responses_without_tls_tell_the_address(k6, server):
    script = """export default function () {
  const r = http.get(`${__ENV.BASE}/a`);
  check(r, { plain: () => r.proto === 'HTTP/1.1' && r.remote_ip === '127.0.0.1' && r.tls_version === '' });
  check(r, { port: () => __ENV.BASE.endsWith(`:${r.remote_port}`) });
}
"""
    assert values(k6(script), "checks_succeeded").startswith("100.00% 2 out of 2")


def test_hosts_replace_the_addresses_of_names(k6, server):
    port = server.url.rsplit(":", 1)[1]
    script = f"""export const options = {{ hosts: {{ 'app.test': '127.0.0.1', '*.sub.test': '127.0.0.1:{port}' }} }};
export default function () {{
  check(http.get('http://app.test:{port}/one'), {{ address: (r) => r.remote_ip === '127.0.0.1' }});
  http.get('http://a.sub.test/two');
}}
"""
    done = k6(script)
    assert server.lines == ["GET /one", "GET /two"]
    assert values(done, "checks_succeeded").startswith("100.00% 1 out of 1")


def test_a_client_certificate_of_the_options_is_offered(k6, certificates):
    seen = []

    def then(connection) -> None:
        context = serve(certificates, "server", client_ca=True)
        with context.wrap_socket(connection, server_side=True) as tls:
            seen.append(dict(part[0] for part in tls.getpeercert()["subject"])["commonName"])
            fake_servers.ok_with()(tls)

    pair = f"cert: open('{certificates / 'client.pem'}'), key: open('{certificates / 'client.key'}')"
    script = f"export const options = {{ insecureSkipTLSVerify: true, tlsAuth: [{{ {pair} }}] }};\n"
    with fake_servers.FakeServer(then) as peer:
        done = k6(script + GET.replace("${__ENV.BASE}", peer.url.replace("http", "https")))
    assert values(done, "http_req_failed").startswith("0.00%")
    assert len(seen) == 1


MIXED = """
export const options = { scenarios: {
  arrivals: { executor: 'constant-arrival-rate', rate: 10, duration: '1s', preAllocatedVUs: 1, maxVUs: 1, exec: 'wait' },
  loop: { executor: 'per-vu-iterations', vus: 2, iterations: 3, exec: 'mark' },
} };
export function wait() { sleep(0.45); }
export function mark() { http.get(`${__ENV.BASE}/loop`); }
"""


def test_ledger_of_mixed_executors_contains_the_arrivals(k6, loadline):
    k6(MIXED)
    summary = loadline.summary()
    arrivals = summary["arrivals"]
    assert (arrivals["planned"], arrivals["adds_up"]) == (10, True), arrivals
    assert arrivals["started"] + arrivals["skipped"] == 10
    assert 1 <= arrivals["started"] <= 3
    assert summary["run"]["model"] == "mixed"
    rows = {row["name"]: (row["model"], row["planned"], row["ended"]) for row in summary["workloads"]}
    assert rows == {"arrivals": ("open", 10, arrivals["started"]), "loop": ("closed", None, 6)}
    texts = [row["text"] for row in summary["workloads"]]
    assert texts[0].startswith("constant-arrival-rate, 10.00 iterations/s for 1s")
    assert texts[1].startswith("per-vu-iterations, 3 iterations for each of 2 VUs")
    scenarios = {row["name"]: (row["workload"], row["planned"]) for row in summary["scenarios"]}
    assert scenarios == {"arrivals": ("arrivals", 10), "loop": ("loop", None)}
