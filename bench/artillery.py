#!/usr/bin/env python3
"""Compares the CPU per request of `loadline artillery` and artillery, with the same script against
the same nginx.

The FHIR round (create, read, search) has fixed responses; nginx runs on core 0, generators on core
1. There are two loads: ten virtual users at full speed, and about 1,000 requests/s. The CPU of a
tool's start is measured by a run of one round and subtracted. During the steady load a raw socket
sends 50 requests per second; its median is the reference.

`make bench-artillery` installs artillery into bench/node (ARTILLERY names another one) and runs
this. Keep the output in bench/results/.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from engine import LOADLINE, cpu_of, ready, version

HERE = Path(__file__).parent
ARTILLERY = Path(os.environ.get("ARTILLERY", HERE / "node/node_modules/.bin/artillery"))
PAIRS = int(os.environ.get("PAIRS", "5"))

NGINX = """
worker_processes 1; worker_cpu_affinity 01; daemon off; error_log /dev/null; pid {folder}/pid;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; default_type application/fhir+json;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location = /fhir/R4/Patient {{
      if ($request_method = POST) {{ return 201 '{{"resourceType":"Patient","id":"p1","name":[{{"family":"Babbage"}}]}}'; }}
      return 200 '{{"resourceType":"Bundle","total":1,"entry":[{{"resource":{{"resourceType":"Patient","id":"p1"}}}}]}}';
    }}
    location /fhir/R4/Patient/ {{ return 200 '{{"resourceType":"Patient","id":"p1","name":[{{"family":"Babbage"}}]}}'; }}
    location / {{ return 200 'ok'; }}
  }}
}}
"""

SCRIPT = """
config:
  target: {url}
  phases: [ {phase} ]
  variables: {{ auth: Bearer t0ken }}
scenarios:
  - flow:
      - loop:
          - post:
              url: /fhir/R4/Patient
              headers: {{ Authorization: '{{{{ auth }}}}' }}
              json: {{ resourceType: Patient, name: [ {{ family: '{{{{ $randomString() }}}}' }} ] }}
              capture: [ {{ json: $.id, as: patientId }}, {{ json: '$.name[0].family', as: familyName }} ]
          - get: {{ url: '/fhir/R4/Patient/{{{{ patientId }}}}', headers: {{ Authorization: '{{{{ auth }}}}' }} }}
          - get: {{ url: '/fhir/R4/Patient?name={{{{ familyName }}}}', headers: {{ Authorization: '{{{{ auth }}}}' }} }}
        count: {count}
