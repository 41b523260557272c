"""Streamed responses through the command: times, tokens, criteria, faults, reports."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import time

import pytest
from conftest import wait_until
from fake_servers import FakeServer

BODY = "{ model: m, stream: true, stream_options: { include_usage: true }, messages: [ { role: user, content: hello } ] }"
APIS = {
    "openai": ("/v1/chat/completions", BODY),
    "anthropic": ("/v1/messages", "{ model: m, stream: true, max_tokens: 9, messages: [ { role: user, content: hello } ] }"),
    "ollama": ("/api/chat", "{ model: m, messages: [ { role: user, content: hello } ] }"),
}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def plan(step: str, *lines: str, load: str = "{ rate: 20/s, duration: 200ms }") -> str:
    return "\n".join(["loadline: 1", "target: http://127.0.0.1:9", f"load: {load}", "steps:", step, *lines, ""])


def get(stream: str, more: str = "") -> str:
    return f"  - get: {{ url: /feed, stream: {stream}{more} }}"


@pytest.fixture
def feed():
    """Serves the given parts of a response to every request, each part in a write of its own."""
    with contextlib.ExitStack() as servers:

        def start(*parts: bytes | float, head: bytes = HEAD):
            def serve(connection):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while connection.recv(65536):
                    connection.sendall(head)
                    for part in parts:
                        if isinstance(part, bytes):
                            connection.sendall(part)
                        else:
                            time.sleep(part)
                    connection.sendall(b"0\r\n\r\n")

            return servers.enter_context(FakeServer(serve)).url

        yield start


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def over_http2(*parts: bytes | float):
    """Serves the parts as DATA frames to every request."""
    headers, settings, data, end = 1, 4, 0, 1

    def serve(connection):
        def read(length: int) -> bytes:
            got = b""
            while len(got) < length:
                more = connection.recv(length - len(got))
                if not more:
                    raise OSError
                got += more
            return got

        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        read(24)
        connection.sendall(frame(settings, 0, 0))
        while True:
            head = read(9)
            read(int.from_bytes(head[:3], "big"))
            if head[3] != headers:
                continue
            stream = int.from_bytes(head[5:], "big")
            # The first static field of a response is :status 200.
            connection.sendall(frame(headers, 4, stream, b"\x88"))
            for part in parts:
                if isinstance(part, bytes):
                    connection.sendall(frame(data, 0, stream, part))
                else:
                    time.sleep(part)
            connection.sendall(frame(data, end, stream))

    return FakeServer(serve)


@pytest.mark.parametrize("api", APIS)
def test_times_and_tokens_of_model_apis(loadline, start_lab, api):
    lab = start_lab("llm", "ttft=60ms", "gap=5ms", "tokens=9")
    path, body = APIS[api]
    step = f"  - post: {{ url: {path}, json: {body}, stream: {api} }}"
    criteria = (
        "criteria:",
        "  - ttft p50 > 40ms",
        "  - tokens rate > 1/s",
        "  - goodput(ttft < 20s, per-token < 20s) >= 100%",
        "  - goodput(ttft < 1ms) <= 0%",
    )
    loadline.write("p.yml", plan(step, *criteria))
    done = loadline("run", "p.yml", "--target", lab.url)
    assert "PASS          tokens rate" in done.stdout, done.stdout + done.stderr
    summary = loadline.summary()
    assert summary["requests"]["ok"] == 4, loadline.errors()
    stream = summary["all"]["stream"]
    assert (stream["requests"], stream["complete"], stream["reporting"]) == (4, 4, 4)
    assert stream["tokens"] == 4 * 9 == lab.stats()["llm"]["tokens"]
    assert stream["chunks"] == 4 * 9
    assert stream["gap"]["count"] == 4 * 8
    assert stream["ttft"]["count"] == stream["per_token"]["count"] == 4
    assert stream["ttft"]["min_ns"] >= 60_000_000
    assert stream["ttft_service"]["min_ns"] >= 60_000_000
    assert stream["per_token"]["mean_ns"] >= 1_000_000
    figures = {row["text"]: row["figure"] for row in summary["criteria"]}
    assert figures["ttft p50 > 40ms"] == "/all/stream/ttft/p50"
    assert figures["tokens rate > 1/s"] == "/all/stream/tokens_per_second"
    good, none = summary["goodput"]
    assert (good["good"], good["of"], good["share"]) == (4, 4, 1.0)
    assert (none["good"], none["of"]) == (0, 4)
    assert none["bounds"] == ["ttft < 1ms"]


def test_events_over_http2_are_not_frames(loadline):
    parts = [b'data: {"choices":[{"delta":{"con', b'tent":"a"}}]}\n\ndata: {"choices":[{"text":"b"}]}', 0.05, b"\n\ndata: [DONE]\n\n"]
    loadline.write("p.yml", plan(get("openai", ", capture: { text: { stream: text } }")))
    with over_http2(*parts) as server:
        done = loadline("run", "p.yml", "--target", server.url, "--http", "2-prior-knowledge")
    assert done.returncode == 0, done.stdout + done.stderr
    stream = loadline.summary()["all"]["stream"]
    assert (stream["complete"], stream["events"], stream["chunks"]) == (4, 12, 8)
    assert stream["gap"]["min_ns"] >= 5_000_000


@pytest.mark.parametrize(
    ("format", "parts", "reason"),
    [
        ("openai", [b"data: {}\n\n"], "stream incomplete: no end mark"),
        ("{ format: sse, idle: 100ms }", [b"data: a\n\n", 1.0], "stream incomplete: no event for too long"),
        ("{ format: sse, until: 100ms }", [b"data: a\n\n", 1.0], None),
        ("{ format: sse, until: 2 }", [b"data: a\n\ndata: b\n\n", 5.0], None),
    ],
)
def test_ends_of_streams_over_http2(loadline, format, parts, reason):
    loadline.write("p.yml", plan(get(format)))
    with over_http2(*parts) as server:
        loadline("run", "p.yml", "--target", server.url, "--http", "2-prior-knowledge")
    summary = loadline.summary()
    assert loadline.errors() == ({reason: 4} if reason else {})
    if reason is None or "too long" in reason:
        assert summary["http2"]["resets_sent"] == {"CANCEL": 4}


def test_frames_of_one_read_are_bundled(loadline):
    together = frame(0, 0, 1, b"data: a\n\n") + frame(0, 0, 1, b"data: b\n\n")

    def serve(connection):
        connection.recv(65536)
        connection.sendall(frame(4, 0, 0) + frame(1, 4, 1, b"\x88") + together + frame(0, 1, 1, b"data: c\n\n"))
        connection.recv(65536)

    loadline.write("p.yml", plan(get("sse"), load="{ count: 1, duration: 1s }"))
    with FakeServer(serve) as server:
        done = loadline("run", "p.yml", "--target", server.url, "--http", "2-prior-knowledge")
    assert done.returncode == 0, done.stdout + done.stderr
    stream = loadline.summary()["all"]["stream"]
    assert (stream["chunks"], stream["alone_share"]) == (3, 0.0)


def test_without_usage_tokens_are_events(loadline, start_lab):
    lab = start_lab("llm", "ttft=1ms", "gap=1ms", "tokens=5")
    body = "{ stream: true, messages: [] }"
    loadline.write("p.yml", plan(f"  - post: {{ url: /v1/chat/completions, json: {body}, stream: openai }}"))
    done = loadline("run", "p.yml", "--target", lab.url)
    assert done.returncode == 0, done.stdout + done.stderr
    stream = loadline.summary()["all"]["stream"]
    assert (stream["reporting"], stream["tokens"]) == (0, 20)
    assert "20 tokens by events with content" in " ".join(done.stdout.split())


def test_one_line_loads_a_model_api(loadline, start_lab):
    lab = start_lab("llm", "ttft=5ms", "gap=1ms", "tokens=6")
    done = loadline("run", lab.url, "--stream", "openai", "--users", "2", "-n", "8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "asking for the model `default`" in done.stderr
    assert loadline.summary()["all"]["stream"]["tokens"] == 48
    assert lab.stats()["received"]["by_route"] == {"/v1/chat/completions": 8}
    other = loadline("run", f"{lab.url}/api/chat", "--stream", "ollama", "--model", "tiny", "-n", "1")
    assert other.returncode == 0, other.stdout + other.stderr
    assert "asking for" not in other.stderr
    refused = loadline("run", lab.url, "--stream", "grpc")
    assert refused.returncode == 2
    assert "openai" in refused.stderr


def test_end_mark_is_required(loadline, start_lab):
    lab = start_lab("llm", "ttft=1ms", "gap=1ms", "tokens=6", "cut=100%")
    done = loadline("run", lab.url, "--stream", "openai", "-n", "3")
    assert done.returncode == 1, done.stdout + done.stderr
    summary = loadline.summary()
    assert loadline.errors() == {"stream incomplete: connection lost": 3}
    stream = summary["all"]["stream"]
    assert (stream["requests"], stream["complete"]) == (3, 0)
    # Incomplete streams rank above all others.
    assert stream["ttft"]["max"]["no_answer"] is True
    assert stream["tokens"] > 0


@pytest.mark.parametrize(
    ("format", "parts", "reason"),
    [
        ("openai", [chunk(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n')], "stream incomplete: no end mark"),
        ("openai", [chunk(b'data: {"error":{"message":"busy"}}\n\n'), chunk(b"data: [DONE]\n\n")], "stream incomplete: error event"),
        ("openai", [chunk(b"data: {oops\n\n"), chunk(b"data: [DONE]\n\n")], "stream incomplete: an event is not JSON"),
        ("ollama", [chunk(b'{"response":"\xc3'), chunk(b'\xa9"}\n')], "stream incomplete: no end mark"),
        ("sse", [chunk(b"data: " + b"x" * 70_000) for _ in range(16)] + [chunk(b"\n\n")], "stream incomplete: an event is too long"),
        ("{ format: sse, idle: 100ms }", [chunk(b"data: a\n\n"), 1.0], "stream incomplete: no event for too long"),
        (
            "{ format: sse, idle: 100ms }",
            [chunk(b"data: a\n\n"), *([0.05, chunk(b": ping\n\n")] * 20)],
            "stream incomplete: no event for too long",
        ),
        ("{ format: sse, max-time: 100ms }", [chunk(b"data: a\n\n"), 1.0], "no answer in time"),
    ],
)
def test_faults_are_named(loadline, feed, format, parts, reason):
    loadline.write("p.yml", plan(get(format)))
    done = loadline("run", "p.yml", "--target", feed(*parts))
    # Without a time-out, the service did answer.
    assert done.returncode == (3 if "in time" in reason else 1), done.stdout + done.stderr
    assert loadline.errors() == {reason: 4}


def test_compressed_stream_is_not_read(loadline, feed):
    head = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    loadline.write("p.yml", plan(get("sse")))
    loadline("run", "p.yml", "--target", feed(chunk(b"\x1f\x8b0000"), head=head))
    assert loadline.errors() == {"stream not read: the response is compressed": 4}


@pytest.mark.parametrize("keeps", [True, False])
def test_redirect_leads_to_the_stream(loadline, keeps):
    def serve(connection):
        while request := connection.recv(65536):
            if b"/feed" in request:
                page = b"<html>" + b"moved " * 200
                connection.sendall(b"HTTP/1.1 308 Moved\r\nLocation: /there\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page))
            else:
                connection.sendall(HEAD + chunk(b"data: a\n\ndata: end\n\n") + b"0\r\n\r\n")

    more = ", check: { body: 'data: a' }" if keeps else ""
    loadline.write("p.yml", plan(get("{ format: sse, end: end }", more)))
    with FakeServer(serve) as server:
        done = loadline("run", "p.yml", "--target", server.url)
    assert done.returncode == 0, done.stdout + done.stderr
    stream = loadline.summary()["all"]["stream"]
    assert (stream["complete"], stream["events"], stream["chunks"]) == (4, 8, 4)


@pytest.mark.parametrize("http", ["1.1", "2-prior-knowledge"])
def test_silent_service_is_not_ended_by_the_plan(loadline, http):
    def serve(connection):
        if http != "1.1":
            connection.sendall(frame(4, 0, 0))
        while connection.recv(65536):
            pass

    loadline.write("p.yml", plan(get("{ format: sse, until: 100ms, max-time: 5s }")))
    with FakeServer(serve) as server:
        done = loadline("run", "p.yml", "--target", server.url, "--http", http)
    assert done.returncode == 3, done.stdout + done.stderr
    assert loadline.errors() == {"no answer in time": 4}


def test_cut_stream_counts_what_arrived(loadline, start_lab):
    lab = start_lab("llm", "ttft=1ms", "gap=5ms", "tokens=20", "cut=100%")
    path, body = APIS["anthropic"]
    loadline.write("p.yml", plan(f"  - post: {{ url: {path}, json: {body}, stream: anthropic }}"))
    loadline("run", "p.yml", "--target", lab.url)
    stream = loadline.summary()["all"]["stream"]
    # The first event reports a preliminary number of output tokens.
    assert stream["tokens"] == stream["chunks"] > 0
    assert stream["gap"]["unanswered"] == 4


def test_goodput_is_refused_where_it_is_not_counted(loadline, start_lab):
    loadline.write("t.lua", "wrk.path = '/'\n")
    done = loadline("run", "t.lua", "--target", start_lab("truth").url, "--check", "goodput(response < 2s) > 90%")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "only requests of scenarios are counted for a goodput" in done.stderr


def test_failed_status_is_not_a_stream(loadline, feed):
    loadline.write("p.yml", plan(get("openai")))
    done = loadline("run", "p.yml", "--target", feed(chunk(b'{"error":"busy"}'), head=HEAD.replace(b"200 OK", b"503 Busy")))
    assert done.returncode == 1, done.stdout + done.stderr
    summary = loadline.summary()
    assert loadline.errors() == {"status 503": 4}
    stream = summary["all"]["stream"]
    assert (stream["requests"], stream["complete"], stream["events"]) == (4, 0, 0)


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_stream_may_be_cut_anywhere(loadline, feed, cut):
    events = b"\xef\xbb\xbfdata: one\r\n\r\ndata: two\rdata: 2\r\r: c\nid: 7\nretry: 5\ndata: \xc3\xa9\n\nevent: x\ndata: end\n\n"
    loadline.write("p.yml", plan(get("{ format: sse, end: end }", ", capture: { text: { stream: text } }, check: { status: 200 }")))
    parts = [chunk(events[:cut]), 0.002, chunk(events[cut:])]
    done = loadline("run", "p.yml", "--target", feed(*parts))
    assert done.returncode == 0, done.stdout + done.stderr
    stream = loadline.summary()["all"]["stream"]
    assert (stream["complete"], stream["events"], stream["chunks"]) == (4, 16, 12)


def test_values_are_captured_from_events(loadline, feed):
    data = [b'{"id":"a7","text":"Hello"}', b'{"text":", \\u00e4"}', b'{"usage":{"out":5}}']
    parts = [chunk(b"data: %s\n\n" % part) for part in data] + [chunk(b"data: bye\n\n")]
    capture = ", capture: { answer: { stream: text }, id: { stream: $.id } }"
    stream = "{ format: sse, data: $.text, end: bye, tokens: $.usage.out }"
    loadline.write("p.yml", plan(get(stream, capture), "  - log: 'got {{ answer }} {{ id }}'"))
    done = loadline("run", "p.yml", "--target", feed(*parts))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "got Hello, ä a7" in done.stdout
    stream = loadline.summary()["all"]["stream"]
    assert (stream["tokens"], stream["reporting"], stream["chunks"]) == (20, 4, 8)


@pytest.mark.parametrize("until", ["100ms", "3"])
def test_subscription_ends_when_the_plan_says(loadline, feed, until):
    loadline.write("p.yml", plan(get(f"{{ format: sse, until: {until} }}")))
    done = loadline("run", "p.yml", "--target", feed(*([chunk(b"data: a\n\n"), 0.01] * 100)))
    assert done.returncode == 0, done.stdout + done.stderr
    stream = loadline.summary()["all"]["stream"]
    assert stream["complete"] == 4
    assert stream["events"] == 12 if until == "3" else 4 <= stream["events"] < 400


def test_bundled_events_are_noted(loadline, feed):
    loadline.write("p.yml", plan(get("sse")))
    done = loadline("run", "p.yml", "--target", feed(chunk(b"data: a\n\n" * 5), 0.5, chunk(b"data: b\n\n")))
    assert done.returncode == 0, done.stdout + done.stderr
    stream = loadline.summary()["all"]["stream"]
    assert stream["alone_share"] == pytest.approx(1 / 6)
    assert "arrived alone: the server or the network bundles" in " ".join(done.stdout.split())


def test_accept_header_asks_for_events(loadline):
    seen: list[bytes] = []

    def serve(connection):
        while request := connection.recv(65536):
            seen.append(request)
            connection.sendall(HEAD + chunk(b"data: a\n\n") + b"0\r\n\r\n")

    steps = "\n".join([get("sse"), "  - get: { url: /own, headers: { Accept: x/y }, stream: sse }", get("lines")])
    loadline.write("p.yml", plan(steps))
    with FakeServer(serve) as server:
        loadline("run", "p.yml", "--target", server.url, "--once")
    accepts = [[line for line in one.lower().split(b"\r\n") if line.startswith(b"accept:")] for one in seen]
    assert accepts == [[b"accept: text/event-stream"], [b"accept: x/y"], []]


def test_reports_show_streams(loadline, start_lab):
    lab = start_lab("llm", "ttft=10ms", "gap=1ms", "tokens=6")
    path, body = APIS["openai"]
    step = f"  - post: {{ url: {path}, json: {body}, stream: openai }}"
    criteria = ("criteria:", "  - ttft p75 < 20s", "  - gap max < 20s", "  - goodput(response < 20s) > 10/s")
    loadline.write("p.yml", plan(step, *criteria, load="{ rate: 20/s, duration: 3s }"))
    done = loadline("run", "p.yml", "--target", lab.url)
    assert done.returncode in (0, 5), done.stdout + done.stderr
    text = done.stdout
    streams = text[text.index("\nStreamed responses ") : text.index("goodput (response < 20s)")]
    assert "  time to first token " in streams
    assert "  60 of 60 complete; 360 tokens by the server's usage figures, " in streams
    (gap,) = [line for line in streams.splitlines() if line.startswith("  gap ")]
    assert gap.endswith("*")
    folder = loadline.folder / ".loadline/runs/last"
    report = (folder / "report.md").read_text()
    assert "## Streamed responses" in report
    assert "charts/streams.svg" in report
    assert (folder / "charts/streams.svg").is_file()
    assert "time to first token p75" in report
    series = json.loads((folder / "series.json").read_text())["points"]["stream"]
    assert sum(series["chunks"]) == 360
    assert len(series["ttft"]["p50"]) == len(series["gap"]["p99"]) == len(series["chunks"])


def test_killed_run_keeps_streams(loadline, start_lab):
    lab = start_lab("llm", "ttft=5ms", "gap=1ms", "tokens=6")
    path, body = APIS["openai"]
    step = f"  - post: {{ url: {path}, json: {body}, stream: openai }}"
    loadline.write("p.yml", plan(step, "criteria:", "  - goodput(ttft < 20s) > 1%", load="{ rate: 50/s, duration: 60s }"))
    process = loadline.start("run", "p.yml", "--target", lab.url)
    counters = loadline.folder / ".loadline/runs"
    wait_until(lambda: any('"good"' in path.read_text() for path in counters.glob("*/counters.jsonl")), "a good request")
    process.kill()
    process.communicate(timeout=60)
    shown = loadline("report", "last")
    assert shown.returncode in (0, 3, 5), shown.stderr
    summary = loadline.summary()
    assert summary["all"]["stream"]["complete"] > 0
    assert summary["goodput"][0]["good"] == summary["all"]["stream"]["complete"]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (get("grpc"), "p.yml:5:32: `stream: grpc` is not a format of streams: use one of sse, lines, openai, anthropic, ollama"),
        (get("{ data: $.a }"), "`format` is missing"),
        (get("{ format: openai, data: $.a }"), "p.yml:5:50: `data` is only for sse and lines: the format openai defines it"),
        (get("{ format: sse, data: $..a }"), "`$..a` is not a path into an event"),
        (get("{ format: sse, until: 0 }"), "`until: 0` never reads an event"),
        (get("{ format: sse, idle: 5 }"), "has no unit"),
        ("  - get: { url: /a, capture: { a: { stream: text } } }", "a capture reads a stream, but the request has no `stream`"),
    ],
)
def test_bad_plans_have_one_clear_line(loadline, step, message):
    loadline.write("p.yml", plan(step))
    done = loadline("run", "p.yml")
    assert done.returncode == 2
    assert message in done.stderr, done.stderr


def test_init_reads_streams_that_a_request_asks_for(loadline, start_lab):
    lab = start_lab("llm", "ttft=1ms", "gap=1ms", "tokens=4")
    body = json.dumps({"model": "m", "stream": True, "messages": []})
    loadline.write("lines.txt", f"curl {lab.url}/v1/chat/completions -H 'Content-Type: application/json' -d '{body}'\n")
    made = loadline("init", "lines.txt", "-o", "p.yml")
    assert made.returncode == 0, made.stderr
    assert "stream: { format: openai, max-time: 5m }" in (loadline.folder / "p.yml").read_text()
    done = loadline("run", "p.yml", "--once")
    assert done.returncode == 0, done.stdout + done.stderr
    assert loadline.summary()["all"]["stream"]["complete"] == 1
