"""Slow, endless or missing answers cost bounded time and bounded memory."""

import contextlib
import os
import signal
import socket
import subprocess
import time

import fake_servers
import pytest
from conftest import LOADLINE, wait_until
from peak_memory import peak_mb
from process_tree import children

PLAN = """
loadline: 1
target: {}
load: {{ rate: 20/s, duration: 1s }}
steps: [ {{ get: / }} ]
"""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n"


def answer_byte_by_byte(connection: socket.socket) -> None:
    """Answers one byte every 100 ms, so that no single wait is long."""
    connection.recv(1 << 16)
    try:
        connection.sendall(HEAD)
        while True:
            connection.sendall(b"#")
            time.sleep(0.1)
    except OSError:
        connection.close()


def answer_endlessly(piece: bytes, head: bytes = b""):
    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        try:
            connection.sendall(head)
            while True:
                connection.sendall(piece)
        except OSError:
            connection.close()

    return serve


@pytest.mark.parametrize(
    "source", ["{url}/metrics", "promql:{url} up", "redis://{host}", "postgres://me:pw@{host}/db?sslmode=disable"]
)
def test_source_that_drips_has_time_limit_for_whole_answer(loadline, start_lab, source) -> None:
    plan = loadline.write("plan.yml", PLAN.format(start_lab("truth").url))
    with fake_servers.FakeServer(answer_byte_by_byte) as peer:
        source = source.format(url=peer.url, host=peer.url.removeprefix("http://"))
        begun = time.monotonic()
        ended = loadline("run", plan, "--server", f"app={source}", timeout=60)
        took = time.monotonic() - begun
    assert ended.returncode == 0, ended.stderr
    assert "cannot be measured yet" in ended.stderr or "app: nothing" in ended.stderr
    # A whole answer has two seconds; Prometheus receives one query, which stays unanswered.
    assert took < 20, ended.stderr


