"""`loadline run`: from a URL or a file to a summary, a record and an exit code."""

import json
import re
import signal
import subprocess
import tempfile
from pathlib import Path

import fake_servers
import pytest
from conftest import Loadline, wait_until


def test_url_run_is_rendered_identically_from_its_record(loadline, start_lab):
    lab = start_lab("sum")
    run = loadline("run", f"{lab.url}/api/sum", "--rate", "200/s", "--duration", "2s")
    assert run.returncode == 0, run.stderr
    assert "Arrivals   400 planned = 400 started + 0 skipped + 0 unsent" in run.stdout
    assert "Requests   400 issued = 400 ok + 0 failed + 0 without a response" in run.stdout
    assert lab.stats()["answered"]["by_route"] == {"GET /api/sum": {"200": 400}}
    # An iteration equals its only request, so it has no separate row.
    assert "\niteration" not in run.stdout
    assert "default" not in run.stdout
    again = loadline("report", "last")
    assert again.returncode == 0
    assert again.stdout == run.stdout


def test_url_without_flags_sends_ten_per_second_for_ten_seconds(loadline):
    with fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        run = loadline("run", peer.url)
    assert run.returncode == 0
    assert "100 planned = 100 started" in run.stdout
    assert "10/s evenly spaced for 10 s" in run.stdout


def test_closed_loop_agrees_with_the_target(loadline, start_lab):
    lab = start_lab("sum")
    run = loadline("run", f"{lab.url}/api/sum", "--connections", "3", "--duration", "1s")
    assert run.returncode == 0
    assert "closed loop, 3 users for 1 s: each user sees a stall only once" in " ".join(run.stdout.split())
    summary = loadline.summary()
    assert summary["requests"]["issued"] == lab.stats()["answered"]["total"] > 100
    assert summary["connections_opened"] == 3


def test_criteria_decide_the_exit_code(loadline, start_lab):
    url = f"{start_lab('sum').url}/api/sum"
    short = ("--rate", "500/s", "--duration", "1s")
    passed = loadline("run", url, *short, "--check", "p50 < 10s", "--check", "errors < 1%")
    assert passed.returncode == 0
    assert passed.stdout.count("PASS ") == 3, "two criteria and the verdict"
    failed = loadline("run", url, *short, "--check", "rate > 10000/s")
    assert failed.returncode == 1
    assert "FAIL" in failed.stdout
    few = loadline("run", url, "--rate", "20/s", "--duration", "1s", "--check", "p99.9 < 1s")
    assert few.returncode == 5
    assert "INCONCLUSIVE" in few.stdout


def test_status_of_400_and_above_is_a_failed_request(loadline, start_lab):
    run = loadline("run", f"{start_lab('sum').url}/nowhere", "--rate", "20/s", "--duration", "1s", "--check", "errors < 1%")
    assert run.returncode == 1
    assert "20 issued = 0 ok + 20 failed + 0 without a response" in run.stdout
    assert "status 404" in run.stdout


def test_scenario_is_compared_with_its_share_of_the_plan(loadline, start_lab):
    plan = loadline.write(
        "two.yml",
        """
loadline: 1
target: http://unused.invalid
load: {rate: 100/s, duration: 2s}
scenarios:
  - {name: often, weight: 3, steps: [{get: "/api/sum?a=1&b=2"}]}
  - {name: seldom, weight: 1, steps: [{get: "/api/sum?a=1&b=2"}, {get: /nowhere}]}
""",
    )
    run = loadline("run", plan, "--target", start_lab("sum").url, "--seed", "7")
    assert run.returncode == 0
    often, seldom = loadline.summary()["scenarios"]
    # The draw is a function of the seed: the planned number per scenario is exact.
    assert often["planned"] + seldom["planned"] == 200
    assert 120 < often["planned"] < 180
    for row in (often, seldom):
        assert row["ended"] == row["planned"] == row["completed"] + row["failed"]
        assert row["planned_per_hour"] == row["planned"] * 1800
    assert often["of_plan"] == 1


def test_native_plan_with_phases_and_criteria(loadline, start_lab):
    lab = start_lab("fhir")
    plan = loadline.write(
        "plan.yml",
        """
loadline: 1
target: http://unused.invalid
load: [{rate: 20/s, duration: 1s, name: warm}, {from: 20/s, to: 40/s, duration: 2s, name: ramp}]
scenarios:
  - name: patients
    steps:
      - post:
          url: /fhir/R4/Patient
          headers: {Authorization: Bearer demo}
          json: {resourceType: Patient, name: [{family: "{{ $randomString(8) }}"}]}
          capture: {id: $.id}
      - get: {url: "/fhir/R4/Patient/{{ id }}", headers: {Authorization: Bearer demo}}
criteria: [errors < 1%, service p50 in "ramp" < 5s]
""",
    )
    run = loadline("run", plan, "--target", lab.url)
    assert run.returncode == 0, run.stdout + run.stderr
    summary = loadline.summary()
    assert summary["arrivals"]["planned"] == 20 + 60
    assert summary["requests"]["issued"] == 160 == lab.stats()["answered"]["total"]
    assert [criterion["judgement"] for criterion in summary["criteria"]] == ["PASS", "PASS"]


