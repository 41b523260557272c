"""The Python API: what is run and read from Python is what the command runs and shows."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import loadline as api
import pytest
from conftest import until


@pytest.fixture(scope="module")
def a_run(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(runs)
        return api.run("lab:truth", rate="100/s", duration="2s", check=["errors < 5%"], seed=7, runs=runs / "kept")


def test_figures_are_those_of_the_summary(a_run):
    kept = json.loads((a_run.folder / "summary.json").read_text())
    assert a_run.summary == kept
    assert a_run.requests == api.Requests(issued=200, ok=200, failed=0, unanswered=0)
    assert a_run.arrivals == api.Arrivals(planned=200, started=200, skipped=0, unsent=0)
    assert a_run.all.count == 200
    assert a_run.all.codes == {200: 200}
    assert a_run.all.service.p50_ms == kept["all"]["service"]["p50"]["ns"] / 1e6
    # 200 samples are too few for this one.
    assert a_run.all.service.p99_9_ms is None
    assert [row.name for row in a_run.rows] == ["GET /", "default"]
    assert a_run.report.read_text().startswith("<!doctype html>")
    assert str(a_run).startswith("http://")
    assert a_run.measurement in ("VALID", "DEGRADED", "INVALID")


def test_percentiles_are_exact_and_unanswered_ones_are_infinite(a_run):
    kept = a_run.summary["all"]["response"]
    assert a_run.percentile(90, "response") == kept["p90"]["ns"] / 1e6
    assert a_run.percentile(90, "response", "GET /") == kept["p90"]["ns"] / 1e6
    assert a_run.percentile(99.9, "response") is None
    assert a_run.percentile(50, "ack") is None
    for bad in [(101, "service"), (50, "services"), (50, "service", "GET /nowhere")]:
        with pytest.raises(ValueError, match="is not a percentile|is no kind|is called"):
            a_run.percentile(*bad)


def test_a_criterion_is_judged_as_one_of_the_run_s_own(a_run):
    again = a_run.check("errors < 5%")
    assert again == a_run.criteria[0]
    assert (again.judgement, again.value) == ("PASS", 0)
    assert not a_run.check("errors > 5%")
    assert a_run.check('p99 of "GET /nowhere" < 1m').judgement == "INCONCLUSIVE"
    with pytest.raises(ValueError, match="'p99 << 1', column 6"):
        a_run.check("p99 << 1")


def test_tables_are_columns_of_one_length(a_run):
    table = a_run.table()
    assert table["name"] == ["all requests", "GET /", "default"]
    assert table["time"] == ["response", "response", "iteration"]
    assert {len(column) for column in table.values()} == {3}
    series = a_run.series()
    assert sum(series["issued"]) == 200
    assert {len(column) for column in series.values()} == {len(series["from_ns"])}
    assert "service.p99" in series


def test_runs_are_found_as_by_the_command(a_run):
    runs = a_run.folder.parent
    for run in [api.open(a_run.folder), api.open("last", runs), api.open(a_run.folder.name, runs)]:
        assert run.summary == a_run.summary
    with pytest.raises(FileNotFoundError):
        api.open("nowhere", runs)


def test_a_plan_may_be_a_dictionary_and_failing_is_no_exception(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = {"name": "by hand", "target": "http://127.0.0.1:9", "load": [{"rate": "20/s", "duration": "1s"}], "steps": [{"get": "/a"}]}
    with pytest.raises(api.Refused, match="plan.json"):
        api.run({**plan, "lode": 1})
    run = api.run(plan, target="lab:truth", check="p50 < 1ns")
    assert run.name == "by hand"
    assert run.requests.issued == 20
    # A measurement that the machine has spoilt is no failure, and is said to be none.
    assert run.verdict in ("FAIL", "INCONCLUSIVE", "INVALID")
    assert not run.criteria[0].passed


def test_nothing_that_could_be_measured_is_an_exception(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(api.Refused, match="no-such-file.yml"):
        api.run("no-such-file.yml")
    with pytest.raises(api.Refused, match="column 1"):
        api.run("http://127.0.0.1:9/", check="nonsense")


def test_without_answers_percentiles_are_infinite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(api.Refused, match="none of 20 requests was answered, most often because of: connection refused"):
        api.run("http://127.0.0.1:9/", rate="20/s", duration="1s")
    # The record is there all the same.
    run = api.open("last")
    assert run.requests.unanswered == 20
    assert run.all.response.p50_ms == math.inf


def test_arguments_as_one_text_are_refused():
    with pytest.raises(TypeError, match="give a list"):
        api.run("lab:truth", arguments="--seed 1")


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM"])
def test_a_signal_to_the_command_leaves_a_full_record(tmp_path, name):
    runs = tmp_path / "runs"

    def end() -> None:
        # The record is opened before the load begins and signals are heard.
        until(lambda: any(path.stat().st_size for path in runs.glob("*/counters.jsonl")), "an interval")
        children = Path(f"/proc/self/task/{threading.main_thread().native_id}/children").read_text().split()
        for child in children:
            if "lab:truth" in Path(f"/proc/{child}/cmdline").read_text():
                os.kill(int(child), getattr(signal, name))

    ending = threading.Thread(target=end)
    ending.start()
    run = api.run("lab:truth", rate="20/s", duration="10m", runs=runs)
    ending.join()
    assert run.summary["run"]["state"] == "interrupted"
    requests = run.requests
    assert requests.issued == requests.ok + requests.failed + requests.unanswered + requests.in_flight


def test_requests_of_a_killed_run_include_those_in_flight(a_run, tmp_path):
    copy = tmp_path / "killed"
    shutil.copytree(a_run.folder, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["state"] = "running"
    del manifest["end"]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    counters = (copy / "counters.jsonl").read_text()
    (copy / "counters.jsonl").write_text(counters.replace('"issued":', '"issued":1', 1))
    requests = api.open(copy).requests
    assert requests.in_flight > 0
    assert requests.issued == requests.ok + requests.failed + requests.unanswered + requests.in_flight


INTERRUPTED = """
import sys, threading, _thread, loadline
runs = sys.argv[1]
# Long enough for the interrupt to come in its middle, however slow this machine is.
def when_it_runs():
    import pathlib, time
    while not list(pathlib.Path(runs).glob("*/counters.jsonl")):
        time.sleep(0.05)
    _thread.interrupt_main()
threading.Thread(target=when_it_runs, daemon=True).start()
try:
    loadline.run("lab:truth", rate="20/s", duration="10m", runs=runs)
except KeyboardInterrupt:
    run = loadline.open("last", runs=runs)
    print(run.summary["run"]["state"], run.summary["run"]["ended_by"])
"""


def test_an_interrupt_ends_the_run_and_keeps_what_there_is(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "runs")]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            out, _ = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
    assert out.split()[0] == "interrupted"
