"""What a plan of Loadline's own can say, through the command: an early end that is planned."""

import json


def summary_of(loadline, text, *flags):
    """Runs a plan and answers what its summary says."""
    run = loadline("run", loadline.write("plan.yml", text), "--json", "summary.json", *flags)
    return run, json.loads((loadline.folder / "summary.json").read_text())


CUT = """loadline: 1
target: lab:shortener
max-duration: 1500ms
load: [ { rate: 20/s, duration: 1s }, { name: long, rate: 40/s, duration: 10m }, { rate: 1/s, duration: 1s } ]
steps: [ { get: { url: /never, expect: 404 } } ]
"""


def test_a_load_ends_when_the_plan_says_that_it_is_long_enough(loadline):
    run, summary = summary_of(loadline, CUT)
    # What is asked here is what was planned and became of it, also where the machine was too busy to measure on.
    assert run.returncode in (0, 4), run.stderr
    arrivals = summary["arrivals"]
    assert (arrivals["planned"], arrivals["started"] + arrivals["unsent"], arrivals["adds_up"]) == (40, 40, True)
    assert [phase["end_ns"] for phase in summary["phases"]] == [1_000_000_000, 1_500_000_000]
    assert summary["run"]["ended_by"] is None
    assert summary["run"]["load"].endswith("; cut short by max-duration after 1.5 s of 10 min 2 s")
    assert "cut short by max-duration" in " ".join(run.stdout.split())


RAMP = """loadline: 1
target: lab:shortener
load: [ { name: come, users: { from: 0, to: 4 }, duration: 2s }, { name: go, users: { from: 4, to: 0 }, duration: 2s } ]
steps: [ { get: { url: /never, expect: 404 } }, { think: 100ms } ]
"""


def test_users_come_and_go(loadline):
    run, summary = summary_of(loadline, RAMP)
    assert run.returncode in (0, 4), run.stderr
    assert summary["run"]["load"].startswith("closed loop, 0 to 4 users over 2 s, then 4 to 0 users over 2 s")
    assert [(phase["name"], phase["end_ns"]) for phase in summary["phases"]] == [("come", 2_000_000_000), ("go", 4_000_000_000)]
    # Users 0 to 3 are there for 4, 3, 2 and 1 seconds, and none of them makes more than ten requests a second.
    assert summary["users"]["max"] <= 4
    assert 0 < summary["all"]["count"] <= 100 + 4
    assert summary["arrivals"]["started"] == summary["arrivals"]["completed"] == summary["all"]["count"]
    told = loadline("plan", "plan.yml")
    assert "4 users at most, who come and go, for 4 s" in told.stdout
