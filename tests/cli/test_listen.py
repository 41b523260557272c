"""Listeners of a plan: their ledger equals the counts of the server, whatever the server does to messages and connections."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fake_websocket import BINARY, CLOSE, PING, PONG, TEXT, Peer, WebSocketServer, close, frame

STAMP = "sent: '{{ $intended }}', from: '{{ $sender }}', n: '{{ $message }}'"
PUBLISHER = f"""
  - websocket: {{ connect: /rooms/live, name: publisher }}
  - loop:
      count: 3
      steps:
        - websocket: {{ send: {{ json: {{ {STAMP}, text: hello }} }} }}
        - think: 30ms
"""
BURST = f"""
  - websocket: {{ connect: /rooms/live }}
  - loop:
      count: 60
      steps:
        - websocket: {{ send: {{ json: {{ {STAMP} }} }} }}
"""
LISTEN = (
    "clients: 20, grace: {grace}, connect-rate: 500/s, open: '/rooms/live{query}', name: live, "
    "push: {{ sent: $.sent, from: $.from, sequence: $.n }}"
)
# The wait for deliveries ends as soon as all have arrived. If some never arrive, it takes the whole time.
ALL_ARRIVE, SOME_ARE_LOST = "10s", "3s"
#: Longest wait of a scripted server, in seconds. Nothing waits that long unless a test fails.
LONGEST_WAIT = 20


def plan(
    target: str,
    query: str = "",
    more: str = "",
    load: str = "{ rate: 20/s, duration: 1s }",
    steps: str = PUBLISHER,
    grace: str = ALL_ARRIVE,
) -> str:
    listen = LISTEN.format(query=query, grace=grace)
    return f"loadline: 1\ntarget: {target}\nload: {load}\nlisten: {{ {listen} }}\nsteps:{steps}{more}"


def run(loadline, text: str, *flags: object):
    done = loadline("run", loadline.write("plan.yml", text), *flags)
    assert done.returncode in (0, 1, 3, 5), done.stdout + done.stderr
    return done


def ledger(loadline) -> Counter:
    found = json.loads((loadline.folder / ".loadline/runs/last/found.json").read_text())
    return Counter(found["listeners"])


def listeners_log(lab, log) -> Counter:
    """Stops the lab and returns what it did for the listeners, which are the connections that sent nothing."""
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    publishers = {line["conn"] for line in lines if "arrival_ns" in line}
    deliveries = [line for line in lines if "to" in line and line["to"] not in publishers]
    counts = Counter(line["fault"] for line in deliveries)
    counts["all"] = len(deliveries)
    # The log has the deliveries of a connection in the order of sending.
    newest: dict[tuple[int, int], int] = {}
    for line in deliveries:
        if line["sent_ns"] is not None:
            pair = (line["to"], line["conn"])
            counts["late"] += line["n"] < newest.get(pair, 0)
            newest[pair] = max(line["n"], newest.get(pair, 0))
    return counts


class Room:
    """The listeners of a scripted server."""

    def __init__(self) -> None:
        self.listeners: list[Peer] = []
        self.left = 0
        self.changed = threading.Condition()

    def serve(self, peer: Peer) -> None:
        """Adds a listener, and reads until Loadline has ended the connection."""
        peer.send(frame(PING))
        answer = peer.receive()
        # A listener answers pings once it counts as connected.
        assert answer is not None
        assert answer[0] == PONG
        with self.changed:
            self.listeners.append(peer)
            self.changed.notify_all()
        try:
            while (received := peer.receive()) is not None:
                if received[0] == CLOSE:
                    peer.connection.shutdown(socket.SHUT_WR)
        finally:
            with self.changed:
                self.left += 1
                self.changed.notify_all()

    def send(self, *frames: bytes) -> None:
        with self.changed:
            for listener in self.listeners:
                listener.send(*frames)

    def wait_until_full(self) -> None:
        self.wait_until(lambda: len(self.listeners) == 20, "not all listeners connected")

    def wait_until_all_left(self) -> None:
        self.wait_until(lambda: self.left == 20, "not all listeners left")

    def wait_until(self, condition: Callable[[], bool], otherwise: str) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, LONGEST_WAIT), otherwise


@pytest.mark.parametrize(
    "query", ["", "?drop=0.2", "?duplicate=0.3", "?reorder=0.3", "?drop=0.1&duplicate=0.2&reorder=0.2", "?delay=50ms"]
)
def test_ledger_equals_the_counts_of_the_server(loadline, start_lab, query):
    log = loadline.folder / "chat.log"
    lab = start_lab("chat", "--seed", 7, "--log", log)
    # A message that the server holds until the next one is lost if there is none.
    is_lossy = "drop" in query or "reorder" in query
    grace = SOME_ARE_LOST if is_lossy else ALL_ARRIVE
    # If all messages are of one publisher, each one that the server sends after the next is late.
    is_burst = query == "?reorder=0.3"
    load = {"load": "{ rate: 1/s, duration: 1s }", "steps": BURST} if is_burst else {}
    run(loadline, plan(lab.url, query, grace=grace, **load))
    truth, counted = listeners_log(lab, log), ledger(loadline)
    lost = truth["dropped"] + truth["unsent"]
    arrived = counted["received"] + counted["not_due"]
    assert counted["due"] == 60
    assert (counted["connected"], counted["left"]) == (20, 0)
    assert arrived == truth["all"] - lost
    assert counted["again"] == truth["duplicated"]
    assert counted["late"] == truth["late"] <= truth["reordered"]
    assert (counted["foreign"], counted["unstamped"]) == (0, 0)
    assert counted["expected"] + counted["absent"] == 20 * counted["due"]
    if counted["absent"] == 0:
        assert counted["expected"] == truth["all"]
        assert counted["not_due"] == 0
    if is_burst:
        assert counted["late"] == truth["reordered"] > 0
    if not is_lossy:
        assert counted["received"] == counted["expected"]
    (push,) = [row for row in loadline.summary()["labels"] if row["text"] == "PUSH live"]
    assert push["count"] == arrived
    least_ns = 50_000_000 if "delay" in query else 0
    assert push["response"]["p50"]["ns"] >= least_ns


def test_load_waits_for_the_listeners_and_criteria_judge_them(loadline, start_lab):
    lab = start_lab("chat", "--seed", 7)
    more = """
