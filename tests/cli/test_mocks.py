"""Mocks:

`loadline mock`, and mocks of a plan, which live as long as the run and report the requests they
served.
"""

import json
import socket
import statistics
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from conftest import LOADLINE, Loadline

MOCKS = """
loadline: 1
mocks:
  things:
    latency: 1ms
    routes:
      - post: /things
        status: 201
        json: { made: '{{ body.id }}' }
        remember: '{{ body.id }}'
      - get: /things/{id}
        recall: '{{ id }}'
        json: { id: '{{ id }}', size: '{{ remembered.size }}', by: '{{ query.by }}' }
      - delete: /things/{id}
        forget: '{{ id }}'
        status: 204
  other:
    routes: [{ get: /, body: hello }]
    faults: ['at 0s for 1h: errors 100% 500']
  gone:
    routes: [{ get: / }]
    faults: ['at 0s for 1h: resets 100%']
  mute:
    routes: [{ get: / }]
    faults: ['at 0s for 1h: silence']
"""


@pytest.fixture
def mocks(loadline: Loadline):
    """Starts the mocks of the plan above. Returns their URLs by name."""
    plan = loadline.write("mocks.yml", MOCKS)
    process = subprocess.Popen(
        [LOADLINE, "mock", plan, "--until-stdin-closes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    urls = {}
    for line in process.stdout:
        if line == "ready\n":
            break
        _, _, url, name = line.split()
        urls[name] = url
    yield urls
    process.stdin.close()
    assert process.wait(timeout=10) == 0
    process.stdout.close()


def fetch(url: str, method: str = "GET", body: dict | None = None) -> tuple[int, bytes]:
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def test_mock_routes_faults_and_statistics(mocks: dict[str, str]):
    things = mocks["things"]
    assert fetch(f"{things}/things/7")[0] == 404
    assert fetch(f"{things}/things", "POST", {"id": "7", "size": 3}) == (201, b'{"made":"7"}')
    status, body = fetch(f"{things}/things/7?by=me")
    assert (status, json.loads(body)) == (200, {"id": "7", "size": 3, "by": "me"})
    assert fetch(f"{things}/things/7", "DELETE")[0] == 204
    assert fetch(f"{things}/things/7")[0] == 404
    assert fetch(f"{things}/nothing")[0] == 404
    stats = json.loads(fetch(f"{things}/__mock/stats")[1])
    assert (stats["received"], stats["answered"]) == (6, 6)
    rows = {row["route"]: row["answered"] for row in stats["routes"]}
    assert rows == {
        "POST /things": {"201": 1},
        "GET /things/{id}": {"200": 1, "404": 2},
        "DELETE /things/{id}": {"204": 1},
        "(no route)": {"404": 1},
    }
    assert stats["routes"][0]["asked"]["p99_ms"] == 1
    assert stats["routes"][0]["served"]["p99_ms"] >= 1

    assert fetch(mocks["other"])[0] == 500
    with pytest.raises((ConnectionResetError, urllib.error.URLError)):
        fetch(mocks["gone"])
    host, port = mocks["mute"].removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as mute:
        mute.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        while json.loads(fetch(f"{mocks['mute']}/__mock/stats")[1])["silent"] == 0:
            pass
        mute.setblocking(False)
        with pytest.raises(BlockingIOError):
            mute.recv(1)
    assert fetch(f"{mocks['mute']}/__mock/begin", "POST")[0] == 200
    assert json.loads(fetch(f"{mocks['mute']}/__mock/stats")[1])["silent"] == 0


PLAN = """
loadline: 1
target: lab:checkin?instances=2&threads=4&cpu=1ms
load: { count: 10, duration: 1s }
mocks:
  lorota:
    routes:
      - post: /token
        json: {}
        latency: { p50: 5ms, p99: 20ms }
      - get: /data/{id}
        json: { id: '{{ id }}' }
  chip:
    routes: [{ post: '/actions/pre-check-in/{id}', json: {} }]
    faults: ['at 0s for 1h: errors 100%']
steps:
  - get: '{{ mocks.lorota }}/data/directly'
  - post: { url: /check_in/v2/sessions, json: { uuid: '{{ $uuid }}' }, capture: { id: $.id } }
  - get: { url: '/check_in/v2/pre_check_ins/{{ id }}', name: /pre_check_ins }
  - post: { url: /check_in/v2/pre_check_ins, json: { id: '{{ id }}' }, expect: 502 }
"""


def test_mocks_of_a_plan_serve_its_lab_and_are_reported(loadline: Loadline):
    run = loadline("run", loadline.write("plan.yml", PLAN))
    assert run.returncode == 0, run.stderr
    summary = loadline.summary()
    assert summary["requests"]["ok"] == summary["requests"]["issued"] == 40
    found = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())
    lorota, chip = found["mocks"]
    assert [(row["route"], row["received"]) for row in lorota["routes"]] == [("POST /token", 10), ("GET /data/{id}", 20)]
    assert chip["routes"][0]["answered"] == {"503": 10}
    assert "mock lorota, POST /token: 10 requests" in " ".join(run.stdout.split())
    report = (loadline.folder / ".loadline/runs/last/report.md").read_text()
    _, _, section = report.partition("## Mocks")
    (row,) = [line for line in section.splitlines() if "| POST /actions/pre-check-in/{id}" in line]
    assert [cell.strip() for cell in row.split("|")][3:5] == ["10", "503 × 10"]
    rows = {(row["mock"], row["route"]): row for row in summary["mocks"]}
    assert rows["lorota", "GET /data/{id}"]["codes"] == {"200": 20}
    # Ten answers support a mean only.
    assert [row_time["statistic"] for row_time in rows["lorota", "POST /token"]["times"]] == ["mean"]
    # Rendering the report again gives the same figures.
    assert loadline("report").returncode == 0
    assert loadline.summary()["mocks"] == summary["mocks"]


def test_mock_error_is_refused_in_one_line(loadline: Loadline):
    for text, words in [
        ("loadline: 1\n", "has no `mocks`"),
        ("loadline: 1\nmocks: { m: { routes: [{ get: /, latency: 5 }] } }\n", "plan.yml:2:43: "),
    ]:
        refused = loadline("mock", loadline.write("plan.yml", text))
        assert refused.returncode == 2
        assert words in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
    plan = loadline.write("plan.yml", "loadline: 1\nmocks: { m: { routes: [{ get: / }] } }\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = loadline("mock", plan, "--port", str(port))
    assert refused.returncode == 3
    assert f"cannot bind 127.0.0.1:{port}" in refused.stderr


SLOW = """
loadline: 1
target: '{{ mocks.slow }}'
load: { rate: 1024/s, duration: 3s }
mocks:
  slow:
    latency: { p50: 60ms, p95: 120ms, p99: 180ms }
    routes: [{ get: /x }, { get: /rare }]
    faults: ['at 0s for 1h: errors 10%']
steps: [{ get: { url: /x, expect: [200, 503] } }]
"""
AS_RECORDED = """
loadline: 1
target: '{{ mocks.again }}'
load: { rate: 1024/s, duration: 2s }
mocks:
  again:
    routes: [{ get: /y, latency: from RUN of "GET /x" }]
steps: [{ get: /y }]
"""


def test_mock_reproduces_recorded_latencies(loadline: Loadline):
    """The mock's percentiles equal the recorded service times exactly as configured, and within 2
    % as served.
    """
    first = loadline("run", loadline.write("slow.yml", SLOW), "--seed", 1)
    assert first.returncode == 0, first.stderr
    (row,) = loadline.summary()["labels"]
    assert row["count"] == 3072
    recorded = {name: row["service"][name]["ns"] / 1e6 for name in ("p50", "p95", "p99")}
    name = (loadline.folder / ".loadline/runs/last").resolve().name
    for run in ("last", name, f".loadline/runs/{name}"):
        plan = loadline.write("again.yml", AS_RECORDED.replace("RUN", run))
        again = loadline("run", plan, "--seed", 2)
        assert again.returncode == 0, again.stderr
        found = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())
        (route,) = found["mocks"][0]["routes"]
        late = found["mocks"][0]["late"]["p99_ms"]
        assert route["received"] == 2048
        assert route["from"] == f'run {name}, "GET /x", 3,072 answers'
        for percentile, ms in recorded.items():
            assert route["asked"][f"{percentile}_ms"] == pytest.approx(ms, rel=0.002)
            assert route["due"][f"{percentile}_ms"] == pytest.approx(ms, rel=0.02)
            # A late machine delays the mock's answers and reports by how much.
            assert route["served"][f"{percentile}_ms"] == pytest.approx(ms, abs=0.02 * ms + late)
        if run == "last":
            # The next plan refers to the first run by its name.
            assert loadline.summary()["labels"][0]["text"] == "GET /y"


def test_mock_latencies_without_a_record_are_refused_at_their_place(loadline: Loadline):
    plan = AS_RECORDED.replace("RUN", "last")
    refused = loadline("run", loadline.write("again.yml", plan))
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert "again.yml:7:34: " in line
    assert "no run" in line
    loadline("run", loadline.write("slow.yml", SLOW), "--rate", "20/s", "--duration", "1s")
    for label, words in [
        ("GET /z", 'has no requests named "GET /z": it has "GET /x"'),
        ("GET /*", 'has 20 answers for "GET /*", too few for a distribution: at least 100 are needed'),
    ]:
        plan = AS_RECORDED.replace("RUN", "last").replace("GET /x", label)
        for command in ("run", "mock", "campaign"):
            text = plan
            if command == "campaign":
                text = text.replace("load: { rate: 1024/s, duration: 2s }", "stages: [{ name: a, load: { rate: 9/s, duration: 1s } }]")
            refused = loadline(command, loadline.write("again.yml", text))
            assert refused.returncode == 2, refused.stderr
            (line,) = refused.stderr.splitlines()
            assert "again.yml:7:34: " in line
            assert words in line


OVERLAPPING = """
loadline: 1
target: '{{ mocks.first }}'
load: { rate: 256/s, duration: 4s }
mocks:
  first:
    latency: 2ms
    routes: [{ get: / }]
    faults:
      - at 1s for 2s: errors 50% 500
      - at 1s for 1s: errors 100% 502
      - at 0s for 4s: latency x3
      - at 3s for 1s: latency x2
  second:
    latency: 2ms
    routes: [{ get: / }]
    faults: ['at 2s for 1s: errors 100%', 'at 1s for 1s: errors 100% 500']
steps:
  - get: { url: /, expect: [200, 500, 502] }
  - get: { url: '{{ mocks.second }}/', name: second, expect: [200, 500, 503] }
"""


def test_faults_overlap_on_one_mock_and_on_several(loadline: Loadline):
    run = loadline("run", loadline.write("plan.yml", OVERLAPPING), "--seed", 1)
    assert run.returncode == 0, run.stderr
    first, second = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())["mocks"]
    (row,) = first["routes"]
    # A period of one second has about 256 requests: a late timer moves a few across its edge.
    codes = row["answered"]
    assert codes["500"] == pytest.approx(256, abs=48)
    assert codes["502"] == pytest.approx(128, abs=48)
    assert sum(codes.values()) == 1024
    # Factors multiply: 6 ms, and 12 ms in the last quarter.
    assert row["due"]["p50_ms"] == pytest.approx(6, rel=0.01)
    assert row["due"]["p95_ms"] == pytest.approx(12, rel=0.01)
    codes = second["routes"][0]["answered"]
    assert codes["500"] == pytest.approx(256, abs=48)
    assert codes["503"] == pytest.approx(256, abs=48)


