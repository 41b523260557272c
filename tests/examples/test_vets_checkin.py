"""The vets-api check-in with mocks: two plans that differ only in how slow answers are distributed
over time.
"""

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples/vets-checkin"


def _plan(kind: str) -> list[str]:
    lines = (EXAMPLES / f"mocks-{kind}.yml").read_text().splitlines()
    return [line for line in lines if not line.startswith(("#", "name:")) and "latency:" not in line]


def test_plans_differ_only_in_latency():
    assert _plan("average") == _plan("clustered")


@pytest.mark.parametrize("kind", ["average", "clustered"])
def test_every_request_reaches_the_mocks(loadline, kind: str):
    run = loadline("run", EXAMPLES / f"mocks-{kind}.yml", "--rate", "10/s", "--duration", "1s", "--seed", 1)
    assert run.returncode in (0, 1, 5), run.stderr
    requests = loadline.summary()["requests"]
    assert requests["ok"] == requests["issued"] > 40
    found = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())
    assert sum(mock["received"] for mock in found["mocks"]) == requests["ok"]
    for mock in found["mocks"]:
        assert all(row["asked"]["mean_ms"] == pytest.approx(1150) for row in mock["routes"])


@pytest.mark.long(seconds=70)
@pytest.mark.alone
@pytest.mark.paced
def test_clustered_latency_fails_where_its_average_passes(loadline):
    # Each run has a target and mocks of its own, and needs little CPU time.
    runs = {kind: loadline.start("run", EXAMPLES / f"mocks-{kind}.yml", "--json", f"{kind}.json") for kind in ("average", "clustered")}
    for run in runs.values():
        run.communicate(timeout=200)
    assert {kind: run.returncode for kind, run in runs.items()} == {"average": 0, "clustered": 1}
    summary = json.loads((loadline.folder / "clustered.json").read_text())
    failed = {row["text"] for row in summary["criteria"] if row["judgement"] == "FAIL"}
    assert "server.puma.puma_request_backlog max <= 10" in failed
