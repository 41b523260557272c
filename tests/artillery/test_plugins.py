"""The plugins that judge and show: ensure, apdex, metrics-by-endpoint, against the original's transcript."""

import json
from pathlib import Path

import peers
import pytest
from conftest import Loadline

GOLDEN = (Path(__file__).parent / "golden/ensure-expect.out.txt").read_text()

SCRIPT = """
config:
  target: {target}
  phases: [ {{ duration: 2, arrivalRate: 5 }} ]
  plugins: {{ ensure: {{}}, apdex: {{}}, metrics-by-endpoint: {{}} }}
  apdex: {{ threshold: 1000 }}
  ensure: {ensure}
scenarios:
  - flow:
      - get: {{ url: /fhir/a, name: ok }}
      - get: {{ url: /x }}
"""

CHECKS = """{
    thresholds: [ { http.response_time.p95: 5000 }, { http.response_time.p99: 0 } ],
    conditions: [ { expression: 'http.requests >= 10' }, { expression: 'vusers.failed > 0', strict: false } ],
    maxErrorRate: 1 }"""


def run(loadline: Loadline, ensure: str, *flags: str):
    with peers.Peer(peers.ok()) as peer:
        script = loadline.write("s.yml", SCRIPT.format(target=peer.url, ensure=ensure))
        return loadline("artillery", "run", script, "-o", "out.json", *flags)


def test_as_the_original(loadline):
    ours = run(loadline, CHECKS)
    assert ours.returncode == 1, ours.stderr
    tail = ours.stdout.split("Log file: out.json\n")[1]
    wanted = GOLDEN.split("Log file: ensure-expect.json\n")[1]
    assert tail == wanted.removesuffix("[exit 1]\n").replace("p95 < 200", "p95 < 5000")
    names = {line.split(":")[0] for line in GOLDEN.splitlines() if line.startswith(("apdex.", "plugins.metrics-by-endpoint."))}
    summary = ours.stdout.split("Summary report")[1]
    assert all(f"\n{name}:" in summary for name in names)
    assert json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]["apdex.satisfied"] == 20


def test_the_report_says_it_again(loadline):
    ours = run(loadline, CHECKS)
    again = loadline("report", "last").stdout
    assert ours.stdout.split("Checks:\n")[1] in again
    assert "arrivalRate: 900 for 60 s: 54,005 arrivals there, 54,000 here" in again.split("Other than in Artillery")[1]


def test_quiet_prints_the_checks_alone(loadline):
    ours = run(loadline, CHECKS, "--quiet")
    lines = ours.stdout.splitlines()
    assert lines[0].startswith("Test run id: ")
    assert lines[1:3] == ["", "Checks:"]
    assert lines[-1].startswith("Apdex score: ")


@pytest.mark.parametrize(
    ("ensure", "code"),
    [
        # A metric that did not occur is undefined, and only a value of 1 holds.
        ("{ conditions: [ { expression: 'http.codes.200 > 0 or http.codes.201 > 0' } ] }", 0),
        ("{ conditions: [ { expression: 'not (http.codes.500 > 0)' } ] }", 0),
        ("{ conditions: [ { expression: 'http.codes.500 < 1' } ] }", 1),
        ("{ conditions: [ { expression: 'http.codes.200' } ] }", 1),
        ("{ maxErrorRate: 0 }", 0),
        ("{ p95: 5000 }", 0),
        ("{ max: 0 }", 1),
        ("{ thresholds: [ { vusers.never_counted: 10 } ] }", 1),
        ("{ thresholds: { http.response_time.p95: 0 } }", 1),
        ("{ conditions: [ { expression: 'http.requests == 20 and not (vusers.failed > 0)' } ] }", 0),
        ("{ conditions: [ { expression: 'no such thing' } ] }", 1),
        ("{ conditions: [ { expression: 'vusers.failed > 0', strict: false } ] }", 0),
    ],
)
def test_exit_codes(loadline, ensure, code):
    assert run(loadline, ensure, "-q").returncode == code


def test_bad_checks_are_refused_with_their_place(loadline):
    bad = run(loadline, "{ thresholds: [ { http.response_time.p95: soon } ] }")
    assert bad.returncode == 1
    assert "s.yml:7:" in bad.stderr
    assert "`soon` is not a number" in bad.stderr


def test_made_up_data_belongs_to_the_seed_and_the_arrival(loadline):
    seen = []

    def serve(connection):
        while request := connection.recv(65536):
            seen.append(request.split(b"\r\n\r\n", 1)[1])
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        connection.close()

    with peers.Peer(serve) as peer:
        script = loadline.write(
            "s.yml",
            f"""
config: {{ target: '{peer.url}', phases: [ {{ duration: 1, arrivalCount: 3 }} ], plugins: {{ fake-data: {{}} }} }}
scenarios:
  - flow: [ {{ post: {{ url: /, json: {{ mail: "{{{{ $internetEmail() }}}}", old: "{{{{ $randUuid() }}}}" }} }} }} ]
""",
        )
        for _ in range(2):
            assert loadline("artillery", "run", "-q", script, env={"LOADLINE_SEED": "7"}).returncode == 0
    bodies = [json.loads(body) for body in seen]
    assert bodies[:3] == bodies[3:]
    assert len({body["mail"] for body in bodies}) == len({body["old"] for body in bodies}) == 3
    assert all("@example." in body["mail"] for body in bodies)
