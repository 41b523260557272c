"""The CI examples are valid workflow files, and their Loadline commands work against labs."""

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


def script_lines(name: str) -> list[str]:
    """Returns the script lines of a file, in order."""
    jobs = yaml.safe_load((FILES / name).read_text())
    if "jobs" not in jobs:
        return [line for job in jobs.values() for line in job["before_script"] + job["script"]]
    # YAML 1.1 reads the key `on` as true.
    assert {"name", "permissions", "jobs"} <= set(jobs)
    assert True in jobs
    (job,) = jobs["jobs"].values()
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step), step
        assert "uses" not in step or re.fullmatch(r"actions/[a-z/-]+@v\d+", step["uses"]), step
    return [line for step in job["steps"] for line in step.get("run", "").splitlines()]


@pytest.mark.parametrize("name", sorted(file.name for file in FILES.glob("*.yml")))
def test_ci_file_commands_run_as_written(loadline, start_lab, name):
    ours = [line for line in script_lines(name) if line.startswith("loadline ")]
    assert ours
    assert (ROOT / "docs/how-to/gate-in-ci.md").read_text().count(f"examples/ci/{name})") == 1
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


STUB = """#!/bin/sh
[ "$(basename "$0")" = gh ] && {{ printf '%s\\n' "$@" >> gh.txt; exit 0; }}
printf '### WORD – why\\n' > gate.md
exit {code}
"""


def job_steps() -> dict[str, str]:
    (job,) = yaml.safe_load((FILES / "github.yml").read_text())["jobs"].values()
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


@pytest.mark.parametrize(
    ("code", "job_code", "conclusion"), [(0, 0, "success"), (5, 0, "neutral"), (1, 1, "failure"), (4, 1, "failure")]
)
def test_github_job_inconclusive_result_is_a_neutral_check(loadline, code, job_code, conclusion):
    (loadline.folder / "bin").mkdir()
    for name in ("loadline", "gh"):
        file = loadline.folder / "bin" / name
        file.write_text(STUB.format(code=code))
        file.chmod(0o755)
    env = {
        "PATH": f"{loadline.folder}/bin:{os.environ['PATH']}",
        **dict.fromkeys(("PLAN", "BEFORE", "AFTER", "HEAD", "GITHUB_REPOSITORY"), "x"),
        "GITHUB_OUTPUT": "output.txt",
        "CODE": str(code),
    }
    scripts = job_steps()
    ran = loadline.run("bash", "-e", "-c", scripts["Measure what is new"], env=env)
    assert ran.returncode == job_code, ran.stderr
    assert (loadline.folder / "output.txt").read_text() == f"code={code}\n"
    ran = loadline.run("bash", "-e", "-c", scripts["Report the check"], env=env)
    assert ran.returncode == 0, ran.stderr
    said = (loadline.folder / "gh.txt").read_text().splitlines()
    assert f"conclusion={conclusion}" in said
    assert "output[title]=WORD – why" in said


@pytest.mark.parametrize(("code", "job_code"), [(0, 0), (1, 0), (4, 1), (3, 1)])
def test_github_job_continues_if_old_version_fails_a_criterion(loadline, code, job_code):
    (loadline.folder / "loadline").write_text(STUB.format(code=code))
    (loadline.folder / "loadline").chmod(0o755)
    env = {"PATH": f"{loadline.folder}:{os.environ['PATH']}", "PLAN": "x", "BEFORE": "x"}
    ran = loadline.run("bash", "-e", "-c", job_steps()["Measure what is there"], env=env)
    assert ran.returncode == job_code, ran.stderr
