"""The load line of services of which it is known: of a pool that can do so much a second and no more, at the usual length and in a
minute of probing; of queues whose closed forms say at which rate a bound is met."""

import json

import pytest
from peers import Pool, Recorder

pytestmark = [pytest.mark.proof, pytest.mark.alone]

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
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert found["ending"] == "found"
    assert abs(found["estimate"] / CAPACITY - 1) < off, found["sentence"]
    # What does not count was not probed.
    counted = [probe["counted_s"] for probe in found["probes"] if not probe["spoilt"]]
    assert sum(counted) <= probing_s
    assert found["above"].startswith("latency grows without bound: "), found["above"]
    assert any(probe["grows"] for probe in found["probes"]), found["probes"]


# Exponential services behind one queue, the bound, and the rate at which it is met exactly.
KNOWN = [
    (("mean=1ms", "servers=1"), "p99 < 20ms", 769.7),
    (("mean=10ms", "servers=4"), "p99 < 60ms", 299.8),
    (("mean=10ms", "servers=4"), "p99 < 100ms", 350.1),
]


@pytest.mark.parametrize(("queue", "slo", "known"), KNOWN, ids=["one", "four", "four, busy"])
@pytest.mark.timeout(900)
def test_a_queue_is_found_where_its_closed_form_says(loadline, start_lab, queue, slo, known):
    lab = start_lab("truth", "mode=exponential", *queue)
    plan = f"loadline: 1\ntarget: {lab.url}\nload: {{ rate: 100/s, duration: 10s, arrivals: poisson }}\nsteps: [get: /]\n"
    loadline.write("plan.yml", plan)
    off = []
    # One search of twenty is off by a little more.
    for seed in ("3", "4"):
        ran = loadline("find", "plan.yml", "--slo", slo, "--seed", seed, "--out", f"found-{seed}", timeout=420)
        found = json.loads((loadline.folder / f"found-{seed}/find.json").read_text())
        assert ran.returncode == 0, ran.stdout + ran.stderr
        off.append(abs(found["estimate"] / known - 1))
        if off[-1] < 0.05:
            break
    assert off[-1] < 0.05, off
    counted = [probe["counted_s"] for probe in found["probes"] if not probe["spoilt"]]
    assert sum(counted) <= 300


@pytest.mark.timeout(600)
def test_a_service_that_gets_slower_has_no_load_line(loadline):
    class Slowing(Pool):
        """Takes 4 % longer with every 100 requests."""

        def __init__(self) -> None:
            super().__init__(4, 0.05)
            self.base, self.count = self.seconds, 0

        def __call__(self, request):
            self.count += 1
            self.seconds = self.base * (1 + 0.04 * self.count / 100)
            return super().__call__(request)

    with Recorder(Slowing()) as peer:
        length = ["--budget", "240s", "--probe", "10s", "--settle", "1s", "--seed", "3", "--from", "20/s"]
        ran = loadline("find", peer.url, "--slo", "p99 < 400ms", *length, "--out", "found", timeout=420)
    found = json.loads((loadline.folder / "found/find.json").read_text())
    # Every answer would be about a service that no longer exists.
    assert ran.returncode == 5, ran.stdout + ran.stderr
    assert found["ending"] == "drifts", found["sentence"]
    assert found["sentence"].startswith("no answer: it drifts")
    assert (found["estimate"], found["interval"]) == (None, None)
