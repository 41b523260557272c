"""What stands in for the program on a node, and a cluster of three nodes on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from over_ray import Conductor

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory) -> str:
    program = tmp_path_factory.mktemp("program") / "loadline"
    program.write_text(f"#!{sys.executable}\n{(HERE / 'stand_in.py').read_text()}")
    program.chmod(0o755)
    return str(program)


@pytest.fixture
def coordinate(tmp_path: Path):
    """Starts ``python -m loadline.ray`` in an empty folder."""
    started = []

    def start(**how: object) -> Conductor:
        started.append(Conductor(tmp_path, **how))
        return started[-1]

    yield start
    for one in started:
        one.kill()


class Cluster:
    """A head, and nodes that carry things out."""

    def __init__(self, nodes: int, env: dict[str, str]) -> None:
        # Ray's sockets are in it, whose names have to be short.
        self._folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self._process = subprocess.Popen(
            [sys.executable, HERE / "a_cluster.py", str(nodes)],
            env={**kept, "RAY_TMPDIR": self._folder, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        told = json.loads(self._process.stdout.readline() or "{}")
        assert told, "the cluster did not start"
        self.address: str = told["address"]
        self.raylets: dict[str, int] = {node["ray"]: node["raylet"] for node in told["nodes"]}

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.fixture(scope="session")
def make_cluster():
    made = []

    def make(nodes: int, **env: str) -> Cluster:
        made.append(Cluster(nodes, {"RAY_AUTH_MODE": "disabled", **env}))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture(scope="session")
def cluster(make_cluster) -> Cluster:
    """Of three nodes, which all stay."""
    return make_cluster(3)
