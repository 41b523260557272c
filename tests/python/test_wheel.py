"""The wheel as users install it: in an empty environment, outside of any checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

LOCUSTFILE = """
from locust import HttpUser, FastHttpUser, constant, task

class Plain(HttpUser):
    wait_time = constant(0.1)

    @task
    def look(self):
        self.client.get("/")

class Fast(FastHttpUser):
    wait_time = constant(0.1)

    @task
    def look(self):
        self.client.get("/")
"""

pytestmark = pytest.mark.long


def _run(command: list[object], folder: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs a command without this checkout's environment."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LOADLINE", "VIRTUAL_ENV"))}
    inherited["PATH"] = f"{folder}/env/bin:/usr/bin:/bin"
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=inherited, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def wheel() -> Path:
    wheels = sorted((ROOT / "dist").glob("loadline-*.whl"), key=lambda path: path.stat().st_mtime)
    assert wheels, "no wheel in dist/: `make wheel` makes it"
    return wheels[-1]


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    _run([sys.executable, "-m", "venv", "env"], tmp_path)
    return tmp_path


def test_wheel_runs_demo_and_api_alone(wheel: Path, environment: Path):
    _run(["env/bin/pip", "install", "--quiet", "--no-index", wheel], environment)
    shown = _run(["env/bin/loadline", "demo"], environment).stdout
    assert "Report: " in shown
    api = "import loadline; print(loadline.run('lab:truth', rate='20/s', duration='1s').requests.ok, loadline.open().requests.issued)"
    assert _run(["env/bin/python", "-c", api], environment).stdout == "20 20\n"
    # Without the extra, one line says how to install it.
    refused = subprocess.run(
        [environment / "env/bin/loadline", "locust", "--version"], cwd=environment, capture_output=True, text=True, timeout=60
    )
    assert refused.returncode != 0
    assert refused.stderr.count("\n") == 1
    assert "pip install 'loadline[locust]'" in refused.stderr


def test_wheel_with_locust_extra_runs_locustfiles(wheel: Path, environment: Path, start_lab):
    _run(["env/bin/pip", "install", "--quiet", f"loadline[locust] @ {wheel.as_uri()}"], environment, timeout=300)
    (environment / "locustfile.py").write_text(LOCUSTFILE)
    lab = start_lab("truth")
    ended = _run(
        ["env/bin/loadline", "locust", "--headless", "-u", "4", "-r", "4", "-t", "2s", "--host", lab.url, "--json"], environment
    )
    assert '"num_failures": 0' in ended.stdout
    counted = _run(["env/bin/python", "-c", "import loadline; print(loadline.open().requests.issued)"], environment).stdout
    assert int(counted) > 0
    # The lab counts what it received; cancelled requests may not have arrived.
    assert 0 < lab.stats()["answered"]["total"] <= int(counted)
