"""Socket.IO steps against the lab and scripted servers: what is measured, and causes by name."""

from __future__ import annotations

import json

import fake_servers
import pytest
from fake_websocket import BINARY, TEXT, Peer, WebSocketServer, frame

STEPS = """
  - socketio: { connect: / }
  - socketio: { emit: [echo, { n: 1 }], expect: { event: echo, json: { $.0.n: 1 }, within: 2s } }
"""
HANDSHAKE = {"sid": "s1", "upgrades": [], "pingInterval": 25000, "pingTimeout": 20000}


def run(loadline, target: str, steps: str = STEPS, load: str = "{ rate: 10/s, duration: 300ms }", code: int = 0) -> dict:
    """Runs the steps and returns the summary."""
    plan = loadline.write("plan.yml", f"loadline: 1\ntarget: {target}\nload: {load}\nsteps:{steps}")
    done = loadline("run", plan)
    assert done.returncode in (code, 3), done.stdout + done.stderr
    return loadline.summary()


def counts(summary: dict) -> dict[str, int]:
    return {row["text"]: row["count"] for row in summary["labels"]}


def causes(summary: dict) -> dict[str, int]:
    return {error["reason"]: error["count"] for error in summary["errors"]}


@pytest.mark.parametrize("transports", ["[polling, websocket]", "[polling]", "[websocket]"])
def test_events_are_counted_alike_on_each_transport(loadline, transports):
    steps = f"""
  - socketio: {{ connect: /, transports: {transports} }}
  - socketio: {{ emit: [join, room], ack: {{ json: {{ $.0.ok: true }}, capture: {{ n: $.0.n }} }} }}
  - socketio: {{ emit: [say, room, '{{{{ n }}}}'], expect: {{ event: message, json: {{ $.0: 1 }} }} }}
  - socketio: {{ emit: note }}
  - socketio: {{ emit: [echo, a, b], ack: true }}
  - socketio: {{ close: true }}
"""
    summary = run(loadline, "lab:chat", steps)
    moves = transports == "[polling, websocket]"
    rows = ["CONNECT /", *(["UPGRADE /"] if moves else []), "EMIT join", "EMIT say", "EMIT note", "EMIT echo"]
    assert counts(summary) == dict.fromkeys(rows, 3)
    assert summary["requests"]["ok"] == 3 * len(rows)
    socketio = summary["socketio"]
    assert (socketio["opened"], socketio["closed_here"], socketio["open"]) == (3, 3, 0)
    assert (socketio["upgraded"], socketio["not_upgraded"]) == (3 if moves else 0, 0)
    # The message of the room is awaited. The echo may arrive before or after the end.
    assert (socketio["sent"], socketio["acknowledged"]) == (12, 6)
    assert socketio["received"] - socketio["unclaimed"] == 3
    assert (socketio["polls"] > 0) == (transports != "[websocket]")
    assert ("websocket" in summary) == (transports != "[polling]")


def test_time_ends_with_the_event(loadline):
    steps = """
  - socketio: { connect: /, query: { delay: 200ms } }
  - socketio: { emit: [echo, 1], expect: echo }
  - socketio: { emit: [echo, 1] }
"""
    summary = run(loadline, "lab:chat", steps, load="{ rate: 10/s, duration: 500ms }")
    rows = {row["text"]: row for row in summary["labels"]}
    assert rows["EMIT echo"]["count"] == 10
    # The delay of the lab is a lower bound for those that wait.
    assert rows["EMIT echo"]["response"]["max"]["ns"] >= 200e6
    assert rows["EMIT echo"]["response"]["min_ns"] < 200e6


def test_namespaces_have_their_own_events(loadline):
    steps = """
  - socketio: { connect: /chat }
  - socketio: { join: /admin }
  - socketio: { join: /admin }
  - socketio: { emit: [echo, x], namespace: /admin, expect: echo }
  - socketio: { emit: [echo, x], expect: echo }
"""
    summary = run(loadline, "lab:chat", steps)
    assert counts(summary) == {"CONNECT /chat": 3, "UPGRADE /chat": 3, "CONNECT /admin": 3, "EMIT echo": 6}
    assert summary["requests"]["ok"] == 15


