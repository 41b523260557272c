"""CPU per message of `loadline mqtt`, flat out to the lab's sink, which checks every sequence number. Needs nothing but a build."""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import statistics
import subprocess
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAIRS = 5


def cpu_of(command: list[str], folder: str) -> float:
    """Seconds of CPU, user and kernel, of a command."""
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


def told(name: str, values: list[float], unit: str) -> None:
    shown = ", ".join(f"{value:,.3g}" for value in values)
    print(f"{name}: median {statistics.median(values):,.3g} {unit} (each: {shown})", flush=True)


def to_the_sink(loadline: str, folder: str, name: str, *more: object) -> None:
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
    told(name, rates, "million messages per generator CPU-second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loadline", default=str(ROOT / "target/dist/loadline"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        to_the_sink(asked.loadline, folder, "QoS 0, as fast as it goes, to the sink")
        to_the_sink(asked.loadline, folder, "QoS 1, as fast as it goes, to the sink", "-q", 1, "-F", 100)


if __name__ == "__main__":
    main()
