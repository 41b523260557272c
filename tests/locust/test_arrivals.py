"""Arrival rates for Locust: number, assignment and timing of tasks, independent of the
locustfile's wait times.
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from scripted_server import ScriptedServer

#: Each task takes at least 0.1 s.
SLOW = """
import gevent
from locust import HttpUser, constant, task

class User(HttpUser):
    wait_time = constant(1000)
    done = 0

    def on_start(self):
        print("begun", flush=True)

    @task
    def slowly(self):
        gevent.sleep(0.1)
        self.client.get("/")
        User.done += 1
        if User.done == 40:
            gevent.spawn(self.environment.runner.quit)
"""


def test_arrival_without_a_free_user_waits_and_keeps_its_intended_start(locust):
    locust.write(SLOW)
    with ScriptedServer() as server:
        run = locust.ours(
            *("--headless", "-u", 2, "-r", 100, "-H", server.url, "--only-summary"), env={"LOADLINE_ARRIVAL_RATE": "40/s for 1s"}
        )
        assert len(server.requests) == 40
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("begun") == 2
    assert run.stderr.count("wait_time is ignored") == 1
    summary = locust.loadline.summary()
    arrivals = summary["arrivals"]
    assert (arrivals["planned"], arrivals["started"], arrivals["completed"], arrivals["unsent"]) == (40, 40, 40, 0)
    assert arrivals["adds_up"]
    assert summary["requests"]["adds_up"]
    assert [(row["text"], row["count"]) for row in summary["iterations"]] == [("slowly", 40)]
    # Two users need two seconds for arrivals of one second, so the last one waits for at least
    # about a second.
    for times in (summary["iterations"][0]["iteration"], summary["labels"][0]["response"]):
        assert times["max"]["ns"] > 0.9e9
    assert summary["labels"][0]["service"]["max"]["ns"] < times["max"]["ns"]
    manifest = json.loads((locust.folder / ".loadline/runs/last/manifest.json").read_text())
    assert manifest["load"]["model"] == "open"


def test_task_ends_are_counted_as_completed_failed_or_abandoned(locust):
    locust.write(
        """
import gevent
from locust import FastHttpUser, TaskSet, task

class Nested(TaskSet):
    done = 0

    @task
    def one(self):
        Nested.done += 1
        if Nested.done == 3:
            raise KeyError("the third")
        if Nested.done == 5:
            self.interrupt()
        if Nested.done == 8:
            gevent.spawn_later(0.01, self.user.environment.runner.quit)
            self.client.get("/silent")

class User(FastHttpUser):
    tasks = [Nested]
"""
    )
    with ScriptedServer() as server:
        env = {"LOADLINE_ARRIVAL_RATE": "8/s for 1s"}
        run = locust.ours("--headless", "-u", 1, "-H", server.url, "--only-summary", env=env)
    arrivals = locust.loadline.summary()["arrivals"]
    assert (arrivals["planned"], arrivals["started"]) == (8, 8), run.stderr
    assert (arrivals["completed"], arrivals["failed"], arrivals["abandoned"]) == (6, 1, 1)
    assert arrivals["adds_up"]
    assert run.returncode == 1


def test_processes_divide_the_arrival_rate(locust):
    locust.write(SLOW.replace("40", "-1").replace("0.1", "0.001"))
    with ScriptedServer() as server:
        process = locust.start(
            *("--headless", "-u", 4, "-r", 100, "-H", server.url, "--only-summary", *locust.two_processes()),
            env={"LOADLINE_ARRIVAL_RATE": "30/s for 2s"},
        )
        with locust.stopping(process):
            end = time.monotonic() + 30
            while len(server.requests) < 60 and time.monotonic() < end:
                time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            _, stderr = process.communicate(timeout=60)
        assert len(server.requests) == 60, stderr
    summary = locust.loadline.summary()
    arrivals = summary["arrivals"]
    assert (arrivals["planned"], arrivals["started"], arrivals["completed"] + arrivals["abandoned"]) == (60, 60, 60), stderr
    assert arrivals["adds_up"]
    parts = [json.loads(line) for line in _lines(locust.folder / ".loadline/runs/last")]
    assert sum(part["run"]["arrivals"]["started"] for part in parts if "run" in part) == 60


def _lines(run: Path) -> list[str]:
    return [line for number in (0, 1) for line in (run / f"parts/{number}/counters.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("text", ["fast", "10/s to 20/s", "0/s", "10/s, 20/s"])
def test_malformed_arrival_rate_is_reported_in_one_line(locust, text):
    locust.write(SLOW)
    run = locust.ours("--headless", "-t", 1, "-H", "http://127.0.0.1:1", env={"LOADLINE_ARRIVAL_RATE": text})
    assert run.returncode == 1
    said = [line for line in run.stderr.splitlines() if "LOADLINE_ARRIVAL_RATE: " in line]
    assert len(said) == 1
    assert "Traceback" not in run.stderr
    assert not (locust.folder / ".loadline").exists()
