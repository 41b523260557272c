"""A run through `loadline locust`: its record agrees with the server; figures, verdicts, and
interrupted tests.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_server import ScriptedServer

ROOT = Path(__file__).parent.parent.parent

ONE_GET = """
from locust import {user}, constant, task

class User({user}):
    wait_time = constant(0.01)

    @task
    def get(self):
        self.client.get("/")
"""


def _aggregated(stderr: str) -> int:
    rows = [line.split() for line in stderr.splitlines() if line.strip().startswith("Aggregated")]
    return int(rows[0][1])


@pytest.mark.parametrize("user", ["HttpUser", "FastHttpUser"])
def test_record_agrees_with_the_server(locust, start_lab, user):
    lab = start_lab("truth")
    locust.write(ONE_GET.format(user=user))
    run = locust.ours("--headless", "-u", 20, "-r", 20, "-t", 2, "-H", lab.url, "--only-summary")
    assert run.returncode == 0, run.stderr
    summary = locust.loadline.summary()
    requests = summary["requests"]
    received = lab.stats()["received"]["total"]
    cancelled = requests["none_by_class"].get("unfinished", 0)
    # A user stopped before its request was written has sent nothing.
    assert 0 <= requests["issued"] - received <= cancelled
    assert requests["issued"] - requests["none_by_class"].get("unfinished", 0) == _aggregated(run.stderr)
    assert requests["adds_up"]
    # All requests were sent natively.
    assert {row["group"] for row in summary["labels"]} == {"request"}
    assert summary["users"]["max"] == 20
    assert "loadline: service time p50" in run.stderr
    assert "script time p50" in run.stderr
    assert "loadline: measurement " in run.stderr
    report = locust.folder / ".loadline/runs/last/report.html"
    assert "up to 20 users that locust starts and stops" in report.read_text()


def test_criteria_decide_the_exit_code(locust):
    locust.write(ONE_GET.format(user="FastHttpUser"))
    with ScriptedServer() as server:
        common = ("--headless", "-t", 1, "-H", server.url, "--only-summary")
        holds = locust.ours(*common, env={"LOADLINE_CHECK": "errors < 50%; rate > 1/s"})
        assert holds.stderr.count("PASS") == 2
        assert holds.returncode == 0
        fails = locust.ours(*common, env={"LOADLINE_CHECK": "rate > 100000/s"})
        assert fails.returncode == 1
        assert "FAIL" in fails.stderr
        wrong = locust.ours(*common, env={"LOADLINE_CHECK": "speed > 1"})
        assert wrong.returncode == 1
        assert wrong.stderr.startswith("loadline: LOADLINE_CHECK 'speed > 1', column 1: ")
        assert wrong.stderr.count("\n") == 1


def test_stop_rule_ends_the_test_and_may_name_a_later_label(locust):
    locust.write(ONE_GET.format(user="FastHttpUser"))
    common = ("--headless", "-t", 50, "--only-summary")
    with ScriptedServer() as server:
        rules = {"LOADLINE_STOP": 'rate of "GET /" > 1/s for 2s: stop fail', "LOADLINE_CHECK": 'errors of "GET /" < 1%'}
        ended = locust.ours(*common, "-H", server.url, env=rules)
        assert ended.returncode == 1, ended.stderr
        assert 'ended early (the stop rule `rate of "GET /" > 1/s for 2 s`' in ended.stderr
        assert 'errors of "GET /" < 1%' in ended.stderr
        wrong = locust.ours(*common, "-H", server.url, env={"LOADLINE_STOP": "p95 > 2s"})
        assert wrong.returncode == 1
        assert wrong.stderr.startswith("loadline: LOADLINE_STOP 'p95 > 2s', column 9: ")
        assert wrong.stderr.count("\n") == 1


def test_killed_users_cancel_requests_in_flight(locust):
    locust.write(ONE_GET.format(user="HttpUser").replace('"/"', '"/silent"'))
    with ScriptedServer() as server:
        run = locust.ours("--headless", "-u", 7, "-r", 100, "-t", 1, "-H", server.url, "--only-summary")
        received = len(server.requests)
    requests = locust.loadline.summary()["requests"]
    assert received == requests["issued"] == requests["none_by_class"]["unfinished"] == 7
    assert _aggregated(run.stderr) == 0
    assert "7 requests issued, 7 of them cancelled when their users were stopped" in run.stderr


def test_own_time_limit_and_exception_within_a_response_are_recorded(locust):
    locust.write(
        """
