"""MQTT clients in plans on several nodes and in parts: each client lives in one process, and the
ledgers are merged.
"""

from __future__ import annotations

import json
import time

import pytest

PLAN = """\
loadline: 1
target: {target}
load: {{ rate: 20/s, duration: 3s }}
steps: [ {{ get: {{ url: '/api/sum?a=1&b=2', name: sum }} }} ]
mqtt:
  host: {broker}
  connect-rate: 1000/s
  subscribe: {{ clients: 2, topic: '{filter}', qos: 1 }}
  publish: {{ clients: 5, topic: 'load/%i', qos: 1, rate: 100/s, payload: 64, in-flight: 20 }}
"""
COUNTED = ("planned", "due", "sent", "confirmed", "unsent", "expected", "received", "again", "late", "connected", "foreign")


@pytest.fixture
def mixed(loadline, start_lab):
    """Writes a plan against a lab of each kind. Returns the broker."""

    def write(filter_: str = "load/+"):
        http, broker = start_lab("sum"), start_lab("mqtt")
        place = broker.url.removeprefix("http://")
        loadline.write("plan.yml", PLAN.format(target=http.url, broker=place, filter=filter_))
        return broker

    return write


def ledger(loadline, runs=".loadline/runs") -> dict:
    return json.loads((loadline.folder / runs / "last/found.json").read_text())["mqtt"]


def test_nodes_send_and_receive_the_messages_of_one_process(loadline, mixed):
    broker = mixed()
    alone = loadline("run", "plan.yml", "--seed", 7)
    assert alone.returncode == 0, alone.stdout + alone.stderr
    of_one, seen = ledger(loadline), broker.stats()
    ran = loadline("run", "plan.yml", "--seed", 7, "--on", "local", "--nodes", 2, "--json", "all.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    of_many, both = ledger(loadline), broker.stats()
    assert [of_many[name] for name in COUNTED] == [of_one[name] for name in COUNTED]
    messages = of_many["planned"]
    assert messages > 100
    assert of_many["received"] == of_many["expected"] == 2 * messages
    for name in ("received", "delivered"):
        assert both[name] == 2 * seen[name], name
    summary = json.loads((loadline.folder / "all.json").read_text())
    rows = {row["text"]: row["count"] for row in summary["labels"]}
    assert (rows["CONNECT"], rows["SUBSCRIBE"], rows["PUBLISH QoS 1"], rows["DELIVERY"]) == (7, 2, messages, 2 * messages)
    assert summary["arrivals"]["planned"] == summary["arrivals"]["completed"] == 60
    assert "they depend on both clocks" in " ".join(ran.stdout.split())


def test_mqtt_parts_without_conductor_are_merged(loadline, mixed):
    mixed()
    same = ["run", "plan.yml", "--seed", 5, "--start-at", f"{time.time() + 4:.3f}"]
    started = [loadline.start(*same, "--shard", f"{n + 1}/2", "--runs", f"part-{n}") for n in range(2)]
    for process in started:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
        assert "the number of lost deliveries is unknown" in " ".join(out.split())
    assert "expected" not in ledger(loadline, "part-0")
    ran = loadline("merge", *(loadline.folder / f"part-{n}/last" for n in range(2)))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    whole = ledger(loadline)
    messages = whole["planned"]
    assert messages > 100
    assert (whole["sent"], whole["expected"], whole["received"]) == (messages, 2 * messages, 2 * messages)
    assert (whole["again"], whole["late"], whole["foreign"], whole["connected"]) == (0, 0, 0, 7)


def test_shared_subscriptions_on_several_nodes_are_refused(loadline, mixed):
    broker = mixed("$share/g/load/+")
    ran = loadline("run", "plan.yml", "--on", "local")
    assert ran.returncode == 3
    assert "subscriptions shared by clients ($share/…) cannot be divided among several processes" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) <= 2, ran.stderr
    assert broker.stats()["received"] == 0
