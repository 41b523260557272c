#!/usr/bin/env python3
"""Compares the CPU per request of `loadline locust` and Locust: the same locustfile, nginx and
core.

50 users without wait time send one GET, with recording, all on the native path (checked in the
record). nginx runs on core 0, the generator with all its threads on core 1. The CPU of Locust's
start, with users that do nothing, is measured first and subtracted. Pairs alternate. `make
bench-locust` installs the package and runs this. Keep the output in bench/results/.
"""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
BIN = HERE.parent / ".venv/bin"
PAIRS = int(os.environ.get("PAIRS", "5"))
SECONDS = int(os.environ.get("SECONDS_EACH", "8"))

NGINX = """
worker_processes 1; worker_cpu_affinity 01; daemon off; error_log /dev/null; pid {folder}/pid;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; default_type application/json;
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200 '{{"n": 12345, "text": "hello"}}'; }} }}
}}
"""

FILE = """
from locust import {user}, constant, task

class User({user}):
    wait_time = constant({wait})

    @task
    def get(self):
        {does}
"""

RUNS = {"stock": [str(BIN / "locust")], "ours": [str(BIN / "loadline"), "locust"]}


def run_tool(tool: str, user: str, url: str, folder: Path, idle: bool = False) -> tuple[float, int, int]:
    """Returns CPU seconds, requests, and Locust's requests per second."""
    does, wait = ("pass", 3600) if idle else ('self.client.get("/")', 0)
    (folder / "locustfile.py").write_text(FILE.format(user=user, wait=wait, does=does))
    arguments = ["--headless", "-u", "50", "-r", "50", "-t", str(3 if idle else SECONDS), "-H", url, "--only-summary"]
    with (folder / "err").open("w") as err:
        process = subprocess.Popen(["taskset", "-c", "1", *RUNS[tool], *arguments], cwd=folder, stdout=err, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    text = (folder / "err").read_text()
    if process.returncode not in (0, 1):
        sys.exit(f"{tool} ended with {process.returncode}:\n{text}")
    row = re.search(r"Aggregated +(\d+) +(\d+)\S* \|.*?\| +([\d.]+)", text)
    if not idle and int(row[2]):
        sys.exit(f"{tool}: {row[2]} requests failed")
    if not idle and tool == "ours":
        summary = json.loads((folder / ".loadline/runs/last/summary.json").read_text())
        groups = {label["group"] for label in summary["labels"]}
        if groups != {"request"}:
            sys.exit(f"not all requests were native: {groups}")
    return used.ru_utime + used.ru_stime, 0 if idle else int(row[1]), 0 if idle else round(float(row[3]))


def main() -> None:
    with socket.socket() as free, tempfile.TemporaryDirectory() as name:
        free.bind(("127.0.0.1", 0))
        port, folder = free.getsockname()[1], Path(name)
        free.close()
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        nginx = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p", folder])
        url = f"http://127.0.0.1:{port}"
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        versions = [subprocess.run([*run, "--version"], capture_output=True, text=True).stdout.strip() for run in RUNS.values()]
        print(f"{platform.platform()}, {os.cpu_count()} CPUs; {versions[0]}; {PAIRS} pairs of {SECONDS} s, 50 users")
        try:
            start = {tool: statistics.median(run_tool(tool, "HttpUser", url, folder, True)[0] for _ in range(3)) for tool in RUNS}
            print(f"to start: stock {start['stock']:.2f} s, ours {start['ours']:.2f} s of CPU, taken off")
            for user in os.environ.get("USERS", "HttpUser,FastHttpUser").split(","):
                compared(user, url, folder, start)
        finally:
            nginx.terminate()
            nginx.wait()


def compared(user: str, url: str, folder: Path, start: dict[str, float]) -> None:
    ratios, costs, rates = [], {tool: [] for tool in RUNS}, {tool: [] for tool in RUNS}
    for pair in range(PAIRS):
        for tool in sorted(RUNS, reverse=bool(pair % 2)):
            cpu, requests, rate = run_tool(tool, user, url, folder)
            costs[tool].append((cpu - start[tool]) / requests * 1e6)
            rates[tool].append(rate)
        ratios.append(costs["stock"][-1] / costs["ours"][-1])
        print(
            f"  {user} pair {pair + 1}: stock {costs['stock'][-1]:.1f} µs, ours {costs['ours'][-1]:.1f} µs, 1/{ratios[-1]:.1f}",
            flush=True,
        )
    middle = {tool: statistics.median(costs[tool]) for tool in RUNS}
    rate = {tool: statistics.median(rates[tool]) for tool in RUNS}
    span = f"1/{statistics.median(ratios):.1f} (1/{min(ratios):.1f} to 1/{max(ratios):.1f})"
    medians_text = ", ".join(f"{tool} {middle[tool]:.1f} µs ({rate[tool]:,.0f}/s)" for tool in RUNS)
    print(f"{user}: CPU per request, medians: {medians_text}: {span}")


if __name__ == "__main__":
    main()
