#!/usr/bin/env python3
"""Compares the CPU per request of the native engine and wrk, against one nginx worker with a small
fixed response.

Pairs alternate. Generators run on one core, the server on the other; whole processes are measured,
with recording. Prints every pair, then medians and the ratio of each pair. `make bench` runs it.
Keep the output in bench/results/ with the machine's name and the date.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOADLINE = Path(os.environ.get("LOADLINE", ROOT / "target/dist/loadline"))
SECONDS, PAIRS = 5, 5

NGINX = """
worker_processes 1; worker_cpu_affinity 01; daemon off; error_log /dev/null; pid {folder}/pid;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ default_type application/json; return 200 '{{"result":3}}'; }} }}
}}
"""


def cpu_of(command: list[str], folder: Path) -> tuple[float, str]:
    """Runs a command on core 1. Returns its user and system seconds, and its output."""
    process = subprocess.Popen(
        ["taskset", "-c", "1", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    out = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime, out


def loadline(url: str, connections: int, folder: Path) -> tuple[float, int]:
    command = [str(LOADLINE), "run", url, "--connections", str(connections), "--duration", f"{SECONDS}s", "--workers", "1"]
    cpu, out = cpu_of(command, folder)
    return cpu, int(re.search(r"^Requests +([\d,]+) issued", out, re.M)[1].replace(",", ""))


def wrk(url: str, connections: int, folder: Path) -> tuple[float, int]:
    cpu, out = cpu_of(["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", url], folder)
    return cpu, int(re.search(r"(\d+) requests in", out)[1])


def version(*command: str) -> str:
    run = subprocess.run(command, capture_output=True, text=True)
    return (run.stdout + run.stderr).splitlines()[0]


def main() -> None:
    missing = [tool for tool in ("nginx", "wrk", "taskset") if not shutil.which(tool)]
    if missing or not LOADLINE.exists():
        sys.exit(f"needed: {' '.join(missing) or LOADLINE}")
    with tempfile.TemporaryDirectory() as name, open(os.devnull, "w") as null:
        folder = Path(name)
        port = 18_000 + os.getpid() % 2000
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        server = subprocess.Popen(["nginx", "-c", folder / "nginx.conf"], stdout=null, stderr=null)
        try:
            url = f"http://127.0.0.1:{port}/"
            ready(url)
            print(f"# {platform.node()} {platform.release()} {os.cpu_count()} cores")
            print(f"# {version(LOADLINE, '--version')}; {version('wrk', '-v')}")
            print(f"# {version('nginx', '-v')}; {PAIRS} pairs of {SECONDS} s, generators on core 1, nginx on core 0")
            for connections in (1, 32, 100, 1000):
                compare(url, connections, folder)
        finally:
            server.terminate()
            server.wait()


def ready(url: str) -> None:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit("nginx did not start")


def compare(url: str, connections: int, folder: Path) -> None:
    pairs = []
    for _ in range(PAIRS):
        ours, theirs = loadline(url, connections, folder), wrk(url, connections, folder)
        pairs.append((ours[0] / ours[1] * 1e6, theirs[0] / theirs[1] * 1e6, ours[1] / SECONDS, theirs[1] / SECONDS))
    for a, b, x, y in pairs:
        print(f"  {connections:>5} connections: loadline {a:6.2f} µs {x:9.0f}/s   wrk {b:6.2f} µs {y:9.0f}/s   ratio {a / b:.3f}")
    a, b = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
    ratio = statistics.median(pair[0] / pair[1] for pair in pairs)
    print(f"{connections:>7} connections: loadline {a:.2f} µs, wrk {b:.2f} µs of CPU per request, ratio {ratio:.3f} (medians)")


if __name__ == "__main__":
    main()