criteria:
  - p50 of "PUSH live" < 1m
  - lost of "PUSH live" < 1
  - duplicates < 1
  - errors of "CONNECT live" < 1%
"""
    done = run(loadline, plan(lab.url, "?drop=0.2", more, grace=SOME_ARE_LOST))
    assert done.returncode == 1, done.stdout
    judged = {row["text"]: row["judgement"] for row in loadline.summary()["criteria"]}
    assert judged['lost of "PUSH live" < 1'] == "FAIL"
    assert judged["duplicates < 1"] == "PASS"
    counted = ledger(loadline)
    assert counted["expected"] + counted["absent"] == 20 * counted["due"] == 1200
    assert f"deliveries: {counted['expected']:,} expected, {counted['received']:,} received" in done.stdout
    (row,) = loadline.summary()["deliveries"]
    assert (row["receivers"], row["planned"], row["connected"]) == ("listeners", 20, 20)
    lost = counted["expected"] - counted["received"]
    assert (row["expected"], row["received"], row["lost"]) == (counted["expected"], counted["received"], {"least": lost, "most": lost})
    assert (row["duplicates"], row["out_of_order"], row["not_due"]) == (counted["again"], counted["late"], counted["absent"])
    assert not [note for note in loadline.summary()["notes"] if "deliveries" in note]
    paper = (loadline.folder / ".loadline/runs/last/report.md").read_text()
    cells = next(line for line in paper.splitlines() if line.startswith("| WebSocket listeners")).split("|")
    assert [cell.strip() for cell in cells[5:8]] == [f"{n:,}" for n in (counted["expected"], counted["received"], lost)]
    assert [phase["name"] for phase in loadline.summary()["phases"]][0] == "connect"


PUBLISHING = """
  - websocket: { connect: /publish, headers: { x-publisher: '1' } }
  - websocket: { expect: the room is full }
