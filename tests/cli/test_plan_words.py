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
