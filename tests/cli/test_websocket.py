"""WebSocket steps against scripted servers: what is measured, and a cause by name for each bad server."""

from __future__ import annotations

import json

import fake_servers
import pytest
from fake_websocket import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, UPGRADE, Peer, WebSocketServer, accept, close, echo, frame

STEPS = """
  - websocket: { connect: /live }
  - websocket: { send: hello, expect: { within: 2s } }
"""


def run(loadline, server: WebSocketServer, steps: str = STEPS, load: str = "{ rate: 10/s, duration: 100ms }") -> dict:
    """Runs the steps and returns the summary."""
    plan = loadline.write("plan.yml", f"loadline: 1\ntarget: {server.url}\nload: {load}\nsteps:{steps}")
    done = loadline("run", plan)
    assert done.returncode in (0, 1, 3), done.stdout + done.stderr
    return loadline.summary()


def counts(summary: dict) -> dict[str, int]:
    return {row["text"]: row["count"] for row in summary["labels"]}


def causes(summary: dict) -> dict[str, int]:
    return {error["reason"]: error["count"] for error in summary["errors"]}


def test_messages_are_found_by_condition_and_counted(loadline):
    def serve(peer: Peer) -> None:
        while (received := peer.receive()) is not None and received[0] == TEXT:
            number = json.loads(received[1])["id"]
            other = frame(TEXT, '{"type": "tick"}')
            peer.send(other, frame(TEXT, json.dumps({"id": number, "price": 5})), other)
        if received:
            peer.send(close(1000))

    steps = """
  - websocket: { connect: /live }
  - loop:
      count: 3
      steps:
        - websocket: { send: { json: { id: '{{ $seq }}' } }, expect: { json: { $.id: '{{ $seq }}' }, capture: { price: $.price } } }
  - websocket: { expect: { regexp: '"tick"' } }
  - websocket: { send: { json: { id: '{{ price }}' } }, expect: { json: { $.id: 5 } } }
  - websocket: { close: 1000 }
"""
    with WebSocketServer(serve) as server:
        summary = run(loadline, server, steps)
    assert counts(summary) == {"CONNECT /live": 1, "SEND /live": 4, "EXPECT /live": 1}
    assert summary["requests"]["ok"] == 6
    websocket = summary["websocket"]
    # Of the 12 messages, four are answers and one tick was awaited.
    assert (websocket["opened"], websocket["sent"], websocket["received"], websocket["unclaimed"]) == (1, 4, 12, 7)
    assert (websocket["closed_here"], websocket["closed_by_server"], websocket["open"]) == (1, {}, 0)


def test_frames_may_be_split_anywhere(loadline):
    ping, text = frame(PING, "p"), "häé€𝄞"
    parts = text.encode()
    message = (
        frame(TEXT, parts[:3], final=False) + ping + frame(CONTINUATION, parts[3:4], final=False) + frame(CONTINUATION, parts[4:])
    )

    def serve(peer: Peer) -> None:
        peer.receive()
        for byte in message + frame(TEXT, "x" * 70_000):
            peer.send(bytes([byte])) if byte != ord("x") else None
        peer.send(b"x" * 70_000)
        assert peer.receive() == (PONG, b"p")

    steps = f"""
  - websocket: {{ connect: /live }}
  - websocket: {{ send: hello, expect: {text} }}
  - websocket: {{ expect: xxx }}
"""
    with WebSocketServer(serve) as server:
        summary = run(loadline, server, steps)
        server.wait_until_served()
    assert summary["requests"]["ok"] == 3
    assert summary["websocket"]["pings"] == 1


