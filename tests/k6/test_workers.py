"""`loadline k6 run` with several workers: they run one test together, as one worker would."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter

import fake_servers
import pytest
from conftest import wait_until

OPEN = "import http from 'k6/http';\nimport { sleep } from 'k6';\nimport exec from 'k6/execution';\n"


@pytest.fixture(autouse=True)
def _workers(monkeypatch):
    monkeypatch.setenv("LOADLINE_WORKERS", "3")


@pytest.fixture
def server():
    with fake_servers.RecordingServer() as server:
        yield server


@pytest.fixture
def k6(loadline, server):
    """Runs a script on three workers. `__ENV.BASE` is the server's URL."""

    def run(script: str, *flags: str, code: int = 0):
        loadline.write("script.js", OPEN + script)
        done = loadline("k6", "run", "-e", f"BASE={server.url}", *flags, "script.js")
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}{done.stderr}"
        return done

    return run


def marks(done) -> list[list[str]]:
    """Returns the words of the lines that the script has logged."""
    return [line.split() for line in re.findall(r'msg="mark ([^"]*)"', done.stderr)]


EXECUTORS = """
export const options = { scenarios: {
  per_vu: { executor: 'per-vu-iterations', vus: 5, iterations: 3, exec: 'mark' },
  shared: { executor: 'shared-iterations', vus: 7, iterations: 50, exec: 'mark' },
  arrivals: { executor: 'constant-arrival-rate', rate: 20, duration: '1s', preAllocatedVUs: 4, exec: 'mark' },
  ramping: { executor: 'ramping-arrival-rate', startRate: 0, stages: [{ target: 20, duration: '1s' }], preAllocatedVUs: 4,
    exec: 'mark' },
} };
export function setup() { http.get(`${__ENV.BASE}/setup`); return { from: 'setup' }; }
export function mark(data) {
  console.log(`mark ${exec.scenario.name} ${exec.vu.idInTest} ${exec.scenario.iterationInTest} ${data.from}`);
}
export function teardown(data) { http.get(`${__ENV.BASE}/teardown/${data.from}`); }
"""


def test_workers_share_virtual_users_iterations_and_arrivals(k6, loadline, server):
    done = k6(EXECUTORS)
    found = marks(done)
    numbers = {name: sorted(int(mark[2]) for mark in found if mark[0] == name) for name in ("per_vu", "shared", "arrivals", "ramping")}
    # The area under a ramp from 0 to 20/s over one second is 10.
    assert {name: len(own) for name, own in numbers.items()} == {"per_vu": 15, "shared": 50, "arrivals": 20, "ramping": 10}
    assert all(own == list(range(len(own))) for own in numbers.values())
    assert {mark[3] for mark in found} == {"setup"}
    assert set(Counter(mark[1] for mark in found if mark[0] == "per_vu").values()) == {3}
    # The numbers of virtual users are unique, from 1.
    assert {int(mark[1]) for mark in found} <= set(range(1, 21))
    assert server.lines == ["GET /setup", "GET /teardown/setup"]
    summary = loadline.summary()
    assert summary["run"]["workers"] == 3
    assert re.search(r"^    iterations\.+: 95 ", done.stdout, re.MULTILINE)


def test_one_virtual_user_runs_the_arrivals_of_all_workers(k6):
    script = """
export const options = { scenarios: {
  one: { executor: 'constant-arrival-rate', rate: 5, duration: '1s', preAllocatedVUs: 1, exec: 'mark' },
  others: { executor: 'constant-vus', vus: 2, duration: '1s', exec: 'wait' },
} };
export function mark() { console.log(`mark ${exec.vu.idInTest} ${exec.scenario.iterationInTest}`); }
export function wait() { sleep(1); }
"""
    done = k6(script)
    assert len(marks(done)) == 5, done.stdout
    assert len({mark[0] for mark in marks(done)}) == 1
    assert "dropped_iterations" not in done.stdout


@pytest.mark.parametrize("executor", ["constant-vus", "ramping-vus", "constant-arrival-rate"])
def test_a_scenario_that_begins_when_another_ends_gets_its_virtual_users(k6, monkeypatch, executor):
    monkeypatch.delenv("LOADLINE_WORKERS")
    options = {
        "constant-vus": "vus: 3, duration: '1s'",
        "ramping-vus": "startVUs: 3, stages: [{ target: 3, duration: '1s' }]",
        "constant-arrival-rate": "rate: 6, duration: '1s', preAllocatedVUs: 3, maxVUs: 3",
    }[executor]
    # The sleeps of the first scenario are interrupted at its end, which is when the second one starts.
    done = k6(
        "export const options = { scenarios: {\n"
        "  first: { executor: 'constant-vus', vus: 3, duration: '1s', gracefulStop: '0s', exec: 'mark' },\n"
        f"  second: {{ executor: '{executor}', {options}, startTime: '1s', exec: 'mark' }} }} }};\n"
        "export function mark() { console.log(`mark ${exec.scenario.name} ${exec.vu.idInTest}`); sleep(0.4); }"
    )
    assert len({mark[1] for mark in marks(done) if mark[0] == "second"}) == 3, done.stderr
    assert "fewer VUs than planned" not in done.stderr


