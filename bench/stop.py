#!/usr/bin/env python3
"""Measures how often a stop rule fires without a problem, and how soon with one.

`make bench-stop` runs it. The target is a queue with four servers and exponential service times of
100 ms: 40 requests/s. Ten runs at 80 % of this count false stops. Ten runs that rise to 160 %
measure the time from the first second in which the condition holds to the stop. It may take the
rule's window plus one second.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOADLINE = Path(os.environ.get("LOADLINE", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "dist/loadline"))
RUNS = 10
#: Number of these small runs at a time.
TOGETHER = 5
WINDOW, BOUND_MS = 10, 2000
RULES = [f"p95 > {BOUND_MS}ms for {WINDOW}s: stop", "errors > 5% for 5s: stop", "mean > 1s for 10s: stop"]
SERVICE = ["mode=exponential", "mean=100ms", "servers=4"]
CALM = "{ rate: 32/s, duration: 60s, arrivals: poisson }"
#: The mean exceeds its bound before the percentile, so the measured rule is alone.
ALONE = RULES[:1]
RISING = "[{ rate: 20/s, duration: 8s, arrivals: poisson }, { rate: 64/s, duration: 42s, arrivals: poisson }]"


@contextlib.contextmanager
def lab(folder: Path, seed: int):
    command = [LOADLINE, "lab", "truth", "--seed", str(seed), "--until-stdin-closes", *SERVICE]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = process.stdout.readline().split()[2]
    yield url
    process.stdin.close()
    process.wait(timeout=10)
    process.stdout.close()


def run(load: str, rules: list[str], seed: int) -> tuple[dict, dict]:
    """Returns the summary and the series of a run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with lab(folder, seed) as url:
            plan = f"loadline: 1\ntarget: {url}\nload: {load}\nstop: {json.dumps(rules)}\nsteps: [{{ get: / }}]\n"
            (folder / "plan.yml").write_text(plan)
            command = [LOADLINE, "run", "plan.yml", "--seed", str(seed), "--no-guard"]
            subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=150)
        last = folder / ".loadline/runs/last"
        return tuple(json.loads((last / file).read_text()) for file in ("summary.json", "series.json"))


def all_of(load: str, rules: list[str], seeds: range) -> list[tuple[dict, dict]]:
    with ThreadPoolExecutor(TOGETHER) as pool:
        return list(pool.map(lambda seed: run(load, rules, seed), seeds))


def delay_of(stopped: dict, series: dict) -> float:
    """Returns the seconds from the start of the last period in which the condition held to the
    stop.
    """
    points = series["points"]
    first = stopped["at_ns"]
    for begin, p95 in reversed(list(zip(points["from_ns"], points["response"]["p95"], strict=True))):
        if begin >= stopped["at_ns"]:
            continue
        if p95 is None or p95 <= BOUND_MS * 1e6:
            break
        first = begin
    return (stopped["at_ns"] - first) / 1e9


def main() -> None:
    if not LOADLINE.exists():
        sys.exit(f"needed: {LOADLINE}")
    version = subprocess.run([LOADLINE, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"# {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} · {platform.node()} {platform.release()} {os.cpu_count()} cores")
    print(f"# {version} · rules: {'; '.join(RULES)} · {TOGETHER} runs at a time")
    false = 0
    for summary, _ in all_of(CALM, RULES, range(1, RUNS + 1)):
        stopped = summary["run"].get("stopped")
        false += stopped is not None
        p95 = summary["all"]["response"]["p95"]["ns"] / 1e6
        how = f"STOPPED: {stopped['text']}" if stopped else "no stop"
        print(f"80 %: {summary['requests']['issued']} requests, p95 {p95:.0f} ms, {how}")
    print(f"false stops: {false} of {RUNS}")
    slow = []
    for summary, series in all_of(RISING, ALONE, range(101, 101 + RUNS)):
        stopped = summary["run"].get("stopped")
        if stopped is None:
            print("160 %: NOT STOPPED")
            slow.append(float("inf"))
            continue
        slow.append(delay_of(stopped, series))
        at = stopped["at_ns"] / 1e9
        late = summary["lateness"]["p99"]["ns"] / 1e6
        print(f"160 %: stopped at {at:.2f} s, {slow[-1]:.2f} s after the first second that held; lateness p99 {late:.1f} ms")
    print(f"from the first second that held to the stop: at most {max(slow):.2f} s, allowed {WINDOW + 1} s")
    sys.exit(max(slow) > WINDOW + 1)


if __name__ == "__main__":
    main()
