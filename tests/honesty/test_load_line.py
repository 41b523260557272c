"""The load line of a pool that can do so much a second and no more: searched at the usual length, and in a minute of probing."""

import json

import excuses
import pytest
from peers import Pool, Recorder

pytestmark = [pytest.mark.long, pytest.mark.alone]

AT_A_TIME, SECONDS = 8, 0.05
CAPACITY = AT_A_TIME / SECONDS
# An overload of a few per cent takes longer than a probe to exceed it: it is found by the backlog that grows.
SLO = "p99 < 1s"


@pytest.mark.parametrize(
    ("length", "probing_s", "off"),
    [
        ([], 300, 0.05),
        (["--from", "40/s", "--budget", "75s", "--probe", "8s", "--settle", "1s"], 60, 0.10),
    ],
    ids=["usual", "short"],
)
def test_a_pool_bears_what_it_can_do(loadline, length, probing_s, off):
    with Recorder(Pool(AT_A_TIME, SECONDS)) as peer:
        ran = loadline("find", peer.url, "--slo", SLO, *length, "--seed", "3", "--out", "found", timeout=420)
    found = json.loads((loadline.folder / "found/find.json").read_text())
    if any(probe["spoilt"] for probe in found["probes"]) and ran.returncode != 0:
        excuses.here.update(runs=1, excused=1)
        pytest.skip("the machine was too busy for its own search")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert found["ending"] == "found"
    assert abs(found["estimate"] / CAPACITY - 1) < off, found["sentence"]
    # What does not count was not probed.
    counted = [probe["counted_s"] for probe in found["probes"] if not probe["spoilt"]]
    assert sum(counted) <= probing_s
    assert found["above"].startswith("latency grows without bound: "), found["above"]
    assert any(probe["grows"] for probe in found["probes"]), found["probes"]