"""


def serve_room(room: Room, publish: Callable[[int, bytes], None]) -> Callable[[Peer], None]:
    """Serves listeners and publishers. A publisher receives a message when all listeners are connected. It is
    answered when `publish` has passed on its message, of which it gets the number and the text."""

    def serve(peer: Peer) -> None:
        if "x-publisher" not in peer.headers:
            room.serve(peer)
            return
        room.wait_until_full()
        peer.send(frame(TEXT, "the room is full"))
        number = 0
        while (message := peer.receive()) is not None and message[0] == TEXT:
            number += 1
            publish(number, message[1])
            peer.send(frame(TEXT, "published"))

    return serve


def test_listeners_that_the_server_closes_are_counted_by_code(loadline):
    """The server passes on five messages to each listener and then closes it."""
    room = Room()

    def publish(number: int, text: bytes) -> None:
        if number <= 5:
            room.send(frame(TEXT, text))
        if number == 5:
            room.send(close(1011))
            room.wait_until_all_left()

    steps = f"""{PUBLISHING}
  - loop:
      count: 10
      steps:
        - websocket: {{ send: {{ json: {{ {STAMP} }} }}, expect: published }}
"""
    with WebSocketServer(serve_room(room, publish)) as server:
        run(loadline, plan(server.url, load="{ rate: 1/s, duration: 1s }", steps=steps))
    counted = ledger(loadline)
    assert (counted["connected"], counted["left"], counted["due"]) == (20, 20, 10)
    assert counted["received"] == counted["expected"] == 100
    assert counted["absent"] == 100
    assert loadline.summary()["websocket"]["closed_by_server"] == {"1011": 20}


class Publisher(BaseHTTPRequestHandler):
    """Answers `GET` when all listeners are connected. Passes on the body of each `POST` to them. Refuses every fifth message, and
    does not answer every seventh one, of which the listeners receive only those with an even number.
    """

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.room.wait_until_full()
        self.answer(204)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        with self.server.lock:
            self.server.published += 1
            number = self.server.published
        if number % 5 == 0:
            self.answer(503)
            return
        is_unanswered = number % 7 == 0
        if not is_unanswered or number % 2 == 0:
            self.server.room.send(frame(TEXT, body))
        if is_unanswered:
            self.close_connection = True
        else:
            self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Prints nothing."""


class PublishingServer(ThreadingHTTPServer):
    """Publishes to a room by HTTP, and numbers the messages from 1."""

    request_queue_size = 64

    def __init__(self, room: Room) -> None:
        super().__init__(("127.0.0.1", 0), Publisher)
        self.room = room
        self.lock = threading.Lock()
        self.published = 0


def test_refused_messages_are_not_due_and_unanswered_ones_are_unknown(loadline):
    room = Room()
    with WebSocketServer(room.serve) as server, PublishingServer(room) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{http.server_port}"
        steps = f"\n  - get: {url}/ready\n  - post: {{ url: '{url}/say', json: {{ {STAMP} }} }}"
        more = "\ncriteria: [ lost < 10, lost < 30, lost < 50, unknown < 3 ]"
        text = plan(server.url, load="{ rate: 35/s, duration: 1s }", steps=steps, more=more, grace=SOME_ARE_LOST)
        done = run(loadline, text)
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
    room = Room()

    def publish(_: int, text: bytes) -> None:
        stamp = json.loads(text)
        forged = [
            {**stamp, "n": 2**64 - 1},
            {**stamp, "n": 2**60},
            {**stamp, "sent": 2**63},
            # A publisher with this number never comes.
            {**stamp, "from": stamp["from"] + 1000},
            {**stamp, "from": 2**64 - 1},
            {"sent": 1, "from": [stamp["from"]]},
        ]
        forged_frames = [frame(TEXT, json.dumps(one)) for one in forged]
        room.send(*forged_frames, frame(TEXT, "]["), frame(BINARY, b"\xff"), frame(TEXT, text))

    steps = f"{PUBLISHING}  - websocket: {{ send: {{ json: {{ {STAMP} }} }} }}"
    with WebSocketServer(serve_room(room, publish)) as server:
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
    assert counted["received"] == counted["expected"] > 0
    assert counted["expected"] + counted["absent"] == 20 * counted["due"] > 0
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
    assert (counted["connected"], counted["due"]) == (20, 15)
    assert counted["received"] == counted["expected"] > 0
    assert counted["expected"] + counted["absent"] == 300


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
