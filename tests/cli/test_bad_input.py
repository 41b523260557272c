"""Bad input gives one clear line and the right exit code.

It never causes a hang, a stack trace or lost results.
"""

import resource
import subprocess

import fake_servers
import pytest
from conftest import LOADLINE

SHORT = ("--rate", "10/s", "--duration", "1s")

SCRIPT = """
config:
  target: http://127.0.0.1:1
  phases: [{ duration: 1, arrivalRate: 5 }]
scenarios:
  - flow:
      - get: { url: / }
"""


def assert_one_line(run, code: int, *words: str) -> None:
    assert run.returncode == code, run.stdout + run.stderr
    lines = [line for line in run.stderr.splitlines() if line.startswith("loadline: ") and "warning" not in line]
    assert len(lines) == 1, run.stderr
    for word in words:
        assert word in lines[0], lines[0]
    assert "panicked" not in run.stderr


def test_url_without_scheme_is_refused_with_a_hint(loadline):
    assert_one_line(loadline("run", "shop.example/cart"), 2, "no such file", "https://shop.example/cart")
    assert_one_line(loadline("run", "plans/shop.yml"), 2, "plans/shop.yml: No such file")


@pytest.mark.parametrize("target", ["/api", "/api/"])
def test_target_with_trailing_slash_keeps_single_slashes(loadline, target):
    plan = loadline.write("p.yml", "loadline: 1\nload: { rate: 5/s, duration: 1s }\nsteps: [ { get: /sum } ]\n")
    with fake_servers.RecordingServer() as peer:
        run = loadline("run", plan, "--target", peer.url + target)
    assert run.returncode == 0, run.stderr
    assert set(peer.lines) == {"GET /api/sum"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SCRIPT.replace("  target: http://127.0.0.1:1\n", ""), ["target"]),
        (SCRIPT + "  - [unclosed", ["s.yml:9"]),
        (SCRIPT.replace("- get:", "- gett:"), ["s.yml:7:9", "gett", "get"]),
        (SCRIPT.replace("url: /", "url: '/{{ $randomInt(1, 5) }}'"), ["s.yml:7", "$randomInt", "$randomNumber"]),
        (SCRIPT.replace("phases:", "payload: {path: gone.csv}\n  phases:"), ["s.yml:4", "gone.csv"]),
        (SCRIPT.replace("arrivalRate: 5", "arrivalRate: -5"), ["s.yml:4", "-5"]),
        (SCRIPT.replace("duration: 1,", "duration: 1h30m,"), ["s.yml:4", "1h30m"]),
        (SCRIPT.replace("- get: { url: / }", "- emit: nope"), ["s.yml:7", "emit"]),
        ("a: 1\n", ["s.yml", "loadline: 1", "scenarios"]),
        ("", ["s.yml"]),
        (
            "loadline: 1\ntarget: http://127.0.0.1:1\nload: {rate: 5/s, duration: 1s, duraton: 1s}\nsteps: [{get: /}]\n",
            ["s.yml:3:33", "duraton", "duration"],
        ),
        ("loadline: 1\ntarget: http://127.0.0.1:1\nload: {rate: -5/s, duration: 1s}\nsteps: [{get: /}]\n", ["s.yml:3", "-5/s"]),
        (
            "loadline: 1\ntarget: http://127.0.0.1:1\nload: {rate: 5/s, duration: 1s}\nsteps: [{get: /}]\ncriteria: ['p99 < 5 %']\n",
            ["s.yml:5", "5 %"],
        ),
    ],
)
def test_malformed_file_is_refused_in_one_line(loadline, text, words):
    assert_one_line(loadline("run", loadline.write("s.yml", text)), 2, *words)


def test_malformed_flag_is_refused_in_one_line(loadline):
    url = "http://127.0.0.1:1"
    assert_one_line(loadline("run", url, "--rate=-5/s"), 2, "--rate", "negative")
    assert_one_line(loadline("run", url, "--duration", "10x"), 2, "--duration")
    assert_one_line(loadline("run", url, "--check", "p99 < "), 2, "--check", "column 7")
    assert_one_line(loadline("run", url, "--check", "p99x < 1s"), 2, "not a metric")
    assert_one_line(loadline("run", url, "--stop", "errors > 1%"), 2, "--stop", "for 10s")
    assert_one_line(loadline("run", "nowhere.yml"), 2, "nowhere.yml")
    assert_one_line(loadline("run", "ftp://x/"), 2, "ftp://x/")
    assert loadline("run").returncode == 2
    assert loadline("run", url, "--no-such-flag").returncode == 2
    assert_one_line(loadline("lab", "nolab"), 2, "nolab", "sum")
    assert_one_line(loadline("report", "20200101T000000Z-0000"), 2, "20200101T000000Z-0000")


