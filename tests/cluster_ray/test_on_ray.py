"""``python -m loadline.ray`` on a real cluster of this machine, with a fake program: placement,
streams, losses, refusals.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest
from conftest import wait_until
from process_tree import arguments, children
from ray_conductor import CONTROL, Conductor, assert_gone, is_gone

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.paced]


@pytest.fixture
def run_on(coordinate, fake_program):
    """Runs the fake program on nodes."""

    def run(cluster, nodes: int | None, *arguments: str, **more: object) -> Conductor:
        one = coordinate(env=more.pop("env", {}))
        environment = {"LOADLINE_BINARY": fake_program, **more.pop("environment", {})}
        one.order(nodes, list(arguments), **{"address": cluster.address, "environment": environment, **more})
        return one

    return run


def wait_for_idle(cluster) -> None:
    """Waits until the last run has released its resources, because the next one requests all of
    them.
    """

    def busy_actors() -> list[str]:
        held = [arguments(pid) for raylet in cluster.raylets.values() for pid in children(raylet)]
        return [argv[0].decode() for argv in held if argv and argv[0].startswith(b"ray::Node")]

    wait_until(lambda: not busy_actors(), "the end of the actors")


def test_each_node_receives_its_own_bytes(run_on, cluster):
    one = run_on(cluster, 3, "echo", files={"tests/plan.yml": b"loadline: 1\n"}, folder="tests", environment={"SECRET": "s3cret"})
    placed = one.placed()
    assert [place["node"] for place in placed] == [0, 1, 2]
    assert {place["ray"] for place in placed} == set(cluster.raylets)
    assert {place["name"] for place in placed} == {socket.gethostname()}
    info = [one.line(number) for number in range(3)]
    assert {each["cwd"] for each in info} == {"tests"}
    assert {each["environment"]["SECRET"] for each in info} == {"s3cret"}
    assert all("plan.yml" in each["files"] for each in info)
    before = {number: len(one.streams[number]) for number in range(3)}
    sent = {number: os.urandom(6 << 20) for number in range(3)}
    # Frames of any size, interleaved.
    for start in range(0, 6 << 20, 700_001):
        for number, data in sent.items():
            one.send(number, data[start : start + 700_001])
    one.wait_for(lambda: all(len(one.streams[number]) >= before[number] + (6 << 20) for number in range(3)), "all bytes")
    for number, data in sent.items():
        assert bytes(one.streams[number][before[number] :]) == data
    for number in range(3):
        one.send(number, b"")
    for number in range(3):
        assert one.lost(number) == {"lost": number, "reason": "its process ended with code 0", "code": 0}
    assert sorted(one.ended) == [0, 1, 2]
    one.close()
    for each in info:
        assert_gone(each["pid"], each["folder"])
    wait_for_idle(cluster)


def test_killed_program_is_lost_and_the_others_continue(run_on, cluster):
    one = run_on(cluster, 3, "echo")
    info = [one.line(number) for number in range(3)]
    os.kill(info[1]["pid"], signal.SIGKILL)
    assert one.lost(1) == {"lost": 1, "reason": "its process was ended by SIGKILL", "code": 137}
    assert one.ended == [1]
    one.send(1, b"to nobody")
    one.send(2, b"still there")
    one.wait_for(lambda: one.streams[2].endswith(b"still there"), "the answer of another node")
    one.close()
    for each in info:
        assert_gone(each["pid"], each["folder"])
    wait_for_idle(cluster)


def test_program_output_is_forwarded_line_by_line(run_on, cluster):
    one = run_on(cluster, 2, "end", "9")
    for number in range(2):
        assert one.lost(number)["code"] == 9
        assert one.output_lines(number) == ["a last word"]
    one.close()
    wait_for_idle(cluster)


def test_killed_ray_node_is_lost_and_leaves_no_process(run_on, make_cluster):
    cluster = make_cluster(2)
    one = run_on(cluster, 2, "echo")
    placed = one.placed()
    info = [one.line(number) for number in range(2)]
    os.kill(cluster.raylets[placed[0]["ray"]], signal.SIGKILL)
    lost = one.lost(0)
    assert "code" not in lost
    assert lost["reason"] in ("its connection was lost", "its node died")
    assert_gone(info[0]["pid"], info[0]["folder"])
    one.send(1, b"still there")
    one.wait_for(lambda: one.streams[1].endswith(b"still there"), "the answer of the other node")
    one.close()
    assert_gone(info[1]["pid"], info[1]["folder"])


def test_killed_actor_is_lost(run_on, cluster):
    one = run_on(cluster, 2, "echo")
    info = [one.line(number) for number in range(2)]
    actor = int(Path(f"/proc/{info[0]['pid']}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(actor, signal.SIGKILL)
    assert "code" not in one.lost(0)
    assert_gone(info[0]["pid"], info[0]["folder"])
    one.close()
    wait_for_idle(cluster)


def test_closed_pipe_ends_everything(run_on, cluster):
    one = run_on(cluster, 3, "stay")
    info = [one.line(number) for number in range(3)]
    one.close()
    # A requested end reports no losses.
    assert not [each for each in one.messages if "lost" in each]
    for each in info:
        assert_gone(each["pid"], each["folder"])
    wait_for_idle(cluster)


def test_killed_relay_leaves_no_process(run_on, cluster):
    one = run_on(cluster, 2, "echo")
    info = [one.line(number) for number in range(2)]
    one.process.kill()
    for each in info:
        assert_gone(each["pid"], each["folder"])
    wait_for_idle(cluster)


def test_cancel_while_waiting_for_nodes_is_obeyed(run_on, cluster):
    one = run_on(cluster, 4, "echo")
    # It reserves a place meanwhile: after that request, waiting has begun.
    one.close()
    wait_for_idle(cluster)


def test_too_few_nodes_are_reported_with_their_shortage(run_on, cluster):
    line = run_on(cluster, 4, "echo", timeout_s=1).refusal()
    assert line.startswith("the cluster has 3 of 4 nodes with a free CPU, but 4 are needed: ")
    assert line.endswith("provides no CPU to Ray (waited 1 s)")
    busy_actors = run_on(cluster, 2, "echo")
    busy_actors.placed()
    line = run_on(cluster, 2, "echo", timeout_s=1).refusal()
    assert line.startswith("the cluster has 1 of 4 nodes with a free CPU, but 2 are needed: ")
    assert line.count("has 0 of 1 CPUs free") == 2
    busy_actors.close()
    wait_for_idle(cluster)


def test_without_a_number_all_free_nodes_are_used(run_on, cluster):
    one = run_on(cluster, None, "echo")
    assert {place["ray"] for place in one.placed()} == set(cluster.raylets)
    line = run_on(cluster, None, "echo", timeout_s=1).refusal()
    assert line.startswith("the cluster has 0 of 4 nodes with a free CPU, but 1 is needed: ")
    one.close()
    wait_for_idle(cluster)


def test_node_without_the_program_is_named(run_on, cluster):
    line = run_on(cluster, 2, "echo", environment={"LOADLINE_BINARY": "/nowhere/loadline"}).refusal()
    assert line.startswith(f"node 0 ({socket.gethostname()}): /nowhere/loadline cannot be started: ")
    wait_for_idle(cluster)


def test_unexpected_message_ends_the_run(run_on, cluster):
    one = run_on(cluster, 1, "echo")
    info = one.line(0)
    one.send(CONTROL, b"{}")
    assert one.process.wait(60) == 3
    one.wait_for(lambda: one.is_over, "the end")
    assert one.messages[-1]["refused"] == "protocol error from the conductor: only the first frame may be an order"
    assert_gone(info["pid"], info["folder"])
    wait_for_idle(cluster)


OTHER = """
    import collections, sys

    like = collections.namedtuple("version_info", "major minor micro releaselevel serial")
    sys.version_info = like(*sys.version_info[:2], 99, "final", 0)
