"""Differential test of the engine `socketio`:

Artillery and `loadline artillery` run the same scripts against a server with npm's `socket.io`.
Sessions, events, counts and names are compared.
"""

from __future__ import annotations

import json
from pathlib import Path

import ports
import pytest
from artillery_scripts import Peer, check_alike, run_script

FOLDER = Path(__file__).parent / "socketio"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yml"))
FLAGS = {"mixed-engines": ["--scenario-name", "sockets"]}
# Packages with the servers of two major versions.
VERSIONS = ["socket.io", "socket.io-3"]


def start_peer(artillery, version: str) -> Peer:
    port = ports.free()
    return Peer(FOLDER / "peer.js", [artillery.packages, version, port], [port])


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_script_behaves_as_in_artillery(artillery, tmp_path, name):
    results = {}
    for tool in ("theirs", "ours"):
        peer = start_peer(artillery, "socket.io")
        results[tool] = run_script(tool, artillery, FOLDER / f"{name}.yml", tmp_path / tool, peer, FLAGS.get(name, []))
    check_alike(results["ours"], results["theirs"])


@pytest.mark.parametrize("name", ["response", "acknowledge", "polling-only", "websocket-only"])
def test_scripts_run_against_both_major_versions(artillery, tmp_path, name):
    received = []
    for version in VERSIONS:
        peer = start_peer(artillery, version)
        result = run_script("ours", artillery, FOLDER / f"{name}.yml", tmp_path / version, peer, [])
        assert result["aggregate"]["counters"]["vusers.completed"] == 2
        received.append([json.loads(entry)["events"] for entry in result["received"]])
    assert received[0] == received[1]
