#!/usr/bin/env python3
"""Measures the CPU that `traceparent` costs per request: the native engine against one nginx worker, with and
without `--trace-context`, alternating. Prints every pair, then the median of the differences.

LOADLINE names another binary, PAIRS another number of pairs. Keep the output in bench/results/.
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import engine

PAIRS = int(os.environ.get("PAIRS", "7"))
CONNECTIONS, REQUESTS = 32, 300_000


def cpu_per_request(url: str, folder: Path, *flags: str) -> float:
    """Returns microseconds of user and system time."""
    command = [str(engine.LOADLINE), "run", url, "-c", str(CONNECTIONS), "--requests", str(REQUESTS), "--workers", "1", *flags]
    cpu, _ = engine.cpu_of(command, folder)
    return cpu / REQUESTS * 1e6


def main() -> None:
    if not shutil.which("nginx") or not engine.LOADLINE.exists():
        sys.exit(f"needed: nginx and {engine.LOADLINE}")
    with tempfile.TemporaryDirectory() as name, open(os.devnull, "w") as null:
        folder = Path(name)
        port = 18_000 + os.getpid() % 2000
        (folder / "nginx.conf").write_text(engine.NGINX.format(folder=folder, port=port))
        server = subprocess.Popen(["nginx", "-c", folder / "nginx.conf"], stdout=null, stderr=null)
        try:
            url = f"http://127.0.0.1:{port}/"
            engine.ready(url)
            print(f"# {platform.node()} {platform.release()} {os.cpu_count()} cores, profile {engine.LOADLINE.parent.name}")
            print(f"# {engine.version(engine.LOADLINE, '--version')}; {PAIRS} pairs of {REQUESTS} requests, {CONNECTIONS} connections")
            pairs = []
            for number in range(PAIRS):
                order = [(), ("--trace-context",)][:: 1 if number % 2 == 0 else -1]
                found = {flags: cpu_per_request(url, folder, *flags) for flags in order}
                without, with_context = found[()], found[("--trace-context",)]
                pairs.append((without, with_context))
                print(f"without {without:.3f} µs, with {with_context:.3f} µs: {1000 * (with_context - without):+.0f} ns")
            differences = [1000 * (with_context - without) for without, with_context in pairs]
            without = statistics.median(pair[0] for pair in pairs)
            print(f"median: {without:.3f} µs without, {statistics.median(differences):+.0f} ns with a trace context")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
