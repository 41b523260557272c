"""Nodes that are lost while a run goes on: killed, frozen; what is known of their arrivals, and who takes over."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from conftest import until
from many import nodes_of, plan, sent
from peers import Recorder

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.paced]

RATE, SECONDS = 90, 22


def lost(loadline, peer: Recorder, how: int, *more: object, wakes: bool = False) -> tuple[int, str, dict]:
    """A run that loses its second node two seconds in."""
    plan(loadline, peer.url, f"{{ rate: {RATE}/s, duration: {SECONDS}s }}")
    process = loadline.start("run", "plan.yml", "--on", "local", "--nodes", 3, "--json", "summary.json", *more)
    node = nodes_of(process)[1]
    until(lambda: len(peer.requests) > 2 * RATE, "the load")
    os.kill(node, how)
    if wakes:
        # Behind the end of its lease.
        until(lambda: "was lost" in events(loadline), "the loss", 30)
        before = len(peer.requests)
        assert before
        os.kill(node, signal.SIGCONT)
        until(lambda: not Path(f"/proc/{node}").exists() or len(peer.requests) > before + RATE, "its end", 10)
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err, json.loads((loadline.folder / "summary.json").read_text())


def events(loadline) -> str:
    file = loadline.folder / ".loadline/runs/last/events.jsonl"
    return file.read_text() if file.exists() else ""


def check(summary: dict, seen: dict[int, int], text: str) -> None:
    """Nothing twice, everything that is neither unsent nor unknown once."""
    arrivals = summary["arrivals"]
    assert set(seen.values()) == {1}
    planned, unsent, unknown = arrivals["planned"], arrivals["unsent"], arrivals.get("unknown", 0)
    assert planned == RATE * SECONDS
    assert planned - unsent - unknown <= len(seen) <= planned - unsent, (arrivals, len(seen))
    assert arrivals["adds_up"]
    # A busy machine is told of before a lost node.
    assert summary["measurement"]["verdict"] in ("DEGRADED", "INVALID"), text
    assert "touched by the loss of a node" in " ".join(text.split())
    states = [node["state"] for node in summary["nodes"]]
    assert states == ["over", "lost", "over"]


def test_a_killed_node_is_told_of_and_the_others_take_over(loadline):
    with Recorder() as peer:
        code, text, summary = lost(loadline, peer, signal.SIGKILL)
        seen = sent(peer)
    assert code == 0, text
    check(summary, seen, text)
    assert summary["arrivals"]["unknown"] > 0
    told = " ".join(text.split())
    assert "SIGKILL" in told
    assert "unsent until 2 others took over at" in told
    # The full rate is back: of the last seconds nothing is missing.
    late = range(RATE * (SECONDS - 5), RATE * SECONDS)
    assert all(number in seen for number in late)
    # What it kept for itself settles what was unknown, but for the interval in which it was killed.
    kept = next((loadline.folder / ".loadline/runs/.nodes").iterdir())
    ran = loadline("merge", loadline.folder / ".loadline/runs/last", kept, "--json", "merged.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    merged = json.loads((loadline.folder / "merged.json").read_text())["arrivals"]
    of_a_second = RATE / 3 + 1
    assert merged["unsent"] == summary["arrivals"]["unsent"]
    # What is still unknown is what its lease allowed; what the record has is what was seen, but for the interval of its death.
    assert 0 <= len(seen) - merged["started"] <= of_a_second
    assert merged["adds_up"]


def test_a_frozen_node_sends_nothing_behind_its_lease(loadline):
    with Recorder() as peer:
        code, text, summary = lost(loadline, peer, signal.SIGSTOP, wakes=True)
        seen = sent(peer)
    assert code == 0, text
    check(summary, seen, text)
    # It has told what it sent before it was frozen: nothing is unknown.
    assert summary["arrivals"].get("unknown", 0) == 0


def test_strict_fails_a_run_that_lost_a_node(loadline):
    with Recorder() as peer:
        began = time.monotonic()
        code, text, summary = lost(loadline, peer, signal.SIGKILL, "--strict")
        took = time.monotonic() - began
    assert code == 4, text
    assert took < SECONDS - 5
    assert summary["measurement"]["verdict"] in ("DEGRADED", "INVALID")
    assert "--strict does not allow" in " ".join(text.split())


def test_what_a_script_would_have_sent_from_a_killed_node_is_not_sent_by_others_and_is_told(loadline):
    loadline.write("get.lua", 'done = function(summary) print("done", summary.requests) end\n')
    with Recorder() as peer:
        flags = ["--target", peer.url, "--rate", f"{RATE}/s", "--duration", "14s", "--connections", 6, "--on", "local", "--nodes", 3]
        process = loadline.start("run", "get.lua", *flags, "--json", "summary.json")
        node = nodes_of(process)[1]
        until(lambda: len(peer.requests) > 2 * RATE, "the load")
        os.kill(node, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        seen = len(peer.requests)
    assert process.returncode == 0, out + err
    summary = json.loads((loadline.folder / "summary.json").read_text())
    arrivals = summary["arrivals"]
    assert arrivals["planned"] == 14 * RATE
    assert arrivals["adds_up"]
    # A node's share from its death on: some twelve seconds of a third of the rate.
    assert arrivals["unsent"] + arrivals["unknown"] > 8 * RATE / 3
    assert arrivals["unknown"] > 0
    least = arrivals["planned"] - arrivals["unsent"] - arrivals["unknown"]
    assert least <= seen <= arrivals["planned"] - arrivals["unsent"], (arrivals, seen)
    assert [node["state"] for node in summary["nodes"]] == ["over", "lost", "over"]
    assert summary["measurement"]["verdict"] in ("DEGRADED", "INVALID")
    assert "nobody took over" in " ".join(out.split())
    # Once, by what is known.
    assert re.findall(r"^done\t(\d+)$", out, re.M) == [str(least)]
