"""The time in which a backlog drains: the run's report against arithmetic and the server's log."""

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.proof, pytest.mark.alone]

QUIET, FLOOD, SERVER = 700, 1400, 1000
# If the server is late for more than one answer in this many, the machine delayed it, and its
# recovery time is not meaningful.
LATE_NS, ONE_IN = 3_000_000, 100
PLAN = f"""
loadline: 1
scenarios:
  - name: get
    steps: [get: /]
load:
  - {{ rate: {QUIET}/s, duration: 15s }}
  - {{ rate: {FLOOD}/s, duration: 10s }}
  - {{ rate: {QUIET}/s, duration: 27s }}
"""


def drain_from_log(log: Path) -> tuple[float, bool]:
    """Returns the seconds from the end of the flood until the queue was empty, and whether the
    server was late afterwards.
    """
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    requests = sorted((line for line in lines if "arrival_ns" in line), key=lambda line: line["arrival_ns"])
    after = requests[15 * QUIET + 10 * FLOOD :]
    # A request served immediately found the queue empty.
    alone = (i for i, line in enumerate(after) if line["due_ns"] - line["service_ns"] <= line["arrival_ns"])
    first = next(alone)
    late = sum(line["release_ns"] - line["due_ns"] > LATE_NS for line in after[first:])
    return (after[first]["arrival_ns"] - after[0]["arrival_ns"]) / 1e9, late * ONE_IN > len(after) - first


def test_drain_time_agrees_with_arithmetic_and_log(loadline, start_lab, tmp_path):
    log = tmp_path / "log.jsonl"
    lab = start_lab("truth", "mode=exponential", "mean=1ms", "servers=1", "--seed", "3", "--log", log)
    run = loadline("run", loadline.write("plan.yml", PLAN), "--target", lab.url, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    peak = loadline.summary()["recovery"]["peak"]
    expected = (FLOOD - SERVER) * 10 / (SERVER - QUIET)
    true, was_late = drain_from_log(log)
    assert not was_late, "the machine was too busy for the embedded server"
    for of in ("settled_ns", "drained_ns"):
        assert peak[of] is not None, (run.stdout, peak, true)
        measured = peak[of] / 1e9
        assert abs(measured / expected - 1) < 0.1, (of, measured, true)
        # The report works in whole seconds.
        assert abs(measured - true) < 2, (of, measured, true)
