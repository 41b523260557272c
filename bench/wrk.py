#!/usr/bin/env python3
"""Compares the CPU per request of `loadline wrk` and wrk, against one nginx worker with fixed
bodies.

Pairs alternate. Generators run on core 1, the server on core 0; whole processes are measured, with
recording. Prints every pair, then medians with the 10-90 % range and whether each target is met.
Raw pairs are written to bench/results/ as JSON. `make bench-wrk` runs it. `--only TEXT` and
`--seconds N` narrow it; `--quick` makes two short pairs as a check.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOADLINE = Path(os.environ.get("LOADLINE", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "dist/loadline"))

NGINX = """
worker_processes 1; worker_cpu_affinity 01; daemon off; error_log /dev/null; pid {folder}/pid;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; sendfile on; default_type application/json;
  open_file_cache max=10 inactive=600s;
  server {{
    listen 127.0.0.1:{port} backlog=8192;
    location / {{ return 200 '{{"result":3}}'; }}
    location /files/ {{ alias {folder}/files/; }}
  }}
}}
"""

SCRIPTS = {
    "sum": """
request = function()
  a = math.random(100)
  b = math.random(100)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.body = '{"a":' .. a .. ',"b":' .. b .. '}'
  return wrk.format(nil, "/api/sum")
end
""",
    "status": """
local good = 0
response = function(status) if status == 200 then good = good + 1 end end
""",
    "pipelined": """
init = function(args)
  local parts = {}
  for i = 1, 16 do parts[i] = wrk.format() end
  batch = table.concat(parts)
end
request = function() return batch end
""",
}


@dataclass(frozen=True)
class Case:
    """One cell of the matrix."""

    name: str
    connections: int
    path: str
    script: str | None
    target: float | None


def matrix() -> list[Case]:
    cases = []
    for connections in (1, 32, 100, 1000):
        small = 1.0 if connections == 1 else 0.88
        cases += [
            Case("static, 12 B", connections, "/", None, small),
            Case("static, 1 KB", connections, "/files/1k", None, None),
            Case("static, 100 KB", connections, "/files/100k", None, 0.6),
            Case("script of the sum", connections, "/", "sum", 0.95),
            Case("response(status)", connections, "/", "status", None),
            Case("16 at once", connections, "/", "pipelined", 0.7),
        ]
    return cases


def measured(command: list[str], folder: Path, env: dict[str, str]) -> tuple[float, int, float]:
    """Returns CPU seconds of a process on core 1, requests, and requests per second."""
    process = subprocess.Popen(
        ["taskset", "-c", "1", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env
    )
    out = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    requests = int(re.search(r"(\d+) requests in", out)[1])
    rate = float(re.search(r"Requests/sec: +([\d.]+)", out)[1])
    if "Socket errors" in out or "Non-2xx" in out:
        sys.exit(f"{' '.join(command)}: unexpected answers:\n{out}")
    return usage.ru_utime + usage.ru_stime, requests, rate


def pair(case: Case, url: str, seconds: int, folder: Path) -> dict[str, float]:
    # nginx may leave a connection waiting for seconds while it serves others.
    options = ["-t1", f"-c{case.connections}", f"-d{seconds}s", "--timeout", "30s"]
    if case.script:
        options += ["-s", str(folder / f"{case.script}.lua")]
    env = {**os.environ, "LOADLINE_RUNS": str(folder / "runs")}
    sides = {"loadline": [str(LOADLINE), "wrk"], "wrk": ["wrk"]}
    result = {}
    for name, command in sides.items():
        cpu, requests, rate = measured([*command, *options, url + case.path], folder, env)
        result[f"{name}_us"] = cpu / requests * 1e6
        result[f"{name}_per_second"] = rate
    return result


def spread(values: list[float]) -> tuple[float, float, float]:
    """Returns the 10 % point, the median, and the 90 % point."""
    ordered = sorted(values)
    at = lambda share: ordered[round(share * (len(ordered) - 1))]  # noqa: E731
    return at(0.1), statistics.median(ordered), at(0.9)


def run_on_core_1(command: list[str], folder: Path) -> tuple[str, float]:
    """Returns what the command printed, and its user and system time in microseconds."""
    process = subprocess.Popen(
        ["taskset", "-c", "1", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    out = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return out, (usage.ru_utime + usage.ru_stime) * 1e6


def version(*command: str) -> str:
    run = subprocess.run(command, capture_output=True, text=True)
    return (run.stdout + run.stderr).splitlines()[0]


def ready(url: str) -> None:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit("nginx did not start")


def run(case: Case, url: str, arguments: argparse.Namespace, folder: Path) -> dict:
    pairs = []
    for _ in range(arguments.pairs):
        one = pair(case, url, arguments.seconds, folder)
        pairs.append(one)
        sides = "   ".join(f"{name} {one[f'{name}_us']:7.2f} µs {one[f'{name}_per_second']:9.0f}/s" for name in ("loadline", "wrk"))
        ratio = one["loadline_us"] / one["wrk_us"]
        print(f"  {case.name:18} {case.connections:>5} connections: {sides}   ratio {ratio:.3f}", flush=True)
    low, ratio, high = spread([one["loadline_us"] / one["wrk_us"] for one in pairs])
    ours, theirs = (spread([one[f"{name}_us"] for one in pairs])[1] for name in ("loadline", "wrk"))
    verdict = "" if case.target is None else f"   target {case.target:.2f} {'met' if ratio <= case.target else 'MISSED'}"
    print(
        f"{case.name:20} {case.connections:>5} connections: {ours:.2f} µs, wrk {theirs:.2f} µs, "
        f"ratio {ratio:.3f} ({low:.3f} to {high:.3f}){verdict}",
        flush=True,
    )
    return {"case": case.name, "connections": case.connections, "target": case.target, "ratio": ratio, "pairs": pairs}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name and connections contain this")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seconds, arguments.pairs = 1, 2
    return arguments


def main() -> None:
    arguments = parse()
    missing = [tool for tool in ("nginx", "wrk", "taskset") if not shutil.which(tool)]
    if missing or not LOADLINE.exists():
        sys.exit(f"needed: {' '.join(missing) or LOADLINE}")
    with tempfile.TemporaryDirectory() as name, open(os.devnull, "w") as null:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "files").mkdir()
        (folder / "files/1k").write_bytes(b"x" * 1024)
        (folder / "files/100k").write_bytes(b"x" * 100 * 1024)
        for script, text in SCRIPTS.items():
            (folder / f"{script}.lua").write_text(text)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        server = subprocess.Popen(["nginx", "-c", folder / "nginx.conf"], stdout=null, stderr=null)
        try:
            url = f"http://127.0.0.1:{port}"
            ready(url)
            facts = {
                "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "host": f"{platform.node()} {platform.release()} {os.cpu_count()} cores",
                "loadline": version(LOADLINE, "--version"),
                "wrk": version("wrk", "-v"),
                "nginx": version("nginx", "-v"),
                "how": f"{arguments.pairs} pairs of {arguments.seconds} s, generators on core 1, nginx on core 0; whole processes",
            }
            print("\n".join(f"# {key}: {value}" for key, value in facts.items()), flush=True)
            wanted = [case for case in matrix() if arguments.only in f"{case.name} {case.connections}"]
            results = [run(case, url, arguments, folder) for case in wanted]
        finally:
            server.terminate()
            server.wait()
    if not arguments.quick:
        place = ROOT / "bench/results"
        place.mkdir(exist_ok=True)
        path = place / f"wrk-{facts['date'].replace(':', '')}.json"
        path.write_text(json.dumps({**facts, "results": results}, indent=1) + "\n")
        print(f"# {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
