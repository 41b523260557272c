"""Runs a Ray cluster of several nodes in a separate process.

Prints its address as one line of JSON, and ends with its standard input.
"""

import json
import os
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from ray.cluster_utils import Cluster


def main() -> None:
    stdout = os.dup(1)
    os.dup2(2, 1)
    cluster = Cluster()
    nodes = []
    for number in range(int(sys.argv[1]) + 1):
        node = cluster.add_node(num_cpus=min(number, 1), object_store_memory=80_000_000, include_dashboard=False)
        nodes.append({"ray": node.node_id, "raylet": node.all_processes["raylet"][0].process.pid})
    info = {"address": cluster.address, "nodes": nodes[1:]}
    os.write(stdout, json.dumps(info).encode() + b"\n")
    sys.stdin.read()
    cluster.shutdown()


main()
