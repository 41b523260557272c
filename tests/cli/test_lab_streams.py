"""The labs `http2` and `llm`: schedules, limits, counts and logs, with clients that are not ours."""

import http.client
import json
import shutil
import socket
import ssl
import struct
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import certificates
import pytest
from conftest import Loadline

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, RST_STREAM, SETTINGS, GOAWAY, DATA = 1, 3, 4, 7, 0
# :method GET, :scheme http, :path /, :authority (a literal without indexing)
GET = b"\x82\x86\x84\x01\x06a.test"


class Client:
    """Speaks just enough HTTP/2 for the lab's frames to be seen."""

    def __init__(self, url: str, context: ssl.SSLContext | None = None):
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=10)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname=parts.hostname)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))
        self.stream = -1

    def get(self) -> int:
        self.stream += 2
        self.socket.sendall(frame(HEADERS, 0x5, self.stream, GET))
        return self.stream

    def read(self) -> tuple[int, int, int, bytes]:
        """Returns kind, flags, stream and payload of the next frame."""
        header = self._exactly(9)
        length = int.from_bytes(header[:3], "big")
        stream = struct.unpack(">I", header[5:])[0]
        return header[3], header[4], stream, self._exactly(length)

    def until(self, kind: int, stream: int | None = None) -> tuple[int, bytes]:
        while True:
            read, flags, on, payload = self.read()
            if read == kind and stream in (None, on):
                return flags, payload

    def ended(self) -> dict[int, str]:
        """Reads until the streams have ended, and returns how."""
        ends = {}
        while len(ends) < (self.stream + 1) // 2:
            kind, flags, stream, payload = self.read()
            if kind == RST_STREAM:
                ends[stream] = f"rst {int.from_bytes(payload, 'big')}"
            elif kind in (HEADERS, DATA) and flags & 1:
                ends[stream] = "answered"
        return ends

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            assert part, "the lab closed the connection"
            data += part
        return data


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def log_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_http2_lab_answers_after_its_service_time(start_lab, tmp_path: Path):
    log = tmp_path / "log.jsonl"
    lab = start_lab("http2", "--log", log, "service=50ms", "max-streams=7", "body=5")
    client = Client(lab.url)
    _, settings = client.until(SETTINGS)
    assert (3, 7) in list(struct.iter_unpack(">HI", settings))
    begun = time.monotonic()
    for _ in range(3):
        client.get()
    assert set(client.ended().values()) == {"answered"}
    assert 0.05 <= time.monotonic() - begun < 2
    counted = lab.stats()
    assert counted["received"]["total"] == counted["answered"]["total"] == 3
    assert counted["http2"]["max_open"] == 3
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    lines = log_of(log)
    assert sorted(line["stream"] for line in lines) == [1, 3, 5]
    assert all(50e6 <= line["release_ns"] - line["arrival_ns"] < 1e9 for line in lines)


def test_http2_lab_refuses_a_share_of_streams(start_lab):
    lab = start_lab("http2", "--seed", 3, "refuse=50%")
    client = Client(lab.url)
    for _ in range(40):
        client.get()
    ends = list(client.ended().values())
    assert set(ends) == {"answered", "rst 7"}
    assert lab.stats()["http2"]["refused"] == ends.count("rst 7")


def test_http2_lab_ends_connections_with_goaway(start_lab):
    lab = start_lab("http2", "goaway-after=3")
    client = Client(lab.url)
    for _ in range(3):
        client.get()
    _, payload = client.until(GOAWAY)
    assert payload[4:8] == bytes(4), "NO_ERROR"
    assert lab.stats()["http2"]["goaways"] == 1


def test_http2_lab_counts_cancelled_streams(start_lab):
    lab = start_lab("http2", "service=1m")
    client = Client(lab.url)
    stream = client.get()
    client.until(SETTINGS)
    client.socket.sendall(frame(RST_STREAM, 0, stream, (8).to_bytes(4, "big")))
    deadline = time.monotonic() + 10
    while lab.stats()["http2"]["cancelled"] < 1:
        assert time.monotonic() < deadline
    assert lab.stats()["answered"]["total"] == 0


