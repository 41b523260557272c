#!/usr/bin/env python3
"""Measures the cost of several nodes over Ray, and how closely they start together.

On one machine, three nodes of a Ray cluster send 3,000/s to an embedded lab that logs each request.
`make bench-cluster` runs it. It prints the counts of both sides, the CPU of the conductor and of
Ray on each node, the error of the merged times against the lab's log, and, over five starts, how
far apart the nodes started: arrival times at the lab compared with due times. `--json FILE` also
writes the figures to a file.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from ray_nodes import Cluster, children_of, is_node  # noqa: E402

LOADLINE = Path(os.environ.get("LOADLINE", ROOT / ".venv/bin/loadline")).resolve()
NODES, RATE, SECONDS, STARTS = 3, 3_000, 30, 5
# Seconds of the run in which all nodes send.
FROM_S, TO_S = 10, 22
TICKS = os.sysconf("SC_CLK_TCK")
PLAN = """\
loadline: 1
target: {url}
load: {{ rate: {rate}/s, duration: {seconds}s }}
csv: {{ file: ids.csv }}
http: {{ connections: 300, headers: {{ x-request-id: "{{{{ id }}}}" }} }}
steps:
  - get: /a
"""


def start_lab(folder: Path, *options: str) -> tuple[subprocess.Popen, str]:
    lab = subprocess.Popen(
        [LOADLINE, "lab", "truth", *options, "--log", folder / "lab.log"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return lab, re.search(r"http://\S+", lab.stdout.readline())[0]


def end(process: subprocess.Popen) -> None:
    process.terminate()
    process.wait(20)


def cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def process_groups(run: int, cluster: Cluster) -> dict[str, set[int]]:
    """Returns the measured processes, grouped by their role."""
    groups: dict[str, set[int]] = {"conductor": {run}, "conductor's Ray": children_of(run)}
    for number, raylet in enumerate(cluster.raylets.values()):
        every = children_of(raylet)
        sends = {pid for pid in every if is_node(pid)}
        groups[f"node {number}, the load"] = sends
        groups[f"node {number}, Ray and its actor"] = (every | {raylet}) - sends
    return groups


def run_plan(folder: Path, cluster: Cluster, url: str, seconds: int, *, watch: bool = False) -> tuple[dict, dict[str, float]]:
    """Runs a plan. Returns its summary, and the CPU of each group as a share of a core."""
    (folder / "ids.csv").write_text("id\n" + "".join(f"{n}\n" for n in range(RATE * seconds)))
    (folder / "plan.yml").write_text(PLAN.format(url=url, rate=RATE, seconds=seconds))
    flags = ["--on", "ray", "--nodes", str(NODES), "--address", cluster.address, "--insecure-cluster", "--json", "summary.json"]
    env = {**os.environ, "RAY_AUTH_MODE": "disabled", "LOADLINE_BINARY": str(LOADLINE)}
    lab_log = folder / "lab.log"
    before = lab_log.stat().st_size
    with (folder / "out").open("w") as out:
        run = subprocess.Popen([LOADLINE, "run", "plan.yml", *flags], cwd=folder, env=env, stdout=out, stderr=out)
        shares: dict[str, float] = {}
        if watch:
            while lab_log.stat().st_size == before and run.poll() is None:
                time.sleep(0.05)
            time.sleep(FROM_S)
            groups = process_groups(run.pid, cluster)
            began, first = time.monotonic(), {name: sum(map(cpu_s, pids)) for name, pids in groups.items()}
            time.sleep(TO_S - FROM_S)
            took = time.monotonic() - began
            shares = {name: (sum(map(cpu_s, pids)) - first[name]) / took for name, pids in groups.items()}
        code = run.wait(180)
    if code not in (0, 4):
        raise SystemExit((folder / "out").read_text())
    return json.loads((folder / "summary.json").read_text()), shares


def log_of(folder: Path, lab: subprocess.Popen) -> list[dict]:
    end(lab)
    lines = [json.loads(line) for line in (folder / "lab.log").read_text().splitlines()]
    return [line for line in lines if line.get("id") is not None]


def quantile(ordered: list[int], share: float) -> int:
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 1e6) * len(ordered) // 1_000_000) - 1))]


def measure_run(folder: Path, cluster: Cluster) -> dict:
    lab, url = start_lab(folder, "mode=exponential", "mean=5ms", "servers=64")
    summary, shares = run_plan(folder, cluster, url, SECONDS, watch=True)
    lines = log_of(folder, lab)
    arrivals = summary["arrivals"]
    print(f"{SECONDS} s at {RATE}/s over {NODES} nodes: {summary['measurement']['verdict']}")
    print(f"planned {arrivals['planned']}  started {arrivals['started']}  completed {arrivals['completed']}")
    print(f"the lab's lines {len(lines)}, of {len({line['id'] for line in lines})} ids")
    for name, share in shares.items():
        print(f"{name:30} {share * 100:5.2f} % of a core")
    away_ns = {}
    held = sorted(line["release_ns"] - line["arrival_ns"] for line in lines)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)):
        reported_ns, true_ns = summary["all"]["service"][name].get("ns"), quantile(held, share)
        if reported_ns is not None:
            away_ns[name] = reported_ns - true_ns
            away = away_ns[name] / 1e3
            figures_text = f"service {name:5} {reported_ns / 1e6:8.3f} ms, the lab {true_ns / 1e6:8.3f} ms"
            print(f"{figures_text}: {away:+.0f} µs, {away * 1e5 / true_ns:+.2f} %")
    ids = Counter(line["id"] for line in lines)
    counts = {name: arrivals[name] for name in ("planned", "started", "completed")} | {"lab": len(lines), "ids": len(ids)}
    return {"verdict": summary["measurement"]["verdict"], "counts": counts, "shares": shares, "away_ns": away_ns}


def measure_start(folder: Path, cluster: Cluster) -> tuple[float, float]:
    """Returns how far apart the nodes start, in milliseconds: by the shift of their first hundred
    arrivals, and by their first ones.
    """
    lab, url = start_lab(folder, "mode=constant", "service=1ms")
    run_plan(folder, cluster, url, 3)
    lines = log_of(folder, lab)
    shifts, firsts = [], []
    for node in range(NODES):
        own = sorted((int(line["id"]), line["arrival_ns"]) for line in lines if int(line["id"]) % NODES == node)[:100]
        shifts.append(statistics.median(ns - number * 1e9 / RATE for number, ns in own) / 1e6)
        firsts.append((own[0][1] - own[0][0] * 1e9 / RATE) / 1e6)
    return max(shifts) - min(shifts), max(firsts) - min(firsts)


def main() -> None:
    version = subprocess.run([LOADLINE, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC  {version}  {platform.system()} {platform.release()}  {os.cpu_count()} cores")
    folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    cluster = Cluster(NODES, {"RAY_AUTH_MODE": "disabled"})
    # Stops all processes even if a run hangs.
    guard = threading.Timer(900, cluster.end)
    guard.daemon = True
    guard.start()
    try:
        figures = measure_run(folder, cluster)
        starts = [measure_start(folder, cluster) for _ in range(STARTS)]
        for shift, first in starts:
            print(f"start: nodes lie {shift:.3f} ms apart, their first requests {first:.3f} ms")
        shift, first = (statistics.median(one) for one in zip(*starts, strict=True))
        print(f"median of {STARTS}: {shift:.3f} ms, first requests {first:.3f} ms")
        figures |= {"apart_ms": shift, "first_apart_ms": first}
        if sys.argv[1:2] == ["--json"]:
            Path(sys.argv[2]).write_text(json.dumps(figures))
    finally:
        cluster.end()
        shutil.rmtree(folder, ignore_errors=True)


main()
