"""`loadline mqtt` as Pepeunit's load test: against the lab, whose pipes have configurable faults,
and against mosquitto.
"""

from __future__ import annotations

import json
import subprocess

import conftest
import ports
import pytest
import required_tools

#: Messages of a default run: four units for a second.
MESSAGES = 4 * 50


class Rig:
    """Pepeunit's environment variables for a lab, with a load of one second."""

    def __init__(self, loadline, lab) -> None:
        self.loadline = loadline
        self.env = {
            "PU_DOMAIN": lab.url.removeprefix("http://") if lab else "",
            "PU_SECURE": "False",
            "PU_MQTT_USERNAME": "admin",
            "PU_MQTT_PASSWORD": "public",
            "PU_TEST_LOAD_MQTT_DURATION": "1",
            "PU_TEST_LOAD_MQTT_UNIT_COUNT": "4",
            "PU_TEST_LOAD_MQTT_RPS": "50",
        }

    def run(self, *more, policy="TimeWindow", value="Text", settle="60s", **variables):
        env = {f"PU_TEST_LOAD_MQTT_{name}": str(text) for name, text in variables.items()}
        chosen = {"PU_TEST_LOAD_MQTT_POLICY_TYPE": policy, "PU_TEST_LOAD_MQTT_VALUE_TYPE": value}
        flags = ["--connect-rate", 200, "--settle", settle, *more]
        self.ran = self.loadline("mqtt", *flags, timeout=110, env={**self.env, **chosen, **env})
        return self.ran

    def found(self) -> dict:
        return json.loads((self.loadline.folder / ".loadline/runs/last/found.json").read_text())

    def findings(self) -> str:
        return "\n".join(self.found()["found"])


@pytest.fixture
def rig(loadline, start_lab):
    def start(*options) -> Rig:
        started = start_lab("pepeunit", "flush=100ms", *options)
        rig = Rig(loadline, started)
        rig.lab = started
        return rig

    return start


def assert_passed(ran) -> None:
    """Asserts that the run passed.

    A late machine exits with 4 and changes no count.
    """
    assert ran.returncode == 0, ran.stderr


def assert_failed(ran) -> None:
    assert ran.returncode == 1, ran.stderr + ran.stdout


@pytest.mark.parametrize(
    ("policy", "value", "filtered"),
    [
        ("TimeWindow", "Text", 0),
        # The numbers of the first ten groups are held back.
        ("TimeWindow", "Number", MESSAGES),
        ("LastValue", "Text", 0),
        ("LastValue", "Number", 0),
        ("NRecords", "Number", 4 * 20),
        # Text is not a number, so nothing is recorded.
        ("NRecords", "Text", MESSAGES),
        ("Aggregation", "Number", 0),
        ("Aggregation", "Text", MESSAGES),
    ],
)
def test_stored_records_match_the_messages_sent(rig, policy, value, filtered):
    # Rows contain their time of arrival, from a clock at normal speed.
    rig = rig(*() if policy == "TimeWindow" else ("hurry=60",))
    ran = rig.run(policy=policy, value=value, DUPLICATE_COUNT=2 if policy == "NRecords" else 10)
    assert_passed(ran)
    found = rig.found()
    kept = found["stored"]["all"]
    assert (found["due"], found["sent"], kept["sent"], kept["filtered"]) == (MESSAGES,) * 3 + (filtered,)
    assert (kept["right"], kept["units"], kept["lost"], kept["wrong"]) == (4, 4, 0, {})
    stats = rig.lab.stats()["pepeunit"]
    assert stats["consumed"] == stats["piped"] == stats["broker"]["received"] >= MESSAGES
    if policy == "TimeWindow":
        assert kept["stored"] + filtered == MESSAGES
    # A slow machine reads late and reports it.
    sentence = {
        ("TimeWindow", "Text"): f"Backend sustained {MESSAGES} rps: {MESSAGES} messages arrived in 1s",
        ("LastValue", "Text"): "it keeps only the newest value",
        ("LastValue", "Number"): "it keeps only the newest value",
        ("Aggregation", "Number"): f"Backend stored all {MESSAGES} messages",
        # Thirty records of each unit, all kept: on the accelerated clock they span over a minute.
        ("NRecords", "Number"): f"all {MESSAGES} messages arrived, but over",
    }.get((policy, value), "its filters keep none of them, as intended")
    assert sentence in ran.stdout or "the broker confirmed" in ran.stdout, ran.stdout
    assert rig.findings().splitlines()[-1] in " ".join(rig.loadline.summary()["notes"])
    assert rig.findings().splitlines()[-1] in (rig.loadline.folder / ".loadline/runs/last/report.md").read_text()


