"""Nodes that are lost during a run: what is known of their arrivals, and which nodes take over."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from conftest import wait_until
from distributed_runs import count_ids, node_pids, write_plan
from fake_servers import RecordingServer

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.paced]

RATE, SECONDS = 90, 22


def run_and_lose_a_node(loadline, peer: RecordingServer, how: int, *more: object, wakes: bool = False) -> tuple[int, str, dict]:
    """Runs a plan and stops its second node after two seconds."""
    write_plan(loadline, peer.url, f"{{ rate: {RATE}/s, duration: {SECONDS}s }}")
    process = loadline.start("run", "plan.yml", "--on", "local", "--nodes", 3, "--json", "summary.json", *more)
    node = node_pids(process)[1]
    wait_until(lambda: len(peer.requests) > 2 * RATE, "the load")
    os.kill(node, how)
    if wakes:
        # After the end of its lease.
        wait_until(lambda: "was lost" in events(loadline), "the loss", 30)
        before = len(peer.requests)
        assert before
        os.kill(node, signal.SIGCONT)
        wait_until(lambda: not Path(f"/proc/{node}").exists() or len(peer.requests) > before + RATE, "its end", 10)
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err, json.loads((loadline.folder / "summary.json").read_text())


def events(loadline) -> str:
    file = loadline.folder / ".loadline/runs/last/events.jsonl"
    return file.read_text() if file.exists() else ""


def assert_accounted(summary: dict, seen: dict[int, int], text: str) -> None:
    """Asserts that no arrival was sent twice, and every arrival was sent, unsent or unknown."""
    arrivals = summary["arrivals"]
    assert set(seen.values()) == {1}
    planned, unsent, unknown = arrivals["planned"], arrivals["unsent"], arrivals.get("unknown", 0)
    assert planned == RATE * SECONDS
    assert planned - unsent - unknown <= len(seen) <= planned - unsent, (arrivals, len(seen))
    assert arrivals["adds_up"]
    # A busy machine is reported before a lost node.
    assert summary["measurement"]["verdict"] in ("DEGRADED", "INVALID"), text
    assert "affected by the loss of a node" in " ".join(text.split())
    states = [node["state"] for node in summary["nodes"]]
    assert states == ["finished", "lost", "finished"]


def test_killed_node_is_reported_and_the_others_take_over(loadline):
    with RecordingServer() as peer:
        code, text, summary = run_and_lose_a_node(loadline, peer, signal.SIGKILL)
        seen = count_ids(peer)
    assert code == 0, text
    assert_accounted(summary, seen, text)
    assert summary["arrivals"]["unknown"] > 0
    output = " ".join(text.split())
    assert "SIGKILL" in output
    assert "unsent until 2 others took over at" in output
    # The full rate is restored: the last seconds are complete.
    late = range(RATE * (SECONDS - 5), RATE * SECONDS)
    assert all(number in seen for number in late)
    # The node's own record settles what was unknown, except the interval of its death.
    node_record = next((loadline.folder / ".loadline/runs/.nodes").iterdir())
    ran = loadline("merge", loadline.folder / ".loadline/runs/last", node_record, "--json", "merged.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    merged = json.loads((loadline.folder / "merged.json").read_text())["arrivals"]
    of_a_second = RATE / 3 + 1
    assert merged["unsent"] == summary["arrivals"]["unsent"]
    # Only its lease leaves arrivals unknown. The record equals what was received, except the
    # interval of its death.
    assert 0 <= len(seen) - merged["started"] <= of_a_second
    assert merged["adds_up"]


def test_frozen_node_sends_nothing_after_its_lease(loadline):
    with RecordingServer() as peer:
        code, text, summary = run_and_lose_a_node(loadline, peer, signal.SIGSTOP, wakes=True)
        seen = count_ids(peer)
    assert code == 0, text
    assert_accounted(summary, seen, text)
    # The node reported everything it sent before it was frozen, so nothing is unknown.
    assert summary["arrivals"].get("unknown", 0) == 0


def test_strict_fails_a_run_that_lost_a_node(loadline):
    with RecordingServer() as peer:
        began = time.monotonic()
        code, text, summary = run_and_lose_a_node(loadline, peer, signal.SIGKILL, "--strict")
        took = time.monotonic() - began
    assert code == 4, text
    assert took < SECONDS - 5
    assert summary["measurement"]["verdict"] in ("DEGRADED", "INVALID")
    assert "not allowed with --strict" in " ".join(text.split())


def test_script_share_of_a_killed_node_is_not_taken_over_and_is_reported(loadline):
    loadline.write("get.lua", 'done = function(summary) print("done", summary.requests) end\n')
    with RecordingServer() as peer:
        flags = ["--target", peer.url, "--rate", f"{RATE}/s", "--duration", "14s", "--connections", 6, "--on", "local", "--nodes", 3]
        process = loadline.start("run", "get.lua", *flags, "--json", "summary.json")
        node = node_pids(process)[1]
        wait_until(lambda: len(peer.requests) > 2 * RATE, "the load")
        os.kill(node, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        seen = len(peer.requests)
    assert process.returncode == 0, out + err
    summary = json.loads((loadline.folder / "summary.json").read_text())
    arrivals = summary["arrivals"]
    assert arrivals["planned"] == 14 * RATE
    assert arrivals["adds_up"]
    # A node's share after its death: about twelve seconds of a third of the rate.
    assert arrivals["unsent"] + arrivals["unknown"] > 8 * RATE / 3
    assert arrivals["unknown"] > 0
    least = arrivals["planned"] - arrivals["unsent"] - arrivals["unknown"]
    assert least <= seen <= arrivals["planned"] - arrivals["unsent"], (arrivals, seen)
    assert [node["state"] for node in summary["nodes"]] == ["finished", "lost", "finished"]
    assert summary["measurement"]["verdict"] in ("DEGRADED", "INVALID")
    assert "was not taken over" in " ".join(out.split())
    # Once, over all known figures.
    assert re.findall(r"^done\t(\d+)$", out, re.M) == [str(least)]


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_first_ctrl_c_does_not_wait_for_a_silent_node(loadline, how):
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, f"{{ rate: {RATE}/s, duration: {SECONDS}s }}")
        process = loadline.start("run", "plan.yml", "--on", "local", "--nodes", 3, "--json", "summary.json")
        node = node_pids(process)[1]
        wait_until(lambda: len(peer.requests) > RATE, "the load")
        os.kill(node, how)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        took = time.monotonic() - began
    assert process.returncode == 130, out + err
    # Without a limit, the node's lease would take five seconds to expire.
    assert took < 4
    assert "for node 1 (" in err
    assert "no answer to the stop" in err
    assert "node 1 (" in err.split("no answer to the stop")[1]
    summary = json.loads((loadline.folder / "summary.json").read_text())
    assert [node["state"] for node in summary["nodes"]] == ["finished", "lost", "finished"]
    assert summary["arrivals"]["adds_up"]
