"""The message ledger of `loadline mqtt`: verdicts from all messages, waits limited by `--drain`,
losses as criteria.
"""

from __future__ import annotations

import json

import pytest
from fake_broker import FakeBroker


@pytest.fixture
def mqtt(loadline):
    """Runs `loadline mqtt` against a port. Returns the run and its ledger."""

    def run(what, port, *flags, timeout=90):
        common = ["-h", "127.0.0.1", "-p", port, "-V", 4, "--json", "out.json"]
        ran = loadline("mqtt", what, *common, *flags, timeout=timeout)
        out = loadline.folder / "out.json"
        return ran, json.loads(out.read_text()) if out.exists() else None

    return run


def assert_completed(ran) -> None:
    """Asserts that the run completed.

    A late machine exits with 4 and changes no count.
    """
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_messages_never_read_are_not_sustained(mqtt):
    with FakeBroker(reset_after=0.5) as peer:
        load = ["-c", 5, "-i", 1, "-I", 20, "-q", 0, "-t", "t", "-s", 64, "--duration", "2s"]
        ran, out = mqtt("pub", peer.port, *load, "--drain", "2s")
    ledger = out["mqtt"]
    assert ledger["due"] == 500
    assert ledger["confirmed"] == ledger["in_time"] == 0
    assert ledger["unknown"] + ledger["unsent"] == 500
    assert ledger["unknown"] > 0
    assert "load: sustained" not in ran.stdout
    assert f"0 confirmed by then and 0 later; 0 refused, {ledger['unknown']} unknown" in ran.stdout


def test_publishing_waits_for_every_subscription(mqtt):
    with FakeBroker(suback=2.5) as peer:
        load = ["-c", 5, "-i", 5, "-I", 20, "-q", 1, "-t", "t/%i", "-s", 64, "--subscribers", 1]
        ran, out = mqtt("pub", peer.port, *load, "--duration", "1s")
    ledger = out["mqtt"]
    assert peer.published == ledger["due"] == ledger["confirmed"] == 250
    assert peer.before_subscription == 0
    assert ledger["expected"] == ledger["received"] == peer.delivered == 250
    assert ledger["start_delay_ns"] > 1_000_000_000
    assert "later than planned, after every subscription was answered" in ran.stdout + ran.stderr
    assert out["arrivals"]["planned"] == out["arrivals"]["started"] == 250


def test_publishing_waits_at_most_the_drain_time(mqtt):
    with FakeBroker(suback=60) as peer:
        load = ["-c", 2, "-i", 5, "-I", 20, "-q", 1, "-t", "t/%i", "-s", 64, "--subscribers", 1]
        ran, out = mqtt("pub", peer.port, *load, "--duration", "1s", "--drain", "1s")
    ledger = out["mqtt"]
    assert peer.published == ledger["confirmed"] == 100
    assert ledger["unanswered_subscriptions"] == 1
    assert "later than planned; the server had not yet answered 1 subscription" in ran.stdout + ran.stderr


def test_refused_subscription_delays_nothing_and_loses_nothing(mqtt):
    with FakeBroker(refuses_filters=True) as peer:
        load = ["-c", 2, "-i", 5, "-I", 20, "-q", 1, "-t", "t/%i", "-s", 64, "--subscribers", 1]
        _, out = mqtt("pub", peer.port, *load, "--duration", "1s", "--drain", "60s")
    ledger = out["mqtt"]
    assert (ledger["confirmed"], ledger["filters_refused"], ledger["expected"]) == (100, 1, 0)


def test_late_connack_is_waited_for(mqtt):
    """The CONNACK comes 2 s after the load."""
    with FakeBroker(connack=4) as peer:
        load = ["-c", 5, "-i", 1, "-I", 20, "-q", 1, "-F", 20, "-t", "t", "-s", 64]
        ran, out = mqtt("pub", peer.port, *load, "--duration", "1s", "--drain", "60s")
    assert_completed(ran)
    ledger = out["mqtt"]
    assert peer.published == ledger["due"] == ledger["confirmed"] == 250
    assert (ledger["unknown"], ledger["unsent"], ledger["in_time"]) == (0, 0, 0)
    assert "load: sustained" not in ran.stdout
    assert "0 confirmed by then and 250 later" in ran.stdout


