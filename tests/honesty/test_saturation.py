"""The first bottleneck is correct for live services, and never wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOADLINE

pytestmark = [pytest.mark.proof, pytest.mark.alone]

BENCH = Path(__file__).parent.parent.parent / "bench/saturation.py"


@pytest.mark.timeout(1800)
def test_first_bottleneck_of_five_kinds_of_services(tmp_path):
    env = {**os.environ, "LOADLINE": str(LOADLINE)}
    ran = subprocess.run([sys.executable, BENCH], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=1700)
    assert ran.returncode == 0, ran.stdout + ran.stderr
