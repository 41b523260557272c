"""Servers that break HTTP/2 or attack the client. Each has a cause by name, and the run goes on."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

import fake_servers
import pytest

PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS = 1, 4
OK = b"\x88"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A header field that is not indexed."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def head(stream: int, block: bytes = OK, flags: int = END_HEADERS) -> bytes:
    return frame(HEADERS, flags, stream, block)


def complete(stream: int) -> bytes:
    return head(stream, flags=END_HEADERS | END_STREAM)


class Http2Server(fake_servers.FakeServer):
    """Answers each request with the bytes that a function returns for its stream."""

    def __init__(self, answer: Callable[[int], bytes], settings: bytes = b"") -> None:
        self.settings = settings
        super().__init__(self._requests)
        self.answer = answer

    def _requests(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        assert len(stream.read(PREFACE)) == PREFACE
        connection.sendall(frame(SETTINGS, 0, 0, self.settings))
        while header := stream.read(9):
            length, kind = int.from_bytes(header[:3]), header[3]
            stream.read(length)
            if kind == HEADERS:
                connection.sendall(self.answer(int.from_bytes(header[5:])))


def errors(loadline, server: Http2Server, *flags: str) -> dict[str, int]:
    """Sends four requests and returns the count of each error reason."""
    load = ("--rate", "20/s", "--duration", "200ms", "--http", "2-prior-knowledge")
    with server:
        done = loadline("run", server.url, *load, *flags)
    assert done.returncode in (0, 1, 3), done.stderr
    summary = loadline.summary()
    assert summary["requests"]["issued"] == 4
    return loadline.errors()


#: What a server sends for a request, and the cause: the whole connection is closed.
CONNECTION = {
    "push": (lambda one: frame(PUSH_PROMISE, END_HEADERS, one, b"\0\0\0\2" + OK), "a push, although push is disabled (RFC 9113 6.6)"),
    "continuations": (
        lambda one: head(one, flags=0) + frame(CONTINUATION, 0, one, OK) * 20,
        "too many CONTINUATION frames (RFC 9113 10.5.1)",
    ),
    "interrupted": (lambda one: head(one, flags=0) + frame(PING, 0, 0, bytes(8)), "a header block is interrupted (RFC 9113 6.10)"),
    "large block": (
        lambda one: head(one, b"x" * 16384, flags=0) + frame(CONTINUATION, 0, one, b"x" * 16384) * 4,
        "a header block is too large (RFC 9113 10.5.1)",
    ),
    "bomb": (
        # A field of 3,900 bytes is stored once, and named by one byte 2,000 times.
        lambda one: head(one, OK + b"\x40\1a\x7f\xbd\x1d" + b"b" * 3900 + b"\xbe" * 2000),
        "the decoded header list is too large (RFC 9113 10.5.1)",
    ),
    "huge integer": (lambda one: head(one, b"\xff" * 12), "an integer in a header block is too large (RFC 9113 4.3)"),
    "no such index": (lambda one: head(one, b"\xfe"), "a header block uses an index without an entry (RFC 9113 4.3)"),
    "pings": (
        lambda one: frame(PING, 1, 0, bytes(8)) * 1500,
        "too many control or empty frames without progress (RFC 9113 10.5)",
    ),
    "empty data": (
        lambda one: head(one) + frame(DATA, 0, one) * 1500,
        "too many control or empty frames without progress (RFC 9113 10.5)",
    ),
    "priorities": (
        lambda one: frame(PRIORITY, 0, one, bytes(5)) * 1500,
        "too many control or empty frames without progress (RFC 9113 10.5)",
    ),
    "window by 0": (lambda one: frame(WINDOW_UPDATE, 0, 0, bytes(4)), "the connection's window grows by 0 (RFC 9113 6.9)"),
    "window overflow": (
        lambda one: frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") * 2,
        "the connection's window exceeds 2^31 - 1 (RFC 9113 6.9.1)",
    ),
    "large frame": (lambda one: frame(DATA, 0, one, bytes(20000)), "a frame is larger than the announced maximum (RFC 9113 4.2)"),
    "stream never opened": (lambda one: complete(one + 10), "a frame names a stream never opened (RFC 9113 5.1)"),
}

#: What a server sends for a request, and the cause: only this request fails.
STREAM = {
    "short body": (
        lambda one: head(one, OK + literal(b"content-length", b"5")) + frame(DATA, END_STREAM, one, b"abc"),
        "the body's length differs from content-length (RFC 9113 8.1.1)",
    ),
    "no status": (
        lambda one: head(one, literal(b"a", b"b"), END_HEADERS | END_STREAM),
        "the response has no valid :status (RFC 9113 8.3.2)",
    ),
    "upper case": (lambda one: head(one, OK + literal(b"A", b"b")), "an invalid field name (RFC 9113 8.2.1)"),
    "connection field": (lambda one: head(one, OK + literal(b"connection", b"close")), "a connection-specific field (RFC 9113 8.2.2)"),
    "body first": (lambda one: frame(DATA, END_STREAM, one, b"abc"), "a body before the response head (RFC 9113 8.1)"),
    "stream window by 0": (lambda one: frame(WINDOW_UPDATE, 0, one, bytes(4)), "a stream's window grows by 0 (RFC 9113 6.9)"),
    "reset": (lambda one: frame(RST_STREAM, 0, one, b"\0\0\0\2"), "stream reset, INTERNAL_ERROR"),
}


@pytest.mark.parametrize("name", CONNECTION)
def test_broken_connection_is_named_and_replaced(loadline, name):
    answer, cause = CONNECTION[name]
    assert errors(loadline, Http2Server(answer)) == {f"HTTP/2: {cause}": 4}
    http2 = loadline.summary()["http2"]
    assert (http2["opened"], http2["closed"]) == (4, {"violation": 4})


@pytest.mark.parametrize("name", STREAM)
def test_broken_response_leaves_the_connection(loadline, name):
    """Every second request is answered, all on one connection."""
    answer, cause = STREAM[name]
    server = Http2Server(lambda stream: answer(stream) if stream % 4 == 1 else complete(stream))
    assert errors(loadline, server, "-c", "1") == {f"HTTP/2: {cause}": 2}
    http2 = loadline.summary()["http2"]
    assert (http2["opened"], http2["closed"]) == (1, {"client": 1})
    codes = http2["resets_received"] if name == "reset" else http2["resets_sent"]
    assert sum(codes.values()) == 2


def test_stream_without_end_times_out(loadline):
    """A body without end is read and dropped until the time limit, and other requests go on."""
    endless = frame(DATA, 0, 1, bytes(10_000))

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(frame(SETTINGS, 0, 0) + head(1))
        while True:
            connection.sendall(endless)

    with fake_servers.FakeServer(serve) as server:
        plan = loadline.write(
            "plan.yml",
            f"""
            loadline: 1
            target: {server.url}
            load: {{ rate: 10/s, duration: 200ms }}
            http: {{ timeout: 500ms, version: 2-prior-knowledge }}
            steps: [ get: / ]
            """,
        )
        done = loadline("run", plan)
    assert done.returncode in (1, 3), done.stderr
    summary = loadline.summary()
    assert loadline.errors() == {"no answer in time": 2}
    assert summary["http2"]["resets_sent"] == {"CANCEL": 2}


def test_limit_of_no_streams_is_waited_for(loadline):
    """A server that allows no stream pauses the load. The first request goes out before its limit is known."""
    server = Http2Server(complete, settings=b"\0\3\0\0\0\0")
    assert errors(loadline, server, "-c", "1", "--drain", "500ms", "--no-guard") == {"unfinished when the run ended": 3}


def test_complaint_after_own_cancels_is_explained(loadline):
    """The first request is never answered, and the server complains about its cancellation."""

    def serve(connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        stream.read(PREFACE)
        connection.sendall(frame(SETTINGS, 0, 0))
        while header := stream.read(9):
            stream.read(int.from_bytes(header[:3]))
            if header[3] == RST_STREAM:
                connection.sendall(frame(GOAWAY, 0, 0, b"\0\0\0\1\0\0\0\x0b"))
                return

    with fake_servers.FakeServer(serve) as server:
        plan = loadline.write(
            "plan.yml",
            f"""
            loadline: 1
            target: {server.url}
            load: {{ rate: 10/s, duration: 200ms }}
            http: {{ timeout: 300ms, version: 2-prior-knowledge, connections: 1 }}
            steps: [ get: / ]
            """,
        )
        loadline("run", plan)
    summary = loadline.summary()
    assert set(summary["http2"]["goaways"]) == {"ENHANCE_YOUR_CALM"}
    expected = "after the test had cancelled"
    notes = [note for note in summary["notes"] if note.startswith("the server sent ENHANCE_YOUR_CALM")]
    assert len(notes) == 1
    assert expected in notes[0]


def test_a_request_that_is_refused_after_a_part_of_its_response_fails(loadline):
    """The server has processed it, so it is not sent again."""

    served = []

    def answer(stream: int) -> bytes:
        served.append(stream)
        if len(served) == 1:
            refused = frame(RST_STREAM, 0, stream, b"\0\0\0\7")
            return head(stream, b"\x08\x03503") + frame(DATA, 0, stream, b"a page about the error") + refused
        events = literal(b"content-type", b"text/event-stream")
        return head(stream, OK + events) + frame(DATA, END_STREAM, stream, b"data: a\n\ndata: b\n\n")

    plan = "loadline: 1\nload: { rate: 10/s, duration: 200ms }\nsteps:\n  - get: { url: /, stream: sse }\n"
    loadline.write("plan.yml", plan)
    with Http2Server(answer) as server:
        done = loadline("run", "plan.yml", "--target", server.url, "--http", "2-prior-knowledge", timeout=30)
    assert done.returncode in (0, 1, 3, 4), done.stdout + done.stderr
    summary = loadline.summary()
    assert (summary["requests"]["issued"], summary["requests"]["ok"]) == (2, 1), done.stdout
    assert loadline.errors() == {"HTTP/2: refused stream": 1}
    assert (summary["http2"]["resent"], len(served)) == (0, 2)
