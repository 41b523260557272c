"""A gate: runs that are made for it, a baseline that was kept, and a code that a pipeline understands. Services answer after 0.2 s, or
after 0.6: in the moment in which all is sent a busy machine is seldom late by a twentieth of that, and then it is asked again."""

from __future__ import annotations

import json
import re
import shutil
import signal
import xml.etree.ElementTree as Xml
from pathlib import Path

import peers
import pytest
from conftest import until

PLAN = """
loadline: 1
name: shop
load: {rate: 1500/s, duration: 20ms}
steps:
  - get: /order
"""
# So far apart that no machine, however busy, makes one of the other.
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


def made(loadline) -> list[str]:
    return sorted(run.name for run in (loadline.folder / ".loadline/runs").glob("2*"))


def test_what_is_as_it_was_passes_and_what_is_slower_does_not(loadline, gate, fast, slow):
    _, told = gate(fast, "--save-baseline", "main", runs=4)
    assert told["saved"] == "main"
    kept = loadline.folder / ".loadline/baselines/main"
    assert sorted(run.name for run in kept.iterdir()) == made(loadline)[-4:]
    ran, told = gate(fast, "--baseline", "main", runs=4)
    assert told["verdict"] == "passed"
    assert [len(told["comparison"][side]["runs"]) for side in ("baseline", "candidate")] == [4, 4]
    assert len(re.findall(r"^run \d of 4 ", ran.stderr, re.M)) == 4
    outputs = ("--junit", "gate.xml", "--markdown", "gate.md", "--save-baseline", "main")
    ran, told = gate(slow, "--baseline", "main", *outputs, runs=4, code=1)
    assert (told["verdict"], told["exit_code"], told["saved"]) == ("failed", 1, None)
    assert "gate: FAIL  worse by more than the margin: service p50" in ran.stdout
    assert "the baseline `main` is left as it is" in ran.stderr
    assert len(made(loadline)) >= 12
    comment = (loadline.folder / "gate.md").read_text()
    assert comment.startswith("### FAIL – worse by more than the margin: service p50\n\n| Figure")
    assert "4 runs of `plan.yml` (open, 1500/s even for 20 ms) against 4 of `main`" in comment
    suite = Xml.parse(loadline.folder / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failed = suite.find(".//testcase[@name='service p50 against main']/failure")
    assert "REGRESSED" in failed.get("message")
    # The runs are runs like any others, found by the gate's tag, and the report is compare's.
    tag = told["comparison"]["candidate"]["name"]
    listed = json.loads(loadline("list", "--tag", tag, "--json", "-").stdout)
    assert len(listed) == 4
    report = loadline.folder / f".loadline/comparisons/main-{tag}/report.html"
    assert "<svg" in report.read_text()


def test_runs_by_tag_are_a_baseline_too_and_few_of_them_a_hint(loadline, gate, fast):
    for _ in range(20):
        if loadline("run", "plan.yml", "--target", fast.url, "--tag", "main").returncode != 4:
            break
        shutil.rmtree(loadline.folder / ".loadline/runs")
    _, told = gate(fast, "--baseline", "tag:main", "--junit", "gate.xml", code=5)
    assert told["verdict"] == "inconclusive"
    assert "only a hint" in told["sentence"]
    assert Xml.parse(loadline.folder / "gate.xml").getroot().get("errors") == "1"


def test_a_criterion_that_fails_fails_the_gate(loadline, gate, fast):
    gate(fast, "--save-baseline", "main")
    _, told = gate(
        fast, "--baseline", "main", "--junit", "gate.xml", "--", "--check", "service p50 < 1ms", "--check", "errors < 1%", code=1
    )
    assert told["comparison"]["verdict"] != "regressed"
    assert [(one["text"], one["judgement"], one["runs"]) for one in told["criteria"]] == [
        ("service p50 < 1ms", "FAIL", 1),
        ("errors < 1%", "PASS", 1),
    ]
    assert "service p50 < 1ms does not hold in 1 of 1 runs" in told["sentence"]
    assert Xml.parse(loadline.folder / "gate.xml").getroot().get("failures") == "1"


def test_a_version_that_fails_is_a_baseline_for_its_repair(loadline, gate, fast, slow):
    check = ("--", "--check", "service p50 < 500ms")
    ran, told = gate(slow, "--save-baseline", "old", *check, runs=4, code=1)
    assert (told["verdict"], told["saved"]) == ("failed", "old")
    assert "these runs are the baseline `old` from now on" in ran.stdout
    _, told = gate(fast, "--baseline", "old", *check, runs=4)
    assert told["verdict"] == "passed"
    assert [one["judgement"] for one in told["criteria"]] == ["PASS"]
    # A criterion that cannot be decided is no reason either.
    _, told = gate(fast, "--save-baseline", "few", "--", "--check", "p99.99 < 1s", code=5)
    assert told["saved"] == "few"
    # One that still fails does not replace what it is compared with.
    ran, told = gate(slow, "--baseline", "old", "--save-baseline", "old", *check, code=1)
    assert told["saved"] is None
    assert "the baseline `old` is left as it is: only runs that pass" in ran.stderr
    # Runs that a rule ends cannot be compared with anything.
    rule = ("--rate", "200/s", "--duration", "20s", "--stop", "service p50 > 1ms for 1s: stop fail")
    ran, told = gate(fast, "--save-baseline", "cut", "--", *rule, code=1)
    assert told["saved"] is None
    assert "the baseline `cut` is left as it is: " in ran.stderr


def test_another_load_is_told_behind_the_first_run(loadline, gate, fast):
    gate(fast, "--save-baseline", "main")
    _, told = gate(fast, "--baseline", "main", "--", "--rate", "1400/s", "--duration", "20ms", runs=3, code=2)
    assert told["verdict"] == "incomparable"
    assert "the loads differ" in told["sentence"]
    assert len(told["runs"]) == 1


def test_a_run_that_a_rule_stops_has_failed(loadline, gate, fast):
    gate(fast, "--save-baseline", "main")
    rule = ("--rate", "200/s", "--duration", "20s", "--stop", "service p50 > 1ms for 1s: stop fail")
    _, told = gate(fast, "--baseline", "main", "--", *rule, runs=3, code=1)
    assert len(told["runs"]) == 1
    assert "was stopped" in told["sentence"]


def test_a_measurement_that_cannot_be_trusted_is_worth_nothing(loadline, gate, fast):
    gate(fast, "--save-baseline", "main")
    (record,) = (loadline.folder / ".loadline/baselines/main").iterdir()
    # More was due than was sent: the record says so from now on.
    manifest = json.loads((record / "manifest.json").read_text())
    manifest["load"]["planned"] += 50
    (record / "manifest.json").write_text(json.dumps(manifest))
    counters = record / "counters.jsonl"
    lines = [json.loads(line) for line in counters.read_text().splitlines()]
    lines[0]["run"]["arrivals"]["due"] += 50
    counters.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = made(loadline)
    ran, _ = gate(fast, "--baseline", "main", code=4)
    assert "is INVALID" in ran.stderr
    assert made(loadline) == before


def manifests(loadline) -> list[Path]:
    return list((loadline.folder / ".loadline/runs").glob("2*/manifest.json"))


def test_a_signal_keeps_what_is_finished(loadline, gate, fast):
    gate(fast, "--save-baseline", "main")
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        shutil.rmtree(loadline.folder / ".loadline/runs")
        running = loadline.start("gate", "plan.yml", "--target", fast.url, "--baseline", "main", "--anyway")
        until(lambda: len(manifests(loadline)) >= 2, "a second run")
        running.send_signal(number)
        _, told = running.communicate(timeout=60)
        assert running.returncode == code, told
        assert "stopped by a signal" in told
        states = [json.loads(manifest.read_text())["state"] for manifest in manifests(loadline)]
        assert "complete" in states


def test_bad_input_is_told_before_anything_is_sent(loadline):
    loadline.write("plan.yml", PLAN)
    loadline.write(
        "wrong.yml", "loadline: 1\ntarget: http://127.0.0.1:1\nnothing: here\nload: {rate: 1/s, duration: 1s}\nsteps: [{get: /}]\n"
    )
    for args, said in [
        (("plan.yml", "--baseline", "main"), "make one with `loadline gate plan.yml --save-baseline main`"),
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


def test_whatever_loadline_runs_has_a_gate(loadline, gate, fast):
    loadline.write("artillery.yml", SCRIPT.replace("TARGET", fast.url))
    _, told = gate(fast, "--save-baseline", "old", file="artillery.yml")
    assert len(told["runs"]) == 1


def test_no_answers_are_no_pass(loadline, gate):
    with peers.Peer(peers.ok(b"x")) as server:
        url = server.url
    ran = loadline("gate", "plan.yml", "--target", url, "--save-baseline", "main", "--runs-each", "1")
    assert ran.returncode == 3
    assert "gate: NO ANSWER  no request of " in ran.stdout
    assert not (loadline.folder / ".loadline/baselines/main").exists()
