"""A Ray cluster of several nodes on this machine, and its processes. The benchmark uses it too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from process_tree import arguments, descendants


class Cluster:
    """A head node and worker nodes."""

    def __init__(self, nodes: int, env: dict[str, str]) -> None:
        # Ray puts sockets into this folder; their paths must be short.
        self._folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "cluster_ray/start_cluster.py", str(nodes)],
            env={**inherited, "RAY_TMPDIR": self._folder, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        info = json.loads(self._process.stdout.readline() or "{}")
        assert info, "the cluster did not start"
        self.address: str = info["address"]
        self.raylets: dict[str, int] = {node["ray"]: node["raylet"] for node in info["nodes"]}

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def node_pids(cluster: Cluster) -> list[int]:
    """Returns the processes that run a part, on any node."""
    every = sorted(pid for raylet in cluster.raylets.values() for pid in descendants(raylet))
    return [pid for pid in every if arguments(pid)[1:2] == [b"node"]]