def test_the_limit_of_requests_per_second_holds_for_all_workers(k6, server):
    done = k6(
        "export default function () { http.get(`${__ENV.BASE}/a`); }", "--rps", "20", "--vus", "6", "--iterations", "24", "--no-color"
    )
    assert len(server.lines) == 24
    # 23 gaps of 50 ms. A busy machine makes it longer.
    rate = float(re.search(r"http_reqs\.+: 24 +([0-9.]+)/s", done.stdout)[1])
    assert rate < 24 / (23 * 0.05) + 0.5


def test_samples_of_all_workers_are_written_after_their_definition(k6, loadline):
    k6("export default function () {}", "--vus", "6", "--iterations", "60", "--out", "json=samples.json", "--out", "csv=samples.csv")
    defined, points = [], Counter()
    for line in (loadline.folder / "samples.json").read_text().splitlines():
        entry = json.loads(line)
        if entry["type"] == "Metric":
            defined.append(entry["metric"])
        else:
            assert entry["metric"] in defined
            points[entry["metric"]] += 1
    assert len(defined) == len(set(defined))
    assert points["iterations"] == points["iteration_duration"] == 60
    rows = (loadline.folder / "samples.csv").read_text().splitlines()
    assert sum(row.startswith("metric_name,") for row in rows) == 1
    assert sum(row.startswith("iterations,") for row in rows) == 60


def test_thresholds_see_the_samples_of_all_workers(k6):
    script = """
export const options = { vus: 6, duration: '60s', thresholds: {
  iterations: [{ threshold: 'count<60', abortOnFail: true }] } };
export default function () { sleep(0.1); }
"""
    done = k6(script, code=99)
    assert "thresholds on metrics 'iterations' were crossed" in done.stderr
    # Evaluated every two seconds, when all workers have run 120. A third of them are 60 after four
    # seconds, when all have run 240.
    assert 60 <= int(re.search(r"^    iterations\.+: (\d+) ", done.stdout, re.MULTILINE)[1]) < 200


def test_a_failure_of_one_virtual_user_ends_all_workers(k6, server):
    script = """
if (__VU === 5) { throw new Error('virtual user 5'); }
export const options = { vus: 6, duration: '60s' };
export function setup() { http.get(`${__ENV.BASE}/setup`); }
export default function () {}
"""
    done = k6(script, code=107)
    assert "virtual user 5" in done.stderr
    assert server.lines == []


def test_a_signal_ends_all_workers(loadline, server):
    script = """
export const options = { vus: 6, duration: '60s' };
export default function () { http.get(`${__ENV.BASE}/a`); sleep(60); }
export function teardown() { http.get(`${__ENV.BASE}/teardown`); }
"""
    loadline.write("script.js", OPEN + script)
    with loadline.start("k6", "run", "-e", f"BASE={server.url}", "script.js") as run:
        wait_until(lambda: len(server.lines) == 6, "the requests of all virtual users")
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=20)
    assert run.returncode == 105, err
    assert server.lines[-1] == "GET /teardown"
    assert "6 interrupted iterations" in out


def test_the_number_of_workers_is_checked(loadline, monkeypatch):
    loadline.write("script.js", "export default function () {}")
    for text in ("0", "two", "5000"):
        monkeypatch.setenv("LOADLINE_WORKERS", text)
        done = loadline("k6", "run", "script.js")
        assert done.returncode == 255
        assert "LOADLINE_WORKERS is not a whole number from 1 to 1024" in done.stderr


def test_a_worker_is_not_started_without_virtual_users(k6, loadline):
    k6("export default function () {}", "--vus", "2", "--iterations", "4")
    assert loadline.summary()["run"]["workers"] == 2


def test_run_takes_the_number_of_workers(loadline, monkeypatch):
    monkeypatch.delenv("LOADLINE_WORKERS")
    loadline.write("script.js", "import { sleep } from 'k6';\nexport default function () { sleep(0.01); }")
    done = loadline("run", "script.js", "--workers", "2", "--", "--vus", "4", "--iterations", "8")
    assert done.returncode == 0, done.stderr
    assert loadline.summary()["run"]["workers"] == 2