@pytest.mark.parametrize(
    ("rule", "policy", "value", "why"),
    [
        ("last-value-newest", "LastValue", "Text", "units without the newest value"),
        ("n-records-trim", "NRecords", "Number", "more records than should be kept"),
        ("n-records-newest", "NRecords", "Number", "older records in place of the newest"),
        ("n-records-count", "NRecords", "Number", "records whose maximum count is not the configured one"),
        ("transform-ratio", "NRecords", "Number", "never sent, or that should have been filtered or changed"),
        ("time-window-every", "TimeWindow", "Text", "180, of 20 groups: 0 in the broker"),
        ("time-window-once", "TimeWindow", "Text", "200 more rows than messages"),
        ("time-window-expiration", "TimeWindow", "Text", "do not expire when they should"),
        ("filter-list", "TimeWindow", "Number", "200 rows that were never sent, or that should have been filtered"),
        ("aggregation-every", "Aggregation", "Number", "sum is lower than the sum sent"),
        ("aggregation-function", "Aggregation", "Number", "windows whose function or length is not the configured one"),
        ("aggregation-align", "Aggregation", "Number", "windows with the wrong start or end"),
    ],
)
def test_broken_policy_rule_is_found(rig, rule, policy, value, why):
    rig = rig("hurry=60", f"break={rule}")
    # More than 120 records per unit, so that some must be dropped.
    many = {"RPS": 150, "DUPLICATE_COUNT": 1} if policy == "NRecords" else {}
    assert_failed(rig.run(policy=policy, value=value, settle="2s", **many))
    found = rig.found()
    assert not found["is_good"]
    assert why in rig.findings(), rig.findings()


def test_messages_dropped_by_the_broker_are_its_loss(rig):
    rig = rig("drop=10")
    assert_failed(rig.run(settle="2s"))
    kept, stats = rig.found()["stored"], rig.lab.stats()["pepeunit"]["broker"]
    # A probe may be dropped as well.
    assert 0 <= stats["dropped"] - kept["all"]["lost"] <= 1
    assert kept["all"]["lost"] == kept["dropped_by_broker"] >= MESSAGES // 10 - 1
    assert f"{kept['all']['lost']} in the broker, according to its own count, 0 in DataPipe" in rig.findings()
    assert "did not sustain" in rig.ran.stdout


def test_slow_consumer_loses_messages_beyond_its_queue(rig):
    rig = rig("capacity=20/s", "queue=5")
    assert_failed(rig.run(settle="5s"))
    kept, stats = rig.found()["stored"]["all"], rig.lab.stats()["pepeunit"]
    assert kept["lost"] == stats["overrun"] > 0
    assert "did not sustain" in rig.ran.stdout


def test_throttled_load_is_not_reported_as_sustained(rig):
    rig = rig("throttle=30")
    ran = rig.run("--drain", "1500ms", settle="1s", RPS=400, UNIT_COUNT=2)
    assert_failed(ran)
    assert "Backend sustained" not in ran.stdout
    assert "throttled by the target" in ran.stdout
    kept = rig.found()["stored"]["all"]
    assert kept["lost"] == 0
    assert kept["unread"] > 400


@pytest.mark.parametrize("policy", ["LastValue", "NRecords", "Aggregation"])
def test_messages_lost_by_the_backend_are_not_sustained(rig, policy):
    """The backend consumes 50/s of 400/s and loses messages beyond a queue of five; the broker
    counts them.
    """
    rig = rig("capacity=50/s", "queue=5", "hurry=60")
    ran = rig.run(policy=policy, value="Number", settle="1s", RPS=100)
    assert_failed(ran)
    lost = rig.lab.stats()["pepeunit"]["overrun"]
    assert lost > 100
    assert "Backend sustained" not in ran.stdout
    assert "Backend did not sustain" in ran.stdout, ran.stdout
    assert abs(rig.found()["dropped_by_broker"] - lost) <= 5, "probes may be lost, too"


def test_system_messages_lost_by_the_backend_are_not_sustained(rig):
    rig = rig("capacity=50/s", "queue=5")
    ran = rig.run("--topics", "system", RPS=100)
    assert_failed(ran)
    assert "Backend did not sustain 400 rps: the broker read 400 messages and dropped" in ran.stdout, ran.stdout
    assert not rig.found()["is_good"]


def test_messages_arriving_after_the_load_do_not_count_for_its_seconds(rig):
    """The consumer takes 50/s and the rest waits: after five times the load all messages have
    arrived.
    """
    rig = rig("capacity=50/s", "queue=1000")
    ran = rig.run(RPS=100, settle="40s")
    kept = rig.found()["stored"]["all"]
    assert (kept["stored"], kept["lost"]) == (400, 0)
    assert "Backend sustained" not in ran.stdout
    assert "Backend did not sustain 400 rps: all 400 messages arrived, but over" in ran.stdout, ran.stdout


