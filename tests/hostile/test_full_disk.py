"""A run whose record cannot be written is reported as such, and its figures give no verdict."""

import json
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import LOADLINE

NO_SPACE = "No space left on device"

PLAN = """
loadline: 1
target: {target}
load: {{ rate: 50/s, duration: 30s }}
steps: [ {{ get: / }} ]
criteria: [ errors < 1% ]
"""

CAMPAIGN = """
loadline: 1
name: filling
target: {target}
stages:
  - {{ name: first, load: {{ rate: 50/s, duration: 30s }} }}
  - {{ name: second, load: {{ rate: 50/s, duration: 30s }} }}
steps: [ {{ get: / }} ]
criteria: [ errors < 1% ]
"""


class SmallDisk:
    """A file system of 600 KiB that is nearly full."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def leave(self, size: int) -> None:
        """Fills the disk except for `size` bytes."""
        free = os.statvfs(self.folder)
        (self.folder / "fill").write_bytes(b"x" * (free.f_bavail * free.f_frsize - size))

    def free(self) -> None:
        (self.folder / "fill").unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "none", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield SmallDisk(folder)
    subprocess.run(["umount", "-l", folder], check=True)


def test_disk_that_fills_during_run_ends_it_with_code_3(loadline, start_lab, small_disk) -> None:
    plan = loadline.write("plan.yml", PLAN.format(target=start_lab("truth").url))
    small_disk.leave(110 << 10)
    runs = small_disk.folder / "runs"
    ended = loadline("run", plan, "--runs", runs)
    assert ended.returncode == 3, ended.stdout + ended.stderr
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"loadline: cannot write the record in {runs}/"), ended.stderr
    assert NO_SPACE in last
    assert "free some space, or choose another folder with --runs or LOADLINE_RUNS" in last
    assert "COULD NOT RUN" in ended.stdout
    assert "FAIL" not in ended.stdout
    assert "PASS" not in ended.stdout
    # The record states how the run ended.
    manifest = json.loads((runs / "last/manifest.json").read_text())
    assert manifest["state"] == "interrupted"
    assert manifest["end"]["cause"] == "fault"
    assert NO_SPACE in manifest["end"]["reason"]
    small_disk.free()
    shown = loadline("report", "last", "--runs", runs)
    assert "COULD NOT RUN" in shown.stdout
    assert "PASS" not in shown.stdout


def test_full_disk_refuses_run_before_its_first_request(loadline, start_lab, small_disk) -> None:
    lab = start_lab("truth")
    plan = loadline.write("plan.yml", PLAN.format(target=lab.url))
    small_disk.leave(8 << 10)
    ended = loadline("run", plan, "--runs", small_disk.folder / "runs")
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert NO_SPACE in ended.stderr.splitlines()[-1]
    assert str(small_disk.folder) in ended.stderr.splitlines()[-1]
    assert lab.stats()["received"]["total"] == 0
    assert not list((small_disk.folder / "runs").glob("2*")), "a folder was left that is no run"


@pytest.mark.parametrize("room_kib", [130, 20, 4])
def test_disk_that_fills_makes_campaign_stage_could_not_run(loadline, start_lab, small_disk, room_kib) -> None:
    plan = loadline.write("campaign.yml", CAMPAIGN.format(target=start_lab("truth").url))
    small_disk.leave(room_kib << 10)
    ended = loadline("campaign", plan, "--folder", small_disk.folder / "campaigns")
    assert ended.returncode == 3, ended.stdout + ended.stderr
    said = " ".join(ended.stdout.split())
    assert "first COULD NOT RUN" in said, ended.stdout
    assert "first could not be run: cannot write" in said, ended.stdout
    assert NO_SPACE in said
    assert "second not run" in said
    assert "FAIL" not in said
    assert "do not plan for more" not in said


def test_report_that_cannot_be_written_ends_with_code_3(loadline, start_lab, small_disk) -> None:
    plan = loadline.write("plan.yml", PLAN.format(target=start_lab("truth").url).replace("30s", "1s"))
    small_disk.leave(160 << 10)
    ended = loadline("run", plan, "--runs", small_disk.folder / "runs")
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert f"report.html: {NO_SPACE}" in ended.stderr
    assert "`loadline report " in ended.stderr
    # The measurement is complete.
    assert "PASS" in ended.stdout
    assert loadline("report", "last", "--runs", small_disk.folder / "runs").returncode == 3
    small_disk.free()
    assert loadline("report", "last", "--runs", small_disk.folder / "runs").returncode == 0


@pytest.mark.parametrize("ignored", [True, False], ids=["ignored", "as inherited"])
def test_file_size_limit_is_write_error_like_others(loadline, start_lab, ignored) -> None:
    """The file size limit (`ulimit -f`) sends SIGXFSZ, which must not end the process."""
    plan = loadline.write("plan.yml", PLAN.format(target=start_lab("truth").url))
    ended = subprocess.run(
        [LOADLINE, "run", plan],
        cwd=loadline.folder,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        # Python ignores SIGXFSZ, and its children inherit that unless signals are restored.
        restore_signals=not ignored,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, 70_000)),
    )
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert "cannot write the record in .loadline/runs/" in ended.stderr
    assert "File too large" in ended.stderr
    assert "COULD NOT RUN" in ended.stdout
