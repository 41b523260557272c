#!/usr/bin/env python3
"""Measures what a k6 script costs: CPU per request, memory of waiting users, and their start.

The script sends a request, checks its status and sleeps 0 s. nginx runs on core 0, Loadline on
core 1; the CPU of a run with one request is subtracted. `make bench-k6` runs this. Keep the output
in bench/results/.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from engine import LOADLINE, NGINX, cpu_of, ready, version

PAIRS = int(os.environ.get("PAIRS", "5"))
USERS = 1000

LOOP = """
import http from 'k6/http';
import { check, sleep } from 'k6';
export default function () {
  const response = http.get(`${__ENV.BASE}/`);
  check(response, { 'status is 200': (r) => r.status === 200 });
  sleep(0);
}
"""

WAIT = """
import http from 'k6/http';
export const options = { scenarios: { wait: { executor: 'constant-vus', vus: 1000, duration: '3s', gracefulStop: '0s' } } };
export default function () { http.get(`${__ENV.BASE}/`); }
"""


def run(folder: Path, url: str, *flags: str) -> tuple[float, int]:
    """Returns the CPU in seconds and the number of requests."""
    command = [str(LOADLINE), "k6", "run", "--quiet", "-e", f"BASE={url}", *flags, "loop.js"]
    cpu, out = cpu_of(command, folder)
    return cpu, int(re.search(r"^    http_reqs\.+: (\d+)", out, re.M)[1])


def per_request(folder: Path, url: str, users: int) -> float:
    """Returns the CPU per request in µs."""
    start, few = run(folder, url, "--vus", str(users), "--iterations", str(users))
    cpu, many = run(folder, url, "--vus", str(users), "--duration", "4s")
    return (cpu - start) / (many - few) * 1e6


def serve_nothing() -> int:
    """Accepts connections and never answers. Returns the port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    accepted = []

    def accept() -> None:
        while True:
            accepted.append(listener.accept()[0])

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def memory(folder: Path) -> float:
    """Returns the peak memory in MB while all users wait for a response."""
    command = [LOADLINE, "k6", "run", "--quiet", "-e", f"BASE=http://127.0.0.1:{serve_nothing()}", "wait.js"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_maxrss / 1024


def start(folder: Path, url: str) -> float:
    """Returns the CPU in seconds of the start of all users, with one iteration each."""
    few, _ = run(folder, url, "--vus", "1", "--iterations", "1")
    many, _ = run(folder, url, "--vus", str(USERS), "--iterations", str(USERS))
    return many - few


def spread(values: list[float], digits: int = 1) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main() -> None:
    if not LOADLINE.exists():
        sys.exit(f"needed: {LOADLINE}")
    with tempfile.TemporaryDirectory() as name, open(os.devnull, "w") as null:
        folder = Path(name)
        os.environ["LOADLINE_RUNS"] = str(folder / "runs")
        (folder / "loop.js").write_text(LOOP)
        (folder / "wait.js").write_text(WAIT)
        port = 18_000 + os.getpid() % 2000
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        server = subprocess.Popen(["taskset", "-c", "0", "nginx", "-c", folder / "nginx.conf"], stdout=null, stderr=null)
        try:
            url = f"http://127.0.0.1:{port}"
            ready(url)
            print(f"# {platform.node()} {platform.release()} {os.cpu_count()} cores; {version(str(LOADLINE), '--version')}")
            print(f"# {version('nginx', '-v')}; Loadline on core 1, nginx on core 0; median of {PAIRS} runs (range)")
            for users in (32, USERS):
                cpu = spread([per_request(folder, url, users) for _ in range(PAIRS)])
                print(f"{users} users: {cpu} µs of CPU per request", flush=True)
            cpu = spread([start(folder, url) for _ in range(PAIRS)], 2)
            print(f"start of {USERS} users with one request each: {cpu} s of CPU", flush=True)
            print(f"{USERS} users that wait for a response: {spread([memory(folder) for _ in range(PAIRS)], 0)} MB")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
