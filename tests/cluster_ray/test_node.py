"""The actor of one node, without Ray: it is an object like any other."""

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
from conftest import until
from loadline.ray import node
from over_ray import gone


class Begun:
    """A node whose program runs, and what was read of it."""

    def __init__(self, program: str, *arguments: str, folder: str = ".", files: tuple = (), **environment: str) -> None:
        self.node = node.Node()
        self.out = bytearray()
        self.said: list[str] = []
        self.is_closed, self.code = False, None
        _, refusal = self.node.begin(list(arguments), folder, list(files), {"LOADLINE_BINARY": program, **environment})
        assert refusal is None, refusal

    def read(self, condition) -> None:
        def step() -> bool:
            data, said, self.is_closed, self.code = self.node.read()
            self.out += data
            self.said += said
            return condition()

        until(step, f"what was waited for; read {len(self.out)} bytes, {self.said}")

    def line(self) -> dict:
        self.read(lambda: b"\n" in self.out)
        return json.loads(self.out.partition(b"\n")[0])


def test_the_program_finds_its_files_and_its_environment(stand_in, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of Ray's")
    files = [("tests/plan.yml", b"loadline: 1\n"), ("tests/data/rows.csv", b"a\n\xff\n")]
    begun = Begun(stand_in, "echo", "--x", folder="tests", files=files, SECRET="of the plan's")
    told = begun.line()
    assert told["arguments"] == ["echo", "--x"]
    assert told["cwd"] == "tests"
    assert told["mode"] == 0o700
    assert told["files"] == {"plan.yml": 0o600, "data": 0o700, "data/rows.csv": 0o600}
    assert told["environment"]["SECRET"] == "of the plan's"
    assert told["environment"]["LOADLINE_ENDS_WITH"] == str(os.getpid())
    assert not [name for name in told["environment"] if name.startswith("RAY_")]
    folder = Path(told["folder"])
    assert (folder / "tests/data/rows.csv").read_bytes() == b"a\n\xff\n"
    kept = [path for path in folder.rglob("*") if path.is_file() and b"of the plan's" in path.read_bytes()]
    assert not kept
    begun.node.release()
    gone(told["pid"], told["folder"])


def test_bytes_go_through_and_ends_are_told_in_order(stand_in):
    begun = Begun(stand_in, "echo")
    told = begun.line()
    first = len(begun.out)
    data = os.urandom(3 << 20)
    begun.node.write(data)
    begun.read(lambda: len(begun.out) == first + len(data))
    assert begun.out[first:] == data
    assert not begun.is_closed
    begun.node.write(b"")
    begun.node.write(b"too late, and no failure")
    begun.read(lambda: begun.code is not None)
    assert (begun.code, begun.is_closed) == (0, True)
    begun.node.release()
    assert not Path(told["folder"]).exists()


def test_a_program_that_ends_is_told_with_its_code_behind_its_last_words(stand_in):
    begun = Begun(stand_in, "end", "7")
    begun.read(lambda: begun.code is not None)
    assert (begun.code, begun.said) == (7, ["a last word"])
    begun.node.release()


def test_a_flood_of_errors_is_cut_and_counted(stand_in):
    begun = Begun(stand_in, "talk", "4000")
    begun.line()
    begun.node.write(b"x")
    begun.read(lambda: begun.out.endswith(b"x"))
    begun.node.write(b"")
    begun.read(lambda: begun.code is not None)
    unsaid = [int(line.split()[0][1:]) for line in begun.said if line.startswith("(")]
    lines = [line for line in begun.said if line.startswith("line ")]
    assert lines[0] == "line 0 ☃"
    assert len(lines) + sum(unsaid) == 4000
    begun.node.release()


def test_who_does_not_end_by_himself_is_ended(stand_in, monkeypatch):
    monkeypatch.setattr(node, "GRACE_SECONDS", 0.2)
    begun = Begun(stand_in, "stay")
    told = begun.line()
    begun.node.release()
    gone(told["pid"], told["folder"])


@pytest.mark.parametrize("program", ["/nowhere/loadline", "/"])
def test_without_a_program_there_is_one_line(program):
    there = node.Node()
    _, refusal = there.begin(["run"], ".", [], {"LOADLINE_BINARY": program})
    assert refusal.startswith(f"{program} cannot be started: ")
    there.release()


def test_with_none_that_is_named_it_is_looked_for(monkeypatch, tmp_path):
    monkeypatch.delenv("LOADLINE_BINARY", raising=False)
    monkeypatch.setattr(node.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(node.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    _, refusal = node.Node().begin(["run"], ".", [], {})
    assert refusal.startswith("no program `loadline` there: ")


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
def test_a_node_that_is_killed_leaves_nothing(stand_in, what):
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HELD), stand_in, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        told = json.loads(holder.stdout.readline())
        assert Path(told["folder"]).exists()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        gone(told["pid"], told["folder"])


def test_a_node_ends_with_what_has_started_it(stand_in):
    """Here a shell, on a cluster Ray's own process."""
    command = f"'{sys.executable}' -c \"$1\" '{stand_in}' echo <&3 & wait"
    with subprocess.Popen(
        ["sh", "-c", f"exec 3<&0; {command}", "sh", textwrap.dedent(HELD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as shell:
        told = json.loads(shell.stdout.readline())
        began = time.monotonic()
        shell.kill()
        shell.wait()
        gone(told["pid"], told["folder"])
        assert time.monotonic() - began < 15