@pytest.mark.parametrize(
    ("source", "serve"),
    [
        ("{url}/metrics", answer_endlessly(b"x" * 65536, b"HTTP/1.1 200 OK\r\n\r\n")),
        ("{url}/metrics", answer_endlessly(b"x" * 65536)),
        (
            "promql:{url} up",
            answer_endlessly(b"10000\r\n" + b"1" * 65536 + b"\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ),
        ("redis://{host}", answer_endlessly(b"x" * 65536)),
        # A login, then endless rows of 1,000 bytes each.
        (
            "postgres://me:pw@{host}/db?sslmode=disable",
            answer_endlessly(
                (b"D" + (1010).to_bytes(4, "big") + b"\0\1" + (1000).to_bytes(4, "big") + b"x" * 1000) * 64,
                b"R\0\0\0\x08\0\0\0\0Z\0\0\0\5I",
            ),
        ),
        ("command:yes", None),
    ],
)
def test_source_without_end_is_bounded(loadline, start_lab, source, serve) -> None:
    plan = loadline.write("plan.yml", PLAN.format(start_lab("truth").url))
    with fake_servers.FakeServer(serve or fake_servers.never_answer) as peer:
        source = source.format(url=peer.url, host=peer.url.removeprefix("http://"))
        ended, peak = peak_mb(loadline, "run", plan, "--server", f"app={source}")
    assert ended.returncode == 0, ended.stderr
    assert peak < 150, peak


def test_prometheus_answer_with_too_many_series_takes_bounded_memory(loadline, start_lab) -> None:
    plan = loadline.write("plan.yml", PLAN.format(start_lab("truth").url))
    one = b'{"metric":{"i":"%06d"},"value":[1,"1"],"values":[[1,"1"]]}'
    series = b",".join(one % n for n in range(100_000))
    body = b'{"status":"success","data":{"resultType":"matrix","result":[%s]}}' % series

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        with contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        connection.close()

    with fake_servers.FakeServer(serve) as peer:
        ended, peak = peak_mb(loadline, "run", plan, "--server", f"app=promql:{peer.url} up")
    assert ended.returncode == 0, ended.stderr
    assert "the result has 99,800 more series than allowed: use a query that returns fewer" in ended.stderr
    assert peak < 150, peak


@pytest.mark.parametrize("body", [b"m 1\n" * 3_000_000, b"[" + b"1," * 6_000_000 + b"1]"], ids=["text", "JSON"])
def test_answer_with_too_many_metrics_takes_bounded_memory(loadline, start_lab, body) -> None:
    plan = loadline.write("plan.yml", PLAN.format(start_lab("truth").url))

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        with contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        connection.close()

    with fake_servers.FakeServer(serve) as peer:
        ended, peak = peak_mb(loadline, "run", plan, "--server", f"app={peer.url}/metrics")
    assert ended.returncode == 0, ended.stderr
    assert "it has more than 200,000 metrics" in ended.stderr
    assert peak < 250, peak


@pytest.mark.parametrize("names", ["a" * 1_000_000, "new"])
def test_names_that_source_invents_take_bounded_room(loadline, start_lab, names) -> None:
    """Names of 1 MB, or 200 new names per second."""
    plan = loadline.write("plan.yml", PLAN.format(start_lab("truth").url).replace("duration: 1s", "duration: 3s"))
    count = 0

    def serve(connection: socket.socket) -> None:
        nonlocal count
        connection.recv(1 << 16)
        lines = []
        for _ in range(200 if names == "new" else 5):
            count += 1
            lines.append(f"m{count}_{names} 1\n")
        body = "".join(lines).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        connection.close()

    with fake_servers.FakeServer(serve) as peer:
        ended = loadline("run", plan, "--server", f"app={peer.url}/metrics")
    assert ended.returncode == 0, ended.stderr
    record = loadline.folder / ".loadline/runs/last"
    assert (record / "server.jsonl").stat().st_size < 200_000


@pytest.mark.parametrize(
    "command",
    [
        ("run", "/dev/zero"),
        ("plan", "/dev/zero"),
        ("init", "/dev/zero"),
        ("audit", "/dev/zero"),
        ("report", "/dev/zero"),
        ("run", "csv.yml"),
        ("run", "ca.yml"),
    ],
)
def test_file_that_does_not_end_is_refused(loadline, command) -> None:
    plan = PLAN.format("https://127.0.0.1:1")
    loadline.write("csv.yml", plan.replace("steps:", "csv: { file: /dev/zero }\nsteps:"))
    loadline.write("ca.yml", plan.replace("steps:", "http: { tls: { ca: /dev/zero } }\nsteps:"))
    ended, peak = peak_mb(loadline, *command)
    # `audit` does not treat an existing but unreadable file as bad input.
    assert ended.returncode == (3 if command[0] == "audit" else 2), ended.stdout + ended.stderr
    assert peak < 150, peak


def test_conductor_whose_nodes_say_nothing_ends_after_second_signal(loadline, start_lab) -> None:
    plan = loadline.write("plan.yml", PLAN.format(start_lab("truth").url).replace("duration: 1s", "duration: 60s"))
    running = loadline.start("run", plan, "--on", "local", "--nodes", "2", process_group=0)
    nodes: list[int] = []
    try:
        runs = loadline.folder / ".loadline/runs"
        wait_until(lambda: len(list(runs.glob("2*/parts/*/counters.jsonl"))) == 2, "the nodes' records")
        nodes = children(running.pid)
        for pid in nodes:
            os.kill(pid, signal.SIGSTOP)
        begun = time.monotonic()
        # Two equal signals at the same time count as one. Of two different ones either may be read first.
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGTERM)
        _, output = running.communicate(timeout=30)
        took = time.monotonic() - begun
    finally:
        for pid in nodes:
            # The conductor stops the nodes that it started.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        running.kill()
    assert running.returncode in (3, 128 + signal.SIGINT, 128 + signal.SIGTERM), output
    assert (runs / "last/report.html").is_file(), output
    assert took < 8, output


def test_number_of_nodes_is_bounded(loadline) -> None:
    ended = subprocess.run(
        [LOADLINE, "run", "http://127.0.0.1:1", "--on", "local", "--nodes", "100000"],
        cwd=loadline.folder,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ended.returncode == 2
    assert "--nodes 100000: at most 256 nodes on this machine can share a run" in ended.stderr
