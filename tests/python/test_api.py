"""The Python API runs and reads what the command runs and shows."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading

import loadline as api
import pytest
from conftest import wait_until
from process_tree import arguments, children


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(runs)
        return api.run("lab:truth", rate="100/s", duration="2s", check=["errors < 5%"], seed=7, runs=runs / "kept")


def test_api_figures_equal_the_summary(finished_run):
    kept = json.loads((finished_run.folder / "summary.json").read_text())
    assert finished_run.summary == kept
    assert finished_run.requests == api.Requests(issued=200, ok=200, failed=0, unanswered=0)
    assert finished_run.arrivals == api.Arrivals(planned=200, started=200, skipped=0, unsent=0)
    assert finished_run.all.count == 200
    assert finished_run.all.codes == {200: 200}
    assert finished_run.all.service.p50_ms == kept["all"]["service"]["p50"]["ns"] / 1e6
    # 200 samples are too few for this percentile.
    assert finished_run.all.service.p99_9_ms is None
    assert [row.name for row in finished_run.rows] == ["GET /", "default"]
    assert finished_run.report.read_text().startswith("<!doctype html>")
    assert str(finished_run).startswith("http://")
    assert finished_run.measurement in ("VALID", "DEGRADED", "INVALID")


def test_percentiles_are_exact_and_infinite_for_unanswered_requests(finished_run):
    kept = finished_run.summary["all"]["response"]
    assert finished_run.percentile(90, "response") == kept["p90"]["ns"] / 1e6
    assert finished_run.percentile(90, "response", "GET /") == kept["p90"]["ns"] / 1e6
    assert finished_run.percentile(99.9, "response") is None
    assert finished_run.percentile(50, "ack") is None
    for bad in [(101, "service"), (50, "services"), (50, "service", "GET /nowhere")]:
        with pytest.raises(ValueError, match="is not a percentile|is not a valid kind|has no label"):
            finished_run.percentile(*bad)


def test_check_is_judged_like_a_criterion_of_the_run(finished_run):
    again = finished_run.check("errors < 5%")
    assert again == finished_run.criteria[0]
    assert (again.judgement, again.value) == ("PASS", 0)
    assert not finished_run.check("errors > 5%")
    assert finished_run.check('p99 of "GET /nowhere" < 1m').judgement == "INCONCLUSIVE"
    with pytest.raises(ValueError, match="'p99 << 1', column 6"):
        finished_run.check("p99 << 1")


def test_tables_have_columns_of_equal_length(finished_run):
    table = finished_run.table()
    assert table["name"] == ["all requests", "GET /", "default"]
    assert table["time"] == ["response", "response", "iteration"]
    assert {len(column) for column in table.values()} == {3}
    series = finished_run.series()
    assert sum(series["issued"]) == 200
    assert {len(column) for column in series.values()} == {len(series["from_ns"])}
    assert "service.p99" in series


def test_runs_are_opened_by_folder_and_name(finished_run):
    runs = finished_run.folder.parent
    for run in [api.open(finished_run.folder), api.open("last", runs), api.open(finished_run.folder.name, runs)]:
        assert run.summary == finished_run.summary
    with pytest.raises(FileNotFoundError):
        api.open("nowhere", runs)


def test_plan_may_be_a_dictionary_and_failing_raises_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = {"name": "by hand", "target": "http://127.0.0.1:9", "load": [{"rate": "20/s", "duration": "1s"}], "steps": [{"get": "/a"}]}
    with pytest.raises(api.Refused, match="plan.json"):
        api.run({**plan, "lode": 1})
    run = api.run(plan, target="lab:truth", check="p50 < 1ns")
    assert run.name == "by hand"
    assert run.requests.issued == 20
    # An invalid measurement is reported as such, not as a failure.
    assert run.verdict in ("FAIL", "INCONCLUSIVE", "INVALID")
    assert not run.criteria[0].passed


def test_refused_run_raises_an_exception(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(api.Refused, match="no-such-file.yml"):
        api.run("no-such-file.yml")
    with pytest.raises(api.Refused, match="column 1"):
        api.run("http://127.0.0.1:9/", check="nonsense")


def test_percentiles_without_answers_are_infinite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(api.Refused, match="none of 20 requests was answered, most often because of: connection refused"):
        api.run("http://127.0.0.1:9/", rate="20/s", duration="1s")
    # The record exists anyway.
    run = api.open("last")
    assert run.requests.unanswered == 20
    assert run.all.response.p50_ms == math.inf


def test_arguments_as_one_string_are_refused():
    with pytest.raises(TypeError, match="use a list"):
        api.run("lab:truth", arguments="--seed 1")


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM"])
def test_signal_to_the_command_keeps_a_complete_record(tmp_path, name):
    runs = tmp_path / "runs"

    def end() -> None:
        # The record is opened before the load starts and signals are handled.
        wait_until(lambda: any(path.stat().st_size for path in runs.glob("*/counters.jsonl")), "an interval")
        for child in children(os.getpid()):
            if any(b"lab:truth" in argument for argument in arguments(child)):
                os.kill(child, getattr(signal, name))

    ending = threading.Thread(target=end)
    ending.start()
    run = api.run("lab:truth", rate="20/s", duration="10m", runs=runs)
    ending.join()
    assert run.summary["run"]["state"] == "interrupted"
    requests = run.requests
    assert requests.issued == requests.ok + requests.failed + requests.unanswered + requests.in_flight


def test_requests_of_a_killed_run_include_those_in_flight(finished_run, tmp_path):
    copy = tmp_path / "killed"
    shutil.copytree(finished_run.folder, copy)
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


def test_interrupt_ends_the_run_and_keeps_its_record(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "runs")]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            out, _ = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
    assert out.split()[0] == "interrupted"