"""

# Ten concurrent users, with enough rounds for some seconds of work per tool; and ten users per second
# with 99 requests each.
FLAT = "{ duration: 1, arrivalCount: 10 }"
STEADY = "{ duration: 10, arrivalRate: 10 }"
TOOLS = {
    "loadline": ([str(LOADLINE), "artillery", "run"], 10_000),
    "artillery": ([str(ARTILLERY), "run"], 500),
}


class Run:
    """One run of a tool: CPU seconds, requests, and its reported median."""

    def __init__(self, tool: str, phase: str, count: int, url: str, folder: Path) -> None:
        (folder / "s.yml").write_text(SCRIPT.format(url=url, phase=phase, count=count))
        out = folder / "out.json"
        out.unlink(missing_ok=True)
        self.cpu, _ = cpu_of([*TOOLS[tool][0], "-q", "-o", str(out), "s.yml"], folder)
        aggregate = json.loads(out.read_text())["aggregate"]
        self.requests = aggregate["counters"]["http.requests"]
        assert aggregate["counters"].get("vusers.failed", 0) == 0, aggregate["counters"]
        self.median_ms = aggregate["summaries"]["http.response_time"]["median"]

    def per_request(self, start: float) -> float:
        return (self.cpu - start) / self.requests * 1e6


class RawClient(threading.Thread):
    """Sends 50 requests per second over one connection, to measure the response time as the kernel
    sees it.
    """

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.times: list[float] = []
        self.end = threading.Event()
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self) -> None:
        request = b"GET /fhir/R4/Patient/p1 HTTP/1.1\r\nHost: x\r\n\r\n"
        while not self.end.wait(0.02):
            begin = time.perf_counter()
            self.connection.sendall(request)
            self.connection.recv(65536)
            self.times.append(time.perf_counter() - begin)

    def median_ms(self) -> float:
        self.end.set()
        self.join()
        return statistics.median(self.times) * 1e3


def native_median_ms(folder: Path) -> float:
    """Returns the median service time in the record of the last run."""
    out = folder / "summary.json"
    subprocess.run([LOADLINE, "report", "last", "--json", out], cwd=folder, check=True, capture_output=True)
    return json.loads(out.read_text())["all"]["service"]["p50"]["ns"] / 1e6


def spread(values: list[float]) -> str:
    ordered = sorted(values)
    tenth = (len(ordered) - 1) // 10
    return f"{statistics.median(ordered):.2f} ({ordered[tenth]:.2f} to {ordered[-1 - tenth]:.2f})"


def compare(what: str, phase: str, counts: dict[str, int], start: dict[str, float], url: str, folder: Path, port: int) -> dict:
    """Runs alternating pairs and prints their ratios."""
    pairs = []
    for _ in range(PAIRS):
        pair = {}
        for tool in TOOLS:
            raw = RawClient(port)
            raw.start()
            run = Run(tool, phase, counts[tool], url, folder)
            pair[tool] = {"us": run.per_request(start[tool]), "requests": run.requests, "median_ms": run.median_ms}
            pair[tool]["raw_median_ms"] = raw.median_ms()
            if tool == "loadline":
                pair[tool]["median_ms"] = native_median_ms(folder)
        pairs.append(pair)
        ours, theirs = pair["loadline"], pair["artillery"]
        print(
            f"  {what}: loadline {ours['us']:7.2f} µs  p50 {ours['median_ms']:.3f} ms (raw socket {ours['raw_median_ms']:.3f})   "
            f"artillery {theirs['us']:7.2f} µs  median {theirs['median_ms']} ms (raw socket {theirs['raw_median_ms']:.3f})   "
            f"1/{theirs['us'] / ours['us']:.1f}",
            flush=True,
        )
    ratios = [pair["artillery"]["us"] / pair["loadline"]["us"] for pair in pairs]
    for tool in TOOLS:
        print(f"{what}: {tool} {spread([pair[tool]['us'] for pair in pairs])} µs of CPU per request")
    off = [pair["loadline"]["median_ms"] - pair["loadline"]["raw_median_ms"] for pair in pairs]
    print(f"{what}: artillery / loadline {spread(ratios)}; loadline's p50 minus the raw socket's {spread(off)} ms")
    return {"load": what, "pairs": pairs}


def main() -> None:
    missing = [tool for tool in ("nginx", "taskset") if not shutil.which(tool)]
    if missing or not LOADLINE.exists() or not ARTILLERY.exists():
        sys.exit(f"needed: {' '.join(missing) or f'{LOADLINE}, {ARTILLERY}'}")
    os.environ["ARTILLERY_DISABLE_TELEMETRY"] = "1"
    with tempfile.TemporaryDirectory() as name, open(os.devnull, "w") as null:
        folder = Path(name)
        port = 18_000 + os.getpid() % 2000
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        server = subprocess.Popen(["nginx", "-c", folder / "nginx.conf"], stdout=null, stderr=null)
        try:
            url = f"http://127.0.0.1:{port}"
            ready(url)
            print(f"# {platform.node()} {platform.release()} {os.cpu_count()} cores; {version(LOADLINE, '--version')}")
            print(f"# artillery {package_version()} on node {version('node', '--version')}; {version('nginx', '-v')}")
            print(f"# {PAIRS} pairs, generators on core 1, nginx on core 0; start-up taken off")
            start = {}
            for tool in TOOLS:
                start[tool] = statistics.median(Run(tool, FLAT, 1, url, folder).cpu for _ in range(3))
                print(f"  to start {tool}: {start[tool] * 1e3:.0f} ms of CPU")
            results = [
                compare("flat out", FLAT, {tool: count for tool, (_, count) in TOOLS.items()}, start, url, folder, port),
                compare("1,000/s", STEADY, dict.fromkeys(TOOLS, 33), start, url, folder, port),
            ]
            if len(sys.argv) > 1:
                Path(sys.argv[1]).write_text(json.dumps(results, indent=1) + "\n")
        finally:
            server.terminate()
            server.wait()


def package_version() -> str:
    package = ARTILLERY.resolve().parent.parent / "package.json"
    return json.loads(package.read_text())["version"]


if __name__ == "__main__":
    main()
