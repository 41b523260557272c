#!/usr/bin/env python3
"""Compares the CPU per request over HTTP/2 of Loadline and h2load, against one nginx worker with a
small fixed response, without TLS and with it. Then compares HTTP/2 with HTTP/1.1 in Loadline.

(c, m) is c connections with m requests at a time on each; Loadline has c × m users in a closed
loop. Pairs alternate. Generators run on one core, the server on the other; whole processes are
measured, with recording. Prints every pair, then medians and the median ratio of the pairs.
`make bench-h2` runs it. Keep the output in bench/results/http2.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tls import certificate
from wrk import LOADLINE, ready, run_on_core_1, version

NGINX = """
worker_processes 1; worker_cpu_affinity 01; daemon off; error_log /dev/null; pid {folder}/pid;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; default_type text/plain;
  http2_max_concurrent_streams 1024;
  ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; ssl_protocols TLSv1.3;
  server {{
    listen 127.0.0.1:{h1} backlog=4096; listen 127.0.0.1:{h2c} http2 backlog=4096;
    listen 127.0.0.1:{h2} ssl http2 backlog=4096; listen 127.0.0.1:{tls} ssl backlog=4096;
    location / {{ return 200 '0123456789abcdef0123456789abcde\\n'; }}
  }}
}}
"""
PLAN = """
loadline: 1
target: {url}
load: {{ users: {users}, duration: {seconds}s }}
http: {{ connections: {connections}, streams: {streams}, version: {version}, verify: false }}
steps: [ get: / ]
"""
CASES = ((8, 16), (1, 100), (64, 1))
#: Largest ratio of Loadline's CPU to h2load's that is aimed at.
TARGETS = {(8, 16): 0.9, (1, 100): 0.85, (64, 1): 0.7}
TARGET_HTTP1 = 1.15


def cpu_per_request(command: list[str], requests: str, folder: Path) -> float:
    """Runs a command on core 1. Returns user and system time per request in microseconds."""
    out, cpu = run_on_core_1(command, folder)
    found = re.search(requests, out, re.M)
    if not found or " 0 failed" not in out:
        sys.exit(f"{' '.join(command)}: unexpected output:\n{out}")
    return cpu / int(found[1].replace(",", ""))


def loadline(url: str, version: str, case: tuple[int, int], seconds: int, folder: Path) -> float:
    connections, streams = case
    plan = folder / "plan.yml"
    users = connections * streams
    plan.write_text(PLAN.format(url=url, users=users, connections=connections, streams=streams, version=version, seconds=seconds))
    command = [str(LOADLINE), "run", str(plan), "--workers", "1"]
    return cpu_per_request(command, r"^Requests +[\d,]+ issued = ([\d,]+) ok", folder)


def h2load(url: str, case: tuple[int, int], seconds: int, folder: Path) -> float:
    connections, streams = case
    command = ["h2load", f"-c{connections}", f"-m{streams}", f"-D{seconds}", url]
    return cpu_per_request(command, r"(\d+) succeeded", folder)


def compare(name: str, sides: dict[str, Callable[[], float]], target: float, pairs: int) -> None:
    (ours, theirs), measured = sides, []
    for _ in range(pairs):
        measured.append([run() for run in sides.values()])
        a, b = measured[-1]
        print(f"  {name}: {ours} {a:6.2f} µs   {theirs} {b:6.2f} µs   ratio {a / b:.3f}", flush=True)
    a, b = (statistics.median(pair[side] for pair in measured) for side in (0, 1))
    ratio = statistics.median(pair[0] / pair[1] for pair in measured)
    verdict = "reached" if ratio <= target else "missed"
    print(
        f"{name}: {ours} {a:.2f} µs, {theirs} {b:.2f} µs of CPU per request, ratio {ratio:.3f}, target {target} {verdict}", flush=True
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    return parser.parse_args()


def free_ports(names: tuple[str, ...]) -> dict[str, int]:
    first = 18_000 + os.getpid() % 2000 * 4
    return {name: first + number for number, name in enumerate(names)}


def main() -> None:
    arguments = parse()
    missing = [tool for tool in ("nginx", "h2load", "taskset", "openssl") if not shutil.which(tool)]
    if missing or not LOADLINE.exists():
        sys.exit(f"needed: {' '.join(missing) or LOADLINE}")
    with tempfile.TemporaryDirectory() as name, open(os.devnull, "w") as null:
        folder = Path(name)
        folder.chmod(0o755)
        certificate(folder)
        ports = free_ports(("h1", "h2c", "h2", "tls"))
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, **ports))
        server = subprocess.Popen(["nginx", "-c", folder / "nginx.conf"], stdout=null, stderr=null)
        urls = {name: f"http{'s' if name in ('h2', 'tls') else ''}://127.0.0.1:{port}/" for name, port in ports.items()}
        try:
            ready(urls["h1"])
            tools = ((LOADLINE, "--version"), ("h2load", "--version"), ("nginx", "-v"))
            print(f"# {platform.node()} {platform.release()} {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}")
            print("# " + ", ".join(version(*tool) for tool in tools))
            print(f"# {arguments.pairs} pairs of {arguments.seconds} s, generators on core 1, nginx on core 0", flush=True)
            run_all(urls, arguments, folder)
        finally:
            server.terminate()
            server.wait()


def run_all(urls: dict[str, str], arguments: argparse.Namespace, folder: Path) -> None:
    seconds = arguments.seconds
    for kind in ("h2c", "h2"):
        for case in CASES:
            sides = {
                "loadline": lambda kind=kind, case=case: loadline(urls[kind], "2-prior-knowledge", case, seconds, folder),
                "h2load": lambda kind=kind, case=case: h2load(urls[kind], case, seconds, folder),
            }
            name = f"{kind} {case}"
            if arguments.only in name:
                compare(name, sides, TARGETS[case], arguments.pairs)
    for kind, plain in (("h2c", "h1"), ("h2", "tls")):
        sides = {
            "HTTP/2": lambda kind=kind: loadline(urls[kind], "2-prior-knowledge", (64, 1), seconds, folder),
            "HTTP/1.1": lambda plain=plain: loadline(urls[plain], "1.1", (64, 1), seconds, folder),
        }
        name = f"{kind} (64, 1) to HTTP/1.1"
        if arguments.only in name:
            compare(name, sides, TARGET_HTTP1, arguments.pairs)


if __name__ == "__main__":
    main()