def test_http2_lab_negotiates_over_tls(start_lab, tmp_path: Path):
    folder = certificates.make(tmp_path)
    lab = start_lab("http2", f"cert={folder / 'server.pem'}", f"key={folder / 'server.key'}")
    assert lab.url.startswith("https://")
    context = ssl.create_default_context(cafile=folder / "authority.pem")
    with urllib.request.urlopen(f"{lab.url}/__lab/stats", timeout=5, context=context) as answer:
        assert json.load(answer)["http2"]["connections"] == 0
    context.set_alpn_protocols(["h2"])
    client = Client(lab.url, context)
    assert client.socket.selected_alpn_protocol() == "h2"
    client.get()
    assert client.ended() == {1: "answered"}


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_http2_lab_answers_curl(start_lab):
    lab = start_lab("http2", "body=4")
    command = ["curl", "-s", "--http2-prior-knowledge", "-d", "x" * 100_000, "-w", "%{http_version}", f"{lab.url}/any"]
    assert subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout == "xxxx2"
    assert lab.stats()["http2"]["body_bytes"] == 100_000


def test_http2_lab_refuses_http1(start_lab):
    lab = start_lab("http2")
    with pytest.raises(urllib.error.HTTPError, match="505"):
        urllib.request.urlopen(lab.url, timeout=5)


CHAT = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x" * 40}]}