def test_lab_as_target_is_embedded(loadline):
    run = loadline("run", "lab:sum", "--rate", "50/s", "--duration", "1s")
    assert run.returncode == 0, run.stderr
    assert "50 ok" in run.stdout


def test_once_and_trace_hide_secrets(loadline, start_lab):
    script = loadline.write(
        "s.yml",
        """
config: {target: http://x.invalid, variables: {auth: Bearer top-secret-value}}
scenarios:
  - flow:
      - get: {url: /fhir/R4/Patient, headers: {Authorization: "{{ auth }}"}}
""",
    )
    lab = start_lab("fhir", "--token", "top-secret-value")
    run = loadline("run", script, "--target", lab.url, "--once", "--trace")
    assert run.returncode == 0, run.stderr
    assert "> GET /fhir/R4/Patient HTTP/1.1" in run.stdout
    assert "< 200" in run.stdout
    assert "top-secret-value" not in run.stdout + run.stderr
    grep = subprocess.run(["grep", "-r", "top-secret-value", ".loadline"], cwd=loadline.folder, capture_output=True)
    assert grep.returncode == 1, grep.stdout


def test_json_is_written_to_the_named_file(loadline):
    with fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        loadline("run", peer.url, "--rate", "10/s", "--duration", "1s", "--json", "out.json")
    summary = json.loads((loadline.folder / "out.json").read_text())
    assert summary["requests"]["ok"] == 10
    assert summary == loadline.summary()


def test_interrupt_ends_arrivals_and_keeps_the_report(loadline):
    with fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        run = loadline.start("run", peer.url, "--rate", "100/s", "--duration", "60s")
        runs = loadline.folder / ".loadline/runs/last/counters.jsonl"
        wait_until(lambda: runs.exists() and runs.read_text().count('"end":true') >= 2, "the second interval")
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=20)
    assert run.returncode == 130
    assert "ended early" in out
    requests = loadline.summary()["requests"]
    assert requests["issued"] == requests["ok"] > 50
    assert loadline.summary()["arrivals"]["adds_up"]


def test_second_interrupt_abandons_requests_in_flight(loadline):
    with fake_servers.FakeServer(fake_servers.never_answer) as peer:
        run = loadline.start("run", peer.url, "--rate", "20/s", "--duration", "60s")
        runs = loadline.folder / ".loadline/runs/last/counters.jsonl"
        wait_until(lambda: runs.exists() and '"end":true' in runs.read_text(), "the first interval")
        # Two different signals: two of one kind could merge into one, and a third would end the
        # process immediately.
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=20)
    assert run.returncode in (130, 143)
    requests = loadline.summary()["requests"]
    assert requests["issued"] == requests["none_by_class"]["unfinished"] > 0


def test_lab_without_a_name_lists_all_labs(loadline: Loadline):
    listed = loadline("lab")
    assert listed.returncode == 0
    assert {"sum", "fhir"} <= {line.split()[0] for line in listed.stdout.splitlines()}


def test_signal_ends_an_endless_artillery_scenario(loadline):
    with fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        text = f"config: {{target: '{peer.url}'}}\nscenarios: [{{flow: [{{loop: [{{get: {{url: /}}}}], count: 0}}]}}]\n"
        run = loadline.start("artillery", "run", loadline.write("s.yml", text), "-o", "out.json")
        counters = loadline.folder / ".loadline/runs/last/counters.jsonl"
        wait_until(lambda: counters.exists() and '"issued":' in counters.read_text(), "the first request in the record")
        run.send_signal(signal.SIGTERM)
        out, _ = run.communicate(timeout=30)
    assert run.returncode == 143
    assert "Summary report" in out
    assert json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]["http.requests"] > 0


def test_captured_secret_is_redacted(loadline):
    secret = "s3cr3t-from-the-answer"
    plan = """
loadline: 1
target: TARGET
load: {rate: 1/s, duration: 1s}
steps:
  - get: {url: /login, capture: {token: $.token}}
  - get: "/with/{{ token }}"
  - get: "http://[x/{{ token }}"
"""
    with fake_servers.FakeServer(fake_servers.ok_with(b'{"token":"%s"}' % secret.encode())) as peer:
        run = loadline("run", loadline.write("p.yml", plan.replace("TARGET", peer.url)), "--once", "--trace")
    assert "> GET /with/‹redacted:" in run.stdout
    assert secret not in run.stdout.split("> GET /with/")[1]
    grep = subprocess.run(["grep", "-r", secret, ".loadline"], cwd=loadline.folder, capture_output=True)
    assert grep.returncode == 1, grep.stdout


