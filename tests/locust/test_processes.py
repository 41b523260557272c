"""Tests that several processes carry out: one record and one verdict, whoever sends; and what becomes of processes that are killed,
that come late, that are not ours."""

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
from scripted import Server

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
    """Folders of runs, the oldest first."""
    folders = [run for run in (folder / ".loadline/runs").iterdir() if run.is_dir() and not run.is_symlink()]
    return sorted(folders, key=lambda run: json.loads((run / "manifest.json").read_text())["start"]["wall_ns"])


def _until(condition, what: str) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.02)


def _all_spawned(master) -> None:
    """Waits until Locust says so: in other words where a worker's report has taken longer than it waits for."""
    while line := master.stderr.readline():
        if "All users spawned" in line or "Spawning is complete" in line:
            return
    raise AssertionError("the master ended")


def _cancelled(summary: dict) -> int:
    return sum(row["count"] for row in summary["errors"] if row["reason"] == "cancelled when its user was stopped")


@pytest.mark.parametrize("ends", ["run-time", "master is told", "all are told"])
def test_processes_make_one_record(locust, start_lab, ends):
    lab = start_lab("truth")
    locust.write(GET)
    limit = ("-t", 2) if ends == "run-time" else ()
    process = locust.start(
        *("--headless", "-u", 4, "-r", 10, "-H", lab.url, *locust.two(), "--only-summary", *limit),
    )
    with locust.ending(process):
        begun = {process.stdout.readline().split()[1] for _ in range(4)}
        assert len(begun) == 2
        _until(lambda: lab.stats()["received"]["total"] > 100, "the hundredth request")
        if ends == "master is told":
            process.send_signal(signal.SIGTERM)
        elif ends == "all are told":
            # As a terminal does it.
            os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    # Where Python is when it is interrupted is chance: Locust says 2 of it in the middle of a message of its own.
    assert process.returncode in ((0, 2) if ends == "all are told" else (0,)), stderr
    assert len(_runs(locust.folder)) == 1
    summary = locust.loadline.summary()
    requests = summary["requests"]
    assert requests["adds_up"]
    if ends != "all are told":
        # Told themselves, workers are interrupted wherever they are, and send Locust no last report.
        assert 0 <= requests["issued"] - lab.stats()["received"]["total"] <= _cancelled(summary)
        # On a machine that is slow Locust does not wait for all that its workers have to say; the record does.
        assert 0 < _aggregated(stderr) <= requests["issued"] - _cancelled(summary)
    assert sorted(path.name for path in (_runs(locust.folder)[0] / "parts").iterdir()) == ["0", "1"]
    assert {row["group"] for row in summary["labels"]} == {"request"}
    assert stderr.count("loadline: report ") == 1
    assert summary["notes"] == []


def test_criteria_decide_at_the_master(locust):
    locust.write(GET)
    common = ("--headless", "-t", 1, "-u", 2, "-r", 9, "--only-summary")
    with Server() as server:
        fails = locust.ours(*common, *locust.two(), "-H", server.url, env={"LOADLINE_CHECK": "rate > 100000/s"})
        wrong = locust.ours(*common, *locust.two(), "-H", server.url, env={"LOADLINE_CHECK": "speed > 1"})
    assert fails.returncode == 1
    assert fails.stderr.count("FAIL") == 1
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("loadline: LOADLINE_CHECK 'speed > 1', column 1: ")
    assert wrong.stderr.count("\n") == 1
    assert len(_runs(locust.folder)) == 1


def test_a_worker_that_is_killed_is_named(locust):
    locust.write(GET)
    with Server() as server:
        process = locust.start(*("--headless", "-u", 4, "-r", 10, "-H", server.url, *locust.two(), "--only-summary", "-t", 120))
        with locust.ending(process):
            begun = {int(process.stdout.readline().split()[1]) for _ in range(4)}
            runs = _runs(locust.folder)
            counters = [runs[0] / f"parts/{number}/counters.jsonl" for number in (0, 1)]
            _until(lambda: all('"end":true' in file.read_text() for file in counters), "an interval of both")
            os.kill(begun.pop(), signal.SIGKILL)
            # However slow the machine is, the others are at work until here.
            process.send_signal(signal.SIGTERM)
            _, stderr = process.communicate(timeout=90)
    assert re.search(r"process [01] of 2 did not come to its end", stderr), stderr
    assert "1 of 2 processes did not carry out their part" in stderr
    requests = locust.loadline.summary()["requests"]
    assert requests["adds_up"]
    assert requests["ok"] > 0


def test_a_worker_without_loadline_and_one_that_comes_late(locust):
    locust.write(GET)
    port = ports.free()
    with Server() as server:
        ours = ("--headless", "--only-summary", "-H", server.url)
        master = locust.start(
            *ours, "--master", "--expect-workers", 2, "-u", 9, "-r", 100, "--master-bind-host", "127.0.0.1", "--master-bind-port", port
        )
        worker = ("--worker", "--master-host", "127.0.0.1", "--master-port", port)
        first = locust.start(*ours, *worker)
        stock = locust.start_stock(*ours, *worker)
        with locust.ending(master, first, stock):
            assert first.stdout.readline().startswith("begun")
            assert stock.stdout.readline().startswith("begun")
            # Before that Locust gives no users to whoever comes.
            _all_spawned(master)
            late = locust.start(*ours, *worker)
            with locust.ending(late):
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
    assert any("came while the test ran" in note for note in summary["notes"])
    assert len(list((run / "parts").iterdir())) == 2
    assert 0 < summary["requests"]["issued"] < received
    assert summary["requests"]["adds_up"]


def _post(url: str, **form: object) -> dict:
    with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode(), timeout=30) as answer:
        return json.loads(answer.read() or b"{}")


def test_each_start_in_the_web_ui_is_a_record(locust):
    locust.write(GET)
    web = ports.free()
    with Server() as server:
        process = locust.start(
            *("-H", server.url, *locust.two(), "--web-host", "127.0.0.1", "--web-port", web),
        )
        with locust.ending(process):
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