@pytest.mark.parametrize("pause", ["websocket: { listen: 3s }", "think: 3s", "get: SILENT"])
def test_connection_is_read_during_each_wait(loadline, pause):
    """Pings are answered one after the other, and not only when the wait is over."""

    def serve(peer: Peer) -> None:
        assert peer.receive() == (TEXT, b"hello")
        peer.send(frame(TEXT, "welcome"))
        for word in (b"one", b"two"):
            peer.send(frame(PING, word), frame(TEXT, "no step waits for this"))
            assert peer.receive() == (PONG, word)
        assert peer.receive() == (CLOSE, b"\x03\xe8")

    with WebSocketServer(serve) as server, fake_servers.FakeServer(fake_servers.never_answer) as silent:
        steps = f"""
  - websocket: {{ connect: /live }}
  - websocket: {{ send: hello, expect: welcome }}
  - {pause.replace("SILENT", silent.url)}
http: {{ timeout: 3s }}
"""
        summary = run(loadline, server, steps)
        server.wait_until_served()
    websocket = summary["websocket"]
    assert (websocket["pings"], websocket["unclaimed"], websocket["closed_here"]) == (2, 2, 1)


def test_replies_are_kept_while_a_loop_sends(loadline):
    steps = """
  - websocket: { connect: /live }
  - loop: { count: 400, steps: [ websocket: { send: x } ] }
  - websocket: { expect: { text: x, count: 400, within: 20s } }
"""
    with WebSocketServer(echo) as server:
        summary = run(loadline, server, steps)
    assert counts(summary) == {"CONNECT /live": 1, "SEND /live": 400, "EXPECT /live": 1}
    assert (summary["requests"]["ok"], summary["websocket"]["unclaimed"]) == (402, 0)
    row = next(row for row in summary["labels"] if row["text"] == "EXPECT /live")
    # A frame of the server has a head of 2 bytes.
    assert row["bytes_in"] == 400 * 3


def test_once_shows_each_message(loadline):
    def serve(peer: Peer) -> None:
        peer.receive()
        peer.send(frame(TEXT, "busy"), frame(TEXT, "later"))
        peer.receive()

    steps = """
  - websocket: { connect: /live }
  - websocket: { send: hello, expect: busy }
  - websocket: { expect: { text: done, within: 100ms } }
"""
    with WebSocketServer(serve) as server:
        plan = loadline.write("plan.yml", f"loadline: 1\ntarget: {server.url}\nload: {{ rate: 10/s, duration: 100ms }}\nsteps:{steps}")
        once = loadline("run", plan, "--once")
        assert "> hello" in once.stdout
        assert "< busy" in once.stdout
        assert "< later" in once.stdout, "what came instead of the expected message"
        loadline("run", plan)
        assert [error["body"] for error in first_errors(loadline)] == ["later"]
        loadline.write("plan.yml", plan.read_text() + "excerpts: false\n")
        loadline("run", plan)
        assert [error.get("body") for error in first_errors(loadline)] == [None]


def test_messages_count_for_goodput(loadline):
    steps = """
  - websocket: { connect: /live }
  - loop: { count: 9, steps: [ websocket: { send: x, expect: {} } ] }
criteria: [ 'goodput(response < 30s) > 99%' ]
"""
    with WebSocketServer(echo) as server:
        summary = run(loadline, server, steps)
    assert [one["judgement"] for one in summary["criteria"]] == ["PASS"], summary["criteria"]


def test_request_offers_what_the_plan_says(loadline):
    def upgrade(key: str) -> str:
        chosen = "Sec-WebSocket-Protocol: v2\r\nSet-Cookie: a=b\r\nX-Node: n7"
        return f"101 Switching\r\n{UPGRADE}{chosen}\r\nSec-WebSocket-Accept: {accept(key)}"

    steps = """
  - websocket:
      connect: /live
      query: { room: 'a b' }
      headers: { authorization: Bearer T }
      subprotocols: [ v1, v2 ]
      deflate: full
      capture: { node: { header: x-node } }
  - websocket: { send: '{{ node }}', expect: n7 }
  - websocket: { connect: /other, on: second }
  - websocket: { send: second, expect: second, on: second }
"""
    with WebSocketServer(echo, upgrade) as server:
        # The server must not choose a subprotocol that was not offered.
        summary = run(loadline, server, steps)
    first, second = server.requests
    assert first[":path"] == "/live?room=a+b"
    assert first["authorization"] == "Bearer T"
    assert first["sec-websocket-protocol"] == "v1, v2"
    assert first["sec-websocket-extensions"] == "permessage-deflate; client_max_window_bits"
    assert (first["sec-websocket-version"], first["upgrade"].lower()) == ("13", "websocket")
    assert second["cookie"] == "a=b"
    assert second["sec-websocket-key"] != first["sec-websocket-key"]
    assert "sec-websocket-protocol" not in second
    assert causes(summary) == {"not a WebSocket server: bad upgrade": 1}
    assert counts(summary) == {"CONNECT /live": 1, "SEND /live": 1, "CONNECT /other": 1}


