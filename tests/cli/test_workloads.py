"""Plans with several workloads: counts, ledgers, reports, and what cannot be combined with them."""

from __future__ import annotations

import json

import pytest

MIX = """loadline: 1
target: lab:truth?mode=constant&service=5ms
workloads:
  orders:
    scenarios: { order: 3, reorder: 1 }
    load: [ { rate: 20/s, duration: 1s }, { rate: 40/s, duration: 1s } ]
  browsing:
    scenario: browse
    start-after: 500ms
    load: { users: 2, duration: 1s }
  checks:
    scenario: health
    load: { count: 4, duration: 2s }
scenarios:
  - { name: order, steps: [ { post: { url: /orders, expect: 200 } } ] }
  - { name: reorder, steps: [ { post: { url: /orders/again, expect: 200 } } ] }
  - { name: browse, steps: [ { get: /items }, { think: 100ms } ] }
  - { name: health, steps: [ { get: /health } ] }
"""
OPEN_ONLY = MIX.replace("load: { users: 2, duration: 1s }", "load: { rate: 10/s, duration: 1s }")
CLOSED_ONLY = """loadline: 1
target: lab:truth?mode=constant&service=5ms
workloads:
  first: { scenario: a, load: { users: 1, duration: 1s } }
  second: { scenario: b, start-after: 500ms, load: { users: 2, duration: 1s } }
scenarios:
  - { name: a, steps: [ { get: /a }, { think: 50ms } ] }
  - { name: b, steps: [ { get: /b }, { think: 50ms } ] }
"""


def run_plan(loadline, text: str, *flags: object) -> tuple:
    """Runs a plan. Returns the process and the summary."""
    run = loadline("run", loadline.write("plan.yml", text), "--json", "summary.json", "--seed", "7", *flags)
    assert run.returncode == 0, run.stdout + run.stderr
    return run, json.loads((loadline.folder / "summary.json").read_text())


def by_name(rows: list[dict]) -> dict[str, dict]:
    return {row["name"]: row for row in rows}


@pytest.mark.parametrize("workers", ["1", "3"])
def test_each_workload_follows_its_own_schedule(loadline, workers) -> None:
    run, summary = run_plan(loadline, MIX, "--workers", workers)
    arrivals = summary["arrivals"]
    assert (arrivals["planned"], arrivals["started"], arrivals["adds_up"]) == (64, 64, True)
    assert arrivals["completed"] == 64
    workloads = by_name(summary["workloads"])
    assert {name: (row["model"], row["planned"], row["users"]) for name, row in workloads.items()} == {
        "orders": ("open", 60, None),
        "browsing": ("closed", None, 2),
        "checks": ("open", 4, None),
    }
    assert (workloads["browsing"]["start_ns"], workloads["browsing"]["end_ns"]) == (500_000_000, 1_500_000_000)
    scenarios = by_name(summary["scenarios"])
    assert {name: row["workload"] for name, row in scenarios.items()} == {
        "order": "orders",
        "reorder": "orders",
        "browse": "browsing",
        "health": "checks",
    }
    for name in ("order", "reorder", "health"):
        assert scenarios[name]["planned"] == scenarios[name]["completed"], scenarios[name]
    assert scenarios["order"]["completed"] + scenarios["reorder"]["completed"] == 60
    assert (scenarios["order"]["share"], scenarios["browse"]["share"]) == (0.75, 1)
    # Each of the two users sends at most one request per 100 ms.
    assert 2 <= scenarios["browse"]["ended"] <= 20
    assert scenarios["browse"]["planned"] is None
    total = 64 + scenarios["browse"]["ended"]
    assert summary["requests"]["issued"] == total


def test_reports_name_the_model_of_each_workload(loadline) -> None:
    run, summary = run_plan(loadline, MIX)
    assert summary["run"]["model"] == "mixed"
    text = " ".join(run.stdout.split())
    assert "open and closed, orders: 20/s evenly spaced for 1 s, then 40/s evenly spaced for 1 s" in text
    assert "browsing: after 500 ms, 2 users for 1 s" in text
    assert "Arrivals 64 planned = 64 started + 0 skipped + 0 unsent" in text
    browse = by_name(summary["scenarios"])["browse"]["ended"]
    assert f"Iterations {browse} ended in closed workloads (browsing), not counted as arrivals" in text
    assert summary["measurement"]["sent"] == 1
    assert summary["measurement"]["lateness_p99_ns"] is not None
    assert any("In addition, at most 2 users run in a closed loop" in text for text in summary["assumptions"])
    report = (loadline.folder / ".loadline/runs/last/report.md").read_text()
    row = next(line for line in report.splitlines() if line.startswith("| browsing "))
    assert "closed loop" in row
    assert "after 500 ms, 2 users for 1 s" in row
    assert any(line.startswith("| reorder ") and "| orders " in line for line in report.splitlines())


