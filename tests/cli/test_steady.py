"""Steady state: a server that cannot keep up, a changing load, and criteria on the steady state."""

import json
import shutil
import threading
from pathlib import Path

import pytest
from conftest import Loadline
from fake_servers import RecordingServer

#: The number of requests served one at a time, and the time for each.
SLOW = 360
EACH_S = 1 / 30


class OneAtATime:
    """Serves the first requests one at a time and later ones immediately, so the queue is empty
    after the load.
    """

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.served = 0

    def __call__(self, _request) -> tuple[int, dict[str, str], bytes]:
        with self.turn:
            self.served += 1
            if self.served <= SLOW:
                threading.Event().wait(EACH_S)
        return 200, {}, b"{}"


def test_overloaded_server_has_no_steady_state(loadline):
    # Twice the server's capacity, for as long as the limit applies.
    with RecordingServer(OneAtATime()) as peer:
        run = loadline(
            "run", peer.url, "--rate", "60/s", "--duration", "12s", "--check", "p99 in steady < 1m", "--check", "errors < 1%"
        )
    assert run.returncode == 5, run.stderr + run.stdout
    summary = loadline.summary()
    steady = summary["steady"]
    assert (steady["behaviour"], steady["settled_ns"]) == ("overload", None), steady
    assert 15 < steady["backlog_per_second"] < 45
    sentences = [conclusion["text"] for conclusion in summary["conclusions"] if conclusion["kind"] == "overload"]
    assert "No steady state was reached." in sentences[0]
    judged, errors = summary["criteria"]
    assert judged["judgement"] == "INCONCLUSIVE"
    assert judged["reason"].startswith("overload instead of a steady state: ")
    assert errors["judgement"] == "PASS"
    assert "Overload instead of a steady state" in " ".join(run.stdout.split())
    report = (loadline.folder / ".loadline/runs/last/report.md").read_text()
    assert "Overload instead of a steady state" in report


def test_impossible_steady_state_is_refused_and_short_run_is_unknown(loadline, start_lab):
    lab = start_lab("sum")
    plan = f"""loadline: 1
target: {lab.url}
load:
  - {{ from: 10/s, to: 50/s, duration: 2s }}
criteria:
  - p99 in steady < 1s
steps:
  - get: /api/sum
"""
    ramp = loadline.write("ramp.yml", plan)
    refused = loadline("run", ramp)
    assert refused.returncode == 2, refused.stdout
    assert "ramp.yml:6:5: `p99 in steady < 1s`" in refused.stderr
    assert "the load is never constant" in refused.stderr
    short = loadline.write("short.yml", plan.replace("from: 10/s, to: 50/s", "rate: 20/s"))
    run = loadline("run", short)
    assert run.returncode == 5, run.stderr
    steady = loadline.summary()["steady"]
    assert steady["behaviour"] == "unknown"
    assert "constant for only" in steady["sentence"]
    assert steady["sentence"] not in run.stdout


@pytest.mark.parametrize("rule", ["p99 in steady > 2s for 10s: stop"])
def test_stop_rule_on_steady_state_is_refused(loadline, rule):
    refused = loadline("run", "http://127.0.0.1:9", "--stop", rule)
    assert refused.returncode == 2
    assert "remove `in steady`" in refused.stderr


class SlowAtFirst:
    """Answers the first requests slowly and later ones immediately."""

    #: Enough that all of the first whole second is slow, wherever it begins, and none of the last
    #: but one.
    FIRST = 140

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.seen = 0

    def __call__(self, _request) -> tuple[int, dict[str, str], bytes]:
        with self.turn:
            self.seen += 1
            is_slow = self.seen <= self.FIRST
        if is_slow:
            threading.Event().wait(0.3)
        return 200, {}, b"{}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run of five seconds with slow requests first."""
    loadline = Loadline(tmp_path_factory.mktemp("recorded"))
    with RecordingServer(SlowAtFirst()) as peer:
        run = loadline("run", peer.url, "--rate", "60/s", "--duration", "5s")
    assert run.returncode == 0, run.stderr
    return loadline


