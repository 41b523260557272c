"""`loadline find`: searches on known, failing and dying services; and refusals."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from pathlib import Path

import pytest
from conftest import wait_until
from fake_servers import LimitedCapacity, RecordingServer

#: The shortest possible search: a few probes of some seconds.
SHORT = ["--budget", "45s", "--probe", "4s", "--settle", "1s", "--seed", "3"]


def find(loadline, *args: object, timeout: float = 120):
    """Runs a search. Returns the process and its result, if there is one."""
    ran = loadline("find", *args, "--out", "found", timeout=timeout)
    file = loadline.folder / "found/find.json"
    return ran, json.loads(file.read_text()) if file.exists() else None


@pytest.mark.alone
@pytest.mark.paced
def test_find_locates_the_capacity_of_a_pool(loadline):
    # Eight requests at a time, 100 ms each: 80/s.
    with RecordingServer(LimitedCapacity(8, 0.1)) as peer:
        ran, found = find(loadline, peer.url, "--slo", "p99 < 600ms", "--slo", "errors < 1%", "--from", "20/s", *SHORT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert found["ending"] == "found"
    low, high = found["interval"]
    assert low <= found["estimate"] <= high
    # In four seconds an overload of a few per cent is not always visible.
    assert 50 < found["estimate"] < 95, found["sentence"]
    assert found["last_pass"] < 95 < found["first_fail"] * 1.6
    words = " ".join(ran.stdout.split())
    assert f"the load line {found['sentence']}" in words
    assert f"above it {found['overload']}" in words
    # Each probe, its reason and its result are printed during the search.
    assert "20.0/s, at most 2 s: first probe" in ran.stderr, ran.stderr
    assert "all probes have held so far" in ran.stderr
    folder = loadline.folder / "found"
    for probe in found["probes"]:
        assert (folder / probe["run"] / "report.html").exists()
        assert probe["invalid"] or probe["beyond"][0] is not None
    # A probe belongs to its search and is not in the index of runs.
    assert not list(folder.glob("*/history.sqlite"))
    page, paper = (folder / "report.html").read_text(), (folder / "report.md").read_text()
    for text in (page, paper):
        assert "The load line" in text
        assert "Above it: " in text
    for chart in ("load-line.svg", "latency.svg", "goodput.svg"):
        assert (folder / "charts" / chart).exists()
        assert f"charts/{chart}" in paper


@pytest.mark.alone
@pytest.mark.paced
def test_find_reports_a_service_that_always_fails(loadline):
    with RecordingServer(lambda _request: (500, {}, b"no")) as peer:
        url = peer.url.replace("://", "://me:in-the-url@")
        ran, found = find(loadline, url, "--slo", "errors < 10%", "--from", "20/s", "--min", "5/s", *SHORT)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "fails even at 5.00/s: `errors < 10%` is 100 %" in " ".join(ran.stdout.split())
    for file in (loadline.folder / "found").glob("*.*"):
        assert "in-the-url" not in file.read_text(), file
    again = loadline("find", url, "--slo", "errors < 10%", "--out", "found")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "the folder already contains a search" in again.stderr
    # The first failure is probed again.
    assert [probe["level"] for probe in found["probes"]] == [20, 20, 5]


@pytest.mark.alone
@pytest.mark.paced
def test_find_names_the_failure_above_the_load_line(loadline):
    class Limiter:
        """Accepts `rate` requests per second and refuses the rest."""

        def __init__(self, rate: float) -> None:
            self.rate, self.began, self.let_in = rate, time.monotonic(), 0
            self.lock = threading.Lock()

        def __call__(self, _request):
            with self.lock:
                # Unused capacity does not accumulate.
                now = time.monotonic()
                self.let_in = max(self.let_in, int((now - self.began) * self.rate) - 3)
                is_in = self.let_in <= (now - self.began) * self.rate
                self.let_in += is_in
            return (200 if is_in else 503), {}, b"{}"

    with RecordingServer(Limiter(50)) as peer:
        args = ["--slo", "errors < 5%", "--from", "20/s", "--arrivals", "even", *SHORT]
        ran, found = find(loadline, peer.url, *args)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.fullmatch(r"errors: [\d.]+ % of requests fail with status 503 at [\d.]+/s", found["overload"]), found["overload"]
    words = " ".join(ran.stdout.split())
    assert f"above it {found['overload']}" in words
    for file in ("report.html", "report.md"):
        assert f"Above it: {found['overload']}." in (loadline.folder / "found" / file).read_text()
    failing = [probe for probe in found["probes"] if not probe["holds"] and not probe["invalid"]]
    assert failing
    assert all(probe["cause"]["reason"] == "status 503" for probe in failing)


@pytest.mark.alone
@pytest.mark.paced
def test_find_passing_at_max_is_a_lower_bound(loadline):
    plan = """loadline: 1
load: { rate: 80/s, duration: 5s }
criteria:
  - errors < 1%
  - p99 in steady < 1s
steps:
  - get: /
