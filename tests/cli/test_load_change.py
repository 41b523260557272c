"""Changing the load of a running test from the live view: what is planned, sent and reported, and
what is refused.
"""

import json
import os
import signal
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from live_run import LiveRun

SECOND = 1_000_000_000


@pytest.fixture
def target():
    """A target with its own counter that answers after 20 ms."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        lock = threading.Lock()
        requests = 0

        def do_GET(self) -> None:
            with Handler.lock:
                Handler.requests += 1
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}/"
    server.count = lambda: Handler.requests
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def running_view(loadline, *command: object, **options: object):
    view = LiveRun(loadline.start(*command, **options))
    try:
        yield view
    finally:
        if view.run.poll() is None:
            view.run.send_signal(signal.SIGINT)
            view.run.communicate(timeout=20)


def change(view: LiveRun, wanted: str) -> tuple[bool, str]:
    """Returns whether the load was changed, and the message."""
    status, text, headers = view.request("POST", f"/{view.token}/load", wanted, X_Loadline="load")
    assert (status, headers["content-type"]) == (200, "application/json")
    answer = json.loads(text)
    return answer["changed"], answer["text"]


def first_tick(view: LiveRun) -> dict:
    """Returns the page's data after the first second."""
    for name, data in view.events():
        if name == "now" and data["newest"]["span_ns"][1] > 0:
            return data
    raise AssertionError("it ended before it began")


