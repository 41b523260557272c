"""After kill -9 at any moment, every finished interval is in the record and agrees with the
target's counts.
"""

import json
import random
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import wait_until

pytestmark = [pytest.mark.alone, pytest.mark.paced]

PLAN = """
loadline: 1
target: http://unused.invalid
load: {rate: 23/s, duration: 60s, arrivals: poisson}
steps: [{get: /api/sum?a=1&b=2}]
"""

# If the machine stalls, a request this close to a cut may be counted on either side of it: about
# nine of an interval's 23 requests.
NEAR_NS = 200_000_000


def finished_intervals(record: Path) -> list[tuple[int, int]]:
    """Returns (end of the interval, requests answered until then) for every finished interval."""
    sums, ends, rows = {}, {}, []
    for line in (record / "counters.jsonl").read_text().splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            break
        if entry.get("end"):
            rows.append((ends[entry["i"]], sums.get(entry["i"], 0)))
        elif entry["label"] == 0:
            sums[entry["i"]] = sums.get(entry["i"], 0) + entry.get("ok", 0)
            if "run" in entry:
                ends[entry["i"]] = entry["run"]["to_ns"]
    total, finished = 0, []
    for end, ok in rows:
        total += ok
        finished.append((end, total))
    return finished


def killed_run(loadline, start_lab, moment: int) -> None:
    lab = start_lab("sum", "--log", f"lab-{moment}.jsonl")
    plan = loadline.write(f"plan-{moment}.yml", PLAN)
    run = loadline.start("run", plan, "--target", lab.url, "--runs", f"runs-{moment}")
    record = loadline.folder / f"runs-{moment}/last"
    # The time of the kill is measured in bytes in the record, between its lines or within one.
    counters = record / "counters.jsonl"
    wait_until(lambda: counters.exists() and counters.stat().st_size >= moment, "the moment to kill")
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=10)

    rendered = loadline("report", "last", "--runs", f"runs-{moment}")
    assert rendered.returncode == 0, rendered.stderr
    assert "not finished" in " ".join(rendered.stdout.split())
    finished = finished_intervals(record)
    assert finished
    assert re.search(rf"\b{finished[-1][1]} ok\b", rendered.stdout)

    start = json.loads((record / "manifest.json").read_text())["start"]["monotonic_ns"]
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    log = [json.loads(line) for line in (loadline.folder / f"lab-{moment}.jsonl").read_text().splitlines()]
    for end, answered in finished:
        cut = start + end
        surely = sum(entry["release_ns"] < cut - NEAR_NS for entry in log)
        perhaps = sum(entry["arrival_ns"] < cut + NEAR_NS for entry in log)
        assert surely <= answered <= perhaps


@pytest.mark.parametrize("moment", [1500, 4000])
def test_killed_run_keeps_every_finished_interval(loadline, start_lab, moment):
    killed_run(loadline, start_lab, moment)


@pytest.mark.long
def test_killed_run_at_twenty_random_moments_keeps_every_finished_interval(loadline, start_lab):
    moments = random.Random(20).sample(range(1200, 6000), 20)
    # Each run sends a few requests per second, so four in parallel leave the machine idle.
    with ThreadPoolExecutor(4) as side_by_side:
        list(side_by_side.map(lambda moment: killed_run(loadline, start_lab, moment), moments))
