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


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.paced
def test_clustered_latency_fails_where_its_average_passes(loadline):
    codes = {}
    for kind in ("average", "clustered"):
        codes[kind] = loadline("run", EXAMPLES / f"mocks-{kind}.yml", timeout=200).returncode
    assert codes["average"] == 0
    assert codes["clustered"] == 1
    failed = {row["text"] for row in loadline.summary()["criteria"] if row["judgement"] == "FAIL"}
    assert "server.puma.puma_request_backlog max <= 10" in failed
