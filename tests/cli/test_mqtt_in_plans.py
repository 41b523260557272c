"""`mqtt:` in a plan:

HTTP and MQTT in one run, counted by both labs; and errors with their place.
"""

from __future__ import annotations

import json
import signal
import time

import pytest

PLAN = """
loadline: 1
target: {target}
load: {load}
steps: [ {{ get: {{ url: '/api/sum?a=1&b=2', name: sum }} }} ]
mqtt:
  host: {broker}
  connect-rate: 1000/s
  subscribe: {{ clients: 2, topic: 'load/+', qos: 1 }}
  publish: {publish}
criteria: {criteria}
"""
PUBLISH = "{ clients: 5, topic: 'load/%i', qos: 1, rate: 100/s, payload: 64, in-flight: 20 }"
# 1.007 s until all clients are connected and a second has passed.
READY_S = 1.007


@pytest.fixture
def mixed(loadline, start_lab):
    """Runs a plan against a lab of each kind."""

    class Mixed:
        def __init__(self) -> None:
            self.http = self.broker = None

        def write(self, *, load="{ rate: 20/s, duration: 3s }", publish=PUBLISH, criteria="[]", broker=()):
            self.http, self.broker = start_lab("sum"), start_lab("mqtt", *broker)
            place = self.broker.url.removeprefix("http://")
            text = PLAN.format(target=self.http.url, load=load, broker=place, publish=publish, criteria=criteria)
            return loadline.write("plan.yml", text)

        def __call__(self, *flags, **plan):
            self.write(**plan)
            return loadline("run", "plan.yml", "--json", "out.json", *flags, timeout=90)

        @property
        def out(self):
            return json.loads((loadline.folder / "out.json").read_text())

        @property
        def ledger(self):
            return json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())["mqtt"]

        def rows(self):
            return {row["text"]: row["count"] for row in self.out["labels"]}

    return Mixed()


def assert_completed(ran) -> None:
    """Asserts that the run completed.

    A late machine exits with 4 and changes no count.
    """
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_mixed_run_agrees_with_both_labs(mixed):
    ran = mixed()
    assert_completed(ran)
    ledger, broker, http = mixed.ledger, mixed.broker.stats(), mixed.http.stats()
    messages = ledger["planned"]
    # All messages except during the first second, while clients connected.
    assert messages == 300 - int(READY_S * 100) - 1
    assert (ledger["due"], ledger["sent"], ledger["confirmed"], ledger["unsent"], ledger["unknown"]) == (messages,) * 3 + (0, 0)
    assert (broker["received"], broker["delivered"]) == (messages, 2 * messages)
    assert (ledger["expected"], ledger["received"], ledger["again"], ledger["late"]) == (2 * messages, 2 * messages, 0, 0)
    assert mixed.rows() == {
        "GET sum": 60,
        "CONNECT": 7,
        "SUBSCRIBE": 2,
        "PUBLISH QoS 1": messages,
        "DELIVERY": 2 * messages,
    }
    assert http["received"]["total"] == http["answered"]["total"] == 60
    # Only the scenario has arrivals, and all of them ended.
    arrivals = mixed.out["arrivals"]
    assert (arrivals["planned"], arrivals["started"], arrivals["completed"]) == (60, 60, 60)
    assert mixed.out["requests"]["issued"] == 60 + 7 + 2 + messages
    assert "contradiction" not in ran.stdout
    assert f"mqtt messages: {messages} due = {messages} sent + 0 not sent" in " ".join(ran.stdout.split())
    (row,) = mixed.out["deliveries"]
    assert (row["receivers"], row["published"], row["lost"]) == ("mqtt", messages, {"least": 0, "most": 0})
    assert row["expected"] == row["received"] == 2 * messages
    assert "Deliveries to MQTT subscribers" in ran.stdout
    assert "mqtt deliveries" not in ran.stdout


def test_mixed_run_counts_faults_of_the_broker(mixed):
    assert_completed(mixed("--drain", "1s", broker=("drop=50", "duplicate=35", "reorder=23")))
    ledger, broker = mixed.ledger, mixed.broker.stats()
    assert broker["dropped"] > 1
    assert broker["duplicated"] > 1
    assert broker["reordered"] > 1
    assert ledger["expected"] - ledger["received"] == 2 * broker["dropped"]
    assert ledger["again"] == 2 * broker["duplicated"]
    assert ledger["late"] == 2 * broker["reordered"]
    assert mixed.rows()["GET sum"] == 60