import gevent
from locust import FastHttpUser, HttpUser, task
from locust.exception import StopUser

class Http(HttpUser):
    @task
    def both(self):
        try:
            with gevent.Timeout(0.1):
                self.client.get("/silent", name="limited")
        except gevent.Timeout:
            print("went through")
        try:
            with self.client.get("/", name="unreported", catch_response=True):
                raise KeyError
        except KeyError:
            pass
        gevent.spawn(self.environment.runner.quit)
        raise StopUser
"""
    )
    with ScriptedServer() as server:
        run = locust.ours("--headless", "-t", 5, "-H", server.url, "--only-summary")
    rows = {row["text"]: row for row in locust.loadline.summary()["labels"]}
    assert "went through" in run.stdout
    assert rows["GET limited"]["none"] == {"unfinished": 1}
    assert (rows["GET unreported"]["count"], rows["GET unreported"]["errors"]) == (1, 1)
    assert _aggregated(run.stderr) == 0


def test_requests_of_other_clients_are_recorded_with_their_times(locust):
    locust.write(
        """
from locust import User, constant, task

class Other(User):
    wait_time = constant(0.05)

    @task
    def call(self):
        fire = self.environment.events.request.fire
        fire(request_type="RPC", name="slow", response_time=120.0, response_length=10, exception=None, context={})
        fire(request_type="RPC", name="wrong", response_time=None, response_length=0, exception=ValueError("no"), context={})
"""
    )
    run = locust.ours("--headless", "-t", 1, "--only-summary")
    rows = {row["text"]: row for row in locust.loadline.summary()["labels"]}
    assert run.returncode == 1
    assert rows["RPC slow"]["group"] == "script"
    assert rows["RPC slow"]["service"]["mean_ns"] == pytest.approx(120e6, rel=0.01)
    assert rows["RPC wrong"]["errors"] == rows["RPC wrong"]["count"] == rows["RPC slow"]["count"]
    assert "sent and timed by Locust itself or by other clients" in run.stderr


def test_record_of_mixed_clients_has_no_contradiction(locust):
    by_itself = '        self.client.get("/", stream=True, name="by itself").content\n'
    locust.write(ONE_GET.format(user="HttpUser") + by_itself * 3 + "        self.environment.runner.quit()\n")
    with ScriptedServer() as server:
        run = locust.ours("--headless", "-t", 60, "-H", server.url, "--only-summary")
    summary = locust.loadline.summary()
    groups = {row["text"]: row["group"] for row in summary["labels"]}
    assert groups == {"GET /": "request", "GET by itself": "script"}, run.stderr
    assert not [note for note in summary["notes"] if note.startswith("contradiction")]


def test_long_import_does_not_shorten_the_run_time(locust):
    slow = "import time\n\nbegun = time.perf_counter()\nwhile time.perf_counter() < begun + 1.5:\n    pass\n"
    locust.write(slow + ONE_GET.format(user="FastHttpUser"))
    with ScriptedServer() as server:
        run = locust.ours("--headless", "-t", 1, "-H", server.url, "--only-summary")
    moments = re.findall(r":(\d\d,\d\d\d)\] .*(?:Run time limit set|run-time limit reached)", run.stderr)
    begun, ended = (float(moment.replace(",", ".")) for moment in moments)
    assert (ended - begun) % 60 >= 0.99, run.stderr


def test_user_may_end_the_test_from_its_task(locust):
    # One user: with several, Locust itself may hang if one is killed while it ends the test.
    locust.write(ONE_GET.format(user="HttpUser") + "        self.environment.runner.quit()\n")
    with ScriptedServer() as server:
        run = locust.ours("--headless", "-t", 300, "-u", 1, "-r", 10, "-H", server.url, "--only-summary")
    assert run.returncode == 0, run.stderr
    assert "--run-time limit reached" not in run.stderr
    assert "loadline: record " in run.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_keeps_record_report_and_csv(locust, number):
    locust.write(ONE_GET.format(user="FastHttpUser") + "\n    def on_start(self):\n        print('begun', flush=True)\n")
    with ScriptedServer() as server:
        process = locust.loadline.start("locust", "--headless", "-H", server.url, "--csv", "out")
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 0, stderr
    assert "Shutting down (exit code 0)" in stderr
    assert "loadline: record " in stderr
    assert (locust.folder / ".loadline/runs/last/report.html").exists()
    assert (locust.folder / "out_stats.csv").exists()


def test_names_imported_before_loadline_give_a_warning(locust):
    locust.write(
        """
