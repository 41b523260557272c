#!/usr/bin/env python3
"""Compares the CPU per message of Loadline, of a Go client (gorilla), of a fastwebsockets loop and of
Artillery: 100 connections send 100 bytes and wait for the echo of `loadline lab chat`. Then measures
the memory of Loadline with 10,000 idle connections.

Runs alternate. Clients run on one core, the server on the other; whole processes are measured, with
recording. Prints every run, then medians and the median ratio of the rounds.
`make bench-ws` runs it. Keep the output in bench/results/websocket.md.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from wrk import LOADLINE, run_on_core_1, version

HERE = Path(__file__).parent
SIZE, CONNECTIONS, IDLE = 100, 100, 10_000
PLAN = """
loadline: 1
target: http://127.0.0.1:{port}
load: {{ users: {connections}, duration: {seconds}s }}
steps:
  - websocket: {{ connect: /echo }}
  - loop: {{ count: 500, steps: [ websocket: {{ send: {text}, expect: {{}} }} ] }}
"""
IDLE_PLAN = """
loadline: 1
target: http://127.0.0.1:{port}
load: {{ rate: 1000/s, duration: {ramp}s }}
steps:
  - websocket: {{ connect: /echo }}
  - websocket: {{ listen: {stay}s }}
"""
ARTILLERY = """
config:
  target: ws://127.0.0.1:{port}/echo
  phases: [ {{ duration: 1, arrivalCount: {connections} }} ]
scenarios:
  - engine: ws
    flow:
      - loop: [ {{ send: {{ payload: {text}, capture: {{ json: $, as: echo }} }} }} ]
        count: {messages}
"""
#: Largest ratio of Loadline's CPU per message to the other one's that is aimed at.
TARGETS = {"artillery": 1 / 30, "go": 1 / 3, "fastwebsockets": 0.8}
IDLE_BYTES = 60_000_000


def cpu_per_message(command: list[str], pattern: str, folder: Path) -> float:
    """Runs a command on core 1. Returns user and system time per message in microseconds."""
    out, cpu = run_on_core_1(command, folder)
    found = re.findall(pattern, out, re.M)
    if not found:
        sys.exit(f"{' '.join(command)}: unexpected output:\n{out}")
    # Artillery prints its counters for each period, and at the end for the whole run.
    return cpu / int(found[-1].replace(",", ""))


@contextlib.contextmanager
def chat(folder: Path) -> Iterator[int]:
    command = ["taskset", "-c", "0", str(LOADLINE), "lab", "chat", "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in process.stdout:
            if found := re.search(r"127\.0\.0\.1:(\d+)", line):
                yield int(found[1])
                return
        sys.exit("the lab did not start")
    finally:
        process.terminate()
        process.wait()


def builders(folder: Path) -> tuple[Path, Path]:
    """Builds the other clients."""
    go = folder / "go-client"
    subprocess.run(["go", "build", "-o", go, "."], cwd=HERE / "websocket/go", check=True)
    target = folder / "target"
    subprocess.run(["cargo", "build", "--release", "--quiet", "--target-dir", target], cwd=HERE / "websocket/fast", check=True)
    return go, target / "release/fast"


def idle_memory(port: int, folder: Path) -> int:
    """Returns the largest resident memory, without files, while 10,000 connections are idle."""
    plan = folder / "idle.yml"
    plan.write_text(IDLE_PLAN.format(port=port, ramp=IDLE // 1000, stay=IDLE // 1000 + 8))
    process = subprocess.Popen([str(LOADLINE), "run", plan, "--workers", "1"], cwd=folder, stdout=subprocess.PIPE, text=True)
    most = 0
    while process.poll() is None:
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{process.pid}/status").read_text()
            most = max(most, int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024)
        time.sleep(0.2)
    out = process.stdout.read()
    if f"{IDLE:,} opened" not in out:
        sys.exit(f"not all connections were opened:\n{out}")
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    tools = ((str(LOADLINE), "--version"), ("go", "version"), ("node", "--version"))
    print("# " + ", ".join(version(*tool) for tool in tools))
    print(f"# {platform.platform()}, {os.cpu_count()} cores")
    seconds = options.seconds
    # Artillery reads answers as JSON.
    text = "'" + '{"text":"' + "x" * (SIZE - 11) + '"}' + "'"
    with tempfile.TemporaryDirectory() as temporary, chat(Path(temporary)) as port:
        folder = Path(temporary)
        go, fast = builders(folder)
        plan, script = folder / "plan.yml", folder / "script.yml"
        plan.write_text(PLAN.format(port=port, connections=CONNECTIONS, seconds=seconds, text=text))
        script.write_text(ARTILLERY.format(port=port, connections=CONNECTIONS, messages=200, text=text))
        echoes = r"^echoes (\d+)"
        runs = {
            "loadline": ([str(LOADLINE), "run", str(plan), "--workers", "1"], r"messages: [\d,]+ sent .*, ([\d,]+) received"),
            "go": ([str(go), f"ws://127.0.0.1:{port}/echo", str(CONNECTIONS), str(seconds), str(SIZE)], echoes),
            "fastwebsockets": ([str(fast), f"127.0.0.1:{port}", "/echo", str(CONNECTIONS), str(seconds), str(SIZE)], echoes),
        }
        artillery = HERE / "node/node_modules/.bin/artillery"
        if artillery.exists():
            runs["artillery"] = ([str(artillery), "run", str(script)], r"websocket\.messages_received: \.+ (\d+)")
        else:
            print("without Artillery: run `npm ci` in bench/node")
        costs: dict[str, list[float]] = {name: [] for name in runs}
        for number in range(options.rounds):
            for name, (command, pattern) in runs.items():
                costs[name].append(cpu_per_message(command, pattern, folder))
            print(f"round {number + 1}: " + ", ".join(f"{name} {cost[-1]:.2f} µs" for name, cost in costs.items()))
        for name, target in TARGETS.items():
            if name not in costs:
                continue
            ratio = statistics.median(ours / other for ours, other in zip(costs["loadline"], costs[name], strict=True))
            ours, other = (statistics.median(costs[one]) for one in ("loadline", name))
            verdict = "met" if ratio <= target else "missed"
            print(f"{name}: {other:.2f} µs, Loadline {ours:.2f} µs per message, ratio {ratio:.3f} (target {target:.3f}: {verdict})")
        most = idle_memory(port, folder)
        verdict = "met" if most <= IDLE_BYTES else "missed"
        print(f"{IDLE:,} idle connections: {most / 1e6:.1f} MB (target {IDLE_BYTES / 1e6:.0f} MB: {verdict})")
        shutil.rmtree(folder / "target", ignore_errors=True)


if __name__ == "__main__":
    main()
