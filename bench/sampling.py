#!/usr/bin/env python3
"""Measures the cost of sampling a service: the CPU of each sampler thread, and the lateness of
arrivals.

`make bench-sampling` runs it. A lab is loaded in turn without and with five sources: an exporter
with 190 metrics, PostgreSQL, Redis, a process, and a command. Thread times come from the kernel and
are read during the run; the child processes of the command are not included.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import databases  # noqa: E402
from required_tools import tool_path  # noqa: E402

LOADLINE = Path(os.environ.get("LOADLINE", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "dist/loadline"))
RATE, SECONDS, TURNS = 500, 20, 2
METRICS = "".join(f'# TYPE m{n} counter\nm{n}_total{{path="/a",code="200"}} {n}\n' for n in range(186)) + (
    "process_cpu_seconds_total 1\nprocess_resident_memory_bytes 2\nnodejs_eventloop_lag_seconds 0.01\nnodejs_heap_size_used_bytes 5\n"
)


class Exporter(BaseHTTPRequestHandler):
    def do_GET(self):
        body = METRICS.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def threads(pid: int) -> dict[str, float]:
    """Returns the CPU seconds of each sampler."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            name = (task / "comm").read_text().strip()
            if name.startswith("samples-"):
                found[name.removeprefix("samples-")] = int((task / "schedstat").read_text().split()[0]) / 1e9
    return found


def run(url: str, folder: Path, sources: dict[str, str]) -> tuple[dict[str, float], float, int]:
    flags = [word for name, place in sources.items() for word in ("--server", f"{name}={place}")]
    command = [LOADLINE, "run", f"{url}/api/sum", "--rate", f"{RATE}/s", "--duration", f"{SECONDS}s", *flags]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    times: dict[str, float] = {}
    while True:
        with contextlib.suppress(OSError):
            times.update(threads(process.pid))
        try:
            process.wait(timeout=0.5)
            break
        except subprocess.TimeoutExpired:
            continue
    summary = json.loads((folder / ".loadline/runs/last/summary.json").read_text())
    arrivals = summary["arrivals"]
    return times, summary["lateness"]["p99"]["ns"] / 1e3, arrivals["unsent"]


def main() -> None:
    if not LOADLINE.exists():
        sys.exit(f"needed: {LOADLINE}")
    versions = [
        subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.strip()
        for tool in (LOADLINE, tool_path("redis-server"))
    ]
    postgres = str(Path(tool_path("initdb")).parent / "postgres")
    versions.insert(1, subprocess.run([postgres, "--version"], capture_output=True, text=True).stdout.strip())
    print(f"# {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} · {platform.node()} {platform.release()} {os.cpu_count()} cores")
    print(f"# {' · '.join(versions)}")
    with contextlib.ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        database = ends.enter_context(databases.postgres())
        cache = ends.enter_context(databases.redis(folder))
        exporter = ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        threading.Thread(target=exporter.serve_forever, daemon=True).start()
        ends.callback(exporter.shutdown)
        lab = subprocess.Popen(
            [LOADLINE, "lab", "sum", "--until-stdin-closes"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        ends.callback(lab.wait)
        ends.callback(lab.stdin.close)
        url = ""
        for line in lab.stdout:
            if line.startswith("listening on ") and not url:
                url = line.removeprefix("listening on ").strip()
            if line == "ready\n":
                break
        sources = {
            "app": f"http://127.0.0.1:{exporter.server_port}/metrics",
            "db": database.url(),
            "cache": f"redis://:hunter2@127.0.0.1:{cache}",
            "lab": f"pid:{lab.pid}",
            "shell": "command:echo a 1",
        }
        for turn in range(1, TURNS + 1):
            for used in ({}, sources):
                times, late, unsent = run(url, folder, used)
                costs = ", ".join(f"{name} {100 * spent / SECONDS:.3f} %" for name, spent in sorted(times.items()))
                kind = f"{len(used)} sources"
                print(f"turn {turn}, {kind}: lateness p99 {late:.0f} µs, unsent {unsent}; of a core: {costs}", flush=True)


if __name__ == "__main__":
    main()