def first_errors(loadline) -> list[dict]:
    lines = (loadline.folder / ".loadline/runs/last/events.jsonl").read_text().splitlines()
    return [event["error"] for event in map(json.loads, lines) if event.get("error")]


REFUSALS = {
    "status 401": "401 No",
    "status 302": "302 Elsewhere\r\nLocation: /login",
    "status 426": "426 Upgrade\r\nUpgrade: h2c",
    "status 200": "200 OK",
    "not a WebSocket server: bad upgrade": f"101 Switching\r\n{UPGRADE}Sec-WebSocket-Accept: bm9uc2Vuc2U=",
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_refused_upgrade_has_a_cause(loadline, reason):
    with WebSocketServer(lambda _: None, lambda _: REFUSALS[reason] + "\r\nContent-Length: 0") as server:
        summary = run(loadline, server)
    assert causes(summary) == {reason: 1}
    assert counts(summary) == {"CONNECT /live": 1}, "later steps do not run"
    assert summary["websocket"]["refused"] == 1


#: What a server sends instead of an answer, the cause, and the close code of the client's answer.
VIOLATIONS = {
    "masked": (frame(TEXT, "x", masked=True), "WebSocket: invalid frame", 1002),
    "reserved bit": (frame(TEXT, "x", first=0xC1), "WebSocket: invalid frame", 1002),
    "reserved opcode": (frame(TEXT, "x", first=0x83), "WebSocket: invalid frame", 1002),
    "fragmented ping": (frame(PING, "x", final=False), "WebSocket: invalid frame", 1002),
    "long ping": (frame(PING, "x" * 126), "WebSocket: invalid frame", 1002),
    "no start": (frame(CONTINUATION, "x"), "WebSocket: invalid frame", 1002),
    "start in a message": (frame(TEXT, "x", final=False) + frame(TEXT, "y"), "WebSocket: invalid frame", 1002),
    "long length": (b"\x81\x7e\x00\x01x", "WebSocket: invalid frame", 1002),
    "half a character": (frame(TEXT, b"\xe2\x82"), "WebSocket: text is not UTF-8", 1007),
    "too large": (b"\x82\x7f" + (1 << 40).to_bytes(8), "WebSocket: message too large", 1009),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violation_has_a_cause_and_is_answered(loadline, name):
    sent, cause, code = VIOLATIONS[name]
    answers = []

    def serve(peer: Peer) -> None:
        peer.receive()
        peer.send(sent)
        answers.append(peer.receive())

    with WebSocketServer(serve) as server:
        summary = run(loadline, server)
        server.wait_until_served()
    assert causes(summary) == {cause: 1}
    assert answers == [(CLOSE, code.to_bytes(2))]
    assert summary["websocket"]["lost"] == 1


def test_close_codes_and_lost_connections(loadline):
    number = iter(range(100))

    def serve(peer: Peer) -> None:
        peer.receive()
        match next(number):
            case 0:
                peer.send(close(1011, "no capacity"))
            case 1:
                peer.send(close(1000))
            case 2:
                peer.send(frame(CLOSE))
            case 3:
                return
        peer.receive()

    with WebSocketServer(serve) as server:
        summary = run(loadline, server, load="{ rate: 20/s, duration: 200ms }")
    assert causes(summary) == {
        "WebSocket closed by the server": 2,
        "WebSocket closed by the server with an error": 1,
        "WebSocket connection lost": 1,
    }
    websocket = summary["websocket"]
    assert (websocket["closed_by_server"], websocket["lost"]) == ({"1000": 1, "1005": 1, "1011": 1}, 1)
    codes = next(row for row in summary["labels"] if row["text"] == "SEND /live")["codes"]
    assert codes == {"websocket:1000": 1, "websocket:1005": 1, "websocket:1006": 1, "websocket:1011": 1}
    details = [error["detail"] for error in first_errors(loadline)]
    assert "SEND /live: websocket:1011 no capacity" in details


def test_flood_of_pings_does_not_stop_a_run(loadline):
    pongs = []

    def serve(peer: Peer) -> None:
        peer.receive()
        peer.send(frame(PING, "x" * 125) * 20_000)
        peer.send(frame(TEXT, "still here"))
        while (received := peer.receive()) is not None and received[0] == PONG:
            pongs.append(received[1])

    with WebSocketServer(serve) as server:
        summary = run(loadline, server, STEPS.replace("within: 2s", "text: still here"))
        server.wait_until_served()
    assert summary["requests"]["ok"] == 2
    assert summary["websocket"]["pings"] == 20_000
    assert pongs == [b"x" * 125] * 20_000


def test_binary_messages_and_timeouts(loadline):
    def serve(peer: Peer) -> None:
        peer.receive()
        peer.send(frame(BINARY, b"\x00\xff{"))
        peer.receive()

    steps = """
  - websocket: { connect: /live }
  - websocket: { send: hello, expect: {} }
  - websocket: { expect: { json: $.never, within: 100ms } }
"""
    with WebSocketServer(serve) as server:
        summary = run(loadline, server, steps)
    assert counts(summary) == {"CONNECT /live": 1, "SEND /live": 1, "EXPECT /live": 1}
    assert causes(summary) == {"no answer in time": 1}


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("- websocket: { on: a }", "this `websocket` step does nothing: add connect, send, expect, listen or close"),
        (
            "- websocket: { send: a, close: 1000 }",
            "`send` and `close` are two steps: write two `websocket` steps (only `send` and `expect` can be together)",
        ),
        ("- websocket: { connect: live }", "`live` is not a URL: start it with / or with ws:// or wss://"),
        ("- websocket: { close: 1006 }", "`close: 1006` is not a close code that a client may send: use 1000, or 3000 to 4999"),
        (
            "- websocket: { connect: /, headers: { Sec-WebSocket-Protocol: a } }",
            "`Sec-WebSocket-Protocol` is sent by the client itself: write `subprotocols: [NAME]`",
        ),
        ("- websocket: { send: a, capture: { b: $.c } }", "put `capture` in `expect`, or in `connect` for headers"),
        ("- websocket: { connect: /, deflate: yes please }", "`deflate: yes please` must be off, each-message or full"),
        ("- websocket: { send: { yaml: a } }", "unknown key `yaml`: `send` knows json, text"),
    ],
)
def test_bad_step_is_one_line_with_its_place(loadline, steps, message):
    plan = loadline.write(
        "plan.yml", f"loadline: 1\ntarget: http://127.0.0.1:1\nload: {{ users: 1, duration: 1s }}\nsteps:\n  {steps}\n"
    )
    done = loadline("run", plan)
    assert done.returncode == 2
    first = done.stderr.splitlines()[0]
    assert message in first, done.stderr
    assert "plan.yml:5:" in first


def test_step_without_a_connection_fails_by_name(loadline):
    with WebSocketServer(echo) as server:
        summary = run(loadline, server, "\n  - websocket: { send: hello }\n")
    assert causes(summary) == {"no WebSocket connection is open": 1}
    assert server.requests == []
