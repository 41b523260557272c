"""Finds and connects to a Ray cluster, and reserves a place on each node.

Every failure is reported on one line.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import ray
from ray._private import state
from ray.exceptions import AuthenticationError
from ray.util.placement_group import PlacementGroup, placement_group, placement_group_table, remove_placement_group

from loadline.ray.refusal import Refused

#: Ray's own minimum: everything in the store is read immediately.
STORE_BYTES = 80_000_000
CONNECT_SECONDS = 5.0
LOOK_SECONDS = 0.2
#: An empty SETTINGS frame of HTTP/2.
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
PORT = 6379


def connect(address: str | None, nodes: int | None, insecure: bool) -> None:
    """Connects to the cluster at the address.

    Without an address, a single node may start its own Ray.
    """
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL, "namespace": "loadline"}
    if address is None and nodes not in (1, None):
        raise Refused(f"no Ray cluster was specified: set its head with --address HOST:{PORT} or RAY_ADDRESS")
    if address is None:
        ray.init("local", num_cpus=1, object_store_memory=STORE_BYTES, include_dashboard=False, **quiet)
        return
    if address != "auto":
        _check_address(address, insecure)
    try:
        ray.init(address, **quiet)
    except AuthenticationError as error:
        raise Refused(f"the cluster at {address} refused the connection: {_first_sentence(error)}") from None
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        # Ray reports the reason for a connection failure as the cause of its exception.
        raise Refused(_explanation(address, f"{error}\n{error.__cause__ or ''}")) from None


def _check_address(address: str, insecure: bool) -> None:
    """Refuses unusable addresses before Ray would retry for a long time."""
    if "://" in address:
        raise Refused(f"{address} is not the address of a Ray head: use HOST:PORT, for example 10.0.0.1:{PORT}")
    host, colon, port = address.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise Refused(f"`{address}` is not the address of a Ray cluster: use HOST:PORT, for example 10.0.0.1:{PORT}")
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)}
    except OSError as error:
        raise Refused(f"the host of the cluster, {host}, cannot be resolved: {error.strerror}") from None
    is_loopback = all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)
    if not is_loopback and not insecure and os.environ.get("RAY_AUTH_MODE", "").lower() not in ("token", "k8s"):
        raise Refused(
            f"the cluster at {address} has no token, so anyone who can reach its port can run code on every node: "
            "set RAY_AUTH_MODE=token here and on its nodes, or use --insecure-cluster"
        )
    try:
        with socket.create_connection((host, int(port)), CONNECT_SECONDS) as there:
            if os.environ.get("RAY_USE_TLS", "0") in ("0", ""):
                _greet(there)
    except OSError as error:
        raise Refused(f"no Ray cluster answers at {address}: {error.strerror or error}") from None


def _greet(there: socket.socket) -> None:
    """Checks that the port speaks gRPC, whose server sends first.

    Ray would retry for minutes with anything else.
    """
    there.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS)
    answer = there.recv(len(SETTINGS))
    if len(answer) < 4 or answer[3] != SETTINGS[3]:
        raise ConnectionError("another service listens on this port")


def _explanation(address: str, text: str) -> str:
    if "ersion mismatch" in text:
        rays, pythons = (re.findall(rf"{what}:\s*(\S+)", text) for what in ("Ray", "Python"))
        if len(rays) >= 2 and len(pythons) >= 2:
            what = "Ray" if rays[0] != rays[1] else "Python"
            there, here = (rays if what == "Ray" else pythons)[:2]
            return f"the cluster at {address} has {what} {there}, but this machine has {what} {here}: use equal versions"
    if not text.strip():
        # Older versions of Ray fail like this after a successful greeting.
        reason = "Ray gives no reason; the usual one is a wrong token"
        return f"the cluster at {address} refused the connection: {reason}"
    if "AuthenticationError" in text:
        return f"the cluster at {address} refused the connection: {_first_sentence(text.rpartition('AuthenticationError:')[2])}"
    return f"no Ray cluster answers at {address}: {_first_sentence(text)}"


def _first_sentence(error: object) -> str:
    """Shortens Ray's paragraphs to one sentence."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    lines = [line.removeprefix("RPC error: ") for line in lines]
    return re.split(r"(?<=[a-z])\. ", lines[0])[0].rstrip(".") if lines else "Ray gave no reason"


def with_room() -> int:
    """Returns how many nodes have a free CPU."""
    free = state.available_resources_per_node()
    return sum(free.get(node["NodeID"], {}).get("CPU", 0) >= 1 for node in ray.nodes() if node["Alive"])


def reserve(nodes: int, timeout_s: float, is_closed: Callable[[], bool]) -> PlacementGroup | None:
    """Reserves a place on each of N nodes, all or none.

    Returns None if the request was cancelled.
    """
    group = placement_group([{"CPU": 1}] * nodes, strategy="STRICT_SPREAD")
    until = time.monotonic() + timeout_s
    while not group.wait(LOOK_SECONDS):
        if is_closed():
            remove_placement_group(group)
            return None
        if time.monotonic() > until:
            remove_placement_group(group)
            raise Refused(_shortage(nodes, timeout_s))
    return group


def nodes_of(group: PlacementGroup) -> list[str]:
    """Returns the node ids in the order of the places."""
    places = placement_group_table(group)["bundles_to_node_id"]
    return [places[number] for number in sorted(places)]


def _shortage(wanted: int, timeout_s: float) -> str:
    # Ray reports free resources per node only through a private function.
    free = state.available_resources_per_node()
    alive = [node for node in ray.nodes() if node["Alive"]]
    have_room = with_room()
    reasons = list(_lacking(alive, free))
    listed = "; ".join(reasons[:8]) + (f"; and {len(reasons) - 8} more" if len(reasons) > 8 else "")
    of = f" of {len(alive)}" if len(alive) != have_room else ""
    are = "is" if wanted == 1 else "are"
    have = f"the cluster has {have_room}{of} node{'s' * (have_room != 1 or bool(of))} with a free CPU, but {wanted} {are} needed"
    return f"{have}: {listed or 'add nodes, because each part needs one'} (waited {timeout_s:g} s)"


def _lacking(nodes: list[dict[str, Any]], free: dict[str, dict[str, float]]) -> Iterator[str]:
    for node in nodes:
        name = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
        has, left = node["Resources"].get("CPU", 0), free.get(node["NodeID"], {}).get("CPU", 0)
        if not has:
            yield f"{name} provides no CPU to Ray"
        elif left < 1:
            yield f"{name} has {left:g} of {has:g} CPUs free"
