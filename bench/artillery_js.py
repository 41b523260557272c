#!/usr/bin/env python3
"""Measures what a processor in JavaScript costs, and compares it with artillery.

- The FHIR round with a `beforeRequest` that sets a header and an `afterResponse` that reads the
  body, in both tools, and without a processor in Loadline.
- An empty function, from runs with and without a thousand calls per user.
- Memory of 10,000 virtual users with a processor.

nginx runs on core 0, generators on core 1; the CPU of a tool's start is subtracted. `make bench-js`
installs artillery into bench/node (ARTILLERY names another one) and runs this. `BEFORE` names an
older Loadline, whose runs without a processor are compared. Keep the output in bench/results/.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from artillery import ARTILLERY, FLAT, NGINX, SCRIPT, package_version
from engine import LOADLINE, cpu_of, ready, version

PAIRS = int(os.environ.get("PAIRS", "5"))
BEFORE = os.environ.get("BEFORE")
USERS = 10_000

PROCESSOR = """
module.exports = {
  sign(requestParams, context, events, next) {
    requestParams.headers['x-user'] = context.vars.auth;
    return next();
  },
  check(requestParams, response, context, events, next) {
    const body = JSON.parse(response.body);
    context.vars.kind = body.resourceType;
    return next();
  },
  empty(context, events, next) {
    return next();
  },
};
"""

# The round of `bench-artillery`, with room for a processor.
FHIR = SCRIPT.replace("target: {url}\n", "target: {url}\n  {processor}\n").replace("  - flow:", "  - {hooks}\n    flow:")

CALLS = """
config:
  target: {url}
  processor: ./helpers.js
  phases: [ {{ duration: 1, arrivalCount: 10 }} ]
scenarios:
  - flow:
      - loop: [ {steps} ]
        count: {count}
"""

IDLE = """
config:
  target: {url}
  processor: ./helpers.js
  phases: [ {{ duration: 1, arrivalCount: {users} }} ]
  variables: {{ auth: Bearer t0ken }}
scenarios:
  - beforeRequest: sign
    flow: [ {{ get: {{ url: / }} }}, {{ think: 4 }} ]
"""


class Bench:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        (folder / "helpers.js").write_text(PROCESSOR)

    def run(self, tool: str, script: str) -> tuple[float, dict]:
        """Runs a script. Returns the CPU in seconds and artillery's aggregate."""
        (self.folder / "s.yml").write_text(script)
        out = self.folder / "out.json"
        out.unlink(missing_ok=True)
        command = [str(ARTILLERY), "run"] if tool == "artillery" else [tool, "artillery", "run"]
        cpu, _ = cpu_of([*command, "-q", "-o", str(out), "s.yml"], self.folder)
        aggregate = json.loads(out.read_text())["aggregate"]
        failed = aggregate["counters"].get("vusers.failed", 0)
        assert failed == 0, aggregate["counters"]
        return cpu, aggregate["counters"]

    def fhir(self, tool: str, count: int, with_processor: bool) -> tuple[float, int]:
        script = FHIR.format(
            url=self.url,
            phase=FLAT,
            count=count,
            processor="processor: ./helpers.js" if with_processor else "",
            hooks="beforeRequest: sign\n    afterResponse: check" if with_processor else "name: plain",
        )
        cpu, counters = self.run(tool, script)
        return cpu, counters["http.requests"]

    def per_request(self, tool: str, count: int, with_processor: bool) -> float:
        """CPU per request in µs, without the start."""
        start, few = self.fhir(tool, 1, with_processor)
        cpu, requests = self.fhir(tool, count, with_processor)
        return (cpu - start) / (requests - few) * 1e6

    def per_call(self) -> float:
        """CPU of an empty function in µs."""
        steps = ", ".join(["{ function: empty }"] * 20)
        cpus = [self.run(str(LOADLINE), CALLS.format(url=self.url, steps=steps, count=count))[0] for count in (1, 1000)]
        return (cpus[1] - cpus[0]) / (10 * 20 * 999) * 1e6

    def memory(self) -> float:
        """Peak memory of many users with a processor, in MB."""
        (self.folder / "s.yml").write_text(IDLE.format(url=self.url, users=USERS))
        command = [LOADLINE, "artillery", "run", "-q", "s.yml"]
        run = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(run.pid, 0)
        return usage.ru_maxrss / 1024


def median(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def compare(bench: Bench) -> None:
    with_hooks, plain, theirs, older = [], [], [], []
    for _ in range(PAIRS):
        with_hooks.append(bench.per_request(str(LOADLINE), 5000, True))
        theirs.append(bench.per_request("artillery", 200, True))
        plain.append(bench.per_request(str(LOADLINE), 5000, False))
        if BEFORE:
            older.append(bench.per_request(BEFORE, 5000, False))
        print(
            f"  loadline {with_hooks[-1]:.2f} µs with hooks, {plain[-1]:.2f} without"
            f"{f' ({older[-1]:.2f} before)' if older else ''}; artillery {theirs[-1]:.1f} µs with hooks",
            flush=True,
        )
    print(f"with hooks: loadline {median(with_hooks)} µs of CPU per request, artillery {median(theirs)}")
    ratios = [one / other for one, other in zip(theirs, with_hooks, strict=True)]
    print(f"with hooks: artillery / loadline {median(ratios)}")
    print(f"without a processor: {median(plain)} µs")
    if older:
        print(f"without a processor, now / before: {median([a / b for a, b in zip(plain, older, strict=True)])}")


def main() -> None:
    if not LOADLINE.exists() or not ARTILLERY.exists():
        sys.exit(f"needed: {LOADLINE}, {ARTILLERY}")
    os.environ["ARTILLERY_DISABLE_TELEMETRY"] = "1"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 40_000), hard))
    with tempfile.TemporaryDirectory() as name, open(os.devnull, "w") as null:
        folder = Path(name)
        port = 18_000 + os.getpid() % 2000
        (folder / "nginx.conf").write_text(
            NGINX.format(folder=folder, port=port).replace("worker_connections 4096", "worker_connections 20000")
        )
        server = subprocess.Popen(["nginx", "-c", folder / "nginx.conf"], stdout=null, stderr=null)
        try:
            url = f"http://127.0.0.1:{port}"
            ready(url)
            print(f"# {platform.node()} {platform.release()} {os.cpu_count()} cores; {version(str(LOADLINE), '--version')}")
            print(f"# artillery {package_version()} on node {version('node', '--version')}; {version('nginx', '-v')}")
            print(f"# {PAIRS} alternating runs, generators on core 1, nginx on core 0; start-up taken off")
            bench = Bench(folder, url)
            compare(bench)
            print(f"empty function: {median([bench.per_call() for _ in range(PAIRS)])} µs per call")
            print(f"{USERS:,} users with a processor: {bench.memory():.0f} MB")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