def ask(lab, path: str, body: dict) -> list[tuple[float, bytes]]:
    """Returns the lines of a streamed response with the times at which they arrived."""
    parts = urlsplit(lab.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    connection.request("POST", path, json.dumps(body))
    answer = connection.getresponse()
    assert answer.status == 200
    return [(time.monotonic_ns(), line.strip()) for line in answer if line.strip()]


def data_of(lines: list[tuple[float, bytes]]) -> list[bytes]:
    return [line.removeprefix(b"data: ") for _, line in lines if line.startswith(b"data: ")]


def test_llm_lab_streams_openai_on_schedule(start_lab, tmp_path: Path):
    log = tmp_path / "log.jsonl"
    lab = start_lab("llm", "--log", log, "ttft=100ms", "gap=30ms", "tokens=5", "prefill=1ms")
    lines = ask(lab, "/v1/chat/completions", {**CHAT, "stream_options": {"include_usage": True}})
    data = data_of(lines)
    assert data[-1] == b"[DONE]"
    chunks = [json.loads(text) for text in data[:-1]]
    content = [chunk["choices"][0]["delta"].get("content") for chunk in chunks if chunk["choices"]]
    assert content == ["t0 ", "t1 ", "t2 ", "t3 ", "t4 ", None]
    assert chunks[-1]["usage"] == {"prompt_tokens": 10, "completion_tokens": 5}
    assert lab.stats()["llm"]["tokens"] == 5
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    start, request = log_of(log)
    assert "seed" in start
    assert request["end"] == "complete"
    assert request["start_ns"] == request["arrival_ns"]
    offsets = [due - request["start_ns"] for due in request["due_ns"]]
    assert offsets == [110_000_000 + 30_000_000 * token for token in range(5)]
    assert len(request["token_ns"]) == 5
    assert request["first_token_ns"] == request["token_ns"][0]
    for due, written, (arrived, _) in zip(request["due_ns"], request["token_ns"], lines, strict=False):
        assert due <= written <= arrived


def test_llm_lab_speaks_anthropic_and_ollama(start_lab):
    lab = start_lab("llm", "ttft=0", "gap=0", "tokens=3")
    events = [json.loads(text) for text in data_of(ask(lab, "/v1/messages", {**CHAT, "max_tokens": 2}))]
    kinds = [event["type"] for event in events]
    assert kinds == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[-2]["usage"] == {"output_tokens": 2}
    chat = [json.loads(line) for _, line in ask(lab, "/api/chat", {"messages": []})]
    assert [line["done"] for line in chat] == [False, False, False, True]
    assert chat[0]["message"]["content"] == "t0 "
    assert chat[-1]["eval_count"] == 3
    generated = [json.loads(line) for _, line in ask(lab, "/api/generate", {"prompt": "abcd"})]
    assert generated[0]["response"] == "t0 "
    assert generated[-1]["prompt_eval_count"] == 1
    completion = data_of(ask(lab, "/v1/completions", {"stream": True, "prompt": "abcd"}))
    assert json.loads(completion[0])["choices"][0]["text"] == "t0 "


def test_llm_lab_queues_for_batch_slots_and_stalls(start_lab, tmp_path: Path):
    log = tmp_path / "log.jsonl"
    lab = start_lab("llm", "--log", log, "slots=1", "ttft=20ms", "gap=10ms", "tokens=3", "stall=40ms", "every=50ms")
    for _ in range(3):
        ask(lab, "/v1/chat/completions", CHAT)
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    requests = log_of(log)[1:]
    origin = requests[0]["arrival_ns"]
    for request in requests:
        for due in request["due_ns"]:
            since = due - origin
            assert since < 50_000_000 or since % 50_000_000 >= 40_000_000


def test_llm_lab_cuts_responses(start_lab):
    lab = start_lab("llm", "ttft=0", "gap=0", "tokens=4", "cut=100%")
    parts = urlsplit(lab.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    connection.request("POST", "/v1/chat/completions", json.dumps(CHAT))
    answer = connection.getresponse()
    with pytest.raises(http.client.IncompleteRead):
        answer.read()
    assert lab.stats()["llm"]["cut"] == 1
    assert lab.stats()["answered"]["total"] == 0


def test_llm_lab_logs_requests_in_progress_when_it_stops(start_lab, tmp_path: Path):
    log = tmp_path / "log.jsonl"
    lab = start_lab("llm", "--log", log, "ttft=1m")
    parts = urlsplit(lab.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    connection.request("POST", "/v1/chat/completions", json.dumps(CHAT))
    assert connection.getresponse().status == 200, "the head precedes the first token"
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    (request,) = log_of(log)[1:]
    assert request["end"] == "unfinished"
    assert request["first_token_ns"] is None


def test_llm_lab_bundles_tokens(start_lab, tmp_path: Path):
    log = tmp_path / "log.jsonl"
    lab = start_lab("llm", "--log", log, "ttft=1ms", "gap=1ms", "tokens=5", "bundle=2")
    assert len(data_of(ask(lab, "/v1/chat/completions", CHAT))) == 7
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    written = log_of(log)[1]["token_ns"]
    assert len(written) == 5
    assert len(set(written)) == 3


def test_llm_lab_rejects_other_requests(start_lab):
    lab = start_lab("llm")
    for path, body, status in [
        ("/v1/chat/completions", b"{}", 400),
        ("/v1/chat/completions", b"no", 400),
        ("/other", b"{}", 404),
        ("/v1/messages", None, 405),
    ]:
        with pytest.raises(urllib.error.HTTPError, match=str(status)):
            urllib.request.urlopen(urllib.request.Request(lab.url + path, body), timeout=5)
    assert lab.stats()["llm"]["rejected"] == 4
    assert lab.stats()["received"]["total"] == 0


@pytest.mark.parametrize(
    ("lab", "option", "advice"),
    [
        ("http2", "service=soon", "use a duration"),
        ("http2", "max-streams=many", "use a whole number"),
        ("http2", "cert=a.pem", "also give the option"),
        ("http2", "goaway-after=0", "use a whole number"),
        ("llm", "stall=20s", "shorter than every="),
        ("llm", "spread=normal", "use constant or exponential"),
        ("llm", "tokens=0", "use a whole number"),
        ("llm", "mode=slow", "has no option"),
    ],
)
def test_invalid_options_are_refused(loadline: Loadline, lab: str, option: str, advice: str):
    refused = loadline("lab", lab, option)
    assert refused.returncode == 2
    assert advice in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