def test_run_without_any_answer_exits_with_3(loadline):
    with fake_servers.closed_port() as port:
        refused = loadline("run", f"http://127.0.0.1:{port}", *SHORT)
    assert refused.returncode == 3
    assert "10 × connection refused" in refused.stdout
    unresolved = loadline("run", "http://no-such-host.invalid", *SHORT)
    assert unresolved.returncode == 3
    assert "dns 10" in unresolved.stdout


def test_answer_that_is_not_http_counts_as_unanswered(loadline):
    with fake_servers.FakeServer(fake_servers.send_garbage) as peer:
        run = loadline("run", peer.url, *SHORT)
    assert run.returncode == 3
    assert "10 × not HTTP" in run.stdout


def test_target_that_never_answers_leaves_requests_unfinished(loadline):
    with fake_servers.FakeServer(fake_servers.never_answer) as peer:
        run = loadline("run", peer.url, *SHORT, "--drain", "1s")
    assert run.returncode == 3
    assert "unfinished 10" in run.stdout
    assert "≥" in run.stdout


def test_missing_descriptors_are_reported_before_and_during_a_run(loadline):
    def limit_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    run = loadline.start("run", "http://127.0.0.1:1", "--connections", "500", preexec_fn=limit_descriptors)
    _, err = run.communicate(timeout=20)
    assert run.returncode == 3
    assert "500 connections need 532 file descriptors, but the limit is 64" in err
    with fake_servers.FakeServer(fake_servers.never_answer) as peer:
        run = loadline.start("run", peer.url, "--rate", "100/s", "--duration", "1s", "--drain", "0s", preexec_fn=limit_descriptors)
        out, _ = run.communicate(timeout=20)
    assert "no file descriptors left (EMFILE)" in out
    assert "generator" in out


def test_run_without_a_record_is_complete(loadline):
    (loadline.folder / "file").write_text("")
    with fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        refused = loadline("run", peer.url, *SHORT, "--runs", "file/runs")
        run = loadline("run", peer.url, *SHORT, "--no-record")
    assert refused.returncode == 3
    assert "file/runs: Not a directory" in refused.stderr
    assert run.returncode == 0
    assert "warning" not in run.stderr
    assert "10 ok" in run.stdout


def test_lab_with_impossible_options_is_refused(loadline):
    refused = loadline("lab", "truth", "mode=stall", "stall=20s", "every=10s")
    assert_one_line(refused, 2, "stall=20s", "shorter than every=10s")
    assert_one_line(loadline("lab", "truth", "mode=nope"), 2, "mode=nope", "constant")
    as_target = loadline("run", "lab:truth?mode=stall&stall=20s&every=10s", *SHORT)
    assert as_target.returncode == 2
    assert "shorter than every=10s" in as_target.stderr


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ('p99 of "GET /nope" < 1s', 'no label matches "GET /nope" (there are "GET /'),
        ('errors in "peak" < 1%', 'there is no phase "peak"'),
    ],
)
def test_criterion_that_can_never_be_judged_is_refused_before_any_request(loadline, check, why):
    with fake_servers.RecordingServer() as peer:
        run = loadline("run", peer.url, "--duration", "1s", "--check", check)
    assert (run.returncode, peer.lines) == (2, [])
    assert "cannot be judged" in run.stderr
    assert why in run.stderr


def test_unwritable_results_exit_with_3(loadline):
    with fake_servers.RecordingServer() as peer:
        run = loadline("run", peer.url, "--duration", "1s", "--json", "nowhere/out.json")
        assert run.returncode == 3
        assert "cannot write nowhere/out.json" in run.stderr
        with open("/dev/full", "w") as full:
            process = subprocess.run(
                [LOADLINE, "run", peer.url, "--duration", "1s"], cwd=loadline.folder, stdout=full, stderr=subprocess.PIPE
            )
    assert process.returncode == 3
    assert b"cannot write to standard output" in process.stderr
