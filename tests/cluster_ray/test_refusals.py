"""Refusals before Ray is used:

Ray is missing, its version is untested, or the order is malformed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from ray_conductor import CONTROL


def test_missing_ray_is_reported_with_the_install_command(coordinate):
    one = coordinate(python=[sys.executable, "-S"], env={"PYTHONPATH": str(Path(sys.executable).parent.parent / "package")})
    one.order(2, ["run", "plan.yml"])
    assert one.refusal() == "Ray is not installed: run pip install 'loadline[ray]'"


@pytest.mark.parametrize("version", ["2.51.2", "2.61.0", "3.0.0rc1"])
def test_untested_ray_version_is_refused(coordinate, tmp_path, version):
    metadata = tmp_path / "packages" / f"ray-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ray\nVersion: {version}\n")
    one = coordinate(env={"PYTHONPATH": str(metadata.parent)})
    one.order(2, ["run", "plan.yml"])
    line = one.refusal()
    assert line == f"Ray {version} is not supported (use at least 2.52, below 2.61): pip install 'ray>=2.52,<2.61'"


GOOD = {"nodes": 1, "arguments": ["run"]}


@pytest.mark.parametrize(
    ("stream", "data", "why"),
    [
        (0, b"x", "the first frame does not belong to the control stream"),
        (CONTROL, b"{", "the order cannot be read: JSONDecodeError"),
        (CONTROL, b"[]", "the order cannot be read: TypeError"),
        (CONTROL, json.dumps({"nodes": 1}).encode(), "the order cannot be read: KeyError: 'arguments'"),
        (CONTROL, json.dumps({**GOOD, "nodes": 0}).encode(), "0 nodes were requested"),
        (CONTROL, json.dumps({**GOOD, "files": [["/etc/x", ""]]}).encode(), "`/etc/x` is outside the folder of the plan"),
        (CONTROL, json.dumps({**GOOD, "files": [["a/../../x", ""]]}).encode(), "`a/../../x` is outside the folder of the plan"),
        (CONTROL, json.dumps({**GOOD, "folder": ".."}).encode(), "`..` is outside the folder of the plan"),
        (CONTROL, json.dumps({**GOOD, "files": [["x", "!"]]}).encode(), "the order cannot be read: "),
    ],
)
def test_malformed_order_is_refused(coordinate, stream, data, why):
    one = coordinate()
    one.send(stream, data)
    assert why in one.refusal()


def test_pipe_that_ends_within_a_frame_is_reported(coordinate):
    one = coordinate()
    one.process.stdin.write(b"\xff\xff\xff\xff\x05\x00\x00\x00ab")
    one.process.stdin.close()
    assert one.refusal() == "the pipe ended within a frame"


def test_pipe_that_ends_immediately_is_a_normal_end(coordinate):
    coordinate().close()


def test_file_called_ray_in_the_folder_is_not_ray(loadline):
    loadline.write("ray.py", "raise SystemExit(9)\n")
    run = loadline("run", "http://127.0.0.1:9", "--rate", "1/s", "--duration", "1s", "--on", "ray", "--address", "127.0.0.1:1")
    assert run.returncode == 3, run.stderr
    assert "no Ray cluster answers at 127.0.0.1:1" in run.stderr or "Ray is not installed" in run.stderr