BUSY = """
loadline: 1
target: '{{ mocks.m }}'
load: { rate: 400/s, duration: 2s }
mocks:
  m: { routes: [{ get: /, latency: { queue: { capacity: 800/s, workers: 4 } } }] }
steps: [{ get: / }]
"""


def test_mock_queue_reports_its_utilisation(loadline: Loadline):
    run = loadline("run", loadline.write("plan.yml", BUSY))
    assert run.returncode == 0, run.stderr
    (row,) = loadline.summary()["mocks"]
    assert row["capacity"]["per_second"] == 800
    assert row["capacity"]["utilisation"] == pytest.approx(0.5, rel=0.05)
    assert " of 800/s used" in " ".join(run.stdout.split())


CAMPAIGN = """
loadline: 1
name: Shop
target: 'lab:checkin?instances=2&threads=16&cpu=1ms'
mocks:
  lorota:
    latency: 2ms
    routes: [{ post: /token, json: {} }, { get: '/data/{id}', json: {} }]
  chip: { routes: [{ post: '/actions/pre-check-in/{id}', json: {} }] }
steps:
  - post: { url: /check_in/v2/sessions, json: { uuid: '{{ $uuid }}' }, capture: { id: $.id } }
  - get: { url: '/check_in/v2/pre_check_ins/{{ id }}', name: /pre_check_ins }
stages:
  - { name: low, load: { count: 10, duration: 1s }, on-fail: continue }
  - { name: high, load: { count: 30, duration: 1s }, on-fail: continue }
cool-down: false
"""


