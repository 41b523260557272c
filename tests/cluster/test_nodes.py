"""One run on several nodes of this machine: counted once, merged, started and stopped together;
and refusals.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from conftest import wait_until
from distributed_runs import count_ids, node_pids, quantile_ns, read_histograms, sum_parts, write_plan
from fake_servers import RecordingServer


def last_run(loadline) -> Path:
    return loadline.folder / ".loadline/runs/last"


def test_three_nodes_send_each_arrival_of_the_plan_once(loadline):
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, "[{ rate: 120/s, duration: 2s }, { rate: 90/s, duration: 2s, arrivals: poisson }]")
        ran = loadline("run", "plan.yml", "--seed", 7, "--on", "local", "--nodes", 3, "--json", "all.json")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        seen = count_ids(peer)
        peer.requests.clear()
        alone = loadline("run", "plan.yml", "--seed", 7, "--json", "one.json")
        assert alone.returncode == 0, alone.stderr
        assert count_ids(peer) == seen
    assert set(seen.values()) == {1}
    of_many, of_one = (json.loads((loadline.folder / name).read_text()) for name in ("all.json", "one.json"))
    for ledger in ("planned", "started", "completed", "unsent"):
        assert of_many["arrivals"][ledger] == of_one["arrivals"][ledger], ledger
    assert of_many["arrivals"]["planned"] == len(seen) == of_many["all"]["count"]
    # The record is the sum of the nodes, and every node has its share, within one arrival.
    each = sum_parts(loadline.folder / ".loadline/runs" / Path(report_folder(ran)).name)
    assert sum(part["issued"] for part in each) == len(seen)
    assert all(abs(part["issued"] - len(seen) / 3) <= 1 for part in each)
    samples = sum((read_histograms(part) for part in (loadline.folder / report_folder(ran) / "parts").iterdir()), Counter())
    for time_of in ("service", "response"):
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95)):
            assert of_many["all"][time_of][name]["ns"] == quantile_ns(samples, f"0.{time_of}", share), (time_of, name)
    assert [node["node"] for node in of_many["nodes"]] == [0, 1, 2]
    assert sum(node["requests"] for node in of_many["nodes"]) == len(seen)
    assert {node["state"] for node in of_many["nodes"]} == {"finished"}
    assert "node 2" in ran.stdout
    report = Path(loadline.folder / report_folder(ran))
    assert "## Nodes" in (report / "report.md").read_text()
    # Nodes delete their own records after the conductor has received them.
    node_records = loadline.folder / ".loadline/runs/.nodes"
    assert not node_records.exists() or not any(node_records.iterdir())


def report_folder(ran) -> str:
    return str(Path(re.search(r"^Report: (.+)$", ran.stdout, re.M)[1]).parent)


def test_users_and_limits_are_divided_and_setup_runs_once(loadline):
    more = """\
setup:
  - post: { url: /login, capture: { token: $.token } }
teardown:
  - post: /logout