def whole_seconds(folder: Path) -> list[tuple[list[dict], list[list[str]]]]:
    """Returns the counter lines and the histograms (tag, maximum, rest) of each whole second."""
    counters: dict[int, list[dict]] = {}
    for line in map(json.loads, (folder / "counters.jsonl").read_text().splitlines()):
        counters.setdefault(line["i"], []).append(line)
    histograms: dict[int, list[list[str]]] = {}
    rows: list[list[str]] = []
    for line in (folder / "intervals.hlog").read_text().splitlines():
        if line.startswith("Tag="):
            tag, _start, _length, rest = line.split(",", 3)
            rows.append([tag, rest])
        elif line.startswith("#end "):
            histograms[int(line[5:])], rows = rows, []
    spans = {i: lines[0]["run"] for i, lines in counters.items()}
    whole = [i for i, run in sorted(spans.items()) if run["to_ns"] - run["from_ns"] == 10**9]
    return [(counters[i], histograms[i]) for i in whole]


def extend(recorded: Loadline, tmp_path: Path, order: str, criteria: list[str]) -> dict:
    """Returns the summary of a longer run, made of slow and fast seconds in the given order."""
    loadline = Loadline(tmp_path)
    folder = tmp_path / "run"
    shutil.copytree(recorded.folder / ".loadline/runs/last/", folder)
    seconds = whole_seconds(folder)
    kinds = {"s": seconds[0], "q": seconds[-1]}
    header = [line for line in (folder / "intervals.hlog").read_text().splitlines() if not line.startswith(("Tag=", "#end "))]
    lines, logs = [], header
    for number, kind in enumerate(order):
        counters, histograms = kinds[kind]
        begin = number * 10**9
        span = {"from_ns": begin, "to_ns": begin + 10**9, "last_end_ns": begin + 10**9 - 1}
        for line in counters:
            run = {"run": line["run"] | span} if "run" in line else {}
            lines.append(json.dumps(line | {"i": number} | run))
        logs += [f"{tag},{number}.000000000,1.000000000,{rest}" for tag, rest in histograms]
        logs.append(f"#end {number}")
    (folder / "counters.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "intervals.hlog").write_text("\n".join(logs) + "\n")
    (folder / "summary.json").unlink()
    manifest = json.loads((folder / "manifest.json").read_text())
    end_ns = len(order) * 10**9
    manifest["load"]["end_ns"] = manifest["phases"][0]["end_ns"] = end_ns
    manifest["end"] |= {"ns": end_ns, "recorded_to_ns": end_ns}
    manifest["start"]["wall_ns"] -= manifest["start"]["wall_ns"] % 10**9
    manifest["criteria"] = criteria
    (folder / "manifest.json").write_text(json.dumps(manifest))
    rendered = loadline("report", folder)
    assert rendered.returncode == 0, rendered.stderr
    return json.loads((folder / "summary.json").read_text()) | {"printed": " ".join(rendered.stdout.split())}


def test_warm_up_is_excluded_from_steady_criteria(recorded, tmp_path):
    bounds = ["p99 < 200ms", "p99 in steady < 200ms", 'p99 of "GET /" in steady < 200ms', "rate in steady > 40/s"]
    summary = extend(recorded, tmp_path, "s" * 4 + "q" * 41, bounds)
    steady = summary["steady"]
    assert (steady["behaviour"], steady["settled_ns"]) == ("steady", 5 * 10**9), steady
    assert steady["stats"]["p99"]["ns"] < 200e6
    whole, *settled = summary["criteria"]
    assert whole["value"] > 200e6
    assert whole["judgement"] != "PASS"
    assert [judged["judgement"] for judged in settled] == ["PASS"] * 3, settled
    assert "after a warm-up of 5 s" in summary["printed"]
    assert "steady" in [conclusion["kind"] for conclusion in summary["conclusions"]]


def test_lasting_slowdown_is_a_shift(recorded, tmp_path):
    summary = extend(recorded, tmp_path, "q" * 25 + "s" * 20, ["p99 in steady < 200ms"])
    steady = summary["steady"]
    assert (steady["behaviour"], steady["at_ns"], steady["settled_ns"]) == ("shifting", 25 * 10**9, None), steady
    assert summary["criteria"][0]["judgement"] == "INCONCLUSIVE"
    assert "at 25 s, p50 of the response time changed from " in summary["printed"]
