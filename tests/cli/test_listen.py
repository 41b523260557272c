"""Listeners of a plan: their ledger equals the counts of the server, whatever the server does to messages and connections."""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fake_websocket import BINARY, TEXT, Peer, WebSocketServer, close, frame

STAMP = "sent: '{{ $intended }}', from: '{{ $sender }}', n: '{{ $message }}'"
PUBLISHER = f"""
  - websocket: {{ connect: /rooms/live, name: publisher }}
  - loop:
      count: 3
      steps:
        - websocket: {{ send: {{ json: {{ {STAMP}, text: hello }} }} }}
        - think: 30ms
"""
LISTEN = (
    "clients: 20, grace: 1s, connect-rate: 500/s, open: '/rooms/live{query}', name: live, "
    "push: {{ sent: $.sent, from: $.from, sequence: $.n }}"
)


def plan(target: str, query: str = "", more: str = "", load: str = "{ rate: 20/s, duration: 1s }", steps: str = PUBLISHER) -> str:
    listen = LISTEN.format(query=query)
    return f"loadline: 1\ntarget: {target}\nload: {load}\nlisten: {{ {listen} }}\nsteps:{steps}{more}"


def run(loadline, text: str, *flags: object):
    done = loadline("run", loadline.write("plan.yml", text), *flags)
    assert done.returncode in (0, 1, 3, 5), done.stdout + done.stderr
    return done


def ledger(loadline) -> Counter:
    found = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())
    return Counter(found["listeners"])


def listeners_log(loadline, lab, log) -> Counter:
    """Stops the lab and returns what it did for the listeners, who connected first."""
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    opened = sorted(line["open"] for line in lines if "open" in line)[:20]
    faults = Counter(line["fault"] for line in lines if line.get("to") in opened)
    faults["all"] = faults.total()
    return faults


@pytest.mark.parametrize(
    "query", ["", "?drop=0.2", "?duplicate=0.3", "?reorder=0.3", "?drop=0.1&duplicate=0.2&reorder=0.2", "?delay=50ms"]
)
def test_ledger_equals_the_counts_of_the_server(loadline, start_lab, query):
    log = loadline.folder / "chat.log"
    lab = start_lab("chat", "--seed", 7, "--log", log)
    run(loadline, plan(lab.url, query))
    truth, counted = listeners_log(loadline, lab, log), ledger(loadline)
    assert counted["due"] == 60
    assert (counted["connected"], counted["left"]) == (20, 0)
    # A message that the server holds until the next one is lost if there is none.
    lost = truth["dropped"] + truth["unsent"]
    assert counted["expected"] == truth["all"] == 1200
    assert counted["expected"] - counted["received"] == lost
    assert counted["again"] == truth["duplicated"]
    if "reorder" not in query:
        assert counted["late"] == 0
    if query == "?reorder=0.3":
        assert 0 < counted["late"] <= truth["reordered"]
    assert (counted["absent"], counted["not_due"], counted["foreign"], counted["unstamped"]) == (0, 0, 0, 0)
    (push,) = [row for row in loadline.summary()["labels"] if row["text"] == "PUSH live"]
    assert push["count"] == counted["received"]
    least_ns = 50_000_000 if "delay" in query else 0
    assert push["response"]["p50"]["ns"] >= least_ns


def test_load_waits_for_the_listeners_and_criteria_judge_them(loadline, start_lab):
    lab = start_lab("chat", "--seed", 7)
    more = """
criteria:
  - p50 of "PUSH live" < 2s
  - lost of "PUSH live" < 1
  - duplicates < 1
  - errors of "CONNECT live" < 1%
"""
    done = run(loadline, plan(lab.url, "?drop=0.2", more))
    assert done.returncode == 1, done.stdout
    judged = {row["text"]: row["judgement"] for row in loadline.summary()["criteria"]}
    assert judged['lost of "PUSH live" < 1'] == "FAIL"
    assert judged["duplicates < 1"] == "PASS"
    assert "deliveries: 1,200 expected" in done.stdout
    assert [phase["name"] for phase in loadline.summary()["phases"]][0] == "connect"


