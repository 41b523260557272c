"""wrk's command line: output, streams and exit codes."""

import json
import re
import signal
import subprocess
from pathlib import Path

import fake_servers
import pytest
import wire_recorder
from conftest import LOADLINE, wait_until

GOLDEN = Path(__file__).parent / "golden"


def shape(text: str) -> list[str]:
    """Replaces every figure by `#` and every run of blanks by one blank."""
    lines = [line for line in text.splitlines() if not line.startswith(("$ ", "-- ", "[exit"))]
    figures = [re.sub(r"(?<![\w.])-?(\d+(\.\d+)?|nan|inf)(us|ms|s|m|[kKMGT])?(?=[\s%B,\]]|$)", "#", line) for line in lines]
    return [re.sub(r" +", " ", line) for line in figures]


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if re.match(r"    (Latency|Req/Sec) |  +\d\d%", line)]


@pytest.fixture
def wrk(loadline):
    def run(*args, **options):
        return loadline("wrk", *args, **options)

    return run


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("--help", ""),
        ("", ""),
        ("--foo http://127.0.0.1:1/", "wrk: unrecognized option '--foo'\n"),
        ("-h", "wrk: invalid option -- 'h'\n"),
        ("-c", "wrk: option requires an argument -- 'c'\n"),
        ("--t 3 http://127.0.0.1:1/", "wrk: option '--t' is ambiguous; possibilities: '--threads' '--timeout'\n"),
        ("-d100ms http://127.0.0.1:1/", ""),
        ("-c1.5k http://127.0.0.1:1/", ""),
        ("-t0 http://127.0.0.1:1/", ""),
        ("-d0 http://127.0.0.1:1/", ""),
        ("-T5x http://127.0.0.1:1/", ""),
        ("-r5 http://127.0.0.1:1/", ""),
        ("-d1s notaurl", "invalid URL: notaurl\n"),
        ("http://127.0.0.1:99999/", "invalid URL: http://127.0.0.1:99999/\n"),
        ("-t4 -c2 -d1s http://127.0.0.1:1/", "number of connections must be >= threads\n"),
        ("-c0 http://127.0.0.1:1/", "number of connections must be >= threads\n"),
        ("-U http://127.0.0.1:1/", "Throughput MUST be specified with the --rate or -R option\n"),
        ("-R0 http://127.0.0.1:1/", "Throughput MUST be specified with the --rate or -R option\n"),
    ],
)
def test_wrong_command_line_prints_usage(wrk, line, error):
    run = wrk(*line.split())
    assert run.returncode == 1
    assert run.stdout.startswith("Usage: wrk <options> <url>\n")
    assert run.stderr == error


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://127.0.0.1:1/", "unable to connect to 127.0.0.1:1 Connection refused\n"),
        ("nope://127.0.0.1/", "unable to resolve 127.0.0.1:nope Servname not supported for ai_socktype\n"),
    ],
)
def test_refused_target_is_reported_as_in_wrk(wrk, url, error):
    run = wrk("-d1s", url)
    assert (run.returncode, run.stdout, run.stderr) == (1, "", error)


def test_unknown_host_is_reported_as_in_wrk(wrk):
    run = wrk("-d1s", "http://no-such-host.invalid/")
    assert (run.returncode, run.stdout) == (1, "")
    # Without a network the resolver reports another error.
    assert re.fullmatch(r"unable to resolve no-such-host\.invalid:http (Name or service not known|Temporary failure.*)\n", run.stderr)


def test_too_many_connections_are_refused(wrk):
    run = wrk("-c1P", "-d1s", "http://127.0.0.1:1/")
    assert run.returncode == 1
    assert run.stdout == ""
    assert "file descriptors" in run.stderr


def test_version_flag_prints_version_and_usage(wrk):
    run = wrk("-v")
    assert run.returncode == 1
    assert re.match(r"wrk 4\.1\.0 \[epoll\] .*\nUsage: wrk ", run.stdout)


@pytest.mark.parametrize(
    ("golden", "line", "path"),
    [
        ("latency", "-t2 -c10 -d1s --latency", "/"),
        ("not-found", "-t1 -c2 -d1s", "/nothing/here"),
        ("remainder", "-t3 -c10 -d1s", "/"),
        ("wrk2-short-10s-no-calibration", "-t2 -c10 -d1s -R500 -L", "/"),
    ],
)
def test_report_has_wrks_shape(wrk, loadline, start_lab, golden, line, path):
    lab = start_lab("sum")
    run = wrk(*line.split(), lab.url + path)
    assert run.returncode == 0
    wanted = (GOLDEN / f"{golden}.txt").read_text()
    table = re.compile(r"^ # # # #$|^# .*")

    def text_lines(text):
        text = re.sub(r"@ \S+", "@ URL", text)
        lines = [line for line in shape(text) if not table.match(line)]
        return [re.sub(r"Running # test", "Running TIME test", line) for line in lines]

    assert text_lines(run.stdout) == text_lines(wanted)
    assert [len(row) for row in rows(run.stdout)] == [len(row) for row in rows(wanted)]
    # Standard output has only wrk's report; the verdict is on standard error.
    assert re.search(r"^loadline: measurement ", run.stderr, re.M)
    summary = loadline.summary()
    received = lab.stats()["answered"]["total"]
    requests = summary["requests"]
    answered = requests["ok"] + requests["failed"]
    # Requests that a stalled machine had not finished at the end were abandoned and are reported.
    assert 0 <= received - answered <= requests["none"] <= 10
    assert int(re.search(r"(\d+) requests in", run.stdout)[1]) == answered