def test_late_deliveries_are_waited_for(mqtt):
    with FakeBroker(delivery=2.5) as peer:
        load = ["-c", 5, "-i", 1, "-I", 20, "-q", 1, "-F", 20, "-t", "t", "-s", 64, "--subscribers", 1]
        ran, out = mqtt("pub", peer.port, *load, "--duration", "1s", "--drain", "60s")
    assert_completed(ran)
    assert out["mqtt"]["expected"] == out["mqtt"]["received"] == 250
    assert "250 received, 0 lost" in ran.stdout


def test_received_bytes_are_counted(mqtt):
    with FakeBroker() as peer:
        load = ["-c", 5, "-i", 1, "-I", 20, "-q", 1, "-t", "t", "-s", 64, "--subscribers", 2]
        ran, out = mqtt("pub", peer.port, *load, "--duration", "1s")
    assert_completed(ran)
    # A delivery has 64 bytes of payload and 5 bytes of header; each client receives a CONNACK of 4
    # bytes.
    deliveries = 2 * 250 * (64 + 5)
    answers = 7 * 4 + 2 * 5 + 250 * 4
    assert out["all"]["bytes_in"] == deliveries + answers
    assert " 0 B in" not in ran.stdout


def test_connections_in_flight_at_the_end_are_waited_for(mqtt):
    with FakeBroker(connack=2) as peer:
        ran, out = mqtt("conn", peer.port, "-c", 50, "-R", 500, "--duration", "100ms", "--drain", "60s")
    assert_completed(ran)
    assert peer.connected == out["mqtt"]["connected"] == 50
    assert out["requests"]["ok"] == out["requests"]["issued"] == 50


def test_throttled_publisher_of_qos_0_confirms_what_was_read(start_lab, mqtt):
    """The server reads a sixth of the messages; its PINGRESPs show how many."""
    lab = start_lab("mqtt", "throttle=50")
    port = lab.url.rsplit(":", 1)[1]
    ran, out = mqtt("pub", port, "-c", 1, "-I", 3, "-L", 1000, "-t", "t", "-s", 64, "--drain", "1s")
    ledger, read = out["mqtt"], lab.stats()["received"]
    assert 0 < ledger["confirmed"] <= read < 1000
    assert ledger["confirmed"] + ledger["unknown"] + ledger["unsent"] == ledger["due"] == 1000
    assert "load: throttled by the target" in ran.stdout


def test_wait_for_dropped_deliveries_causes_no_contradiction(start_lab, mqtt):
    """Levels and rates cover the time until the last answer, not the long wait for dropped
    messages.
    """
    lab = start_lab("mqtt", "throttle=20", "drop=10")
    load = ["-c", 10, "-R", 1000, "-I", 40, "-q", 1, "-F", 10, "-t", "t/%i", "-s", 64, "--subscribers", 1]
    ran, out = mqtt("pub", lab.url.rsplit(":", 1)[1], *load, "--duration", "2s", "--drain", "8s")
    assert out["mqtt"]["received"] < out["mqtt"]["expected"]
    assert out["in_flight"]["mean"] > 5
    assert "contradiction" not in ran.stdout


