"""The Phoenix example: near capacity, overload, and a concurrency limit that bounds the latency of
accepted requests.
"""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

EXAMPLE = Path(__file__).parent.parent.parent / "examples/phoenix-sum"
SCRIPT = EXAMPLE / "sum.lua"


def seconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+) ?(µs|us|ms|s|m)", text).groups()
    return float(number) * {"µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}[unit]


def test_phoenix_script_requests_sums(loadline, start_lab):
    lab = start_lab("sum")
    run = loadline("wrk", "-t2", "-c2", "-d1s", "--latency", "-s", SCRIPT, lab.url)
    assert run.returncode == 0, run.stderr
    assert "Non-2xx" not in run.stdout
    stats = lab.stats()
    assert stats["answered"]["by_route"]["POST /api/sum"] == {"200": stats["received"]["total"]}


def test_concurrency_limit_bounds_the_latency_of_accepted_requests(loadline, start_lab):
    # Twenty connections with 20 ms of service each: without a limit a request waits for all others,
    # 400 ms.
    guarded = start_lab("sum", "work=20ms", "--max-in-flight", "2")
    run = loadline("wrk", "-t1", "-c20", "-d6s", "-s", SCRIPT, guarded.url)
    assert run.returncode == 0
    accepted = re.search(r"answered below status 400: ([\d,]+) \(.*?/s\), p99 ([\d.]+ \S+), max", run.stderr)
    refused = re.search(r"status 400 and above: ([\d,]+) ", run.stderr)
    number = [int(found[1].replace(",", "")) for found in (accepted, refused)]
    codes = guarded.stats()["answered"]["by_code"]
    # The lab also answered requests that were in flight at the end.
    assert 0 <= codes["200"] - number[0] <= 2
    assert 0 <= codes["503"] - number[1] <= 20
    assert 150 <= number[0] <= 305
    assert seconds(accepted[2]) < 0.2
    waiting = start_lab("sum", "work=20ms")
    run = loadline("wrk", "-t1", "-c20", "-d2s", "--latency", "-s", SCRIPT, waiting.url)
    median = re.search(r"50% +(\S+)", run.stdout)[1]
    assert seconds(median) > 0.3


@pytest.mark.parametrize("options", [["-t12", "-c12"], ["-t100", "-c100"]])
def test_published_command_line_runs(loadline, start_lab, options):
    lab = start_lab("sum")
    run = loadline("wrk", *options, "-d1s", "--latency", "-s", SCRIPT, lab.url)
    assert run.returncode == 0
    count = options[0].removeprefix("-t")
    assert f"\n  {count} threads and {count} connections\n" in run.stdout