def test_connections_that_do_not_divide_are_omitted(wrk, loadline):
    with wire_recorder.WireRecorder() as peer:
        run = wrk("-t3", "-c10", "-d1s", peer.url)
    assert "  3 threads and 10 connections\n" in run.stdout
    # Nine, and one that tested the target.
    assert peer.connections == 10
    assert "cannot be divided evenly" in loadline.summary()["notes"][0]


def test_request_bytes_equal_wrks(wrk):
    with wire_recorder.WireRecorder() as peer:
        port = peer.url.rsplit(":", 1)[1]
        run = wrk("-t1", "-c1", "-d1s", "-H", "X-One: 1", "-H", "no-blank:dropped", "-H", "X-One: 2", peer.url + "/plain?a=b#c")
        assert run.returncode == 0
    assert set(peer.seen) == {("GET /plain?a=b#c HTTP/1.1", frozenset({f"Host: 127.0.0.1:{port}", "X-One: 2"}), "")}


def test_errors_are_listed_by_cause(wrk):
    with fake_servers.FakeServer(fake_servers.send_garbage) as peer:
        run = wrk("-t1", "-c2", "-d1s", peer.url)
    assert run.returncode == 0
    assert re.search(r"Socket errors: connect 0, read [1-9]\d*, write 0, timeout 0", run.stdout)
    assert re.search(r"^loadline: [\d,]+ × not HTTP: bad status line$", run.stderr, re.M)


def test_server_that_never_answers_is_a_timeout(wrk):
    with fake_servers.FakeServer(fake_servers.never_answer) as peer:
        run = wrk("-t1", "-c2", "-d2s", "--timeout", "1s", peer.url)
    assert re.search(r"Socket errors: connect 0, read 0, write 0, timeout [24]$", run.stdout, re.M)
    assert "0 requests in" in run.stdout
    assert "-nan%" in run.stdout


def test_json_has_measured_and_corrected_latencies(wrk, loadline, start_lab):
    lab = start_lab("sum")
    run = wrk("-t1", "-c2", "-d1s", "--json", "out.json", lab.url)
    assert run.returncode == 0
    out = json.loads((loadline.folder / "out.json").read_text())
    latency = out["wrk"]["latency_us"]
    assert latency["measured"]["count"] == out["wrk"]["requests"] == out["requests"]["ok"]
    assert latency["corrected_by_wrk"]["count"] >= latency["measured"]["count"]


@pytest.mark.parametrize("name", ["wrk", "wrk2"])
def test_link_with_the_tools_name_behaves_like_it(loadline, start_lab, name):
    lab = start_lab("sum")
    link = loadline.folder / name
    link.symlink_to(LOADLINE.resolve())
    extra = ["-R200"] if name == "wrk2" else []
    run = subprocess.run(
        [link, "-t1", "-c1", "-d1s", *extra, lab.url], cwd=loadline.folder, capture_output=True, text=True, timeout=30
    )
    assert run.returncode == 0
    assert run.stdout.startswith("Running 1s test @ ")
    bare = subprocess.run([link, "-d1s", lab.url], cwd=loadline.folder, capture_output=True, text=True, timeout=30)
    assert bare.returncode == (1 if name == "wrk2" else 0)


def test_report_renders_the_record_again(wrk, loadline, start_lab):
    lab = start_lab("sum")
    run = wrk("-t2", "-c4", "-d1s", "--latency", lab.url)
    again = loadline("report", "last")
    assert again.stdout.startswith(run.stdout)


def test_interrupt_ends_in_a_report(loadline, start_lab):
    lab = start_lab("sum")
    process = loadline.start("wrk", "-t1", "-c1", "-d60s", lab.url)
    wait_until(lambda: lab.stats()["answered"]["total"] > 100, "load")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Requests/sec:" in out


def test_unwritable_record_still_prints_a_report(wrk, start_lab, tmp_path):
    lab = start_lab("sum")
    blocked = tmp_path / "file"
    blocked.write_text("")
    run = wrk("-t1", "-c1", "-d1s", lab.url, env={"LOADLINE_RUNS": str(blocked / "runs")})
    assert run.returncode == 0
    assert int(re.search(r"(\d+) requests in", run.stdout)[1]) > 0
