"""What is refused before Ray is asked for anything: without Ray, with one that nobody has tried, and orders that are none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from over_ray import CONTROL


def test_without_ray_it_says_what_brings_it(coordinate):
    one = coordinate(python=[sys.executable, "-S"], env={"PYTHONPATH": str(Path(sys.executable).parent.parent / "package")})
    one.order(2, ["run", "plan.yml"])
    assert one.refusal() == "Ray is not installed: pip install 'loadline[ray]' brings it"


@pytest.mark.parametrize("version", ["2.51.2", "2.61.0", "3.0.0rc1"])
def test_a_ray_that_nobody_has_tried_is_refused(coordinate, tmp_path, version):
    told = tmp_path / "packages" / f"ray-{version}.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ray\nVersion: {version}\n")
    one = coordinate(env={"PYTHONPATH": str(told.parent)})
    one.order(2, ["run", "plan.yml"])
    line = one.refusal()
    assert line == f"Ray {version} is not among the versions that work (from 2.52, below 2.61): pip install 'ray>=2.52,<2.61'"


GOOD = {"nodes": 1, "arguments": ["run"]}


@pytest.mark.parametrize(
    ("stream", "data", "why"),
    [
        (0, b"x", "the first frame is not of the control stream"),
        (CONTROL, b"{", "the order cannot be read: JSONDecodeError"),
        (CONTROL, b"[]", "the order cannot be read: TypeError"),
        (CONTROL, json.dumps({"nodes": 1}).encode(), "the order cannot be read: KeyError: 'arguments'"),
        (CONTROL, json.dumps({**GOOD, "nodes": 0}).encode(), "0 nodes were asked for"),
        (CONTROL, json.dumps({**GOOD, "files": [["/etc/x", ""]]}).encode(), "`/etc/x` is not below the folder of the plan"),
        (CONTROL, json.dumps({**GOOD, "files": [["a/../../x", ""]]}).encode(), "`a/../../x` is not below the folder of the plan"),
        (CONTROL, json.dumps({**GOOD, "folder": ".."}).encode(), "`..` is not below the folder of the plan"),
        (CONTROL, json.dumps({**GOOD, "files": [["x", "!"]]}).encode(), "the order cannot be read: "),
    ],
)
def test_what_is_no_order_is_refused(coordinate, stream, data, why):
    one = coordinate()
    one.send(stream, data)
    assert why in one.refusal()


def test_a_pipe_that_ends_within_a_frame_is_told(coordinate):
    one = coordinate()
    one.process.stdin.write(b"\xff\xff\xff\xff\x05\x00\x00\x00ab")
    one.process.stdin.close()
    assert one.refusal() == "the pipe ended within a frame"


def test_a_pipe_that_ends_at_once_is_an_end(coordinate):
    coordinate().close()
