"""The cost of several nodes of a Ray cluster on this machine, and how closely they start together,
as seen by the target.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOADLINE

pytestmark = [pytest.mark.proof, pytest.mark.alone]

BENCH = Path(__file__).parent.parent.parent / "bench/cluster.py"


def test_three_nodes_over_ray_cost_little_and_start_together(tmp_path):
    left = tmp_path / "figures.json"
    env = {**os.environ, "LOADLINE": str(LOADLINE)}
    ran = subprocess.run([sys.executable, BENCH, "--json", left], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=400)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    figures = json.loads(left.read_text())
    assert set(figures["counts"].values()) == {90_000}, figures["counts"]
    shares = figures["shares"]
    assert shares["conductor"] + shares["conductor's Ray"] < 0.10, shares
    of_ray = [share for name, share in shares.items() if name.endswith("Ray and its actor")]
    assert len(of_ray) == 3
    assert max(of_ray) < 0.05, shares
    assert figures["apart_ms"] < 5, figures
    # The limit of the self-test's own cases.
    assert len(figures["away_ns"]) >= 4
    assert max(map(abs, figures["away_ns"].values())) < 5_000_000, figures
