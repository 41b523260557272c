"""Tests with several processes: one record and one verdict; processes that are killed, late, or
without Loadline.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
import urllib.parse
import urllib.request
from pathlib import Path

import ports
import pytest
from scripted_server import ScriptedServer

GET = r"""
import os
from locust import FastHttpUser, constant, task

class User(FastHttpUser):
    wait_time = constant(0.01)

    def on_start(self):
        # In one piece: others write there too.
        os.write(1, b"begun %d\n" % os.getpid())

    @task
    def get(self):
        self.client.get("/")
"""


def _aggregated(stderr: str) -> int:
    rows = [line.split() for line in stderr.splitlines() if line.strip().startswith("Aggregated")]
    return int(rows[0][1])


def _runs(folder: Path) -> list[Path]:
    """Returns the folders of runs, oldest first."""
    folders = [run for run in (folder / ".loadline/runs").iterdir() if run.is_dir() and not run.is_symlink()]
    return sorted(folders, key=lambda run: json.loads((run / "manifest.json").read_text())["start"]["wall_ns"])


def _until(condition, what: str) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.02)


def _all_spawned(master) -> None:
    """Waits for Locust's message, which differs if a worker's report is late."""
    while line := master.stderr.readline():
        if "All users spawned" in line or "Spawning is complete" in line:
            return
    raise AssertionError("the master ended")


def _cancelled(summary: dict) -> int:
    return sum(row["count"] for row in summary["errors"] if row["reason"] == "cancelled when its user was stopped")


@pytest.mark.parametrize("ends", ["run-time", "signal to master", "signal to all"])
def test_processes_write_one_record(locust, start_lab, ends):
    lab = start_lab("truth")
    locust.write(GET)
    limit = ("-t", 2) if ends == "run-time" else ()
    process = locust.start(
        *("--headless", "-u", 4, "-r", 10, "-H", lab.url, *locust.two_processes(), "--only-summary", *limit),
    )
    with locust.stopping(process):
        begun = {process.stdout.readline().split()[1] for _ in range(4)}
        assert len(begun) == 2
        if ends != "run-time":
            _until(lambda: lab.stats()["received"]["total"] > 100, "the hundredth request")
        if ends == "signal to master":
            process.send_signal(signal.SIGTERM)
        elif ends == "signal to all":
            # As a terminal does.
            os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    # The place of the interrupt in Python is random: Locust exits with 2 in the middle of a
    # message.
    assert process.returncode in ((0, 2) if ends == "signal to all" else (0,)), stderr
    assert len(_runs(locust.folder)) == 1
    summary = locust.loadline.summary()
    requests = summary["requests"]
    assert requests["adds_up"]
    if ends != "signal to all":
        # Workers that receive the signal themselves are interrupted anywhere and send Locust no
        # last report.
        assert 0 <= requests["issued"] - lab.stats()["received"]["total"] <= _cancelled(summary)
        # On a slow machine Locust does not wait for every worker's report; the record does.
        assert 0 < _aggregated(stderr) <= requests["issued"] - _cancelled(summary)
    assert sorted(path.name for path in (_runs(locust.folder)[0] / "parts").iterdir()) == ["0", "1"]
    assert {row["group"] for row in summary["labels"]} == {"request"}
    assert stderr.count("loadline: report ") == 1
    assert summary["notes"] == []


def test_criteria_are_judged_by_the_master(locust):
    locust.write(GET)
    common = ("--headless", "-t", 1, "-u", 2, "-r", 9, "--only-summary")
    with ScriptedServer() as server:
        fails = locust.ours(*common, *locust.two_processes(), "-H", server.url, env={"LOADLINE_CHECK": "rate > 100000/s"})
        wrong = locust.ours(*common, *locust.two_processes(), "-H", server.url, env={"LOADLINE_CHECK": "speed > 1"})
    assert fails.returncode == 1
    assert fails.stderr.count("FAIL") == 1
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("loadline: LOADLINE_CHECK 'speed > 1', column 1: ")
    assert wrong.stderr.count("\n") == 1
    assert len(_runs(locust.folder)) == 1


def test_killed_worker_is_named(locust):
    locust.write(GET)
    with ScriptedServer() as server:
        process = locust.start(
            *("--headless", "-u", 4, "-r", 10, "-H", server.url, *locust.two_processes(), "--only-summary", "-t", 120)
        )
        with locust.stopping(process):
            begun = {int(process.stdout.readline().split()[1]) for _ in range(4)}
            runs = _runs(locust.folder)
            counters = [runs[0] / f"parts/{number}/counters.jsonl" for number in (0, 1)]
            _until(lambda: all('"end":true' in file.read_text() for file in counters), "an interval of both")
            os.kill(begun.pop(), signal.SIGKILL)
            # The other processes work until here, even on a slow machine.
            process.send_signal(signal.SIGTERM)
            _, stderr = process.communicate(timeout=90)
    assert re.search(r"process [12] of 2 did not finish", stderr), stderr
    assert "1 of 2 processes did not finish" in stderr
    requests = locust.loadline.summary()["requests"]
    assert requests["adds_up"]
    assert requests["ok"] > 0


def test_worker_without_loadline_and_late_worker_are_noted(locust):
    locust.write(GET)
    port = ports.free()
    with ScriptedServer() as server:
        ours = ("--headless", "--only-summary", "-H", server.url)
        master = locust.start(
            *ours, "--master", "--expect-workers", 2, "-u", 9, "-r", 100, "--master-bind-host", "127.0.0.1", "--master-bind-port", port
        )
        worker = ("--worker", "--master-host", "127.0.0.1", "--master-port", port)
        first = locust.start(*ours, *worker)
        stock = locust.start_stock(*ours, *worker)
        with locust.stopping(master, first, stock):
            assert first.stdout.readline().startswith("begun")
            assert stock.stdout.readline().startswith("begun")
            # Earlier, Locust assigns no users to a new worker.
            _all_spawned(master)
            late = locust.start(*ours, *worker)
            with locust.stopping(late):
                assert late.stdout.readline().startswith("begun")
                run = _runs(locust.folder)[0]

                def parts() -> int:
                    return sum('"end":true' in counters.read_text() for counters in run.glob("parts/*/counters.jsonl"))

                _until(lambda: parts() == 2, "an interval of the late one")
                master.send_signal(signal.SIGTERM)
                _, stderr = master.communicate(timeout=60)
                for one in (first, late, stock):
                    one.communicate(timeout=60)
        received = len(server.requests)
    assert master.returncode == 0, stderr
    summary = locust.loadline.summary()
    named = [note for note in summary["notes"] if "runs without Loadline" in note]
    assert len(named) == 1
    assert summary["measurement"]["verdict"] in ("DEGRADED", "INVALID")
    assert named[0] in summary["measurement"]["reasons"]
    assert any("connected during the test" in note for note in summary["notes"])
    assert len(list((run / "parts").iterdir())) == 2
    assert 0 < summary["requests"]["issued"] < received
    assert summary["requests"]["adds_up"]


def _post(url: str, **form: object) -> dict:
    with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode(), timeout=30) as answer:
        return json.loads(answer.read() or b"{}")


def test_each_start_in_the_web_ui_writes_a_record(locust):
    locust.write(GET)
    web = ports.free()
    with ScriptedServer() as server:
        process = locust.start(
            *("-H", server.url, *locust.two_processes(), "--web-host", "127.0.0.1", "--web-port", web),
        )
        with locust.stopping(process):
            ui = f"http://127.0.0.1:{web}"

            def workers() -> int:
                try:
                    with urllib.request.urlopen(f"{ui}/stats/requests", timeout=10) as answer:
                        rows = json.load(answer).get("workers", [])
                except OSError:
                    return 0
                return sum(row["state"] == "ready" for row in rows)

            for _ in range(2):
                _until(lambda: workers() == 2, "both workers to be ready")
                assert _post(f"{ui}/swarm", user_count=2, spawn_rate=10, host=server.url)["success"]
                assert process.stdout.readline().startswith("begun")
                assert process.stdout.readline().startswith("begun")
                _post(f"{ui}/stop")
            process.send_signal(signal.SIGTERM)
            _, stderr = process.communicate(timeout=60)
        received = len(server.requests)
    assert stderr.count("loadline: report ") == 2, stderr
    summaries = [locust.loadline.summary(run.name) for run in _runs(locust.folder)]
    assert len(summaries) == 2
    issued = sum(summary["requests"]["issued"] for summary in summaries)
    assert 0 <= issued - received <= sum(_cancelled(summary) for summary in summaries)