"""


def test_different_python_version_is_reported_in_one_sentence(run_on, cluster, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(OTHER))
    line = run_on(cluster, 1, "echo", env={"PYTHONPATH": str(tmp_path)}).refusal()
    here = ".".join(map(str, sys.version_info[:3]))
    other = f"{sys.version_info[0]}.{sys.version_info[1]}.99"
    there = f"the cluster at {cluster.address} has Python {here}"
    assert line == f"{there}, but this machine has Python {other}: use equal versions"


OTHER_RAY = """
    import importlib.abc, importlib.util, sys

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            if name != "ray._version":
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                module.version = "2.59.9"

            spec.loader.exec_module = exec_module
            return spec

    sys.meta_path.insert(0, Finder())
"""


def test_different_ray_version_is_reported_in_one_sentence(run_on, cluster, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(OTHER_RAY))
    line = run_on(cluster, 1, "echo", env={"PYTHONPATH": str(tmp_path)}).refusal()
    assert line.startswith(f"the cluster at {cluster.address} has Ray 2.")
    assert line.endswith("but this machine has Ray 2.59.9: use equal versions")


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("ray://10.0.0.1:10001", "ray://10.0.0.1:10001 is not the address of a Ray head: use HOST:PORT, for example 10.0.0.1:6379"),
        ("10.0.0.1", "`10.0.0.1` is not the address of a Ray cluster: use HOST:PORT, for example 10.0.0.1:6379"),
        ("10.0.0.1:ray", "`10.0.0.1:ray` is not the address of a Ray cluster: use HOST:PORT, for example 10.0.0.1:6379"),
        ("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1: Connection refused"),
        ("[::1]:1", "no Ray cluster answers at [::1]:1: "),
        (None, "no Ray cluster was specified: set its head with --address HOST:6379 or RAY_ADDRESS"),
    ],
)
def test_missing_cluster_is_reported(coordinate, address, why):
    one = coordinate()
    one.order(2, ["run"], address=address)
    assert one.refusal().startswith(why)


def test_port_of_another_service_is_not_a_cluster(coordinate):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        one = coordinate()
        one.order(1, ["run"], address=address)
        assert one.refusal().startswith(f"no Ray cluster answers at {address}: ")


def test_cluster_reachable_by_others_requires_a_token(run_on, cluster, coordinate):
    assert not cluster.address.startswith("127.")
    line = run_on(cluster, 1, "echo", insecure=False).refusal()
    assert line == (
        f"the cluster at {cluster.address} has no token, so anyone who can reach its port can run code on every node: "
        "set RAY_AUTH_MODE=token here and on its nodes, or use --insecure-cluster"
    )
    # An address that only this machine reaches needs no token.
    one = run_on(cluster, 1, "echo", insecure=False, address="127.0.0.1:" + cluster.address.rpartition(":")[2])
    one.placed()
    one.close()
    wait_for_idle(cluster)


def test_cluster_token_is_accepted_and_a_wrong_one_refused(run_on, make_cluster):
    token, other = "a" * 40, "b" * 40
    cluster = make_cluster(1, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token)
    one = run_on(cluster, 1, "echo", insecure=False, env={"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token})
    assert "RAY_AUTH_TOKEN" not in one.line(0)["environment"]
    one.close()
    wait_for_idle(cluster)
    for env in ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": other}, {"RAY_AUTH_MODE": "disabled"}):
        line = run_on(cluster, 1, "echo", insecure=True, env=env).refusal()
        assert line.startswith(f"the cluster at {cluster.address} refused the connection: "), line


def test_address_is_read_from_the_environment(run_on, cluster):
    one = run_on(cluster, 1, "echo", address=None, env={"RAY_ADDRESS": cluster.address})
    assert one.placed()[0]["ray"] in cluster.raylets
    one.close()
    wait_for_idle(cluster)


def test_single_node_may_start_its_own_ray(coordinate, fake_program, tmp_path):
    # Ray puts sockets into this folder; their paths must be short.
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        _run_without_cluster(coordinate(env={"HOME": str(tmp_path), "RAY_TMPDIR": folder}), fake_program)
    # No token is left in the home folder.
    assert not (tmp_path / ".ray").exists()


def _run_without_cluster(one: Conductor, fake_program: str) -> None:
    one.order(1, ["echo"], environment={"LOADLINE_BINARY": fake_program}, insecure=False)
    info = one.line(0)
    actor = int(Path(f"/proc/{info['pid']}/stat").read_text().rpartition(")")[2].split()[1])
    raylet = int(Path(f"/proc/{actor}/stat").read_text().rpartition(")")[2].split()[1])
    one.close()
    assert_gone(info["pid"], info["folder"])
    wait_until(lambda: is_gone(raylet), "the end of Ray")
