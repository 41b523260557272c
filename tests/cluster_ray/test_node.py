"""The actor of one node, without Ray: it is an ordinary object."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from conftest import wait_until
from loadline.ray import node
from ray_conductor import assert_gone


class StartedNode:
    """A node with a running program, and the output read from it."""

    def __init__(self, program: str, *arguments: str, folder: str = ".", files: tuple = (), **environment: str) -> None:
        self.node = node.Node()
        self.out = bytearray()
        self.output_lines: list[str] = []
        self.is_closed, self.code = False, None
        _, refusal = self.node.begin(list(arguments), folder, list(files), {"LOADLINE_BINARY": program, **environment})
        assert refusal is None, refusal

    def read(self, condition) -> None:
        def step() -> bool:
            data, said, self.is_closed, self.code = self.node.read()
            self.out += data
            self.output_lines += said
            return condition()

        wait_until(step, f"what was waited for; read {len(self.out)} bytes, {self.output_lines}")

    def line(self) -> dict:
        self.read(lambda: b"\n" in self.out)
        return json.loads(self.out.partition(b"\n")[0])


def test_node_program_finds_its_files_and_environment(fake_program, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of Ray's")
    files = [("tests/plan.yml", b"loadline: 1\n"), ("tests/data/rows.csv", b"a\n\xff\n")]
    started = StartedNode(fake_program, "echo", "--x", folder="tests", files=files, SECRET="of the plan's")
    info = started.line()
    assert info["arguments"] == ["echo", "--x"]
    assert info["cwd"] == "tests"
    assert info["mode"] == 0o700
    assert info["files"] == {"plan.yml": 0o600, "data": 0o700, "data/rows.csv": 0o600}
    assert info["environment"]["SECRET"] == "of the plan's"
    assert info["environment"]["LOADLINE_ENDS_WITH"] == str(os.getpid())
    assert not [name for name in info["environment"] if name.startswith("RAY_")]
    folder = Path(info["folder"])
    assert (folder / "tests/data/rows.csv").read_bytes() == b"a\n\xff\n"
    leaked = [path for path in folder.rglob("*") if path.is_file() and b"of the plan's" in path.read_bytes()]
    assert not leaked
    started.node.release()
    assert_gone(info["pid"], info["folder"])


def test_node_passes_bytes_and_reports_ends_in_order(fake_program):
    started = StartedNode(fake_program, "echo")
    info = started.line()
    first = len(started.out)
    data = os.urandom(3 << 20)
    started.node.write(data)
    started.read(lambda: len(started.out) == first + len(data))
    assert started.out[first:] == data
    assert not started.is_closed
    started.node.write(b"")
    started.node.write(b"too late, and no failure")
    started.read(lambda: started.code is not None)
    assert (started.code, started.is_closed) == (0, True)
    started.node.release()
    assert not Path(info["folder"]).exists()


def test_node_reports_the_exit_code_after_the_last_output(fake_program):
    started = StartedNode(fake_program, "end", "7")
    started.read(lambda: started.code is not None)
    assert (started.code, started.output_lines) == (7, ["a last word"])
    started.node.release()


def test_node_truncates_and_counts_a_flood_of_errors(fake_program):
    started = StartedNode(fake_program, "talk", "4000")
    started.line()
    started.node.write(b"x")
    started.read(lambda: started.out.endswith(b"x"))
    started.node.write(b"")
    started.read(lambda: started.code is not None)
    unsaid = [int(line.split()[0][1:]) for line in started.output_lines if line.startswith("(")]
    lines = [line for line in started.output_lines if line.startswith("line ")]
    assert lines[0] == "line 0 ☃"
    assert len(lines) + sum(unsaid) == 4000
    started.node.release()


def test_node_that_does_not_exit_is_killed(fake_program, monkeypatch):
    monkeypatch.setattr(node, "GRACE_SECONDS", 0.2)
    started = StartedNode(fake_program, "stay")
    info = started.line()
    started.node.release()
    assert_gone(info["pid"], info["folder"])


@pytest.mark.parametrize("program", ["/nowhere/loadline", "/"])
def test_node_without_a_program_reports_one_line(program):
    there = node.Node()
    _, refusal = there.begin(["run"], ".", [], {"LOADLINE_BINARY": program})
    assert refusal.startswith(f"{program} cannot be started: ")
    there.release()


def test_node_without_a_configured_program_searches_for_it(monkeypatch, tmp_path):
    monkeypatch.delenv("LOADLINE_BINARY", raising=False)
    monkeypatch.setattr(node.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(node.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    _, refusal = node.Node().begin(["run"], ".", [], {})
    assert refusal.startswith("the program `loadline` is not installed there: ")


HELD = """
    import json, sys, time
    from loadline.ray.node import Node

    held = Node()
    held.begin([sys.argv[2]], ".", [("plan.yml", b"x")], {"LOADLINE_BINARY": sys.argv[1]})
    out = b""
    while b"\\n" not in out:
        out += held.read()[0]
    print(out.decode(), end="", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("what", ["echo", "stay"])
def test_killed_node_leaves_no_process(fake_program, what):
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HELD), fake_program, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        info = json.loads(holder.stdout.readline())
        assert Path(info["folder"]).exists()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert_gone(info["pid"], info["folder"])


def test_node_ends_with_its_parent(fake_program):
    """The parent is a shell here, and Ray's worker on a cluster."""
    command = f"'{sys.executable}' -c \"$1\" '{fake_program}' echo <&3 & wait"
    with subprocess.Popen(
        ["sh", "-c", f"exec 3<&0; {command}", "sh", textwrap.dedent(HELD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as shell:
        info = json.loads(shell.stdout.readline())
        began = time.monotonic()
        shell.kill()
        shell.wait()
        assert_gone(info["pid"], info["folder"])
        assert time.monotonic() - began < 15