"""
    with RecordingServer(lambda _request: (200, {}, b"{}")) as peer:
        file = loadline.write("plan.yml", plan)
        ran, found = find(loadline, file, "--target", peer.url, "--max", "30/s", "--json", "-", *SHORT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # The search starts with a quarter of the plan's load. The plan's criteria must hold, except
    # those a probe cannot decide.
    assert [probe["level"] for probe in found["probes"]] == [20, 30]
    assert found["slos"] == ["errors < 1%"]
    assert "a probe is too short for a steady state" in found["notes"][0]
    assert json.loads(ran.stdout) == found
    assert found["sentence"] == "at least 30.0/s: all criteria hold there, and --max allows no higher load"


@pytest.mark.alone
@pytest.mark.paced
def test_find_each_probe_has_its_own_arrivals(loadline):
    with RecordingServer(lambda _request: (200, {}, b"{}")) as peer:
        ran, found = find(loadline, peer.url, "--check", "errors < 1%", "--from", "20/s", "--max", "60/s", *SHORT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    folder = loadline.folder / "found"
    seeds = [json.loads((folder / probe["run"] / "manifest.json").read_text())["seed"] for probe in found["probes"]]
    assert len(seeds) == 3
    assert len(set(seeds)) == len(seeds), seeds


@pytest.mark.alone
@pytest.mark.paced
def test_find_over_users(loadline):
    # Four at a time: with more than four users each request waits.
    with RecordingServer(LimitedCapacity(4, 0.1)) as peer:
        ran, found = find(loadline, peer.url, "--over", "users", "--slo", "p50 < 150ms", "--from", "1", "--max", "3", *SHORT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [probe["level"] for probe in found["probes"]] == [1, 2, 3]
    assert found["sentence"].startswith("at least 3 users")


K6_SCRIPT = """import http from 'k6/http';
export default function () { http.get(__ENV.BASE); }
"""


@pytest.mark.alone
@pytest.mark.paced
def test_find_the_virtual_users_of_a_k6_script(loadline, monkeypatch):
    loadline.write("script.js", K6_SCRIPT)
    with RecordingServer(LimitedCapacity(4, 0.1)) as peer:
        monkeypatch.setenv("BASE", peer.url)
        ran, found = find(loadline, "script.js", "--over", "users", "--slo", "p50 < 150ms", "--from", "1", "--max", "3", *SHORT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [probe["level"] for probe in found["probes"]] == [1, 2, 3]
    assert found["sentence"].startswith("at least 3 users")
    # Each probe is a run of the script.
    plans = [json.loads((loadline.folder / "found" / probe["run"] / "plan.json").read_text()) for probe in found["probes"]]
    assert [plan["format"] for plan in plans] == ["k6"] * 3


@pytest.mark.alone
@pytest.mark.paced
def test_sweep_reports_how_a_service_scales(loadline):
    # Eight at a time, 100 ms each: ten per second for each of up to eight users.
    with RecordingServer(LimitedCapacity(8, 0.1)) as peer:
        sweep = ["--over", "users", "--sweep", "--max", "12", "--probe", "3s", "--settle", "1s", "--budget", "90s"]
        ran, found = find(loadline, peer.url, *sweep, "--seed", "3")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert found["ending"] == "swept"
    counted = {probe["level"]: probe["goodput"] for probe in found["probes"] if not probe["invalid"]}
    assert list(counted) == [1, 2, 3, 4, 6, 8, 12]
    assert 4 < counted[1] <= 10.5, counted
    assert 4 * counted[1] < counted[8] <= 84, counted
    assert counted[12] <= 84
    scaling = found["scaling"]
    assert 3 < scaling["single_user"] < 14
    assert scaling["serial"][0] >= 0
    assert scaling["crosstalk"][0] >= 0
    words = " ".join(ran.stdout.split())
    assert f"scaling {found['sentence']}" in words
    assert (loadline.folder / "found/charts/scaling.svg").exists()
    assert "The universal scalability law" in (loadline.folder / "found/report.md").read_text()


@pytest.mark.alone
@pytest.mark.paced
def test_sweep_of_a_service_that_only_fails_ends_early(loadline):
    with RecordingServer(lambda _request: (500, {}, b"no")) as peer:
        sweep = ["--over", "users", "--sweep", "--probe", "3s", "--settle", "1s", "--budget", "30s"]
        ran, found = find(loadline, peer.url, *sweep)
    assert ran.returncode == 5, ran.stdout + ran.stderr
    assert found["ending"] == "swept"
    assert found["sentence"].startswith("only 0 of the 6 required numbers of users")
    assert found["notes"] == ["no request to 1 user was answered as expected: the sweep ends at this level"]


def test_find_ends_when_the_service_dies(loadline):
    class Mortal:
        """Answers until too many requests come within a second, then never again."""

        def __init__(self) -> None:
            self.seen: list[float] = []
            self.is_dead = False

        def __call__(self, _request):
            now = time.monotonic()
            self.seen.append(now)
            if len(self.seen) > 60 and now - self.seen[-60] < 1.0:
                self.is_dead = True
            if self.is_dead:
                threading.Event().wait(60)
            return 200, {}, b"{}"

    with RecordingServer(Mortal()) as peer:
        budget = ["--budget", "2m", "--probe", "4s", "--settle", "1s", "--drain", "1s"]
        ran, found = find(loadline, peer.url, "--slo", "errors < 1%", "--from", "20/s", *budget)
    assert ran.returncode == 5, ran.stdout + ran.stderr
    assert found["ending"] == "died"
    assert "; the search ended" in " ".join(ran.stdout.split())


def test_find_interrupt_keeps_finished_probes(loadline):
    with RecordingServer(LimitedCapacity(8, 0.1)) as peer:
        process = loadline.start("find", peer.url, "--slo", "p99 < 600ms", "--from", "10/s", "--out", "found", *SHORT)
        file = Path(loadline.folder / "found/find.json")
        wait_until(lambda: file.exists() and json.loads(file.read_text())["probes"], "the first probe's line")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    found = json.loads(file.read_text())
    assert found["ending"] == "interrupted"
    assert "the load line   interrupted" in out
    assert (loadline.folder / "found/report.html").exists()


@pytest.mark.alone
@pytest.mark.paced
def test_find_accepts_a_wrk_script(loadline, start_lab):
    lab = start_lab("sum")
    script = loadline.write("post.lua", 'wrk.method = "GET"\nwrk.path = "/api/sum"\n')
    ran, found = find(loadline, script, "--target", lab.url, "--slo", "errors < 1%", "--from", "20/s", "--max", "40/s", *SHORT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [probe["level"] for probe in found["probes"]] == [20, 40]


@pytest.mark.alone
@pytest.mark.paced
def test_find_embedded_target_and_mocks_serve_all_probes(loadline):
    plan = """loadline: 1