"""
    with RecordingServer(lambda _: (200, {}, b'{"token": "t-1"}')) as peer:
        loadline.write(
            "plan.yml",
            f"loadline: 1\ntarget: {peer.url}\nload: {{ users: 5, duration: 2s }}\n{more}steps:\n"
            "  - get: { url: /a, headers: { X-Token: '{{ token }}' } }\n  - think: 100ms\n",
        )
        ran = loadline("run", "plan.yml", "--on", "local", "--nodes", 2)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        paths = Counter(request.path for request in peer.requests)
        tokens = {request.headers.get("x-token") for request in peer.requests if request.path == "/a"}
    assert (paths["/login"], paths["/logout"]) == (1, 1)
    assert tokens == {"t-1"}
    assert paths["/a"] == loadline.summary()["requests"]["issued"]
    assert loadline.summary()["in_flight"] is not None


def test_stop_rule_on_the_whole_run_ends_all_nodes(loadline):
    with RecordingServer(lambda _: (503, {}, b"no")) as peer:
        write_plan(loadline, peer.url, "{ rate: 60/s, duration: 60s }")
        began = time.monotonic()
        ran = loadline("run", "plan.yml", "--on", "local", "--stop", "errors > 50% for 1s: stop fail")
        took = time.monotonic() - began
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert took < 30
    assert "errors > 50% for 1 s" in " ".join(ran.stdout.split())
    assert loadline.summary()["run"]["ended_by"]


def test_ctrl_c_ends_all_nodes_with_a_report(loadline):
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, "{ rate: 60/s, duration: 60s }")
        process = loadline.start("run", "plan.yml", "--on", "local", "--nodes", 3)
        nodes = node_pids(process)
        wait_until(lambda: len(peer.requests) > 60, "the load")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Report: " in out
    assert "ended early" in out
    assert not any(Path(f"/proc/{pid}").exists() for pid in nodes)
    arrivals = loadline.summary()["arrivals"]
    assert arrivals["adds_up"], arrivals


def test_sigterm_to_a_node_drains_its_part(loadline):
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, "{ rate: 90/s, duration: 5s }")
        process = loadline.start("run", "plan.yml", "--on", "local", "--nodes", 3)
        nodes = node_pids(process)
        wait_until(lambda: len(peer.requests) > 90, "the load")
        os.kill(int(nodes[0]), signal.SIGTERM)
        # Its part is complete and its end is known: nothing is lost or unknown.
        out, err = process.communicate(timeout=60)
        seen = count_ids(peer)
    summary = loadline.summary()
    assert summary.get("lost", []) == [], err
    assert summary["requests"]["issued"] == sum(seen.values())
    assert summary["arrivals"].get("unknown", 0) == 0
    assert process.returncode == 3, out + err
    assert "SIGTERM" in err


def test_killed_conductor_stops_all_nodes_and_their_records_can_be_merged(loadline):
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, "{ rate: 90/s, duration: 60s }")
        process = loadline.start("run", "plan.yml", "--on", "local", "--nodes", 3)
        nodes = node_pids(process)
        wait_until(lambda: len(peer.requests) > 150, "the load")
        process.kill()
        process.communicate(timeout=30)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in nodes), "the nodes' end", 8)
        seen = count_ids(peer)
    runs = loadline.folder / ".loadline/runs"
    node_records = list((runs / ".nodes").iterdir())
    assert len(node_records) == 1
    ran = loadline("merge", runs / "last", node_records[0], "--json", "merged.json")
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert "the run ended early: the loss of its conductor" in ran.stderr
    merged = json.loads((loadline.folder / "merged.json").read_text())
    # Each node finalized its record when it lost the conductor, so nothing is missing.
    assert merged["requests"]["issued"] == sum(seen.values())
    assert set(seen.values()) == {1}
    assert merged["requests"]["adds_up"]
    assert "the loss of its conductor" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--on", "local", "--nodes", "0"], "--nodes 0: use at least 1"),
        (["--on", "local", "--once"], "--once cannot be combined with --on"),
        (["--on", "local", "--address", "h:1"], "--address, --wait and --insecure-cluster require --on ray"),
        (
            ["--shard", "4/3", "--start-at", "2040-01-01T00:00:00Z", "--seed", "1"],
            "--shard 4/3: use INDEX/COUNT, for example 1/8 for the first of eight",
        ),
        (["--shard", "1/3", "--start-at", "soon", "--seed", "1"], "--start-at soon: use a time such as"),
    ],
)
def test_invalid_node_flags_are_refused_in_one_line(loadline, arguments, line):
    ran = loadline("run", "http://127.0.0.1:9", *arguments)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"loadline: error: {line}") or line in ran.stderr
    assert len(ran.stderr.splitlines()) <= 2, ran.stderr


def test_part_that_starts_too_late_sends_nothing(loadline):
    with RecordingServer() as peer:
        ran = loadline("run", peer.url, "--rate", "10/s", "--shard", "1/2", "--seed", 1, "--start-at", "1000")
        assert not peer.requests
    assert ran.returncode == 3
    assert "late: --start-at 1000 has passed" in ran.stderr


def test_locustfile_on_nodes_is_refused(loadline):
    loadline.write("locustfile.py", "from locust import HttpUser\n")
    ran = loadline("run", "locustfile.py", "--on", "local")
    assert ran.returncode == 3
    assert "Locust distributes a locustfile with its own master and workers" in ran.stderr


def test_node_that_cannot_read_the_test_prevents_the_run(loadline):
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, "{ rate: 60/s, duration: 2s }")
        # Nodes read the plan again after the file has changed.
        (loadline.folder / "ids.csv").unlink()
        ran = loadline("run", "plan.yml", "--on", "local")
        assert not peer.requests
    assert ran.returncode == 2
    assert "ids.csv" in ran.stderr


def run_shards(loadline, url: str, which: list[int], of: int, seed: int = 5, ahead: float = 3.0) -> list[Path]:
    at = f"{time.time() + ahead:.3f}"
    same = ["--target", url, "--seed", seed, "--start-at", at]
    started = [loadline.start("run", "plan.yml", *same, "--shard", f"{n + 1}/{of}", "--runs", f"part-{seed}-{n}") for n in which]
    for process in started:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
        assert "this is part" in out
    return [loadline.folder / f"part-{seed}-{n}/last" for n in which]


def test_parts_without_conductor_merge_into_the_whole_run(loadline):
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, "[{ rate: 60/s, duration: 2s }, { rate: 45/s, duration: 1s, arrivals: poisson }]")
        found = run_shards(loadline, peer.url, [0, 1, 2], 3)
        seen = count_ids(peer)
    assert set(seen.values()) == {1}
    ran = loadline("merge", *found, "--json", "merged.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    merged = json.loads((loadline.folder / "merged.json").read_text())
    assert merged["arrivals"]["planned"] == merged["arrivals"]["started"] == len(seen)
    assert "PASS" in ran.stdout
    assert "this is part" not in ran.stdout
    # The order of the arguments does not matter.
    again = loadline("merge", *reversed(found), "--json", "again.json")
    assert again.returncode == 0
    other = json.loads((loadline.folder / "again.json").read_text())
    assert other["all"] == merged["all"]


def test_merge_reports_a_part_with_changed_figures(loadline):
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, "{ rate: 40/s, duration: 1s }")
        parts = run_shards(loadline, peer.url, [0, 1], 2)
    counters = parts[1] / "counters.jsonl"
    lines = [json.loads(line) for line in counters.read_text().splitlines()]
    changed = next(line for line in lines if line.get("label") and line.get("ok"))
    changed["issued"] += 50
    changed["ok"] += 50
    counters.write_text("".join(json.dumps(line) + "\n" for line in lines))
    merged = loadline("merge", *parts)
    assert merged.returncode == 3, merged.stdout
    assert "INCOMPLETE: the record is damaged: in 1 intervals of part 2 the labels do not add up to all requests" in merged.stderr


def test_merge_names_missing_parts_and_parts_of_other_runs(loadline):
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, "{ rate: 80/s, duration: 2s }")
        threads = []
        found: dict[int, list[Path]] = {}
        for seed, which in ((5, [0, 1, 2]), (6, [1])):
            thread = threading.Thread(target=lambda s=seed, w=which: found.update({s: run_shards(loadline, peer.url, w, 3, s)}))
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join()
    first, second, third = found[5]
    missing = loadline("merge", first, third, "--json", "missing.json")
    assert missing.returncode == 3
    # Arrivals of the missing part are unknown, not unsent.
    arrivals = json.loads((loadline.folder / "missing.json").read_text())["arrivals"]
    assert [arrivals[key] for key in ("planned", "started", "unsent", "unknown")] == [160, 107, 0, 53]
    alone = loadline("merge", first, "--json", "alone.json")
    assert alone.returncode == 3
    arrivals = json.loads((loadline.folder / "alone.json").read_text())["arrivals"]
    assert [arrivals[key] for key in ("planned", "started", "unsent", "unknown")] == [160, 54, 0, 106]
    assert "INCOMPLETE: of 3 parts one is missing: 2" in missing.stderr
    assert "process 2 of 3 left no record" in missing.stdout
    # Also if all parts exist already, in any order.
    for brought in ([first, third, *found[6]], [*found[5], *found[6]], [*found[6], *found[5]]):
        foreign = loadline("merge", *brought)
        assert foreign.returncode == 3, foreign.stdout
        assert "INCOMPATIBLE: " in foreign.stderr
        assert "it belongs to another run" in foreign.stderr
    counters = Path(second) / "counters.jsonl"
    lines = counters.read_text().splitlines(keepends=True)
    counters.write_text("".join(lines[: len(lines) // 2]))
    torn = loadline("merge", *found[5])
    assert torn.returncode == 3, torn.stdout
    assert "INCOMPLETE: the record of part 2 ends at" in torn.stderr
    whole = loadline("run", "plan.yml", "--target", "http://127.0.0.1:9", "--rate", "5/s", "--duration", "1s")
    assert whole.returncode
    none = loadline("merge", last_run(loadline))
    assert none.returncode == 3
    assert "is a complete run, not a part of a run" in none.stderr
