"""`loadline ab` runs the same test against two targets in turn.

It starts and stops commands and leaves nothing running.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import fake_servers
import ports
import pytest
from conftest import wait_until

PLAN = """
loadline: 1
name: shop
load: {rate: 400/s, duration: 100ms}
steps:
  - get: /order
"""
FLAGS = ("--metric", "service p50", "--margin", "80%", "--seed", "8")


@pytest.fixture
def ab(loadline):
    loadline.write("plan.yml", PLAN)

    def ab(a: str, b: str, *args: str, code: int):
        path = loadline.folder / "ab.json"
        ran = loadline("ab", "plan.yml", "--a", a, "--b", b, *FLAGS, "--json", path, *args, timeout=120)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran, json.loads(path.read_text()) if path.exists() else None

    return ab


def answer_after_a_second(connection) -> None:
    while connection.recv(65536):
        time.sleep(1)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


def answer_after_100_ms(connection) -> None:
    while connection.recv(65536):
        time.sleep(0.1)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


def manifests(loadline) -> list[dict]:
    found = sorted((loadline.folder / ".loadline/runs").glob("2*/manifest.json"))
    return [json.loads(manifest.read_text()) for manifest in found]


def test_ab_slower_side_regresses_and_sides_alternate(loadline, ab):
    with fake_servers.FakeServer(answer_after_100_ms) as fast, fake_servers.FakeServer(answer_after_a_second) as slow:
        ran, result = ab(fast.url, slow.url, "--pairs", "4", "--tag", "mine", code=1)
    assert result["verdict"] == "regressed"
    assert [result[side]["name"] for side in ("baseline", "candidate")] == ["a", "b"]
    assert [len(result[side]["runs"]) for side in ("baseline", "candidate")] == [4, 4]
    assert "pair 4 of 4, b  " in ran.stderr
    assert "Report: .loadline/comparisons/ab-" in ran.stdout
    all_tags = [manifest["about"]["tags"] for manifest in manifests(loadline)]
    assert all("mine" in tags for tags in all_tags)
    if len(all_tags) == 8:
        order = "".join("A" if "ab-a" in tags else "B" for tags in all_tags)
        assert order.count("A") == 4
        assert ran.stderr.index("pair 1 of 4, a") < ran.stderr.index("pair 1 of 4, b")
        assert ran.stderr.index("pair 2 of 4, b") < ran.stderr.index("pair 2 of 4, a")


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_ab_commands_start_and_stop_their_targets(loadline, ab):
    port = ports.free()
    url = f"http://127.0.0.1:{port}"
    # Two processes: the shell and the server it starts.
    command = f"echo $$ >> pids; {sys.executable} -m http.server {port} --bind 127.0.0.1 & echo $! >> pids; wait"
    ran, result = ab(url, url, "--a-cmd", command, "--b-cmd", command, "--pairs", "4", "--budget", "1ms", code=5)
    assert "only a hint" in result["sentence"]
    assert [len(result[side]["runs"]) for side in ("baseline", "candidate")] == [1, 1]
    pids = [int(line) for line in (loadline.folder / "pids").read_text().split()]
    assert len(pids) >= 4
    assert all(is_gone(pid) for pid in pids)


def test_ab_signal_stops_targets_and_keeps_finished_runs(loadline):
    loadline.write("plan.yml", PLAN)
    port = ports.free()
    url = f"http://127.0.0.1:{port}"
    command = f"echo $$ >> pids; exec {sys.executable} -m http.server {port} --bind 127.0.0.1"
    running = loadline.start("ab", "plan.yml", "--a", url, "--b", url, "--a-cmd", command, "--b-cmd", command, "--anyway")
    wait_until(lambda: len(manifests(loadline)) >= 2, "a second run")
    running.send_signal(signal.SIGINT)
    _, result = running.communicate(timeout=60)
    assert running.returncode == 130, result
    assert "stopped by a signal" in result
    assert all(is_gone(int(pid)) for pid in (loadline.folder / "pids").read_text().split())


@pytest.fixture
def closed_url():
    with fake_servers.closed_port() as port:
        yield f"http://127.0.0.1:{port}"


def test_ab_bad_input_is_reported_in_one_line(loadline, closed_url):
    loadline.write("plan.yml", PLAN)
    sides = ("--a", closed_url, "--b", closed_url)
    for args, said, code in [
        (("plan.yml", *sides, "--budget", "5"), "--budget", 2),
        (("plan.yml", *sides, "--margin", "5"), "--margin", 2),
        (("plan.yml", *sides, "--metric", "p50 of"), "--metric", 2),
        (("nowhere.yml", *sides), "nowhere.yml", 2),
        (("plan.yml", *sides, "--a-cmd", "exit 7", "--b-cmd", "exit 7"), "-cmd exited (exit status: 7) before", 3),
        (
            ("plan.yml", "--a", "ftp://x", "--b", closed_url, "--a-cmd", "true"),
            "--a: `ftp://x` is not an http:// or https:// URL",
            2,
        ),
    ]:
        ran = loadline("ab", *args)
        assert ran.returncode == code, (args, ran.stdout, ran.stderr)
        assert said in ran.stderr, (args, ran.stderr)
        assert len(ran.stderr.splitlines()) == 1, (args, ran.stderr)


def test_ab_killed_leaves_no_process(loadline):
    loadline.write("plan.yml", PLAN)
    port = ports.free()
    url = f"http://127.0.0.1:{port}"
    command = f"echo $$ >> pids; {sys.executable} -m http.server {port} --bind 127.0.0.1 & echo $! >> pids; wait"
    running = loadline.start("ab", "plan.yml", "--a", url, "--b", url, "--a-cmd", command, "--b-cmd", command, "--anyway")
    wait_until(lambda: manifests(loadline), "a run")
    running.kill()
    running.communicate(timeout=60)
    pids = [int(pid) for pid in (loadline.folder / "pids").read_text().split()]
    wait_until(lambda: all(is_gone(pid) for pid in pids), "their end")
