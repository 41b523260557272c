"""Measures the CPU per message of `loadline mqtt`.

Cases: full speed to the lab's sink, which checks every sequence number; a fixed rate to mosquitto,
compared with paho as Pepeunit uses it; the lateness of 10,000 clients; the memory of 15,000 idle
connections. The last three need mosquitto, the second a Python with paho.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAIRS = 5


def cpu_of(command: list[str], folder: str) -> float:
    """Returns the CPU seconds of a command, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextlib.contextmanager
def lab(loadline: str, *options: str):
    command = [loadline, "lab", "mqtt", "--until-stdin-closes", *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = process.stdout.readline().removeprefix("listening on ").strip()
    process.stdout.readline()
    yield url
    process.stdin.close()
    process.wait()


def publish(loadline: str, port: object, folder: str, *more: object) -> tuple[float, dict]:
    command = [loadline, "mqtt", "pub", "-h", "127.0.0.1", "-p", port, "-V", 4, "-t", "load/%i", "-s", 64, "--json", "out.json", *more]
    cpu = cpu_of([str(word) for word in command], folder)
    return cpu, json.loads(Path(folder, "out.json").read_text())


def spun(folder: str) -> float:
    """Returns the seconds that the last run's workers spent spinning until the next arrival.

    They are part of the CPU time.
    """
    with Path(folder, ".loadline/runs/last/counters.jsonl").open() as lines:
        intervals = [json.loads(line) for line in lines]
    workers = [worker for interval in intervals for worker in interval.get("run", {}).get("workers", [])]
    return sum(worker.get("spin_ns", 0) for worker in workers) / 1e9


def print_median(name: str, values: list[float], unit: str) -> None:
    values_text = ", ".join(f"{value:,.3g}" for value in values)
    print(f"{name}: median {statistics.median(values):,.3g} {unit} (each: {values_text})", flush=True)


@contextlib.contextmanager
def mosquitto(folder: str):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = Path(folder, "mosquitto.conf")
    lines = [f"listener {port} 127.0.0.1", "allow_anonymous true", "set_tcp_nodelay true", "user root"]
    config.write_text("\n".join(lines))
    process = subprocess.Popen(["mosquitto", "-c", config], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


def stolen() -> float:
    """Returns the seconds that the hypervisor took from this machine's cores."""
    return int(Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")


def compare_with_paho(loadline: str, python: str, folder: str, seconds: int = 10) -> None:
    """Sends 20,000 messages/s from 100 clients.

    paho's count is of messages passed to it, ours of messages read by the server. CPU spent
    spinning is printed separately: it may take a quarter of the time, independent of the number of
    messages.
    """
    ours, at_work, theirs, without_slack, late = [], [], [], [], []
    for _ in range(PAIRS):
        with mosquitto(folder) as port:
            cpu, out = publish(loadline, port, folder, "-c", 100, "-R", 1000, "-I", 5, "--duration", f"{seconds}s")
            ours.append(cpu / out["mqtt"]["confirmed"] * 1e6)
            at_work.append((cpu - spun(folder)) / out["mqtt"]["confirmed"] * 1e6)
            late.append(out["lateness"]["p50"]["ns"] / 1e3)
        with mosquitto(folder) as port:
            flags = ["-c", 100, "-R", 1000, "-I", 5, "--duration", f"{seconds}s", "--pacing-slack", "0"]
            cpu, out = publish(loadline, port, folder, *flags)
            without_slack.append(cpu / out["mqtt"]["confirmed"] * 1e6)
        with mosquitto(folder) as port:
            command = [python, str(ROOT / "bench/mqtt_paho.py"), str(port), "100", "200", "2", str(seconds)]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            ran = subprocess.run(command, check=True, capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            theirs.append(cpu / int(ran.stdout) * 1e6)
    print_median("20,000/s over 100 connections, ours", ours, "us of CPU per message")
    print_median("lateness p50", late, "us")
    print_median("the same without pacing slack", without_slack, "us of CPU per message")
    print_median("ratio of CPU with slack to without", [a / b for a, b in zip(ours, without_slack, strict=True)], "times")
    print_median("of which at work", at_work, "us of CPU per message")
    print_median("the same, paho as Pepeunit uses it", theirs, "us of CPU per message")
    print_median("ratio of the pairs", [b / a for a, b in zip(ours, theirs, strict=True)], "times")
    print_median("ratio of the pairs, at work", [b / a for a, b in zip(at_work, theirs, strict=True)], "times")


def lateness(loadline: str, folder: str) -> None:
    late = []
    for _ in range(PAIRS):
        with mosquitto(folder) as port:
            before = stolen()
            _, out = publish(loadline, port, folder, "-c", 10_000, "-R", 2000, "-I", 500, "--duration", "10s")
            late.append(out["lateness"]["p99"]["ns"] / 1e6)
            print(f"  p99 {late[-1]:.3f} ms, {stolen() - before:.1f} s stolen, {out['mqtt']['confirmed']} messages read", flush=True)
    print_median("10,000 clients x 2/s, lateness p99", late, "ms")


def idle(loadline: str, folder: str) -> None:
    """Opens 15,000 idle connections, with a limit of 20,000 descriptors."""
    peaks, own = [], []
    for _ in range(3):
        with mosquitto(folder) as port:
            common = ["-h", "127.0.0.1", "-p", str(port), "-V", "4", "--json", "out.json"]
            many = ["-c", "15000", "-R", "2000", "--duration", "5s"]

            def limited() -> None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (20_000, 20_000))

            command = [loadline, "mqtt", "conn", *common, *many]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen(command, cwd=folder, preexec_fn=limited, **quiet)
            most = 0.0
            while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
                status = Path(f"/proc/{process.pid}/status").read_text()
                held = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
                most = max([most, *(int(kib) / 1024 for kib in held)])
                time.sleep(0.1)
            own.append(most)
            _, _, used = os.wait4(process.pid, 0)
            process.returncode = 0
            connected = json.loads(Path(folder, "out.json").read_text())["mqtt"]["connected"]
            assert connected == 15_000, connected
            peaks.append(used.ru_maxrss / 1024)
    print_median("15,000 idle connections, memory of its own (anonymous)", own, "MiB")
    print_median("15,000 idle connections, peak resident memory with record and report", peaks, "MiB")


def send_to_sink(loadline: str, folder: str, name: str, *more: object) -> None:
    rates = []
    for _ in range(PAIRS):
        with lab(loadline, "mode=sink") as url:
            port = url.rsplit(":", 1)[1]
            cpu, out = publish(loadline, port, folder, "-c", 4, "-R", 1000, "-I", 0, "--duration", "3s", *more)
            with urllib.request.urlopen(f"{url}/__lab/stats") as answer:
                sink = json.load(answer)
        assert sink["out_of_sequence"] == 0
        assert sink["received"] == out["mqtt"]["confirmed"] == out["mqtt"]["sent"]
        rates.append(out["mqtt"]["sent"] / cpu / 1e6)
    print_median(name, rates, "million messages per generator CPU-second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loadline", default=str(ROOT / "target/dist/loadline"))
    parser.add_argument("--paho", default=sys.executable, help="a Python that has paho-mqtt")
    parser.add_argument("--only", choices=["sink", "paho", "lateness", "idle"], action="append")
    options = parser.parse_args()
    # Commands run in other folders.
    options.loadline = str(Path(options.loadline).resolve())
    selected = options.only or ["sink", "paho", "lateness", "idle"]
    with tempfile.TemporaryDirectory() as folder:
        if "sink" in selected:
            send_to_sink(options.loadline, folder, "QoS 0, as fast as it goes, to the sink")
            send_to_sink(options.loadline, folder, "QoS 1, as fast as it goes, to the sink", "-q", 1, "-F", 100)
        if "paho" in selected:
            compare_with_paho(options.loadline, options.paho, folder)
        if "lateness" in selected:
            lateness(options.loadline, folder)
        if "idle" in selected:
            idle(options.loadline, folder)


if __name__ == "__main__":
    main()
