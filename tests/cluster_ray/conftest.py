"""Fixtures: a fake program for nodes, and a Ray cluster of three nodes on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ray_conductor import Conductor
from ray_nodes import Cluster

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def fake_program(tmp_path_factory) -> str:
    program = tmp_path_factory.mktemp("program") / "loadline"
    program.write_text(f"#!{sys.executable}\n{(HERE / 'fake_program.py').read_text()}")
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
    """A shared cluster of three nodes."""
    return make_cluster(3)
