#!/usr/bin/env python3
"""Measures how many requests a saturated server handles, with TLS and without: `loadline wrk`
compared with wrk.

One nginx worker runs on core 0, generators on core 1, in alternating pairs. For each side: requests
per second, CPU of the generator and of the server per request, and how often each went to sleep.
`--awake` keeps core 1 busy with a process of lowest priority (SCHED_IDLE), which removes the cost
of waking the core. Prints medians, and the medians of the pairs' ratios (Loadline / wrk).
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from wrk import LOADLINE, ready, version

NGINX = """
worker_processes 1; worker_cpu_affinity 01; daemon off; error_log /dev/null; pid {folder}/pid;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; sendfile on; default_type application/json;
  open_file_cache max=10 inactive=600s;
  ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; ssl_protocols TLSv1.2 TLSv1.3;
  server {{
    listen 127.0.0.1:{plain} backlog=8192; listen 127.0.0.1:{tls} ssl backlog=8192;
    location / {{ return 200 '{{"result":3}}'; }}
    location /files/ {{ alias {folder}/files/; }}
  }}
}}
"""
FIGURES = ("per_second", "generator_us", "server_us", "generator_sleeps", "server_sleeps")


def slept(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("voluntary_ctxt")))


def ran_ns(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def measured(command: list[str], server: int, folder: Path) -> dict[str, float]:
    """Returns the figures of one run; counts are per request."""
    before = ran_ns(server), slept(server)
    process = subprocess.Popen(
        ["taskset", "-c", "1", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "LOADLINE_RUNS": str(folder / "runs")},
    )
    out = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    after = ran_ns(server), slept(server)
    if "Socket errors" in out or "Non-2xx" in out:
        sys.exit(f"{' '.join(command)}: unexpected answers:\n{out}")
    requests = int(next(line.split()[0] for line in out.splitlines() if " requests in " in line))
    rate = next(line.split()[1] for line in out.splitlines() if line.startswith("Requests/sec"))
    return {
        "per_second": float(rate),
        "generator_us": (usage.ru_utime + usage.ru_stime) / requests * 1e6,
        "server_us": (after[0] - before[0]) / requests / 1e3,
        "generator_sleeps": usage.ru_nvcsw / requests,
        "server_sleeps": (after[1] - before[1]) / requests,
    }


def case(name: str, url: str, server: int, arguments: argparse.Namespace, folder: Path) -> None:
    options = ["-t1", f"-c{arguments.connections}", f"-d{arguments.seconds}s", "--timeout", "30s", url]
    pairs = []
    for _ in range(arguments.pairs):
        pairs.append([measured([*command, *options], server, folder) for command in ([str(LOADLINE), "wrk"], ["wrk"])])
    print(f"{name}, {arguments.connections} connections")
    for figure in FIGURES:
        ours, theirs = (statistics.median(pair[side][figure] for pair in pairs) for side in (0, 1))
        ratio = statistics.median(pair[0][figure] / max(pair[1][figure], 1e-9) for pair in pairs)
        print(f"  {figure:16} {ours:10.3f} wrk {theirs:10.3f}   ratio {ratio:.3f}", flush=True)


def certificate(folder: Path) -> None:
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / "key.pem"]
    made = ["openssl", "req", "-x509", *key, "-out", folder / "cert.pem", "-subj", "/CN=bench"]
    subprocess.run(made, check=True, capture_output=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--awake", action="store_true", help="keep the generators' core from idling")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    missing = [tool for tool in ("nginx", "wrk", "taskset", "openssl", "chrt") if not shutil.which(tool)]
    if missing or not LOADLINE.exists():
        sys.exit(f"needed: {' '.join(missing) or LOADLINE}")
    with tempfile.TemporaryDirectory() as name, open(os.devnull, "w") as null:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "files").mkdir()
        (folder / "files/1k").write_bytes(b"x" * 1024)
        (folder / "files/100k").write_bytes(b"x" * 100 * 1024)
        certificate(folder)
        ports = {}
        for kind in ("plain", "tls"):
            with socket.create_server(("127.0.0.1", 0)) as free:
                ports[kind] = free.getsockname()[1]
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, **ports))
        server = subprocess.Popen(["nginx", "-c", folder / "nginx.conf"], stdout=null, stderr=null)
        busy = ["chrt", "-i", "0", "taskset", "-c", "1", sys.executable, "-c", "while True: pass"]
        awake = subprocess.Popen(busy) if arguments.awake else None
        try:
            ready(f"http://127.0.0.1:{ports['plain']}")
            worker = int(Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()[0])
            tools = ((LOADLINE, "--version"), ("wrk", "-v"), ("nginx", "-v"), ("openssl", "version"))
            print("# " + ", ".join(version(*tool) for tool in tools))
            suffix = ", core 1 kept awake" if awake else ""
            print(f"# {arguments.pairs} pairs of {arguments.seconds} s{suffix}", flush=True)
            for kind, scheme in (("tls", "https"), ("plain", "http")):
                for body, path in (("12 B", "/"), ("1 KB", "/files/1k"), ("100 KB", "/files/100k")):
                    if arguments.only in f"{kind}, {body}":
                        case(f"{kind}, {body}", f"{scheme}://127.0.0.1:{ports[kind]}{path}", worker, arguments, folder)
        finally:
            for process in filter(None, (awake, server)):
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()
