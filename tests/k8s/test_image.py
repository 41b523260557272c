"""The container image: its build steps run without Docker where possible, and it matches the
manifests.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
STEPS = ROOT / "packaging/build-image.sh"
DOCKERFILE = (ROOT / "packaging/Dockerfile").read_text()


def _step(*arguments: object, folder: Path, timeout: float = 30) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [STEPS, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize("arguments", [[], ["push"], ["install"], ["install", "python3"]])
def test_unknown_build_step_is_refused(tmp_path, arguments):
    done = _step(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("build-image.sh")


def test_dockerfile_runs_the_steps_of_the_script():
    assert re.findall(r"build-image\.sh (\w+)", "\n".join(line for line in DOCKERFILE.splitlines() if line.startswith("RUN"))) == [
        "page",
        "wheel",
        "install",
    ]


def test_image_user_is_unprivileged_and_that_of_the_manifests():
    user = re.search(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE)
    number = (ROOT / "crates/k8s/src/parts.rs").read_text()
    assert user.groups() == ("10001", "10001")
    assert "const USER: u32 = 10001;" in number
    assert "--uid 10001" in DOCKERFILE


def test_image_has_the_ray_version_of_the_manifests():
    version = re.search(r"^ARG RAY=(.+)$", DOCKERFILE, re.MULTILINE)[1]
    assert f'default_value = "{version}"' in (ROOT / "crates/cli/src/args/cluster.rs").read_text()
    first, beyond = re.search(r'ray = \["ray>=([\d.]+),<([\d.]+)"\]', (ROOT / "pyproject.toml").read_text()).groups()
    numbers = [tuple(map(int, text.split(".")[:2])) for text in (first, version, beyond)]
    assert numbers[0] <= numbers[1] < numbers[2]


@pytest.mark.long
def test_wheel_installs_next_to_ray(tmp_path):
    """Runs the last build stage in a virtual environment outside of any checkout."""
    wheels = sorted((ROOT / "dist").glob("loadline-*.whl"), key=lambda path: path.stat().st_mtime)
    assert wheels, "no wheel in dist/: `make wheel` makes it"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True, timeout=120)
    binaries = tmp_path / "env/bin"
    done = _step("install", binaries / "python", wheels[-1], "2.60.0", folder=tmp_path, timeout=500)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == ["ray 2.60.0"]
    for program in ("loadline", "ray"):
        shown = subprocess.run([binaries / program, "--version"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert shown.returncode == 0, shown.stderr
    demo = subprocess.run([binaries / "loadline", "demo"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    refused = subprocess.run(
        [binaries / "loadline", "run", "http://127.0.0.1:9", "--on", "ray", "--nodes", "2", "--address", "127.0.0.1:1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode == 3
    assert "no Ray cluster answers at 127.0.0.1:1: Connection refused" in refused.stderr
