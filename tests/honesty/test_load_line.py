"""Searches on services of known capacity, at the default length and in one minute of probing."""

import json

import pytest
from fake_servers import LimitedCapacity, RecordingServer

pytestmark = [pytest.mark.proof, pytest.mark.alone]

AT_A_TIME, SECONDS = 8, 0.05
CAPACITY = AT_A_TIME / SECONDS
# An overload of a few per cent exceeds this bound only after a probe's end: the growing backlog
# reveals it.
SLO = "p99 < 1s"


@pytest.mark.parametrize(
    ("length", "probing_s", "off"),
    [
        ([], 300, 0.05),
        (["--from", "40/s", "--budget", "75s", "--probe", "8s", "--settle", "1s"], 60, 0.10),
    ],
    ids=["usual", "short"],
)
def test_find_measures_the_capacity_of_a_pool(loadline, length, probing_s, off):
    with RecordingServer(LimitedCapacity(AT_A_TIME, SECONDS)) as peer:
        ran = loadline("find", peer.url, "--slo", SLO, *length, "--seed", "3", "--out", "found", timeout=420)
    found = json.loads((loadline.folder / "found/find.json").read_text())
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert found["ending"] == "found"
    assert abs(found["estimate"] / CAPACITY - 1) < off, found["sentence"]
    # Invalid probes are not counted as probing time.
    counted = [probe["counted_s"] for probe in found["probes"] if not probe["invalid"]]
    assert sum(counted) <= probing_s
    assert found["overload"].startswith("latency grows without bound: "), found["overload"]
    assert any(probe["backlog_growth"] for probe in found["probes"]), found["probes"]


# Exponential services with one queue, the bound, and the rate at which it is met exactly.
KNOWN = [
    (("mean=1ms", "servers=1"), "p99 < 20ms", 769.7),
    (("mean=10ms", "servers=4"), "p99 < 60ms", 299.8),
    (("mean=10ms", "servers=4"), "p99 < 100ms", 350.1),
]


@pytest.mark.parametrize(("queue", "slo", "known"), KNOWN, ids=["one", "four", "four, busy"])
@pytest.mark.timeout(900)
def test_find_agrees_with_the_closed_form_of_a_queue(loadline, start_lab, queue, slo, known):
    lab = start_lab("truth", "mode=exponential", *queue)
    plan = f"loadline: 1\ntarget: {lab.url}\nload: {{ rate: 100/s, duration: 10s, arrivals: poisson }}\nsteps: [get: /]\n"
    loadline.write("plan.yml", plan)
    off = []
    # One search of twenty is slightly outside the limit.
    for seed in ("3", "4"):
        ran = loadline("find", "plan.yml", "--slo", slo, "--seed", seed, "--out", f"found-{seed}", timeout=420)
        found = json.loads((loadline.folder / f"found-{seed}/find.json").read_text())
        assert ran.returncode == 0, ran.stdout + ran.stderr
        off.append(abs(found["estimate"] / known - 1))
        if off[-1] < 0.05:
            break
    assert off[-1] < 0.05, off
    counted = [probe["counted_s"] for probe in found["probes"] if not probe["invalid"]]
    assert sum(counted) <= 300


@pytest.mark.timeout(600)
def test_find_gives_no_result_for_a_drifting_service(loadline):
    class Slowing(LimitedCapacity):
        """Takes 4 % longer after every 100 requests."""

        def __init__(self) -> None:
            super().__init__(4, 0.05)
            self.base, self.count = self.seconds, 0

        def __call__(self, request):
            self.count += 1
            self.seconds = self.base * (1 + 0.04 * self.count / 100)
            return super().__call__(request)

    with RecordingServer(Slowing()) as peer:
        length = ["--budget", "240s", "--probe", "10s", "--settle", "1s", "--seed", "3", "--from", "20/s"]
        ran = loadline("find", peer.url, "--slo", "p99 < 400ms", *length, "--out", "found", timeout=420)
    found = json.loads((loadline.folder / "found/find.json").read_text())
    # Any result would describe a service that no longer exists.
    assert ran.returncode == 5, ran.stdout + ran.stderr
    assert found["ending"] == "drifts", found["sentence"]
    assert found["sentence"].startswith("no result: the service is not stable")
    assert (found["estimate"], found["interval"]) == (None, None)
