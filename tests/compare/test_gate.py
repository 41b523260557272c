"""`loadline gate`: makes runs, compares them with a stored baseline, and exits with a code for CI.

Services answer after 200 ms or 600 ms. A busy machine is seldom late by a twentieth of that, and
then the gate repeats the run.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import xml.etree.ElementTree as Xml
from pathlib import Path

import fake_servers
import pytest
from conftest import wait_until

PLAN = """
loadline: 1
name: shop
load: {rate: 1500/s, duration: 20ms}
steps:
  - get: /order
"""
# The difference is larger than any effect of a busy machine.
FLAGS = ("--metric", "service p50", "--margin", "80%")


@pytest.fixture
def gate(loadline):
    loadline.write("plan.yml", PLAN)

    def gate(lab, *args: str, file: str = "plan.yml", runs: int = 1, code: int = 0):
        path = loadline.folder / "gate.json"
        path.unlink(missing_ok=True)
        flags = (*FLAGS, "--runs-each", str(runs), "--json", path)
        ran = loadline("gate", file, "--target", lab.url, *flags, *args, timeout=120)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran, json.loads(path.read_text()) if path.exists() else None

    return gate


@pytest.fixture
def fast(start_lab):
    return start_lab("truth", "mode=constant", "service=200ms")


@pytest.fixture
def slow(start_lab):
    return start_lab("truth", "mode=constant", "service=600ms")


def run_names(loadline) -> list[str]:
    return sorted(run.name for run in (loadline.folder / ".loadline/runs").glob("2*"))


def test_gate_passes_equal_service_and_fails_slower_one(loadline, gate, fast, slow):
    _, result = gate(fast, "--save-baseline", "main", runs=4)
    assert result["saved"] == "main"
    kept = loadline.folder / ".loadline/baselines/main"
    assert sorted(run.name for run in kept.iterdir()) == run_names(loadline)[-4:]
    ran, result = gate(fast, "--baseline", "main", runs=4)
    assert result["verdict"] == "passed"
    assert [len(result["comparison"][side]["runs"]) for side in ("baseline", "candidate")] == [4, 4]
    assert len(re.findall(r"^run \d of 4 ", ran.stderr, re.M)) == 4
    outputs = ("--junit", "gate.xml", "--markdown", "gate.md", "--save-baseline", "main")
    ran, result = gate(slow, "--baseline", "main", *outputs, runs=4, code=1)
    assert (result["verdict"], result["exit_code"], result["saved"]) == ("failed", 1, None)
    assert "gate: FAIL  worse by more than the margin: service p50" in ran.stdout
    assert "the baseline `main` is unchanged" in ran.stderr
    assert len(run_names(loadline)) >= 12
    comment = (loadline.folder / "gate.md").read_text()
    assert comment.startswith("### FAIL – worse by more than the margin: service p50\n\n| Figure")
    assert "4 runs of `plan.yml` (open, 1500/s evenly spaced for 20 ms) against 4 of `main`" in comment
    suite = Xml.parse(loadline.folder / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failed = suite.find(".//testcase[@name='service p50 against main']/failure")
    assert "REGRESSED" in failed.get("message")
    # Gate runs are ordinary runs with the gate's tag; the page has the verdict, the criteria and the comparison.
    tag = result["comparison"]["candidate"]["name"]
    listed = json.loads(loadline("list", "--tag", tag, "--json", "-").stdout)
    assert len(listed) == 4
    report = loadline.folder / f".loadline/comparisons/main-{tag}/report.html"
    page = report.read_text()
    assert "<h1>Gate: plan.yml</h1>" in page
    assert "<h2>What is judged</h2>" in page
    assert "</svg>FAIL</span>" in page
    assert "<dt>what to do</dt>" in page


def test_runs_by_tag_are_a_baseline_and_few_give_a_hint(loadline, gate, fast):
    for _ in range(20):
        if loadline("run", "plan.yml", "--target", fast.url, "--tag", "main").returncode != 4:
            break
        shutil.rmtree(loadline.folder / ".loadline/runs")
    _, result = gate(fast, "--baseline", "tag:main", "--junit", "gate.xml", code=5)
    assert result["verdict"] == "inconclusive"
    assert "only a hint" in result["sentence"]
    assert Xml.parse(loadline.folder / "gate.xml").getroot().get("errors") == "1"


def test_failed_criterion_fails_the_gate(loadline, gate, fast):
    gate(fast, "--save-baseline", "main")
    _, result = gate(
        fast, "--baseline", "main", "--junit", "gate.xml", "--", "--check", "service p50 < 1ms", "--check", "errors < 1%", code=1
    )
    assert result["comparison"]["verdict"] != "regressed"
    assert [(one["text"], one["judgement"], one["runs"]) for one in result["criteria"]] == [
        ("service p50 < 1ms", "FAIL", 1),
        ("errors < 1%", "PASS", 1),
    ]
    assert "service p50 < 1ms does not hold in 1 of 1 runs" in result["sentence"]
    assert Xml.parse(loadline.folder / "gate.xml").getroot().get("failures") == "1"


def test_failing_version_can_be_saved_as_baseline(loadline, gate, fast, slow):
    check = ("--", "--check", "service p50 < 500ms")
    ran, result = gate(slow, "--save-baseline", "old", *check, runs=4, code=1)
    assert (result["verdict"], result["saved"]) == ("failed", "old")
    assert "these runs are the new baseline `old`" in ran.stdout
    _, result = gate(fast, "--baseline", "old", *check, runs=4)
    assert result["verdict"] == "passed"
    assert [one["judgement"] for one in result["criteria"]] == ["PASS"]
    # An undecided criterion does not prevent saving.
    _, result = gate(fast, "--save-baseline", "few", "--", "--check", "p99.99 < 1s", code=5)
    assert result["saved"] == "few"
    # A version that still fails does not replace the baseline it is compared with.
    ran, result = gate(slow, "--baseline", "old", "--save-baseline", "old", *check, code=1)
    assert result["saved"] is None
    assert "the baseline `old` is unchanged: the baseline is replaced only by runs that pass" in ran.stderr
    # Runs that a stop rule ended cannot be compared.
    rule = ("--rate", "200/s", "--duration", "20s", "--stop", "service p50 > 1ms for 1s: stop fail")
    ran, result = gate(fast, "--save-baseline", "cut", "--", *rule, code=1)
    assert result["saved"] is None
    assert "the baseline `cut` is unchanged: " in ran.stderr


def test_different_load_is_reported_after_the_first_run(loadline, gate, fast):
    gate(fast, "--save-baseline", "main")
    _, result = gate(fast, "--baseline", "main", "--", "--rate", "1400/s", "--duration", "20ms", runs=3, code=2)
    assert result["verdict"] == "incomparable"
    assert "the loads differ" in result["sentence"]
    assert len(result["runs"]) == 1


def test_run_ended_by_a_stop_rule_fails_the_gate(loadline, gate, fast):
    gate(fast, "--save-baseline", "main")
    rule = ("--rate", "200/s", "--duration", "20s", "--stop", "service p50 > 1ms for 1s: stop fail")
    _, result = gate(fast, "--baseline", "main", "--", *rule, runs=3, code=1)
    assert len(result["runs"]) == 1
    assert "was stopped" in result["sentence"]


def test_invalid_baseline_measurement_exits_with_4(loadline, gate, fast):
    gate(fast, "--save-baseline", "main")
    (record,) = (loadline.folder / ".loadline/baselines/main").iterdir()
    # The record now says that fewer requests were sent than were due.
    manifest = json.loads((record / "manifest.json").read_text())
    manifest["load"]["planned"] += 50
    (record / "manifest.json").write_text(json.dumps(manifest))
    counters = record / "counters.jsonl"
    lines = [json.loads(line) for line in counters.read_text().splitlines()]
    lines[0]["run"]["arrivals"]["due"] += 50
    counters.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = run_names(loadline)
    ran, _ = gate(fast, "--baseline", "main", code=4)
    assert "is INVALID" in ran.stderr
    assert run_names(loadline) == before


def manifests(loadline) -> list[Path]:
    return list((loadline.folder / ".loadline/runs").glob("2*/manifest.json"))


def test_gate_signal_keeps_finished_runs(loadline, gate, fast):
    gate(fast, "--save-baseline", "main")
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        shutil.rmtree(loadline.folder / ".loadline/runs")
        running = loadline.start("gate", "plan.yml", "--target", fast.url, "--baseline", "main", "--anyway")
        wait_until(lambda: len(manifests(loadline)) >= 2, "a second run")
        running.send_signal(number)
        _, result = running.communicate(timeout=60)
        assert running.returncode == code, result
        assert "stopped by a signal" in result
        states = [json.loads(manifest.read_text())["state"] for manifest in manifests(loadline)]
        assert "complete" in states


def test_gate_bad_input_is_reported_before_any_request(loadline):
    loadline.write("plan.yml", PLAN)
    loadline.write(
        "wrong.yml", "loadline: 1\ntarget: http://127.0.0.1:1\nnothing: here\nload: {rate: 1/s, duration: 1s}\nsteps: [{get: /}]\n"
    )
    for args, said in [
        (("plan.yml", "--baseline", "main"), "create it with `loadline gate plan.yml --save-baseline main`"),
        (("plan.yml", "--baseline", "tag:main"), "no run in .loadline/runs has the tag `main`"),
        (("plan.yml", "--baseline", "main", "--metric", "p50 of"), "--metric"),
        (("plan.yml", "--baseline", "main", "--margin", "5"), "--margin"),
        (("plan.yml", "--save-baseline", "../main"), "--save-baseline `../main`"),
        (("wrong.yml", "--save-baseline", "main"), "wrong.yml:3:1"),
        (("nowhere.yml", "--save-baseline", "main"), "nowhere.yml"),
    ]:
        ran = loadline("gate", *args)
        assert ran.returncode == 2, (args, ran.stdout, ran.stderr)
        assert said in ran.stderr, (args, ran.stderr)
        assert len(ran.stderr.splitlines()) == 1, (args, ran.stderr)
    ran = loadline("gate", "plan.yml")
    assert ran.returncode == 2
    assert "--baseline" in ran.stderr
    assert not list((loadline.folder / ".loadline").glob("comparisons/*"))


SCRIPT = """
config:
  target: TARGET
  phases: [{duration: 1, arrivalRate: 30}]
scenarios:
  - flow: [{get: {url: /order}}]
"""


def test_gate_accepts_test_files_of_other_tools(loadline, gate, fast):
    loadline.write("artillery.yml", SCRIPT.replace("TARGET", fast.url))
    _, result = gate(fast, "--save-baseline", "old", file="artillery.yml")
    assert len(result["runs"]) == 1


def test_gate_without_responses_does_not_pass(loadline, gate):
    with fake_servers.FakeServer(fake_servers.ok_with(b"x")) as server:
        url = server.url
    ran = loadline("gate", "plan.yml", "--target", url, "--save-baseline", "main", "--runs-each", "1")
    assert ran.returncode == 3
    assert "gate: NO ANSWER  no request to " in ran.stdout
    assert not (loadline.folder / ".loadline/baselines/main").exists()