from locust.clients import HttpSession
import loadline.locust
from locust import HttpUser, task

class User(HttpUser):
    @task
    def get(self):
        pass
"""
    )
    run = locust.stock("--headless", "-t", 1, "-H", "http://127.0.0.1:1")
    assert "warning: locustfile.HttpSession was imported before loadline.locust" in run.stderr


def test_import_line_enables_loadline_in_stock_locust(locust):
    locust.write("import loadline.locust\n" + ONE_GET.format(user="HttpUser"))
    with ScriptedServer() as server:
        run = locust.stock("--headless", "-u", 3, "-r", 10, "-t", 1, "-H", server.url)
    assert run.returncode == 0, run.stderr
    requests = locust.loadline.summary()["requests"]
    assert 0 <= requests["issued"] - len(server.requests) <= requests["none_by_class"].get("unfinished", 0)
    assert requests["issued"] > 10


def test_concurrent_requests_of_one_user_and_an_endless_one_are_counted(locust):
    locust.write(
        """
import gevent
from gevent.pool import Pool
from locust import FastHttpUser, HttpUser, events, task
from locust.exception import StopUser

class Http(HttpUser):
    @task
    def all(self):
        pool = Pool(8)
        for n in range(40):
            pool.spawn(self.client.get, ("/there", "/", "/cookie")[n % 3])
        pool.join()
        gevent.spawn(self.background)
        gevent.sleep(0.2)
        gevent.spawn(self.environment.runner.quit)
        raise StopUser

    def background(self):
        try:
            self.client.get("/silent", name="background")
        except ConnectionError as error:
            print("stopped:", error, flush=True)

@events.request.add_listener
def again(response, name, response_time, **_):
    assert response_time < 5000
    if name == "/":
        events.request.fire(request_type="TRANSACTION", name="as a whole", response_time=1.0, response_length=0,
                            response=response, exception=None, context={})
"""
    )
    with ScriptedServer() as server:
        run = locust.ours("--headless", "-t", 20, "-H", server.url, "--only-summary")
        received = len(server.requests)
    assert run.returncode == 0, run.stderr
    assert "stopped: the test has ended" in run.stdout
    rows = {row["text"]: row for row in locust.loadline.summary()["labels"]}
    counts = {text: row["count"] for text, row in rows.items()}
    assert counts == {"GET /there": 14, "GET /": 13, "GET /cookie": 13, "TRANSACTION as a whole": 13, "GET background": 1}
    # Each redirect is a separate hop.
    assert received == 40 + 14 + 1
    assert locust.loadline.summary()["requests"]["redirects"] == 14


def test_user_in_a_debugger_writes_a_record(locust):
    file = locust.write(
        """
import loadline.locust
from locust import HttpUser, run_single_user, task

class User(HttpUser):
    host = "URL"
    made = 0

    @task
    def get(self):
        self.client.get("/")
        self.made += 1
        if self.made == 5:
            raise KeyboardInterrupt

if __name__ == "__main__":
    try:
        run_single_user(User)
    except KeyboardInterrupt:
        pass
"""
    )
    with ScriptedServer() as server:
        file.write_text(file.read_text().replace("URL", server.url))
        run = subprocess.run([sys.executable, file], cwd=locust.folder, capture_output=True, text=True, timeout=30)
        assert len(server.requests) == 5
    assert "loadline: record " in run.stderr, run.stderr
    requests = locust.loadline.summary()["requests"]
    assert (requests["issued"], requests["ok"]) == (5, 5)


@pytest.mark.parametrize("user", ["HttpUser", "FastHttpUser"])
def test_users_beyond_the_select_limit_keep_their_connections(locust, start_lab, user):
    # Clients that use `select` lose good connections with descriptors above 1,023.
    lab = start_lab("truth")
    locust.write(ONE_GET.format(user=user).replace("constant(0.01)", "constant(1)"))
    run = locust.ours("--headless", "-u", 1100, "-r", 1100, "-t", 5, "-H", lab.url, "--only-summary")
    assert run.returncode == 0, run.stderr
    summary = locust.loadline.summary()
    assert summary["users"]["max"] == 1100
    assert summary["requests"]["issued"] >= 2 * 1100
    assert summary["connections_opened"] == 1100