def test_refused_namespace_shows_the_message_of_the_server(loadline):
    summary = run(loadline, "lab:chat", "\n  - socketio: { connect: /locked }\n  - socketio: { emit: never }")
    assert causes(summary) == {"Socket.IO: namespace refused": 3}
    assert counts(summary) == {"CONNECT /locked": 3}
    assert summary["socketio"]["refused"] == 3
    assert "not authorized" in json.dumps(summary)


def test_event_that_does_not_come_is_a_time_out(loadline):
    steps = """
  - socketio: { connect: / }
  - socketio: { emit: [echo, 2], expect: { event: echo, json: { $.0: 1 }, within: 1s } }
"""
    summary = run(loadline, "lab:chat", steps)
    assert causes(summary) == {"no answer in time": 3}
    assert summary["socketio"]["unclaimed"] == 3


def test_acknowledgement_with_other_arguments_fails(loadline):
    steps = """
  - socketio: { connect: / }
  - socketio: { emit: [note], ack: { json: { $.0.ok: false } } }
  - socketio: { emit: never }
"""
    summary = run(loadline, "lab:chat", steps)
    assert counts(summary) == {"CONNECT /": 3, "UPGRADE /": 3, "EMIT note": 3}
    assert summary["requests"]["failed"] == 3


def test_step_fails_if_the_server_removed_the_user(loadline):
    steps = """
  - socketio: { connect: / }
  - socketio: { emit: [bye], expect: { event: never, within: 5s } }
"""
    summary = run(loadline, "lab:chat", steps)
    assert causes(summary) == {"Socket.IO: disconnected by the server": 3}
    assert summary["socketio"]["closed_by_server"] == 3


@pytest.mark.parametrize("transports", ["[polling, websocket]", "[polling]"])
def test_pings_are_answered_while_a_user_listens(loadline, start_lab, transports):
    lab = start_lab("chat")
    steps = f"""
  - socketio: {{ connect: /, transports: {transports}, query: {{ ping: 100ms }} }}
  - socketio: {{ listen: 2s }}
"""
    summary = run(loadline, lab.url, steps, load="{ rate: 1/s, duration: 1s }")
    # The last pong may still be on its way.
    pongs = lab.stats()["socketio"]["pongs_received"]
    assert summary["socketio"]["pings"] >= pongs >= 3


def test_refused_polling_requests_are_counted(loadline):
    """A load balancer that sends the requests of a session to different servers."""

    def answer(request: fake_servers.Request) -> tuple[int, dict[str, str], bytes]:
        if "sid=" in request.path:
            return 400, {}, b'{"code":1,"message":"Session ID unknown"}'
        return 200, {}, b"0" + json.dumps(HANDSHAKE).encode()

    with fake_servers.RecordingServer(answer) as server:
        summary = run(loadline, server.url)
    assert causes(summary) == {"Socket.IO: polling request refused": 3}
    assert summary["socketio"]["refused_polls"] == 3


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (b"<html>a page</html>", "not a Socket.IO server"),
        (b'0{"sid":""}', "not a Socket.IO server"),
        (b"0" + json.dumps(HANDSHAKE).encode() + b"\x1ex", "Socket.IO: invalid packet"),
    ],
)
def test_other_servers_are_named(loadline, body, cause):
    with fake_servers.RecordingServer(lambda request: (200, {}, body)) as server:
        summary = run(loadline, server.url)
    assert causes(summary) == {cause: 3}


def test_status_of_a_refused_session_is_shown(loadline):
    with fake_servers.RecordingServer(lambda request: (403, {}, b"")) as server:
        summary = run(loadline, server.url, code=1)
    assert causes(summary) == {"status 403": 3}


def test_namespace_that_was_not_joined_is_a_mistake_of_the_plan(loadline):
    steps = "\n  - socketio: { connect: / }\n  - socketio: { emit: x, namespace: /admin }"
    summary = run(loadline, "lab:chat", steps)
    assert causes(summary) == {"no Socket.IO session is open, or its namespace was not joined": 3}