def test_contradicting_flags_and_loads_without_arrivals_are_refused(loadline):
    url = "http://127.0.0.1:1"
    for flags, word in [
        (("--target", url), "--target"),
        (("--once", "--rate", "5/s"), "--once"),
        (("--rate", "0/s"), "no arrivals"),
        (("--rate", "1/s", "--duration", "1ms"), "no arrivals"),
    ]:
        run = loadline("run", url, *flags)
        assert run.returncode == 2, run.stderr
        assert word in run.stderr


@pytest.mark.parametrize("paced", [False, True])
def test_interrupted_fast_run_adds_up(loadline, start_lab, paced):
    url = f"{start_lab('sum').url}/api/sum"
    native = ("run", url, "--rate", "4000/s", "--duration", "60s")
    run = loadline.start(*(("wrk", "-R4000", "-t1", "-c20", "-d60s", url) if paced else native))
    counters = loadline.folder / ".loadline/runs/last/counters.jsonl"
    wait_until(lambda: counters.exists() and counters.read_text().count('"end":true') >= 2, "two intervals")
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=30)
    arrivals = loadline.summary()["arrivals"]
    assert arrivals["adds_up"], (arrivals, err)
    assert arrivals["until_stop"]
    assert arrivals["planned"] >= arrivals["started"] > 1000
    assert "does not add up" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_demo_leaves_no_process_and_no_files(loadline, number):
    demo = loadline.start("demo")
    folder = Path(tempfile.gettempdir()) / f"loadline-{demo.pid}"
    counters = loadline.folder / ".loadline/runs/last/counters.jsonl"
    wait_until(lambda: counters.exists() and counters.stat().st_size > 0, "the first interval")
    demo.send_signal(number)
    out, err = demo.communicate(timeout=30)
    assert demo.returncode == 128 + number, err
    assert "ended early (" in out
    assert not folder.exists()
    manifest = json.loads((counters.parent / "manifest.json").read_text())
    assert manifest["state"] == "interrupted"
    assert not Path(f"/proc/{manifest['pid']}").exists()


def test_pacing_slack_prevents_spinning(loadline, start_lab):
    lab = start_lab("sum")

    def spun_ns(*flags) -> int:
        run = loadline("run", f"{lab.url}/api/sum", "--rate", "2000/s", "--duration", "2s", *flags)
        assert run.returncode == 0, run.stdout + run.stderr
        intervals = (loadline.folder / ".loadline/runs/last/counters.jsonl").read_text().splitlines()
        workers = [worker for line in intervals for worker in json.loads(line).get("run", {}).get("workers", [])]
        return sum(worker.get("spin_ns", 0) for worker in workers)

    assert spun_ns() == 0
    assert spun_ns("--pacing-slack", "0") > 0


def test_invalid_pacing_slack_is_refused(loadline, start_lab):
    refused = loadline("run", "http://127.0.0.1:1", "--pacing-slack", "5ms")
    assert refused.returncode == 2
    assert "--pacing-slack '5ms': use at most 1ms" in refused.stderr
    refused = loadline("wrk", "-t1", "-c1", "-d1s", start_lab("sum").url, env={"LOADLINE_PACING_SLACK": "5"})
    assert refused.returncode != 0
    assert "LOADLINE_PACING_SLACK '5': `5` has no unit" in refused.stderr


def test_load_too_short_for_one_arrival_is_refused(loadline):
    run = loadline("run", "http://127.0.0.1:9/", "--rate", "0.1/s", "--duration", "5s")
    assert run.returncode == 2
    assert "the load plans no arrivals (open, 0.1/s evenly spaced for 5 s, " in run.stderr
    assert "arrivals are 10 s apart, so set a longer duration or a higher rate" in run.stderr


def test_judged_percentile_without_column_is_in_every_table(loadline, start_lab):
    lab = start_lab("sum")
    request = "get: { url: '/api/sum?a=1&b=2', name: NAME }"
    steps = ", ".join("{" + request.replace("NAME", name) + "}" for name in ("one", "two"))
    loadline.write("two.yml", f"loadline: 1\ntarget: {lab.url}\nload: {{ rate: 40/s, duration: 2s }}\nsteps: [{steps}]\n")
    checks = ["--check", 'p75 of "one" < 10s', "--check", "service p80 < 10s"]
    run = loadline("run", "two.yml", *checks, "--json", "out.json")
    summary = json.loads((loadline.folder / "out.json").read_text())
    row = next(row for row in summary["labels"] if row["text"] == "GET one")
    assert row["judged"] == ["judged_percentiles/response/p75"]
    assert summary["all"]["judged"] == ["judged_percentiles/service/p80"]
    lines = run.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("GET one"))
    assert re.fullmatch(r"  p75 \S+ .?s\*", lines[at + 1]), run.stdout
    assert re.search(r"^  service p80 \S+ .?s\*$", run.stdout, re.M)
    report = (loadline.folder / summary["record"] / "report.md").read_text()
    heads = next(line for line in report.splitlines() if line.startswith("| Endpoint "))
    assert [head.strip() for head in heads.split("|")][-3:-1] == ["p75", "service p80"]
    assert report.count("\\*") >= 3
