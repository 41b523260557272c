"""Mocks: `loadline mock`, and a plan's own, which live as long as its run and tell what they have served of what was asked."""

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
    """Those of the plan above: their URLs by name."""
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


def ask(url: str, method: str = "GET", body: dict | None = None) -> tuple[int, bytes]:
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def test_answers_faults_and_figures(mocks: dict[str, str]):
    things = mocks["things"]
    assert ask(f"{things}/things/7")[0] == 404
    assert ask(f"{things}/things", "POST", {"id": "7", "size": 3}) == (201, b'{"made":"7"}')
    status, body = ask(f"{things}/things/7?by=me")
    assert (status, json.loads(body)) == (200, {"id": "7", "size": 3, "by": "me"})
    assert ask(f"{things}/things/7", "DELETE")[0] == 204
    assert ask(f"{things}/things/7")[0] == 404
    assert ask(f"{things}/nothing")[0] == 404
    told = json.loads(ask(f"{things}/__mock/stats")[1])
    assert (told["received"], told["answered"]) == (6, 6)
    rows = {row["route"]: row["answered"] for row in told["routes"]}
    assert rows == {
        "POST /things": {"201": 1},
        "GET /things/{id}": {"200": 1, "404": 2},
        "DELETE /things/{id}": {"204": 1},
        "(no route)": {"404": 1},
    }
    assert told["routes"][0]["asked"]["p99_ms"] == 1
    assert told["routes"][0]["served"]["p99_ms"] >= 1

    assert ask(mocks["other"])[0] == 500
    with pytest.raises((ConnectionResetError, urllib.error.URLError)):
        ask(mocks["gone"])
    host, port = mocks["mute"].removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as mute:
        mute.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        while json.loads(ask(f"{mocks['mute']}/__mock/stats")[1])["silent"] == 0:
            pass
        mute.setblocking(False)
        with pytest.raises(BlockingIOError):
            mute.recv(1)
    assert ask(f"{mocks['mute']}/__mock/begin", "POST")[0] == 200
    assert json.loads(ask(f"{mocks['mute']}/__mock/stats")[1])["silent"] == 0


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


def test_a_plans_mocks_stand_behind_its_lab_and_tell_what_they_served(loadline: Loadline):
    run = loadline("run", loadline.write("plan.yml", PLAN))
    assert run.returncode in (0, 4), run.stderr
    summary = loadline.summary()
    assert summary["requests"]["ok"] == summary["requests"]["issued"] == 40
    found = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())
    lorota, chip = found["mocks"]
    assert [(row["route"], row["received"]) for row in lorota["routes"]] == [("POST /token", 10), ("GET /data/{id}", 20)]
    assert chip["routes"][0]["answered"] == {"503": 10}
    assert "mock lorota, POST /token: 10 requests" in " ".join(run.stdout.split())
    report = (loadline.folder / ".loadline/runs/last/report.md").read_text()
    assert "mock chip, POST /actions/pre-check-in/{id}: 10 requests" in report


def test_what_cannot_be_is_refused_in_one_line(loadline: Loadline):
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


QUICK = """
loadline: 1
mocks:
  quick:
    routes: [{ get: /, json: {}, latency: { p50: 20ms, p99: 100ms } }]
"""


def stolen() -> int:
    """Ticks that this machine was not given."""
    return int(Path("/proc/stat").read_text().split("\n")[0].split()[8])


@pytest.mark.long
@pytest.mark.alone
def test_five_thousand_answers_a_second_come_at_their_moments(loadline: Loadline):
    plan = loadline.write("quick.yml", QUICK)
    process = subprocess.Popen(
        [LOADLINE, "mock", plan, "--until-stdin-closes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    url = process.stdout.readline().split()[2]
    late, excluded = [], 0
    while len(late) < 5 and excluded < 20:
        ask(f"{url}/__mock/begin", "POST")
        before = stolen()
        loadline("run", f"{url}/", "--rate", "5000/s", "--duration", "5s")
        told = json.loads(ask(f"{url}/__mock/stats")[1])
        # Five ticks are a hundredth of a core's time.
        if stolen() - before > 5:
            excluded += 1
            continue
        (row,) = told["routes"]
        assert row["received"] == 25_000
        for percentile in ("p50_ms", "p99_ms"):
            assert row["due"][percentile] == pytest.approx(row["asked"][percentile], rel=0.02)
        late.append(told["late"]["p99_ms"])
    process.stdin.close()
    process.wait(timeout=10)
    process.stdout.close()
    if len(late) < 5:
        pytest.skip(f"this machine's time was stolen in {excluded} rounds")
    assert statistics.median(late) < 1, (late, excluded)