def test_record_can_be_read_again(loadline) -> None:
    _, summary = run_plan(loadline, MIX)
    again = loadline("report", "last", "--json", "again.json")
    assert again.returncode == 0, again.stderr
    read = json.loads((loadline.folder / "again.json").read_text())
    for part in ("arrivals", "workloads", "scenarios", "measurement"):
        assert read[part] == summary[part], part


def test_open_workloads_are_an_open_model(loadline) -> None:
    run, summary = run_plan(loadline, OPEN_ONLY)
    assert summary["run"]["model"] == "open"
    assert (summary["arrivals"]["planned"], summary["arrivals"]["completed"]) == (74, 74)
    assert "closed" not in run.stdout


def test_closed_workloads_are_a_closed_model(loadline) -> None:
    run, summary = run_plan(loadline, CLOSED_ONLY)
    assert summary["run"]["model"] == "closed"
    arrivals = summary["arrivals"]
    assert arrivals["planned"] is None
    assert arrivals["started"] == sum(row["ended"] for row in summary["scenarios"])
    assert arrivals["adds_up"]


def test_skipped_arrivals_are_in_the_ledger(loadline) -> None:
    slow = MIX.replace("service=5ms", "service=900ms").replace(
        "load: { count: 4, duration: 2s }", "load: { count: 20, duration: 2s, max-users: 1 }"
    )
    run, summary = run_plan(loadline, slow)
    arrivals = summary["arrivals"]
    assert arrivals["planned"] == 80 == arrivals["started"] + arrivals["skipped"]
    assert arrivals["adds_up"]
    checks = by_name(summary["workloads"])["checks"]
    # A check is due each 100 ms and takes 900 ms or more, so at least 8 of 9 are skipped.
    assert 1 <= checks["ended"] <= 3
    assert arrivals["skipped"] == 20 - checks["ended"]
    assert by_name(summary["workloads"])["orders"]["ended"] == 60


def test_stopped_run_counts_arrivals_that_were_due(loadline) -> None:
    one_open = MIX.replace("load: { count: 4, duration: 2s }", "load: { users: 1, duration: 2s }")
    one_open = one_open.replace("duration: 1s } ]", "duration: 10m } ]").replace("service=5ms", "service=20ms")
    path = loadline.write("plan.yml", one_open)
    run = loadline("run", path, "--json", "summary.json", "--stop", "rate > 1/s for 1s: stop pass")
    assert run.returncode == 0, run.stdout + run.stderr
    summary = json.loads((loadline.folder / "summary.json").read_text())
    arrivals = summary["arrivals"]
    assert arrivals["until_stop"]
    assert arrivals["adds_up"]
    orders = by_name(summary["workloads"])["orders"]
    assert orders["planned"] == arrivals["planned"] < 1000
    scenarios = by_name(summary["scenarios"])
    assert scenarios["order"]["planned"] + scenarios["reorder"]["planned"] == arrivals["planned"]


def test_tables_start_with_the_first_row_in_each_workload(loadline) -> None:
    loadline.write("items.csv", "item\n" + "\n".join(f"i{number}" for number in range(10)) + "\n")
    plan = """loadline: 1
target: lab:truth?mode=constant
csv: { file: items.csv }
workloads:
  first: { scenario: a, load: { count: 3, duration: 300ms } }
  second: { scenario: b, load: { count: 2, duration: 300ms } }
scenarios:
  - { name: a, steps: [ { get: { url: '/a/{{ item }}', name: '/a/{{ item }}' } } ] }
  - { name: b, steps: [ { log: 'b {{ item }}' }, { get: /b } ] }
"""
    plan = plan.replace("{ get: { url: '/a/{{ item }}', name: '/a/{{ item }}' } }", "{ log: 'a {{ item }}' }, { get: /a }")
    run, _ = run_plan(loadline, plan)
    lines = sorted(line for line in (run.stdout + run.stderr).splitlines() if line[:3] in ("a i", "b i"))
    assert lines == ["a i0", "a i1", "a i2", "b i0", "b i1"]


