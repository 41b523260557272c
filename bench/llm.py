#!/usr/bin/env python3
"""Measures streamed responses against the embedded model API, whose schedule and log are known.

- Truth: 200 streams. First token and gaps as measured, and as the target logged them.
- CPU per event with content, compared with Python clients that parse the same events.
- Memory of 5,000 open streams.

The target runs on core 0, clients on core 1; the CPU of a client's start is subtracted.
`make bench-llm` installs the clients
into target/llm-clients and runs this. Keep the output in
bench/results/.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from engine import LOADLINE, cpu_of, version

PAIRS = int(os.environ.get("PAIRS", "5"))
CLIENT = Path(__file__).parent / "llm_client.py"
#: Standard streams: tokens of a response, and users that ask again and again.
TOKENS, USERS = 100, 64


@contextlib.contextmanager
def target(folder: Path, *options: str, log: Path | None = None) -> Iterator[str]:
    command = ["taskset", "-c", "0", str(LOADLINE), "lab", "llm", "--until-stdin-closes", *options]
    if log:
        command += ["--log", str(log)]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = ""
    for line in process.stdout:
        if line.startswith("listening on "):
            url = url or line.removeprefix("listening on ").strip()
        if line == "ready\n":
            break
    yield url
    process.stdin.close()
    process.wait()


def loadline(folder: Path, url: str, users: int, seconds: float) -> tuple[float, dict]:
    """Returns CPU seconds of the whole process, and the summary."""
    command = [LOADLINE, "run", url, "--stream", "openai", "--users", users, "--duration", f"{seconds}s", "--workers", 1]
    cpu, _ = cpu_of([str(part) for part in command], folder)
    return cpu, json.loads((folder / ".loadline/runs/last/summary.json").read_text())


def quantile(values: list[float], q: float) -> float:
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


def truth(folder: Path) -> None:
    log = folder / "log.jsonl"
    with target(folder, "ttft=200ms", "gap=20ms", f"tokens={TOKENS}", log=log) as url:
        _, summary = loadline(folder, url, 200, 12)
    stream = summary["all"]["stream"]
    records = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    complete = [record for record in records if record["end"] == "complete"]
    tokens = sum(len(record["token_ns"]) for record in complete)
    first = [record["first_token_ns"] - record["arrival_ns"] for record in complete]
    gaps = [b - a for record in complete for a, b in itertools.pairwise(record["token_ns"])]
    for name, ours, logged in (("first token", stream["ttft_service"], first), ("gap", stream["gap"], gaps)):
        for q, statistic in ((0.5, "p50"), (0.99, "p99")):
            figure = ours[statistic]
            measured = figure.get("ns") or figure["thin"]["ns"]
            known = quantile(logged, q)
            print(
                f"200 streams, {name} {statistic}: measured {measured / 1e6:.3f} ms, logged {known / 1e6:.3f} ms, "
                f"difference {(measured - known) / 1e6:+.3f} ms"
            )
    print(f"200 streams: {stream['tokens']} tokens measured, {tokens} logged, {stream['complete']} and {len(complete)} responses")


def python(library: str, url: str) -> float:
    """Returns microseconds of CPU per event with content."""
    command = ["taskset", "-c", "1", sys.argv[1], str(CLIENT), library, f"{url}/v1/chat/completions", str(USERS), "6"]
    out = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return out["cpu"] / out["events"] * 1e6


def cpu_per_event(folder: Path) -> None:
    for gap in ("10ms", "2ms"):
        with target(folder, "ttft=20ms", f"gap={gap}", f"tokens={TOKENS}") as url:
            rounds = []
            for _ in range(PAIRS):
                short, long = (loadline(folder, url, USERS, seconds) for seconds in (1.2, 7.2))
                events = [summary["all"]["stream"]["chunks"] for _, summary in (short, long)]
                ours = (long[0] - short[0]) / (events[1] - events[0]) * 1e6
                aiohttp, httpx = (python(library, url) for library in ("aiohttp", "httpx"))
                rounds.append((ours, aiohttp, httpx))
                print(f"  gap {gap}: loadline {ours:.2f} µs   aiohttp {aiohttp:.1f} µs   httpx {httpx:.1f} µs")
        ours, aiohttp, httpx = (statistics.median(one[i] for one in rounds) for i in range(3))
        ratios = [statistics.median(one[i] / one[0] for one in rounds) for i in (1, 2)]
        print(
            f"CPU per event, gap {gap}, {USERS} streams: loadline {ours:.2f} µs, aiohttp {aiohttp:.1f} µs (1/{ratios[0]:.1f}), "
            f"httpx {httpx:.1f} µs (1/{ratios[1]:.1f}), medians"
        )


def memory(folder: Path) -> None:
    with target(folder, "ttft=100ms", "gap=1s", "tokens=8") as url:
        command = [LOADLINE, "run", url, "--stream", "openai", "--users", 5000, "--duration", "12s", "--workers", 1]
        process = subprocess.Popen([*map(str, command)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        peak = 0
        while process.poll() is None:
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{process.pid}/status").read_text()
                peak = max(peak, int((re.search(r"VmHWM:\s+(\d+)", status) or [0, 0])[1]))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
    summary = json.loads((folder / ".loadline/runs/last/summary.json").read_text())
    print(
        f"5,000 streams: {peak / 1000:.0f} MB, at most {summary['in_flight']['max']} open, {summary['requests']['none']} not complete"
    )


def libraries() -> str:
    text = "import aiohttp, httpx; print(f'aiohttp {aiohttp.__version__}, httpx {httpx.__version__}')"
    return version(sys.argv[1], "-c", text)


def main() -> None:
    print(f"# {platform.node()} {platform.release()} {os.cpu_count()} cores")
    print(f"# {version(str(LOADLINE), '--version')}; {libraries()}")
    with tempfile.TemporaryDirectory() as name:
        for part in (truth, cpu_per_event, memory):
            folder = Path(name) / part.__name__
            folder.mkdir()
            part(folder)


if __name__ == "__main__":
    main()
