"""Stop rules end a run after a condition has held for its window, for every command, and the
report begins with the reason.
"""

import json
from pathlib import Path

import pytest

# Long enough that an early end is not chance.
MINUTE = "60s"


def last(loadline) -> Path:
    return loadline.folder / ".loadline" / "runs" / "last"


def manifest(loadline) -> dict:
    return json.loads((last(loadline) / "manifest.json").read_text())


def test_stop_rule_on_errors_ends_the_run_and_leads_the_report(loadline, start_lab):
    lab = start_lab("truth", "mode=error", "share=50%")
    rule = "errors > 20% for 3s: stop fail"
    run = loadline("run", lab.url, "--rate", "50/s", "--duration", MINUTE, "--stop", rule)
    assert run.returncode == 1, run.stderr
    end = manifest(loadline)["end"]
    assert (end["cause"], end["reason"]) == ("rule fail", "the stop rule `errors > 20% for 3 s`")
    summary = loadline.summary()
    assert summary["run"]["state"] == "interrupted"
    assert 3e9 <= summary["run"]["stopped"]["at_ns"] < 30e9
    begins = summary["verdict"]["sentence"]
    assert begins.startswith("Stopped after ")
    assert "failed or had no response. " in begins
    report = (last(loadline) / "report.md").read_text()
    assert "Stopped after" in report.split("## ")[0]
    text = " ".join(run.stdout.split())
    assert "stopped after " in text
    assert "by the stop rule `errors > 20% for 3 s`: " in text
    arrivals = summary["arrivals"]
    assert arrivals["planned"] == arrivals["started"] < 50 * 60


def test_stop_rules_of_a_plan_use_labels_and_percentiles(loadline, start_lab, tmp_path):
    lab = start_lab("truth", "mode=slow", "share=50%", "slow=200ms")
    plan = tmp_path / "plan.yml"
    plan.write_text(f"""loadline: 1
target: {lab.url}
load: {{ rate: 40/s, duration: {MINUTE} }}
stop:
  - p90 of "GET /other" > 1ms for 2s: stop fail
  - p90 of "GET /slow" > 100ms for 3s: stop pass
steps:
  - get: /slow
""")
    refused = loadline("run", plan)
    assert refused.returncode == 2
    assert 'plan.yml:5:5: `p90 of "GET /other" > 1ms`' in refused.stderr
    plan.write_text(plan.read_text().replace('  - p90 of "GET /other" > 1ms for 2s: stop fail\n', ""))
    run = loadline("run", plan)
    assert run.returncode == 0, run.stderr
    assert manifest(loadline)["end"]["cause"] == "rule pass"


def test_stop_rule_on_host_metrics_ends_the_run(loadline, start_lab):
    lab = start_lab("sum")
    rule = "server.host.memory > 0.01% for 2s: stop inconclusive"
    run = loadline("run", f"{lab.url}/api/sum", "--duration", MINUTE, "--stop", rule)
    assert run.returncode == 5, run.stderr
    assert "by the stop rule `server.host.memory > 0.01% for 2 s`: it was " in " ".join(run.stdout.split())


def test_stop_rule_treats_missing_answers_as_slow(loadline, start_lab):
    lab = start_lab("truth", "mode=never")
    rule = "p95 > 500ms for 2s: stop fail"
    run = loadline("run", lab.url, "--rate", "30/s", "--duration", MINUTE, "--stop", rule)
    assert run.returncode in (1, 3), run.stderr
    assert manifest(loadline)["end"]["cause"] == "rule fail"


def test_environment_sets_stop_rules_of_compatibility_commands(loadline, start_lab, tmp_path):
    lab = start_lab("truth", "mode=slow", "share=100%", "slow=200ms")
    env = {"LOADLINE_STOP": "service p90 > 100ms for 3s: stop fail"}
    script = tmp_path / "script.yml"
    script.write_text(f"""config:
  target: {lab.url}
  phases: [{{ duration: 60, arrivalRate: 20 }}]
scenarios:
  - flow: [{{ get: {{ url: / }} }}]
""")
    run = loadline("artillery", "run", script, env=env)
    assert run.returncode == 1
    assert "stopped by `service p90 > 100ms for 3 s`: " in run.stdout + run.stderr
    assert manifest(loadline)["end"]["cause"] == "rule fail"
    assert loadline("wrk", "-t1", "-c9", "-d60s", lab.url, env=env).returncode == 1
    assert manifest(loadline)["end"]["cause"] == "rule fail"
    wrong = loadline("wrk", "-t1", "-c4", "-d1s", lab.url, env={"LOADLINE_STOP": "p95 > 2s"})
    assert wrong.returncode != 0
    assert "LOADLINE_STOP 'p95 > 2s', column 9: a stop rule needs a duration for which it must hold" in wrong.stderr


def test_environment_sets_criteria_of_compatibility_commands(loadline, start_lab, tmp_path):
    lab = start_lab("truth", "mode=slow", "share=100%", "slow=50ms")
    script = tmp_path / "script.yml"
    script.write_text(f"""config:
  target: {lab.url}
  phases: [{{ duration: 2, arrivalRate: 20 }}]
scenarios:
  - flow: [{{ get: {{ url: / }} }}]
""")
    commands = [("artillery", "run", script), ("wrk", "-t1", "-c2", "-d2s", lab.url)]
    for command in commands:
        failing = loadline(*command, env={"LOADLINE_CHECK": "service p50 < 20ms; errors < 1%"})
        assert failing.returncode == 1, failing.stderr
        assert "FAIL          service p50 < 20ms  measured 5" in failing.stderr
        assert [judged["judgement"] for judged in loadline.summary()["criteria"]] == ["FAIL", "PASS"]
        wrong = loadline(*command, env={"LOADLINE_CHECK": "p50 < 20"})
        assert wrong.returncode != 0
        assert "LOADLINE_CHECK 'p50 < 20', column 7: " in wrong.stderr


def guarded(loadline, start_lab, tmp_path, *flags):
    lab = start_lab("truth", "mode=error", "share=80%")
    plan = tmp_path / "plan.yml"
    plan.write_text(f"""loadline: 1
target: {lab.url}
load:
  - {{ rate: 20/s, duration: 13s }}
  - {{ rate: 40/s, duration: 3s }}
steps:
  - get: /
""")
    return loadline("run", plan, *flags)


def test_guard_ends_rising_load_on_a_failing_service(loadline, start_lab, tmp_path):
    run = guarded(loadline, start_lab, tmp_path)
    assert run.returncode == 1, run.stderr
    assert loadline.summary()["run"]["stopped"]["text"].startswith("`guard: more than half of the requests fail")
    assert loadline.summary()["arrivals"]["planned"] < 13 * 20 + 3 * 40


@pytest.mark.long
def test_no_guard_continues_on_a_failing_service(loadline, start_lab, tmp_path):
    run = guarded(loadline, start_lab, tmp_path, "--no-guard")
    assert run.returncode == 0, run.stderr
    assert loadline.summary()["arrivals"]["planned"] == 13 * 20 + 3 * 40
