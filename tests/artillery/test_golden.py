"""Reproduces Artillery's transcripts: labels, order, widths, exit codes, JSON keys.

Numbers are masked.
"""

import json
import re
from pathlib import Path

import fake_servers
import pytest
from artillery_transcripts import assert_same_json, mask_numbers, split_blocks

GOLDEN = Path(__file__).parent / "golden"
PATIENT = b'{"id":"p1","resourceType":"Patient","name":[{"family":"abc"}]}'


def serve(connection):
    """Answers as the server of the transcripts did."""
    while request := connection.recv(65536):
        status, body = b"200 OK", b'{"result":3}'
        if b" /fhir/" in request.split(b"\r\n")[0]:
            body = PATIENT
            status = b"201 Created" if request.startswith(b"POST") else status
        connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
    connection.close()


def run_golden(loadline, name: str, target: str):
    script = loadline.write(f"{name}.yml", (GOLDEN / f"{name}.yml").read_text().replace("http://127.0.0.1:8088", target))
    # The seed selects scenarios such that both occur.
    run = loadline("artillery", "run", script, "-o", f"{name}.json", env={"LOADLINE_SEED": "1"})
    *wanted, exit_line = (GOLDEN / f"{name}.out.txt").read_text().splitlines()
    return run, mask_numbers("\n".join(wanted) + "\n"), int(exit_line.removeprefix("[exit ").removesuffix("]"))


@pytest.mark.parametrize("name", ["loop-capture", "max-vusers-think", "failed-capture"])
def test_transcript_is_reproduced(loadline, name):
    with fake_servers.FakeServer(serve) as peer:
        run, wanted, code = run_golden(loadline, name, peer.url)
    assert_same_run(loadline, name, run, wanted, code)


def assert_same_run(loadline, name: str, run, wanted: list[str], code: int) -> None:
    assert run.returncode == code, run.stderr
    ours, theirs = split_blocks(mask_numbers(run.stdout)), split_blocks(wanted)
    assert mask_numbers(run.stdout)[0] == wanted[0]
    assert ours["phases"] == theirs["phases"]
    assert ours["summary"] == theirs["summary"]
    # The ten-second boundaries differ between runs; each period shows a subset of the lines.
    assert ours["periods"]
    known = {line for period in theirs["periods"] for line in period}
    for period in ours["periods"]:
        assert set(period) <= known
    assert f"Log file: {name}.json\n" in run.stdout
    assert_same_json(loadline.folder / f"{name}.json", GOLDEN / f"{name}.json")


def test_refused_connections_transcript_is_reproduced(loadline):
    run, wanted, code = run_golden(loadline, "refused", "unused")
    assert_same_run(loadline, "refused", run, wanted, code)


def test_missing_target_is_reported_as_in_artillery(loadline):
    run, wanted, code = run_golden(loadline, "no-target", "unused")
    assert (run.returncode, mask_numbers(run.stdout)) == (code, wanted)
    assert run.stderr == "Error: No target specified and no environment chosen\n"


def test_step_with_two_keys_is_reported_as_in_artillery(loadline):
    run, wanted, code = run_golden(loadline, "invalid-two-keys", "unused")
    assert (run.returncode, mask_numbers(run.stdout)) == (code, wanted)


def test_golden_counts_are_exact(loadline):
    with fake_servers.FakeServer(serve) as peer:
        run_golden(loadline, "loop-capture", peer.url)
    counters = json.loads((loadline.folder / "loop-capture.json").read_text())["aggregate"]["counters"]
    assert counters["vusers.created"] == counters["vusers.completed"] == 32
    assert counters["http.requests"] == counters["http.responses"] == 288
    assert (counters["http.codes.200"], counters["http.codes.201"], counters["vusers.failed"]) == (192, 96, 0)


def test_quiet_solo_and_other_flags_are_applied(loadline):
    heads = []

    def serve_and_keep(connection):
        while request := connection.recv(65536):
            heads.append(request.decode())
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        connection.close()

    script = loadline.write(
        "s.yml",
        """
config:
  target: http://wrong.invalid
  phases: [{ duration: 60, arrivalRate: 50 }]
  environments: { here: { variables: { who: env } } }
scenarios: [ { flow: [ { get: { url: "/{{ who }}/{{ extra }}" } } ] } ]
""",
    )
    with fake_servers.FakeServer(serve_and_keep) as peer:
        run = loadline(
            *("artillery", "run", script, "-q", "-s", "-e", "here", "-t", peer.url, "-v", '{"extra": "x"}'),
            *("--overrides", '{"scenarios": [{"flow": [{"put": {"url": "/{{ who }}/{{ extra }}"}}]}]}'),
            env={"ARTILLERY_TEST_RUN_ID": "tmine"},
        )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "Test run id: tmine\n"
    assert [head.split("\r\n")[0] for head in heads] == ["PUT /env/x HTTP/1.1"]


def test_output_folder_is_used_and_a_missing_folder_is_refused(loadline):
    with fake_servers.FakeServer(serve) as peer:
        script = loadline.write("s.yml", f"config: {{target: '{peer.url}'}}\nscenarios: [{{flow: [{{get: {{url: /}}}}]}}]\n")
        (loadline.folder / "out").mkdir()
        assert loadline("artillery", "run", script, "-o", "out").returncode == 0
        missing = loadline("artillery", "run", script, "-o", "gone/x.json")
    assert re.fullmatch(r"artillery_report_\d{8}_\d{6}\.json", next((loadline.folder / "out").iterdir()).name)
    assert (missing.returncode, missing.stderr, missing.stdout) == (1, "Path does not exist: gone/x.json\n", "")


def test_report_prints_the_transcript_again(loadline):
    with fake_servers.FakeServer(serve) as peer:
        run, _, _ = run_golden(loadline, "failed-capture", peer.url)
    again = loadline("report", "last")
    # The summary's time is the end of the run, which the record has in milliseconds and the console
    # in seconds.
    printed = split_blocks(mask_numbers(again.stdout))
    assert printed["periods"] == split_blocks(mask_numbers(run.stdout))["periods"]
    assert printed["phases"] == split_blocks(mask_numbers(run.stdout))["phases"]
