#!/usr/bin/env python3
"""Measures the CPU per delivery of listeners: 10,000 connections in one room of `loadline lab chat` receive
what one publisher sends.

Runs with few and with many messages alternate, and the difference of their CPU is that of the additional deliveries, without
the connects. Clients run on one core, the server on the other; the whole process is measured, with recording.
Keep the output in bench/results/websocket.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from websocket import chat
from wrk import LOADLINE, version

PLAN = """
loadline: 1
target: http://127.0.0.1:{port}
load: {{ rate: {rate}/s, duration: {seconds}s }}
listen:
  clients: {clients}
  connect-rate: 2000/s
  open: /rooms/live
  name: live
  push: {{ sent: $.sent, from: $.from, sequence: $.n }}
steps:
  - websocket: {{ connect: /rooms/live, name: publisher }}
  - websocket:
      send: {{ json: {{ sent: '{{{{ $intended }}}}', from: '{{{{ $sender }}}}', n: '{{{{ $message }}}}', text: hello }} }}
"""
#: CPU per delivery that is aimed at, in microseconds, without system calls.
TARGET_US = 1.5


def run(folder: Path, plan: str) -> tuple[tuple[float, float], dict, dict]:
    """Returns user and system time in microseconds, the ledger, and the figures of the deliveries."""
    (folder / "plan.yml").write_text(plan)
    command = ["taskset", "-c", "1", str(LOADLINE), "run", "plan.yml", "--workers", "1", "--runs", "runs", "--quiet"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    out = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    cpu = (usage.ru_utime * 1e6, usage.ru_stime * 1e6)
    last = folder / "runs/last"
    counted = json.loads((last / "found.json").read_text())["listeners"]
    if counted["received"] != counted["expected"] or counted["connected"] != counted["listeners"]:
        sys.exit(f"deliveries were lost:\n{out}")
    labels = json.loads((last / "summary.json").read_text())["labels"]
    return cpu, counted, next(row["response"] for row in labels if row["text"].startswith("PUSH"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=10)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < options.clients + 100:
        sys.exit(f"{options.clients} listeners need `ulimit -n {options.clients + 100}`")
    print("# " + version(str(LOADLINE), "--version"))
    print(f"# {platform.platform()}, {os.cpu_count()} cores")
    costs = []
    with tempfile.TemporaryDirectory() as temporary, chat(Path(temporary)) as port:
        folder = Path(temporary)
        settings = {"port": port, "clients": options.clients, "rate": options.rate}
        for number in range(options.rounds):
            few, before, _ = run(folder, PLAN.format(seconds=1, **settings))
            many, after, push = run(folder, PLAN.format(seconds=options.seconds, **settings))
            more = after["received"] - before["received"]
            costs.append(tuple((one - other) / more for one, other in zip(many, few, strict=True)))
            times = ", ".join(f"{q} {push[q]['ns'] / 1e6:.1f} ms" for q in ("p50", "p99", "max"))
            user, system = costs[-1]
            print(f"round {number + 1}: {user:.2f} + {system:.2f} µs per delivery ({after['received']:,} received, 0 lost; {times})")
    user, system = (statistics.median(kind) for kind in zip(*costs, strict=True))
    cost = f"{user:.2f} µs user, {system:.2f} µs system per delivery"
    print(f"{options.clients:,} listeners, {options.rate}/s: {cost} (target for user: {TARGET_US} µs)")


if __name__ == "__main__":
    main()
