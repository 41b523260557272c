"""Whole runs over Ray, on three nodes of this machine: as much as on one, counted by the target; and one that loses a node."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from conftest import LOADLINE, until
from many import plan, sent
from peers import Recorder
from ray_nodes import programs

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.paced, pytest.mark.xdist_group("ray")]

RATE, SECONDS = 90, 24


def nodes_folders(loadline) -> list[Path]:
    """The folders in which nodes keep the records of this test's runs."""
    manifests = (loadline.folder / ".loadline/runs").glob("*/manifest.json")
    # `last` names one of them again.
    runs = {json.loads(manifest.read_text())["run_id"] for manifest in manifests}
    assert runs
    return [folder for run in sorted(runs) if (folder := Path(tempfile.gettempdir()) / f"loadline-node-{run}").exists()]


@pytest.fixture
def on_ray(cluster) -> tuple[list[object], dict[str, str]]:
    """The flags, and what the nodes' Python needs to find the program."""
    flags = ["--on", "ray", "--nodes", 3, "--address", cluster.address, "--insecure-cluster"]
    return flags, {"RAY_AUTH_MODE": "disabled", "LOADLINE_BINARY": str(LOADLINE.resolve())}


def test_three_nodes_send_what_was_planned_and_the_target_counts_the_same(loadline, on_ray, start_lab):
    flags, env = on_ray
    lab = start_lab("truth", "mode=exponential", "mean=5ms", "servers=64", "--log", "lab.log")
    ran = loadline("run", lab.url, "--rate", "3000/s", "--duration", "30s", *flags, "--json", "summary.json", env=env, timeout=180)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    summary = json.loads((loadline.folder / "summary.json").read_text())
    arrivals = summary["arrivals"]
    assert arrivals["planned"] == arrivals["started"] == arrivals["completed"] == 90_000
    # A line for each, by the target.
    with (loadline.folder / "lab.log").open() as log:
        assert sum(1 for _ in log) in (90_000, 90_001)
    assert sum(node["requests"] for node in summary["nodes"]) == 90_000
    assert len(summary["nodes"]) == 3
    # Each node removed its own record once the conductor had it.
    assert not nodes_folders(loadline)


def test_a_node_that_is_killed_is_told_of_and_its_files_and_variables_were_there(loadline, on_ray, cluster):
    flags, env = on_ray
    with Recorder() as peer:
        plan(loadline, peer.url, f"{{ rate: {RATE}/s, duration: {SECONDS}s }}")
        text = (
            (loadline.folder / "plan.yml")
            .read_text()
            .replace("  - get: /a?id={{ id }}", "  - get: '/a?id={{ id }}&v={{ $env.FOR_NODES }}'")
        )
        loadline.write("plan.yml", text)
        started = loadline.start("run", "plan.yml", *flags, "--json", "summary.json", env={**os.environ, **env, "FOR_NODES": "v-1"})
        until(lambda: len(peer.requests) > 2 * RATE, "the load", 60)
        victims = programs(cluster)
        assert len(victims) == 3
        os.kill(victims[1], signal.SIGKILL)
        out, err = started.communicate(timeout=120)
        seen = sent(peer)
        assert all(request.path.endswith("&v=v-1") for request in peer.requests)
    assert started.returncode == 0, out + err
    arrivals = json.loads((loadline.folder / "summary.json").read_text())["arrivals"]
    assert set(seen.values()) == {1}
    least = arrivals["planned"] - arrivals["unsent"] - arrivals.get("unknown", 0)
    assert least <= len(seen) <= arrivals["planned"] - arrivals["unsent"], (arrivals, len(seen))
    told = " ".join((out + err).split())
    assert "was lost" in told
    assert "2 others took over at" in told
    until(lambda: not programs(cluster), "the end of all programs", 20)


def test_a_killed_conductor_ends_its_nodes_and_their_records_make_the_run_whole(loadline, on_ray, cluster):
    flags, env = on_ray
    with Recorder() as peer:
        plan(loadline, peer.url, f"{{ rate: {RATE}/s, duration: 60s }}")
        started = loadline.start("run", "plan.yml", *flags, env={**os.environ, **env})
        until(lambda: len(peer.requests) > 2 * RATE, "the load", 60)
        started.kill()
        started.communicate(timeout=30)
        until(lambda: not programs(cluster), "the end of all programs", 20)
        seen = sent(peer)
    kept = nodes_folders(loadline)
    assert len(kept) == 1
    merged = loadline("merge", ".loadline/runs/last", kept[0], "--json", "merged.json")
    shutil.rmtree(kept[0])
    assert merged.returncode == 3, merged.stdout + merged.stderr
    arrivals = json.loads((loadline.folder / "merged.json").read_text())["arrivals"]
    assert set(seen.values()) == {1}
    assert arrivals["started"] == arrivals["planned"] == len(seen), arrivals
    assert arrivals["unsent"] == 0