target: lab:checkin?threads=40&cpu=1ms&pauses=none
load: { rate: 10/s, duration: 2s }
mocks:
  lorota:
    routes: [{ post: /token, json: {}, latency: 5ms }]
    faults: ['at 0s for 1h: errors 100%']
steps:
  - post: { url: /check_in/v2/sessions, json: { uuid: '{{ $uuid }}' } }
"""
    file = loadline.write("plan.yml", plan)
    ran, found = find(loadline, file, "--slo", "errors < 50%", "--slo", "mean < 5s", "--from", "10/s", "--min", "5/s", *SHORT)
    # The mock fails, so that the result shows that it was called.
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "`errors < 50%` is 100 %" in found["sentence"]
    for probe in found["probes"]:
        summary = json.loads((loadline.folder / "found" / probe["run"] / "summary.json").read_text())
        assert summary["mocks"]
    assert (
        len({json.loads((loadline.folder / "found" / probe["run"] / "plan.json").read_text())["target"] for probe in found["probes"]})
        == 1
    )


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["http://127.0.0.1:9"], "there is no criterion for the search: add, for example, --slo 'p99 < 200ms'"),
        (["http://127.0.0.1:9", "--slo", "p99 > "], "--slo 'p99 > ', column 7"),
        (["http://127.0.0.1:9", "--slo", "p99 in steady < 1s"], "a probe is too short for a steady state"),
        (["http://127.0.0.1:9", "--slo", "rate > 5/s"], "it measures the load itself, which the search changes"),
        (["http://127.0.0.1:9", "--slo", "errors < 1%", "--budget", "5s"], "5s is too short for a result"),
        (["http://127.0.0.1:9", "--slo", "errors < 1%", "--max", "1/s"], "--max must be above the lowest level"),
        (["http://127.0.0.1:9", "--slo", "errors < 1%", "--over", "users", "--from", "2/s"], "`2/s` is not a valid number of users"),
        (["http://127.0.0.1:9", "--sweep"], "--sweep measures numbers of users: add --over users"),
        (["users.py", "--slo", "errors < 1%"], "users of a locustfile decide when to send"),
        (["script.js", "--slo", "errors < 1%"], "search for the number of virtual users with --over users"),
        (["nothing.yml", "--slo", "errors < 1%"], "nothing.yml"),
    ],
)
def test_find_bad_input_is_one_line_before_any_request(loadline, args, line):
    loadline.write("users.py", "from locust import HttpUser\n")
    loadline.write("script.js", K6_SCRIPT)
    ran = loadline("find", *args)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert line in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (loadline.folder / ".loadline/finds").exists()


def test_find_unreachable_service_is_one_line(loadline):
    with RecordingServer(lambda _request: (200, {}, b"{}")) as peer:
        url = peer.url
    ran = loadline("find", url, "--slo", "errors < 1%", *SHORT, timeout=120)
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert "the service does not respond to the first probe either: check that it is running" in ran.stderr
    assert "no result: the service does not respond to the first probe either: check that it is running" in " ".join(
        ran.stdout.split()
    )