def test_run_ends_if_the_backend_stops_receiving(rig):
    rig = rig("crash-at=4s")
    ran = rig.run("--duration", 60, settle="1s")
    assert_failed(ran)
    assert "pepeunit.subscriptions < 1" in ran.stdout
    assert "Backend sustained" not in ran.stdout
    summary = rig.loadline.summary()
    assert rig.found()["due"] == summary["arrivals"]["started"] < 60 * MESSAGES
    assert json.loads((rig.loadline.folder / ".loadline/runs/last/manifest.json").read_text())["end"]["cause"] == "rule fail"


def test_system_messages_reach_the_platform(rig):
    rig = rig()
    ran = rig.run("--topics", "system")
    assert_passed(ran)
    stats = rig.lab.stats()["pepeunit"]
    assert stats["system"] == MESSAGES + 1, "and a probe"
    assert stats["denied"] == 0
    assert "results are not read back" in " ".join(rig.loadline.summary()["notes"])
    assert "what the backend did with them is unknown" in ran.stdout
    assert "Backend sustained" not in ran.stdout


def test_variables_are_read_from_a_file_and_units_are_recreated(rig, loadline):
    rig = rig()
    lines = [f"{name}={text}" for name, text in rig.env.items()]
    loadline.write(".env", "\n".join(lines))
    for _ in range(2):
        assert_passed(loadline("mqtt", "pepeunit", "--connect-rate", 200, "--rps", 10, timeout=100))
        assert rig.found()["due"] == 40
    assert rig.lab.stats()["pepeunit"]["units"] == 4


def test_units_from_a_file_only_publish(rig, loadline):
    rig = rig("throttle=1000000")
    assert_passed(rig.run(UNIT_COUNT=1))
    units = loadline.write("units.csv", "id,token,topic\nx,not-a-token,localhost/x/pepeunit\n")
    port = _broker_port(rig)
    ran = rig.run("--units", units, "--host", "127.0.0.1", "--port", port, "--drain", "100ms")
    assert ran.returncode == 3, ran.stderr
    assert "the server refused a connection: Bad User Name or Password" in ran.stdout
    assert "Nothing was sent" in ran.stdout


def _broker_port(rig) -> int:
    plan = json.loads((rig.loadline.folder / ".loadline/runs/last/plan.json").read_text())
    return int(plan["target"].rsplit(":", 1)[1])


def test_mosquitto_confirms_every_message(loadline, tmp_path):
    port = ports.free()
    config = loadline.write("mosquitto.conf", f"listener {port} 127.0.0.1\nallow_anonymous true\nsys_interval 1\npersistence false\n")
    broker = subprocess.Popen(
        [required_tools.tool_path("mosquitto"), "-c", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        conftest.wait_until(lambda: _received_by_broker(port) is not None, "mosquitto")
        rig = Rig(loadline, None)
        ran = rig.run("--no-setup", "--host", "127.0.0.1", "--port", port)
        assert_passed(ran)
        assert f"The broker kept up with {MESSAGES} rps: it read all {MESSAGES} messages" in ran.stdout
        conftest.wait_until(lambda: (_received_by_broker(port) or 0) >= MESSAGES, "its own count")
        assert _received_by_broker(port) == MESSAGES
    finally:
        broker.terminate()
        broker.wait(timeout=20)


def _received_by_broker(port) -> int | None:
    asked = [required_tools.tool_path("mosquitto_sub"), "-p", port, "-t", "$SYS/broker/publish/messages/received", "-C", 1, "-W", 3]
    answer = subprocess.run(list(map(str, asked)), capture_output=True, text=True, check=False)
    return int(answer.stdout) if answer.stdout.strip() else None


@pytest.mark.parametrize(
    ("variables", "flags", "code", "words"),
    [
        ({"PU_MQTT_PASSWORD": "wrong"}, [], 3, "rejects PU_MQTT_USERNAME=admin with this password"),
        ({"PU_DOMAIN": ""}, [], 2, "PU_DOMAIN is missing"),
        ({}, ["--policy-type", "Newest"], 2, "--policy-type=Newest: use LastValue, NRecords"),
        ({}, ["--message-size", 5000], 3, "closed the connection after a message of 5000 bytes"),
        ({}, ["--port", "1"], 3, "connection refused"),
        ({}, ["--no-such-flag"], 2, "--no-such-flag"),
    ],
)
def test_bad_input_is_reported_in_one_line(rig, variables, flags, code, words):
    rig = rig("max-payload=1000")
    rig.env.update(variables)
    ran = rig.run(*flags)
    assert ran.returncode == code, ran.stderr
    progress = ("loadline: creating", "loadline: waiting")
    messages = [line for line in ran.stderr.splitlines() if not line.startswith(progress)]
    assert len(messages) == 1, ran.stderr
    assert words in messages[0], ran.stderr


def test_unreachable_platform_exits_with_3(loadline):
    rig = Rig(loadline, None)
    rig.env["PU_DOMAIN"] = f"127.0.0.1:{ports.free()}"
    ran = rig.run()
    assert ran.returncode == 3
    assert "set-up: POST 127.0.0.1" in ran.stderr
    assert "connection refused" in ran.stderr