def test_mocks_of_a_campaign_live_through_it_and_count_each_stage(loadline: Loadline):
    """All stages share one set of mocks. Each stage reports the mock requests of its own steps."""
    run = loadline("campaign", loadline.write("shop.yml", CAMPAIGN))
    folder = loadline.folder / ".loadline/campaigns/last"
    campaign = json.loads((folder / "campaign.json").read_text())
    for stage, arrivals in zip(campaign["stages"], (10, 30), strict=True):
        assert stage["requests"] == 2 * arrivals, run.stderr
        served = {(row["mock"], row["route"]): row["received"] for row in stage["mocks"]}
        found = json.loads((folder / stage["report"]).with_name("found.json").read_text())
        called = {(mock["mock"], row["route"]): row["received"] for mock in found["mocks"] for row in mock["routes"]}
        assert served == {route: received for route, received in called.items() if received}
        # A session requests a token and its data; reading it requests the data again.
        assert served == {("lorota", "POST /token"): arrivals, ("lorota", "GET /data/{id}"): arrivals}
        for row in stage["mocks"]:
            assert row["codes"] == {"200": arrivals}
    paper = (folder / "report.md").read_text()
    assert "## Mocks" in paper
    page = (folder / "report.html").read_text()
    assert "POST /token" in page


QUICK = """
loadline: 1
mocks:
  quick:
    routes: [{ get: /, json: {}, latency: { p50: 20ms, p99: 100ms } }]
"""


