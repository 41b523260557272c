"""Whole runs over Ray on three nodes of this machine, with counts checked by the target; and runs
that lose a node.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from conftest import LOADLINE, wait_until
from distributed_runs import count_ids, write_plan
from fake_servers import RecordingServer
from ray_nodes import node_pids

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.paced]

RATE, SECONDS = 90, 24


def node_folders(loadline) -> list[Path]:
    """Returns the folders in which nodes keep the records of this test's runs."""
    manifests = (loadline.folder / ".loadline/runs").glob("*/manifest.json")
    # `last` is a second name of one of them.
    runs = {json.loads(manifest.read_text())["run_id"] for manifest in manifests}
    assert runs
    return [folder for run in sorted(runs) if (folder := Path(tempfile.gettempdir()) / f"loadline-node-{run}").exists()]


@pytest.fixture
def on_ray(cluster) -> tuple[list[object], dict[str, str]]:
    """Returns the flags, and the environment in which the nodes find the program."""
    flags = ["--on", "ray", "--nodes", 3, "--address", cluster.address, "--insecure-cluster"]
    return flags, {"RAY_AUTH_MODE": "disabled", "LOADLINE_BINARY": str(LOADLINE.resolve())}


def test_three_nodes_send_the_plan_and_agree_with_the_target(loadline, on_ray, start_lab):
    flags, env = on_ray
    lab = start_lab("truth", "mode=exponential", "mean=5ms", "servers=64", "--log", "lab.log")
    ran = loadline("run", lab.url, "--rate", "3000/s", "--duration", "30s", *flags, "--json", "summary.json", env=env, timeout=180)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    summary = json.loads((loadline.folder / "summary.json").read_text())
    arrivals = summary["arrivals"]
    assert arrivals["planned"] == arrivals["started"] == arrivals["completed"] == 90_000
    # The log has one line per request.
    with (loadline.folder / "lab.log").open() as log:
        assert sum(1 for _ in log) in (90_000, 90_001)
    assert sum(node["requests"] for node in summary["nodes"]) == 90_000
    assert len(summary["nodes"]) == 3
    # Each node deleted its record after the conductor had received it.
    assert not node_folders(loadline)


def test_killed_node_is_reported_and_had_its_files_and_variables(loadline, on_ray, cluster):
    flags, env = on_ray
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, f"{{ rate: {RATE}/s, duration: {SECONDS}s }}")
        text = (
            (loadline.folder / "plan.yml")
            .read_text()
            .replace("  - get: /a?id={{ id }}", "  - get: '/a?id={{ id }}&v={{ $env.FOR_NODES }}'")
        )
        loadline.write("plan.yml", text)
        started = loadline.start("run", "plan.yml", *flags, "--json", "summary.json", env={**os.environ, **env, "FOR_NODES": "v-1"})
        wait_until(lambda: len(peer.requests) > 2 * RATE, "the load", 60)
        victims = node_pids(cluster)
        assert len(victims) == 3
        os.kill(victims[1], signal.SIGKILL)
        out, err = started.communicate(timeout=120)
        seen = count_ids(peer)
        assert all(request.path.endswith("&v=v-1") for request in peer.requests)
    assert started.returncode == 0, out + err
    arrivals = json.loads((loadline.folder / "summary.json").read_text())["arrivals"]
    assert set(seen.values()) == {1}
    least = arrivals["planned"] - arrivals["unsent"] - arrivals.get("unknown", 0)
    assert least <= len(seen) <= arrivals["planned"] - arrivals["unsent"], (arrivals, len(seen))
    output = " ".join((out + err).split())
    assert "was lost" in output
    assert "2 others took over at" in output
    wait_until(lambda: not node_pids(cluster), "the end of all programs", 20)


def test_killed_conductor_ends_its_nodes_and_their_records_can_be_merged(loadline, on_ray, cluster):
    flags, env = on_ray
    with RecordingServer() as peer:
        write_plan(loadline, peer.url, f"{{ rate: {RATE}/s, duration: 60s }}")
        started = loadline.start("run", "plan.yml", *flags, env={**os.environ, **env})
        wait_until(lambda: len(peer.requests) > 2 * RATE, "the load", 60)
        started.kill()
        started.communicate(timeout=30)
        wait_until(lambda: not node_pids(cluster), "the end of all programs", 20)
        seen = count_ids(peer)
    node_records = node_folders(loadline)
    assert len(node_records) == 1
    merged = loadline("merge", ".loadline/runs/last", node_records[0], "--json", "merged.json")
    shutil.rmtree(node_records[0])
    assert merged.returncode == 3, merged.stdout + merged.stderr
    arrivals = json.loads((loadline.folder / "merged.json").read_text())["arrivals"]
    assert set(seen.values()) == {1}
    assert arrivals["started"] == arrivals["planned"] == len(seen), arrivals
    assert arrivals["unsent"] == 0


def test_artillery_payload_beside_the_script_is_read_on_nodes(loadline, on_ray):
    flags, env = on_ray
    loadline.write("people.csv", "".join(f"{n},name-{n}\n" for n in range(40)))
    with RecordingServer() as peer:
        script = f"""
config:
  target: {peer.url}
  phases: [ {{ duration: 5, arrivalRate: 30 }} ]
  payload: {{ path: people.csv, fields: [ id, name ], order: sequence }}
scenarios: [ {{ flow: [ {{ get: {{ url: "/a?id={{{{ id }}}}&name={{{{ name }}}}" }} }} ] }} ]
"""
        loadline.write("script.yml", script)
        ran = loadline("run", "script.yml", *flags, env=env, timeout=120)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        paths = [request.path for request in peer.requests]
    assert len(paths) == 150
    assert set(paths) == {f"/a?id={n}&name=name-{n}" for n in range(40)}


def test_test_whose_text_depends_on_the_machine_is_refused_before_the_load(loadline, on_ray):
    flags, env = on_ray
    with RecordingServer() as peer:
        script = f"""
config:
  target: {peer.url}
  phases: [ {{ duration: 5, arrivalRate: 30 }} ]
  variables: {{ folder: "{{{{ $scenarioFile }}}}" }}
scenarios: [ {{ flow: [ {{ get: {{ url: "/a?folder={{{{ folder }}}}" }} }} ] }} ]
"""
        loadline.write("script.yml", script)
        ran = loadline("run", "script.yml", *flags, env=env, timeout=120)
        assert ran.returncode == 3, ran.stdout + ran.stderr
        assert ran.stderr.count("read a different plan from the test: the test must not depend on the machine") == 1
        assert not peer.requests