@pytest.mark.parametrize(
    ("criterion", "judgement"),
    [("lost < 0.1%", "FAIL"), ("lost < 50", "PASS"), ("duplicates < 1", "FAIL"), ("unknown < 0.1%", "PASS"), ("unsent < 1", "PASS")],
)
def test_losses_and_duplicates_are_criteria(start_lab, mqtt, criterion, judgement):
    lab = start_lab("mqtt", "drop=50", "duplicate=35")
    port = lab.url.rsplit(":", 1)[1]
    load = ["-c", 5, "-R", 1000, "-I", 10, "-L", 500, "-q", 1, "-F", 20, "-t", "t/%i", "-s", 64, "--subscribers", 2]
    ran, out = mqtt("pub", port, *load, "--drain", "1s", "--check", criterion)
    assert [row["judgement"] for row in out["criteria"]] == [judgement], ran.stdout
    # Figures without a criterion are listed as not checked.
    unchecked = next(line for line in ran.stdout.splitlines() if line.startswith("not checked: "))
    assert ("20 lost" in unchecked) == ("lost" not in criterion)
    assert ("duplicates" in unchecked) == ("duplicates" not in criterion)


def test_criteria_on_messages_require_mqtt_clients(loadline):
    ran = loadline("run", "http://127.0.0.1:9/", "--rate", "1/s", "--duration", "1s", "--check", "lost < 1%")
    assert ran.returncode == 2
    assert "counts messages of MQTT clients or to listeners, but this run has neither" in ran.stderr


def test_stop_rule_ends_a_run_that_loses_messages(start_lab, loadline):
    http, broker = start_lab("sum"), start_lab("mqtt", "drop=2")
    loadline.write(
        "plan.yml",
        f"""
loadline: 1
target: {http.url}
load: {{ rate: 5/s, duration: 60s }}
steps: [ {{ get: '/api/sum?a=1&b=2' }} ]
mqtt:
  host: {broker.url.removeprefix("http://")}
  connect-rate: 1000/s
  subscribe: {{ clients: 1, topic: 'load/+', qos: 1 }}
  publish: {{ clients: 5, topic: 'load/%i', qos: 1, rate: 100/s, payload: 64, in-flight: 20 }}
stop: [ 'lost > 10% for 2s: stop fail' ]
""",
    )
    ran = loadline("run", "plan.yml", "--drain", "1s", timeout=60)
    # A late machine exits with 4 and ends no run.
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "by the stop rule `lost > 10% for 2 s`" in " ".join(ran.stdout.split())
    assert "deliveries were missing" in ran.stdout
    unchecked = [line for line in ran.stdout.splitlines() if "not checked: " in line]
    assert not any(" lost" in line for line in unchecked)
    manifest = json.loads((loadline.folder / ".loadline/runs/last/manifest.json").read_text())
    assert manifest["end"]["cause"] == "rule fail"


def test_harmless_emqtt_bench_options_are_accepted_with_a_note(start_lab, loadline):
    lab = start_lab("mqtt")
    port = lab.url.rsplit(":", 1)[1]
    theirs = ["-w", "true", "--lowmem", "true", "--payload-hdrs", "cnt64,ts", "--reconnect", 3, "-V", 3, "-S", "false", "-r", "true"]
    load = ["-h", "127.0.0.1,localhost", "-p", port, "-c", 4, "-R", 1000, "-t", "load/%i", "-s", 64, "-q", 1]
    ran = loadline("mqtt", "pub", *load, *theirs, "-L", 2000, "-I", 0, "--json", "out.json", timeout=60)
    assert_completed(ran)
    ledger = json.loads((loadline.folder / "out.json").read_text())["mqtt"]
    assert ledger["due"] == ledger["confirmed"] == lab.stats()["received"] == 2000
    for option in ("-w", "--lowmem", "--payload-hdrs", "--reconnect", "-V 3"):
        assert option in ran.stderr + ran.stdout


def test_refusal_of_mqtt_3_1_1_has_its_own_return_code(start_lab, mqtt):
    lab = start_lab("mqtt", "user=me:secret")
    ran, _ = mqtt("conn", lab.url.rsplit(":", 1)[1], "-c", 1, "--duration", "1s")
    assert ran.returncode == 3
    assert "Bad User Name or Password (return code 4)" in ran.stdout + ran.stderr
