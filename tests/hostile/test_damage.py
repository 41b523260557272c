"""Missing, empty or irregular files of a record are reported as damage by name."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import LOADLINE

PLAN = """
loadline: 1
target: {}
load: {{ rate: 50/s, duration: 1s }}
steps: [ {{ get: / }} ]
"""


def empty(path: Path) -> None:
    path.write_text("")


def cut(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.fixture
def record(loadline, start_lab) -> Path:
    plan = loadline.write("plan.yml", PLAN.format(start_lab("truth").url))
    assert loadline("run", plan).returncode == 0
    return (loadline.folder / ".loadline/runs/last").resolve()


@pytest.mark.parametrize("name", ["events.jsonl", "server.jsonl"])
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (Path.unlink, "{} is missing"),
        (empty, "lines of {} are missing"),
        (cut, "1 of "),
        (folder, "{} is not a file"),
        (fifo, "{} is not a file"),
    ],
)
def test_file_of_record_that_lost_lines_is_named(loadline, record, name, damage, said) -> None:
    whole = loadline("report", record)
    assert whole.returncode == 0
    assert "damaged" not in whole.stdout + whole.stderr
    damage(record / name)
    shown = loadline("report", record)
    assert shown.returncode == 0, shown.stderr
    output = " ".join((shown.stdout + shown.stderr).split())
    assert "the record is damaged: " in output
    assert said.format(name) in output


@pytest.mark.parametrize("sent", [b"garbage and more of it", b"\xff" * 4096, b'\x10\0\0\0\x08\0\0\0{"what":'])
def test_node_that_is_sent_garbage_ends_with_error(loadline, sent) -> None:
    ended = subprocess.run([LOADLINE, "node"], input=sent, capture_output=True, timeout=30, cwd=loadline.folder)
    assert ended.returncode == 3, ended.stderr
    lines = ended.stderr.decode().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("loadline: standard input is not from a conductor of this version"), lines


def test_node_whose_conductor_leaves_ends_well(loadline) -> None:
    ended = subprocess.run([LOADLINE, "node"], input=b"", capture_output=True, timeout=30, cwd=loadline.folder)
    assert (ended.returncode, ended.stderr) == (0, b"")