def test_profile_shows_each_workload(loadline) -> None:
    shown = loadline("plan", loadline.write("plan.yml", MIX), "--json", "profile.json", "--latency", "100ms")
    assert shown.returncode == 0, shown.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.stdout.splitlines() if line.startswith("|")]
    assert ["Workload", "Model", "From", "To", "Arrivals", "Users", "Scenarios"] in rows
    assert ["orders", "open", "0 s", "2 s", "60", "–", "order, reorder"] in rows
    assert ["browsing", "closed loop", "500 ms", "1.5 s", "–", "2", "browse"] in rows
    assert ["checks", "open", "0 s", "2 s", "4", "–", "health"] in rows
    lines = shown.stdout.splitlines()
    assert {"Scenarios of orders", "Load over time of checks"} <= set(lines)
    assert any(line.startswith("2 users for 1 s.") for line in lines)
    assert "bandwidth: depends on how fast responses arrive" in shown.stdout
    profile = json.loads((loadline.folder / "profile.json").read_text())["profile"]
    assert profile["arrivals"] == 64
    assert [row["name"] for row in profile["workloads"]] == ["orders", "browsing", "checks"]
    # Two users, and 40 + 2 arrivals per second for 100 ms each.
    assert profile["in_flight"][0]["users"] == pytest.approx(2 + 4.2)


def test_duration_scales_all_workloads(loadline) -> None:
    run, summary = run_plan(loadline, MIX, "--duration", "1s")
    workloads = by_name(summary["workloads"])
    assert workloads["orders"]["planned"] == 30
    assert (workloads["browsing"]["start_ns"], workloads["browsing"]["end_ns"]) == (250_000_000, 750_000_000)


REFUSED_FLAGS = [
    (["--rate", "5/s"], "--rate sets one load, but this plan has several `workloads`"),
    (["--users", "5"], "--users sets one load"),
    (["--connections", "5"], "--connections sets one load"),
    (["--arrivals", "poisson"], "--arrivals sets one load"),
    (["--shard", "1/2", "--start-at", "4102444800", "--seed", "1"], "a plan with `workloads` runs in one process"),
    (["--on", "local", "--nodes", "2"], "a plan with `workloads` runs in one process"),
    (["--on", "ray"], "a plan with `workloads` runs in one process"),
]


@pytest.mark.parametrize(("flags", "reason"), REFUSED_FLAGS)
def test_options_for_one_load_are_refused(loadline, flags, reason) -> None:
    run = loadline("run", loadline.write("plan.yml", MIX), *flags)
    assert run.returncode == 2, run.stdout + run.stderr
    refusals = [line for line in run.stderr.splitlines() if reason in line]
    assert len(refusals) == 1, run.stderr
    assert not (loadline.folder / ".loadline/runs").exists()


def test_search_and_manifests_are_refused(loadline) -> None:
    path = loadline.write("plan.yml", MIX)
    search = loadline("find", path, "--slo", "p99 < 1s")
    assert search.returncode == 2
    assert "a search changes one rate or one number of users, but this plan has several `workloads`" in search.stderr
    rendered = loadline("k8s", "render", path, "--image", "loadline:1", "--nodes", "2", "--output", "job.yml")
    assert rendered.returncode == 2
    assert "a plan with `workloads` runs in one process" in rendered.stderr


REFUSED_KEYS = [
    ("load: { rate: 1/s, duration: 1s }", "plan.yml:19:1: a plan cannot have both `load` and `workloads`"),
    ("listen: { clients: 1 }", "plan.yml:19:1: listeners need a plan with one load"),
]


@pytest.mark.parametrize(("key", "reason"), REFUSED_KEYS)
def test_keys_for_one_load_are_refused(loadline, key, reason) -> None:
    run = loadline("run", loadline.write("plan.yml", MIX + key + "\n"))
    assert run.returncode == 2
    assert reason in run.stderr


def test_campaign_with_workloads_is_refused(loadline) -> None:
    text = MIX + "stages: [ { name: peak, load: { rate: 1/s, duration: 1s } } ]\n"
    path = loadline.write("plan.yml", text)
    for command in (["campaign", path], ["run", path, "--stage", "peak"]):
        run = loadline(*command)
        assert run.returncode == 2
        assert run.stderr.count("plan.yml:3:1: a campaign cannot have `workloads`") == 1, run.stderr
        assert len(run.stderr.splitlines()) == 1, run.stderr


def test_misspelt_scenario_is_reported_with_a_suggestion(loadline) -> None:
    run = loadline("run", loadline.write("plan.yml", MIX.replace("scenario: browse", "scenario: brows")))
    assert run.returncode == 2
    assert "plan.yml:8:15: there is no scenario `brows` (did you mean `browse`?)" in run.stderr


def test_workload_after_the_end_is_refused(loadline) -> None:
    late = loadline("run", loadline.write("plan.yml", MIX + "max-duration: 400ms\n"))
    assert late.returncode == 2
    assert "workload `browsing` would start when `max-duration` has ended the load" in late.stderr