def stolen_ticks() -> int:
    """Returns the CPU ticks that the hypervisor took from this machine."""
    return int(Path("/proc/stat").read_text().split("\n")[0].split()[8])


@pytest.mark.long
@pytest.mark.alone
def test_mock_answers_five_thousand_per_second_on_time(loadline: Loadline):
    plan = loadline.write("quick.yml", QUICK)
    process = subprocess.Popen(
        [LOADLINE, "mock", plan, "--until-stdin-closes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    url = process.stdout.readline().split()[2]
    late, excluded = [], 0
    while len(late) < 5 and excluded < 20:
        fetch(f"{url}/__mock/begin", "POST")
        before = stolen_ticks()
        loadline("run", f"{url}/", "--rate", "5000/s", "--duration", "5s")
        stats = json.loads(fetch(f"{url}/__mock/stats")[1])
        # Five ticks are one percent of a core's time.
        if stolen_ticks() - before > 5:
            excluded += 1
            continue
        (row,) = stats["routes"]
        assert row["received"] == 25_000
        for percentile in ("p50_ms", "p99_ms"):
            assert row["due"][percentile] == pytest.approx(row["asked"][percentile], rel=0.02)
        late.append(stats["late"]["p99_ms"])
    process.stdin.close()
    process.wait(timeout=10)
    process.stdout.close()
    if len(late) < 5:
        pytest.skip(f"this machine's time was stolen in {excluded} rounds")
    assert statistics.median(late) < 1, (late, excluded)