def changes(loadline) -> list[dict]:
    lines = (loadline.folder / ".loadline/runs/last/events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == "load_changed"]


@pytest.mark.parametrize("workers", [1, 2])
def test_changed_rate_is_planned_sent_and_reported(loadline, target, workers):
    command = ("run", target.url, "--rate", "50/s", "--duration", "6s", "--workers", workers, "--ui", "--seed", "1")
    with running_view(loadline, *command) as view:
        assert first_tick(view)["load"] == {"quantity": "rate", "value": 50.0, "most": 15_000.0 * workers}
        assert view.request("POST", f"/{view.token}/load", "rate=120", Sec_Fetch_Site="same-origin")[0] == 200
        is_changed, said = change(view, "rate=40.5/s")
        assert is_changed
        assert said.endswith("s: 40.5/s instead of 120/s")
        out, _ = view.run.communicate(timeout=30)
    assert view.run.returncode == 0, out
    first, second = changes(loadline)
    # In closed form: 50/s until the first change, 120/s until the second, then 40.5/s.
    one, two = first["at_ns"], second["at_ns"]
    before = -(-one * 50 // SECOND)
    between = -(-(two - one) * 120 // SECOND)
    planned = before + between + (6 * SECOND - two) * 405 // (10 * SECOND)
    assert second["change"] == {"quantity": "rate", "from": 120.0, "to": 40.5, "planned": planned, "phases": [planned]}
    summary = loadline.summary()
    arrivals = summary["arrivals"]
    assert (arrivals["planned"], arrivals["started"], arrivals["unsent"]) == (planned, planned, 0)
    assert arrivals["adds_up"]
    assert not arrivals["until_stop"]
    assert summary["phases"] == [] or summary["phases"][0]["planned"] == planned
    assert summary["requests"]["ok"] == target.count() == planned
    # Every report says so, also one that is rendered again from the record.
    text = f"the live view changed the rate from 120/s to 40.5/s: {planned:,} arrivals are planned instead of"
    assert text in " ".join(out.split())
    assert any(text in note for note in summary["notes"])
    assert summary["run"]["load"].endswith(", changed during the run")
    report = loadline.folder / ".loadline/runs/last/report.md"
    assert text in " ".join(report.read_text().split())
    (loadline.folder / ".loadline/runs/last/summary.json").unlink()
    assert loadline("report", "last").returncode == 0
    assert loadline.summary()["arrivals"] == arrivals
    assert text in " ".join(report.read_text().split())


def test_killed_record_contains_the_changed_plan(loadline, target):
    with running_view(loadline, "run", target.url, "--rate", "50/s", "--duration", "60s", "--ui") as view:
        first_tick(view)
        assert change(view, "rate=100")[0]
        at_ns = None
        for name, data in view.events():
            entries = [line for line in data["log"]["lines"] if line["kind"] == "load"] if name == "now" else []
            if entries and data["newest"]["span_ns"][1] > entries[0]["at_ns"] + SECOND:
                at_ns = entries[0]["at_ns"]
                break
        view.run.kill()
        view.run.communicate(timeout=20)
    (event,) = changes(loadline)
    assert event["at_ns"] == at_ns
    assert loadline("report", "last").returncode == 0
    summary = loadline.summary()
    assert any("the live view changed the rate from 50/s to 100/s" in note for note in summary["notes"])
    assert summary["arrivals"]["unsent"] == 0
    assert summary["arrivals"]["planned"] == summary["arrivals"]["started"] > 50 * at_ns / SECOND


def test_changed_users_start_and_stop(loadline, target):
    with running_view(loadline, "run", target.url, "--users", "2", "--duration", "5s", "--ui") as view:
        assert first_tick(view)["load"]["value"] == 2
        is_changed, said = change(view, "users=5")
        assert is_changed
        assert said.endswith("s: 5 users instead of 2 users")
        users = [data["newest"]["users"] for name, data in view.events() if name == "now"]
        out, _ = view.run.communicate(timeout=30)
    assert view.run.returncode == 0, out
    assert max(users) == 5
    summary = loadline.summary()
    assert summary["users"]["max"] == 5
    assert summary["arrivals"] is None or summary["arrivals"]["planned"] is None
    assert summary["requests"]["ok"] == target.count()
    text = "the live view changed the number of users from 2 users to 5 users"
    assert text in " ".join(out.split())
    assert text in " ".join((loadline.folder / ".loadline/runs/last/report.md").read_text().split())
    (event,) = changes(loadline)
    assert event["change"] == {"quantity": "users", "from": 2.0, "to": 5.0}


def test_invalid_load_change_is_refused_in_one_line(loadline, target):
    with running_view(loadline, "run", target.url, "--rate", "50/s", "--duration", "60s", "--ui") as view:
        first_tick(view)
        for wanted, why in {
            "rate=-1": "`-1` is negative: use a rate of 0 or more",
            "rate=fast": "`fast` is not a rate: use, for example, 200/s, 90/m or 3000/h",
            "rate=50": "the load already has this value",
            "rate=1e300": "`1e300` is not a rate: use, for example, 200/s, 90/m or 3000/h",
            "rate=15001": "more than the workers of this run can send, 15000/s (15000 requests/s for each worker): "
            "restart the test with more --workers, or at that rate",
            "users=3": "the load is open, and its users arrive at a rate: change the rate",
            "users=some": "`some` is not a valid number of users: use a whole number, 0 or more",
            "80": "use rate=NUMBER, per second, or users=NUMBER",
        }.items():
            assert change(view, wanted) == (False, why)
        path = f"/{view.token}/load"
        assert view.request("GET", path)[0] == 405
        assert view.request("POST", path, "rate=80")[0] == 403
        assert view.request("POST", path, "rate=80", Sec_Fetch_Site="cross-site")[0] == 403
        assert view.request("POST", path, "rate=80", X_Loadline="load", Origin="http://rebound.test")[0] == 403
        assert view.request("POST", path, "rate=80", X_Loadline="load", Host="rebound.test")[0] == 403
        assert view.request("POST", f"/{'0' * 32}/load", "rate=80", X_Loadline="load")[0] == 404
        assert view.request("POST", f"/{view.token}/stop", X_Loadline="stop")[0] == 204
        view.run.communicate(timeout=20)
    assert changes(loadline) == []
    assert not loadline.summary()["run"]["load"].endswith(", changed during the run")


@pytest.mark.parametrize(
    ("load", "why"),
    [
        (
            "{ from: 5/s, to: 50/s, duration: 60s }",
            "this phase is a ramp, which changes automatically: wait for a phase that does not",
        ),
        (
            "{ rate: 50/s, duration: 60s, arrivals: poisson }",
            "this phase has Poisson arrivals, which the plan determines in advance: wait for a phase with even arrivals",
        ),
        (
            "{ count: 3000, duration: 60s }",
            "this phase has a fixed number of arrivals, which a different rate would change: wait for a phase with a rate",
        ),
    ],
)
def test_phases_without_a_rate_cannot_be_changed(loadline, target, load, why):
    plan = loadline.write("plan.yml", f"loadline: 1\ntarget: {target.url}\nload: {load}\nsteps: [{{ get: / }}]\n")
    with running_view(loadline, "run", plan, "--ui") as view:
        assert first_tick(view)["load"] == {"quantity": None, "reason": why}
        assert change(view, "rate=80") == (False, why)


def test_load_of_compatibility_commands_cannot_be_changed(loadline, target):
    script = loadline.write(
        "artillery.yml",
        f"config: {{ target: '{target.url}', phases: [{{ duration: 60, arrivalRate: 5 }}] }}\n"
        "scenarios: [{ flow: [{ get: { url: / } }] }]\n",
    )
    commands = {
        "Artillery's": ("artillery", "run", script),
        "wrk's": ("wrk", "-t1", "-c1", "-d60s", target.url),
    }
    for tool, command in commands.items():
        with running_view(loadline, *command, env={**os.environ, "LOADLINE_UI": "1"}) as view:
            why = f"{tool} generates the load with its own schedule, so it cannot be changed here"
            assert change(view, "rate=80") == (False, why)
            assert first_tick(view)["load"] == {"quantity": None, "reason": why}