WEBSOCKET_STEPS = """
  - socketio: { connect: /, transports: [websocket] }
  - think: 500ms
  - socketio: { emit: x, expect: { event: bytes, json: { $.0.num: 0 } } }
http: { timeout: 1s }
"""


def opens(peer: Peer, ping_ms: int = 25_000) -> None:
    """Begins a session."""
    handshake = {**HANDSHAKE, "pingInterval": ping_ms, "pingTimeout": 0}
    peer.send(frame(TEXT, "0" + json.dumps(handshake)))
    assert peer.receive() == (TEXT, b"40")
    peer.send(frame(TEXT, '40{"sid":"x"}'))


def test_binary_arguments_complete_an_event(loadline):
    def serve(peer: Peer) -> None:
        opens(peer)
        peer.receive()
        peer.send(frame(TEXT, '451-["bytes",{"_placeholder":true,"num":0}]'), frame(BINARY, b"abc"))
        peer.receive()

    with WebSocketServer(serve) as server:
        summary = run(loadline, server.url.replace("ws:", "http:"), WEBSOCKET_STEPS)
    assert summary["requests"]["ok"] == 6
    assert (summary["socketio"]["received"], summary["socketio"]["unclaimed"]) == (3, 0)


def test_lost_connection_has_its_cause(loadline):
    def serve(peer: Peer) -> None:
        opens(peer)
        peer.receive()

    with WebSocketServer(serve) as server:
        summary = run(loadline, server.url.replace("ws:", "http:"), WEBSOCKET_STEPS)
    assert causes(summary) == {"Socket.IO: connection lost": 3}
    assert (summary["socketio"]["opened"], summary["socketio"]["lost"]) == (3, 3)


def test_missing_pings_end_the_session(loadline):
    def serve(peer: Peer) -> None:
        opens(peer, ping_ms=50)
        peer.receive()

    with WebSocketServer(serve) as server:
        summary = run(loadline, server.url.replace("ws:", "http:"), WEBSOCKET_STEPS)
    assert causes(summary) == {"Socket.IO: pings of the server stopped": 3}
    assert summary["socketio"]["ping_timeouts"] == 3


def test_time_of_a_failed_connect_ends_with_the_failure(loadline):
    """The upgrade succeeds at once, and the session never begins."""
    with WebSocketServer(lambda peer: peer.receive()) as server:
        summary = run(loadline, server.url.replace("ws:", "http:"), WEBSOCKET_STEPS, code=1)
    assert causes(summary) == {"no answer in time": 3}
    assert summary["errors"][0]["last_ns"] >= 1e9


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{}", "this `socketio` step does nothing: add connect, join, emit, expect, listen or close"),
        ("{ ack: true }", "`ack` needs `emit` in the same step"),
        ("{ emit: a, listen: 1s }", "`emit` and `listen` are two steps"),
        ("{ emit: { a: 1 } }", "`emit` needs the name of an event"),
        ("{ connect: '{{ x }}' }", "must be a namespace like / or /chat"),
        ("{ connect: /, transports: [webtransport] }", "`transports` must be [polling, websocket], [polling] or [websocket]"),
        ("{ emit: a, auth: { a: 1 } }", "this key belongs to a `socketio` step with `connect`"),
        ("{ emit: a, expect: { json: $.0 } }", "`expect` needs the name of an event"),
        ("{ connect: /, namespace: /a }", "`namespace` belongs to `emit` and `expect`"),
    ],
)
def test_unclear_steps_are_refused(loadline, step, message):
    steps = f"loadline: 1\ntarget: lab:chat\nload: {{ rate: 1/s, duration: 1s }}\nsteps:\n  - socketio: {step}\n"
    done = loadline("run", loadline.write("plan.yml", steps))
    assert done.returncode == 2
    assert message in done.stderr
    assert "plan.yml:5:" in done.stderr
