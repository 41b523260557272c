"""The plugins ensure, apdex and metrics-by-endpoint, compared with Artillery's transcript."""

import json
from pathlib import Path

import fake_servers
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
    with fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        script = loadline.write("s.yml", SCRIPT.format(target=peer.url, ensure=ensure))
        return loadline("artillery", "run", script, "-o", "out.json", *flags)


def test_plugin_output_equals_artillerys_transcript(loadline):
    ours = run(loadline, CHECKS)
    assert ours.returncode == 1, ours.stderr
    tail = ours.stdout.split("Log file: out.json\n")[1]
    wanted = GOLDEN.split("Log file: ensure-expect.json\n")[1]
    assert tail == wanted.removesuffix("[exit 1]\n").replace("p95 < 200", "p95 < 5000")
    names = {line.split(":")[0] for line in GOLDEN.splitlines() if line.startswith(("apdex.", "plugins.metrics-by-endpoint."))}
    summary = ours.stdout.split("Summary report")[1]
    assert all(f"\n{name}:" in summary for name in names)
    assert json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]["apdex.satisfied"] == 20


def test_report_prints_the_checks_again(loadline):
    ours = run(loadline, CHECKS)
    again = loadline("report", "last").stdout
    assert ours.stdout.split("Checks:\n")[1] in again
    assert "arrivalRate: 900 for 60 s: 54,005 arrivals there, 54,000 here" in again.split("Differences from Artillery")[1]


def test_quiet_prints_the_checks_only(loadline):
    ours = run(loadline, CHECKS, "--quiet")
    lines = ours.stdout.splitlines()
    assert lines[0].startswith("Test run id: ")
    assert lines[1:3] == ["", "Checks:"]
    assert lines[-1].startswith("Apdex score: ")


@pytest.mark.parametrize(
    ("ensure", "code"),
    [
        # A metric that did not occur is undefined, and only a value of 1 passes.
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
def test_ensure_decides_the_exit_code(loadline, ensure, code):
    assert run(loadline, ensure, "-q").returncode == code


def test_malformed_check_is_refused_at_its_place(loadline):
    bad = run(loadline, "{ thresholds: [ { http.response_time.p95: soon } ] }")
    assert bad.returncode == 1
    assert "s.yml:7:" in bad.stderr
    assert "`soon` is not a number" in bad.stderr


def test_fake_data_depends_on_seed_and_arrival(loadline):
    seen = []

    def serve(connection):
        while request := connection.recv(65536):
            seen.append(request.split(b"\r\n\r\n", 1)[1])
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        connection.close()

    with fake_servers.FakeServer(serve) as peer:
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