def test_listeners_that_the_server_closes_are_counted_by_code(loadline):
    """The server passes on five messages to each listener and then closes it."""
    listeners: list[Peer] = []

    def serve(peer: Peer) -> None:
        if "x-publisher" not in peer.headers:
            listeners.append(peer)
            peer.receive()
            return
        received = 0
        while (message := peer.receive()) is not None and message[0] == TEXT:
            received += 1
            for listener in listeners:
                if received <= 5:
                    listener.send(frame(TEXT, message[1]))
                if received == 5:
                    listener.send(close(1011))

    steps = f"""
  - websocket: {{ connect: /publish, headers: {{ x-publisher: '1' }} }}
  - loop:
      count: 10
      steps:
        - websocket: {{ send: {{ json: {{ {STAMP} }} }} }}
        - think: 100ms
"""
    with WebSocketServer(serve) as server:
        run(loadline, plan(server.url, load="{ users: 1, duration: 500ms }", steps=steps))
    counted = ledger(loadline)
    assert (counted["connected"], counted["left"]) == (20, 20)
    assert counted["received"] == counted["expected"] == 100
    assert counted["absent"] == 100
    assert loadline.summary()["websocket"]["closed_by_server"] == {"1011": 20}


class Publisher(BaseHTTPRequestHandler):
    """Passes on the body of each request to all listeners. Refuses every fifth message, and does not answer every seventh one,
    of which the listeners receive only those with an even number.
    """

    protocol_version = "HTTP/1.1"
    listeners: list[Peer] = []
    published = 0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        Publisher.published += 1
        number = Publisher.published
        if number % 5 == 0:
            self.send_response(503)
        else:
            is_unanswered = number % 7 == 0
            if not is_unanswered or number % 2 == 0:
                for listener in self.listeners:
                    listener.send(frame(TEXT, body))
            if is_unanswered:
                self.close_connection = True
                return
            self.send_response(204)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Prints nothing."""


def test_refused_messages_are_not_due_and_unanswered_ones_are_unknown(loadline):
    def serve(peer: Peer) -> None:
        Publisher.listeners.append(peer)
        peer.receive()

    with WebSocketServer(serve) as server, ThreadingHTTPServer(("127.0.0.1", 0), Publisher) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        steps = f"\n  - post: {{ url: 'http://127.0.0.1:{http.server_port}/say', json: {{ {STAMP} }} }}"
        more = "\ncriteria: [ lost < 10, lost < 30, lost < 50, unknown < 3 ]"
        done = run(loadline, plan(server.url, load="{ rate: 35/s, duration: 1s }", steps=steps, more=more))
        http.shutdown()
    counted = ledger(loadline)
    # 7, 14, 21 and 28 are unanswered. 5, 10, 15, 20, 25, 30 and 35 are refused.
    assert (counted["due"], counted["turned_down"], counted["unknown"]) == (35, 7, 4)
    assert counted["expected"] == 28 * 20
    assert counted["received"] == 26 * 20
    assert counted["expected_of_unknown"] == 2 * 20
    assert (counted["not_due"], counted["late"], counted["again"]) == (0, 0, 0)
    assert "0 to 40 lost (inexact because messages are unknown)" in done.stdout
    judged = {row["text"]: row["judgement"] for row in loadline.summary()["criteria"]}
    assert judged == {"lost < 10": "INCONCLUSIVE", "lost < 30": "INCONCLUSIVE", "lost < 50": "PASS", "unknown < 3": "FAIL"}


def test_stamps_that_cannot_be_true_are_foreign(loadline):
    """The server sends numbers that no step published."""

    def serve(peer: Peer) -> None:
        if "x-publisher" not in peer.headers:
            listeners.append(peer)
            peer.receive()
            return
        while (message := peer.receive()) is not None and message[0] == TEXT:
            stamp = json.loads(message[1])
            forged = [
                {**stamp, "n": 2**64 - 1},
                {**stamp, "n": 2**60},
                {**stamp, "sent": 2**63},
                {**stamp, "from": stamp["from"] + 1},
                {**stamp, "from": 2**64 - 1},
                {"sent": 1, "from": [stamp["from"]]},
            ]
            for listener in listeners:
                listener.send(*(frame(TEXT, json.dumps(one)) for one in forged), frame(TEXT, "]["), frame(BINARY, b"\xff"))
                listener.send(frame(TEXT, message[1]))

    listeners: list[Peer] = []
    connect = "\n  - websocket: { connect: /publish, headers: { x-publisher: '1' } }"
    steps = f"{connect}\n  - websocket: {{ send: {{ json: {{ {STAMP} }} }} }}"
    with WebSocketServer(serve) as server:
        run(loadline, plan(server.url, load="{ rate: 5/s, duration: 1s }", steps=steps))
    counted = ledger(loadline)
    assert counted["received"] == counted["expected"] == 100
    assert (counted["foreign"], counted["unstamped"], counted["not_due"], counted["again"]) == (500, 300, 0, 0)


def test_refused_listeners_are_failed_connects(loadline, start_lab):
    lab = start_lab("chat")
    text = plan(lab.url).replace("open: '/rooms/live'", "open: /refuse/503")
    run(loadline, text)
    counted = ledger(loadline)
    assert (counted["connected"], counted["expected"], counted["absent"]) == (0, 0, 1200)
    (row,) = [row for row in loadline.summary()["labels"] if row["text"] == "CONNECT live"]
    assert row["errors"] == 20


def test_closed_load_and_two_workers_have_the_same_ledger(loadline, start_lab):
    lab = start_lab("chat")
    run(loadline, plan(lab.url, load="{ users: 2, duration: 1s }"), "--workers", 2)
    counted = ledger(loadline)
    assert counted["expected"] == counted["received"] == 20 * counted["due"]
    assert counted["due"] > 10
    assert (counted["again"], counted["late"], counted["connected"]) == (0, 0, 20)


def test_once_starts_no_listeners(loadline, start_lab):
    lab = start_lab("chat")
    done = run(loadline, plan(lab.url, more='criteria: [ p99 of "PUSH live" < 1s ]\n'), "--once")
    assert "listeners of the plan are not started" in done.stdout + done.stderr
    assert lab.stats()["chat"]["connections"]["opened"] == 1


def test_rate_replaces_the_load_and_keeps_the_listeners(loadline, start_lab):
    lab = start_lab("chat")
    run(loadline, plan(lab.url), "--rate", "10/s", "--duration", "500ms")
    counted = ledger(loadline)
    assert (counted["connected"], counted["due"], counted["received"]) == (20, 15, 300)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            ("listen: {", "mqtt: { host: 127.0.0.1, subscribe: { clients: 1, topic: t } }\nlisten: {"),
            "cannot have both `mqtt` and `listen`",
        ),
        (("sequence: $.n", "sequence: $..n"), "must consist of names and indices"),
        (("push: { sent: $.sent, from: $.from, sequence: $.n }", "deflate: off"), "`push` is missing"),
        (("name: live,", "name: live, send: '{{ $message }}',"), "listeners do not publish"),
        ((STAMP, "x: 1"), "no step publishes a message that listeners can recognize"),
    ],
)
def test_invalid_listeners_are_refused(loadline, change, reason):
    text = plan("http://127.0.0.1:9")
    assert change[0] in text
    done = loadline("run", loadline.write("plan.yml", text.replace(*change)))
    assert done.returncode == 2
    assert reason in done.stderr


def test_stamps_need_listeners(loadline):
    lines = plan("http://127.0.0.1:9").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("listen:"))
    done = loadline("run", loadline.write("plan.yml", text))
    assert done.returncode == 2
    assert "needs listeners that receive the message: add `listen`" in done.stderr


def test_profile_shows_what_listeners_need(loadline):
    done = loadline("plan", loadline.write("plan.yml", plan("http://127.0.0.1:9")))
    assert done.returncode == 0, done.stderr
    assert "20 connections, 500/s; the load starts after 1.038 s" in done.stdout
    assert "deliveries/s" in done.stdout


def test_several_processes_are_refused(loadline):
    done = loadline("run", loadline.write("plan.yml", plan("http://127.0.0.1:9")), "--on", "local", "--nodes", "2")
    assert done.returncode == 2, done.stderr
    assert "must be in one process" in done.stderr
    done = loadline("k8s", "render", loadline.folder / "plan.yml", "--image", "loadline", "--nodes", "2")
    assert done.returncode == 2, done.stderr
    assert "must be in one process" in done.stderr
