"""The ready files for pipelines: they are YAML of the shape that their makers want, and what they have Loadline do is done as it is
there, against labs in the place of a service."""

from __future__ import annotations

import os
import re

import pytest
import yaml
from conftest import LOADLINE, ROOT

FILES = ROOT / "examples/ci"
PLAN = """
loadline: 1
name: shop
load: {rate: 1500/s, duration: 20ms}
steps:
  - get: /order
"""


def steps(name: str) -> list[str]:
    """The scripts of a file, in their order."""
    jobs = yaml.safe_load((FILES / name).read_text())
    if "jobs" not in jobs:
        return [line for job in jobs.values() for line in job["before_script"] + job["script"]]
    # YAML 1.1 takes the word for a truth.
    assert {"name", "permissions", "jobs"} <= set(jobs)
    assert True in jobs
    (job,) = jobs["jobs"].values()
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step), step
        assert "uses" not in step or re.fullmatch(r"actions/[a-z/-]+@v\d+", step["uses"]), step
    return [line for step in job["steps"] for line in step.get("run", "").splitlines()]


@pytest.mark.parametrize("name", sorted(file.name for file in FILES.glob("*.yml")))
def test_a_file_does_what_it_says(loadline, start_lab, name):
    ours = [line for line in steps(name) if line.startswith("loadline ")]
    assert ours
    assert (ROOT / "docs/ci.md").read_text().count(f"examples/ci/{name})") == 1
    plan = loadline.folder / "load/plan.yml"
    plan.parent.mkdir()
    plan.write_text(PLAN)
    urls = [start_lab("truth", "mode=constant", "service=200ms").url for _ in range(2)]
    (loadline.folder / "bin").mkdir()
    (loadline.folder / "bin/loadline").symlink_to(LOADLINE)
    env = {
        "PATH": f"{loadline.folder}/bin:{os.environ['PATH']}",
        "PLAN": "load/plan.yml",
        "BEFORE": urls[0],
        "AFTER": urls[1],
        "SERVICE": urls[0],
    }
    for line in ours:
        ran = loadline.run("bash", "-c", line.replace("history p99", "history p50"), env=env, timeout=120)
        wanted = (0, 1, 5) if "--baseline" in line else (0,)
        assert ran.returncode in wanted, (line, ran.stdout, ran.stderr)
    for file in re.findall(r"--(?:junit|markdown|html|json) (\S+)", " ".join(ours)):
        assert (loadline.folder / file).stat().st_size > 100, file