def test_mixed_run_paces_each_client_group(mixed):
    publish = """
    - { clients: 2, topic: 'load/a%i', rate: 50/s }
    - { clients: 3, topic: 'load/b%i', qos: 2, load: [ { pause: 2s }, { count: 40, duration: 500ms } ] }"""
    assert_completed(mixed(publish=publish))
    rows = mixed.rows()
    assert rows["PUBLISH QoS 2"] == 40
    assert rows["PUBLISH QoS 0"] == 150 - int(READY_S * 50) - 1
    assert mixed.broker.stats()["received"] == mixed.ledger["sent"] == mixed.ledger["planned"]


def test_mixed_run_of_closed_loop_users_publishes_messages(mixed):
    assert_completed(mixed(load="{ users: 2, duration: 2s }"))
    assert mixed.ledger["due"] == mixed.ledger["planned"] == 200 - int(READY_S * 100) - 1
    assert mixed.rows()["GET sum"] > 10


def test_mixed_run_criteria_apply_to_both_kinds_of_labels(mixed):
    criteria = """
    - errors of "GET sum" < 1%
    - p50 of "PUBLISH QoS 1" < 1us
    - p50 of "DELIVERY" < 30s
    - errors < 1%"""
    ran = mixed(criteria=criteria)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    verdicts = {row["text"]: row["judgement"] for row in mixed.out["criteria"]}
    assert list(verdicts.values()) == ["PASS", "FAIL", "PASS", "PASS"], verdicts
    assert "`errors < 1%` would mix requests and MQTT operations" in ran.stderr


def test_mixed_run_stop_rule_on_messages_ends_both(mixed):
    rule = 'rate of "PUBLISH QoS 1" > 50/s for 1s: stop pass'
    ran = mixed("--stop", rule, load="{ rate: 20/s, duration: 60s }")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert mixed.out["arrivals"]["started"] < 1000
    assert mixed.ledger["planned"] > mixed.ledger["due"] == mixed.ledger["sent"] > 50
    assert "never due because the run ended first" in " ".join(ran.stdout.split())


def test_mixed_run_http_continues_without_the_broker(mixed, loadline):
    mixed.write(load="{ rate: 20/s, duration: 5s }")
    running = loadline.start("run", "plan.yml", "--json", "out.json", "--drain", "1s")
    deadline = time.monotonic() + 60
    while mixed.broker.stats()["received"] < 20 and time.monotonic() < deadline:
        time.sleep(0.05)
    mixed.broker.process.send_signal(signal.SIGKILL)
    mixed.broker.process.wait(timeout=20)
    out, err = running.communicate(timeout=90)
    assert running.returncode == 0, out + err
    rows, ledger = mixed.rows(), mixed.ledger
    assert (rows["GET sum"], mixed.out["arrivals"]["completed"]) == (100, 100)
    assert ledger["broken"] >= 7
    assert ledger["due"] == ledger["sent"] + ledger["unsent"] == ledger["planned"]
    assert ledger["sent"] == ledger["confirmed"] + ledger["turned_down"] + ledger["unknown"]
    assert ledger["unsent"] > 0


@pytest.mark.parametrize("flags", [["--once"], ["--rate", "10/s", "--duration", "1s"]])
def test_mixed_run_flags_replacing_the_load_exclude_clients_with_a_note(mixed, flags):
    ran = mixed(*flags, criteria='[ errors of "PUBLISH QoS 1" < 1% ]')
    assert_completed(ran)
    assert "the MQTT clients of the plan are not started, so this criterion cannot be judged: errors of" in ran.stderr
    assert mixed.broker.stats()["connected"] == 0
    assert list(mixed.rows()) == ["GET sum"]


def test_mixed_run_embedded_targets_of_both_kinds(loadline):
    plan = PLAN.format(target="lab:sum", load="{ rate: 20/s, duration: 2s }", broker="lab:mqtt", publish=PUBLISH, criteria="[]")
    loadline.write("plan.yml", plan)
    ran = loadline("run", "plan.yml")
    assert_completed(ran)
    assert "7 MQTT clients at mqtt://127.0.0.1:" in " ".join(ran.stdout.split())


def test_mixed_campaign_scales_messages_with_levels(loadline):
    loadline.write(
        "campaign.yml",
        """
loadline: 1
target: lab:sum
scenarios: [ { name: adds, volume: 10/s, steps: [ { get: /api/sum?a=1&b=2 } ] } ]
mqtt:
  host: lab:mqtt
  connect-rate: 1000/s
  publish: { clients: 5, topic: 't/%i', volume: 100/s, payload: 64 }
stages:
  - { name: half, load: { level: 0.5x, duration: 2s }, on-fail: continue }
  - { name: twice, load: { level: 2x, duration: 2s }, on-fail: continue }
cool-down: false
""",
    )
    shown = loadline("plan", "campaign.yml", "--stage", "twice")
    assert "In addition to the scenarios" in shown.stdout, shown.stderr
    assert " 200 " in shown.stdout
    ran = loadline("campaign", "campaign.yml", "--folder", "out", timeout=90)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = sorted(loadline.folder.glob("out/**/found.json"))
    due = [json.loads(path.read_text())["mqtt"]["due"] for path in found if "last" not in path.parts]
    # Of two seconds, 1.005 s are for connecting.
    assert sorted(due) == [49, 199]


