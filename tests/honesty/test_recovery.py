"""How long a backlog takes to drain, by the run's own report, against arithmetic and against the server's log."""

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.proof, pytest.mark.alone]

QUIET, FLOOD, SERVER = 700, 1400, 1000
# A server that is so late for one answer in so many was held up by the machine: then it is not back when its queue is empty.
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


def by_the_log(log: Path) -> tuple[float, bool]:
    """Seconds from the end of the flood until nobody waited in the queue any more; whether the server itself was late behind that."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    requests = sorted((line for line in lines if "arrival_ns" in line), key=lambda line: line["arrival_ns"])
    behind = requests[15 * QUIET + 10 * FLOOD :]
    # Who is served at once finds the queue empty.
    alone = (i for i, line in enumerate(behind) if line["due_ns"] - line["service_ns"] <= line["arrival_ns"])
    first = next(alone)
    late = sum(line["release_ns"] - line["due_ns"] > LATE_NS for line in behind[first:])
    return (behind[first]["arrival_ns"] - behind[0]["arrival_ns"]) / 1e9, late * ONE_IN > len(behind) - first


def test_the_drain_of_a_backlog(loadline, start_lab, tmp_path):
    log = tmp_path / "log.jsonl"
    lab = start_lab("truth", "mode=exponential", "mean=1ms", "servers=1", "--seed", "3", "--log", log)
    run = loadline("run", loadline.write("plan.yml", PLAN), "--target", lab.url, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    peak = loadline.summary()["recovery"]["peak"]
    expected = (FLOOD - SERVER) * 10 / (SERVER - QUIET)
    true, was_late = by_the_log(log)
    assert not was_late, "the machine was too busy for the embedded server"
    for of in ("settled_ns", "drained_ns"):
        assert peak[of] is not None, (run.stdout, peak, true)
        measured = peak[of] / 1e9
        assert abs(measured / expected - 1) < 0.1, (of, measured, true)
        # Seconds are looked at as a whole.
        assert abs(measured - true) < 2, (of, measured, true)