WRONG = [
    ("clients: 5", "clients: 0", "`clients: 0` must be a whole number, 1 or more"),
    ("topic: 'load/%i'", "topic: 'load/#'", "contain + or #"),
    ("topic: 'load/+'", "topic: 'load/#/x'", "is not a valid filter: # must be the only character of the last level"),
    ("qos: 1, rate", "qos: 3, rate", "`qos: 3` is unknown: use 0, 1 or 2"),
    ("rate: 100/s", "rate: 0/s", "no message would be sent"),
    ("rate: 100/s", "retain: false", "`rate` is missing"),
    ("rate: 100/s", "rate: 100/s, volume: 5/s", "`volume` cannot be combined with `rate`"),
    ("rate: 100/s", "volume: 100/s", "needs scenarios with a `volume`, and there are none: use `rate`"),
    ("rate: 100/s", "load: { level: 1x, duration: 3s }", "levels are only for scenarios"),
    ("rate: 100/s", "load: { users: 4, duration: 3s }", "messages cannot have users: use a rate"),
    ("payload: 64", "paylod: 64", "did you mean `payload`?"),
    ("host: 127", "host: http://127", "is not a broker address"),
    ("connect-rate: 1000/s", "version: 6", "`version: 6` is unknown: use 3.1.1 or 5"),
    ("connect-rate: 1000/s", "keep-alive: 100h", "between 1s and 65535s"),
    ("connect-rate: 1000/s", "password: '{{ word }}'", "`word` has no value before the run"),
]


@pytest.mark.parametrize(("right", "wrong", "line"), WRONG)
def test_mqtt_section_error_is_reported_at_its_place(loadline, right, wrong, line):
    plan = PLAN.format(
        target="http://127.0.0.1:9", load="{ rate: 1/s, duration: 3s }", broker="127.0.0.1:9", publish=PUBLISH, criteria="[]"
    )
    assert plan.count(right) == 1
    plan = plan.replace(right, wrong)
    loadline.write("plan.yml", plan)
    ran = loadline("run", "plan.yml")
    assert ran.returncode == 2
    ledger = [text for text in ran.stderr.splitlines() if line in text]
    assert len(ledger) == 1, ran.stderr
    # The reported line is the line of the error, not an earlier one.
    row, column = (int(n) for n in ledger[0].split("plan.yml:", 1)[1].split(":")[:2])
    source = plan.splitlines()[row - 1]
    assert wrong.split(":")[0] in source
    assert column > 1


@pytest.mark.parametrize(
    ("load", "publish", "line"),
    [
        ("{ rate: 1/s, duration: 1s }", PUBLISH, "connected 1.007s after the start, but messages end after 1s: "),
        (
            "{ rate: 1/s, duration: 3s }",
            PUBLISH.replace("rate: 100/s", "load: { rate: 1/s, duration: 4s }"),
            "lasts 4s and that of the plan 3s",
        ),
    ],
)
def test_mqtt_messages_beyond_the_timeline_are_refused(loadline, load, publish, line):
    plan = PLAN.format(target="http://127.0.0.1:9", load=load, broker="127.0.0.1:9", publish=publish, criteria="[]")
    loadline.write("plan.yml", plan)
    ran = loadline("run", "plan.yml")
    assert ran.returncode == 2
    assert line in ran.stderr


def test_mqtt_password_is_not_in_the_record(mixed, loadline):
    plan = mixed.write(broker=("user=me:hush-hush",)).read_text()
    plan = plan.replace("connect-rate", "user: me\n  password: '{{ $env.WORD }}'\n  connect-rate")
    loadline.write("plan.yml", plan)
    ran = loadline("run", "plan.yml", "--json", "out.json", env={"WORD": "hush-hush"}, timeout=60)
    assert_completed(ran)
    assert mixed.ledger["refused"] == 0
    assert mixed.ledger["connected"] == 7
    files = [path for path in (loadline.folder / ".loadline").rglob("*") if path.is_file()]
    assert not [path for path in files if b"hush-hush" in path.read_bytes()]
