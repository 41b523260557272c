"""The lab `chat`: echoes, rooms, faults, refusals, counts and log, with clients that are not ours."""

import base64
import hashlib
import json
import os
import socket
import struct
import time
import zlib
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Client:
    """A WebSocket client of its own, so that the lab's frames are read independently."""

    def __init__(self, url: str, path: str, **headers: str):
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=10)
        self.file = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16))
        lines = [
            f"GET {path} HTTP/1.1",
            "Host: lab.test",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key.decode()}",
            *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
        ]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().decode().strip()) != "":
            name, value = line.split(":", 1)
            self.headers[name.lower()] = value.strip()
        expected = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        self.is_accepted = self.headers.get("sec-websocket-accept") == expected

    def send(self, payload: bytes | str, opcode: int = TEXT, first: int = 0x80) -> None:
        data = payload.encode() if isinstance(payload, str) else payload
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[number % 4] for number, byte in enumerate(data))
        length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        self.socket.sendall(bytes([first | opcode]) + length + mask + masked)

    def frame(self) -> tuple[int, bytes]:
        """Returns the first byte and the payload of the next frame."""
        first, length = self.file.read(2)
        if length == 126:
            length = struct.unpack(">H", self.file.read(2))[0]
        return first, self.file.read(length)

    def text(self) -> str:
        first, payload = self.frame()
        assert first == 0x80 | TEXT, (first, payload)
        return payload.decode()

    def close(self, code: int = 1000) -> None:
        """Closes the connection, and reads until the lab has ended it."""
        self.send(struct.pack(">H", code), CLOSE)
        while (frame := self.frame())[0] != 0x80 | CLOSE:
            pass
        assert frame[1] == struct.pack(">H", code)
        assert self.file.read() == b""


def until(lab, condition) -> dict:
    """Waits until the lab's counts are as expected."""
    deadline = time.monotonic() + 10
    while not condition(counts := lab.stats()["chat"]):
        assert time.monotonic() < deadline, counts
        time.sleep(0.01)
    return counts


def lines_of(lab, log: Path) -> list[dict]:
    lab.process.stdin.close()
    lab.process.wait(timeout=10)
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_echo_returns_messages_after_its_delay(start_lab, tmp_path: Path):
    log = tmp_path / "log.jsonl"
    lab = start_lab("chat", "--log", log)
    client = Client(lab.url, "/echo?delay=50ms", Sec_WebSocket_Protocol="v2.json, v1.json")
    assert client.status == 101
    assert client.is_accepted
    assert client.headers["sec-websocket-protocol"] == "v2.json"
    client.send("ol\u00e1")
    assert client.text() == "ol\u00e1"
    client.send(bytes(70), BINARY, first=0)
    client.send(b"between", PING)
    client.send(bytes(130), 0)
    assert client.frame() == (0x80 | PONG, b"between")
    assert client.frame() == (0x80 | BINARY, bytes(200))
    client.close()
    counted = until(lab, lambda counts: counts["connections"]["open"] == 0)
    assert counted["connections"]["closed_by_client"] == {"1000": 1}
    assert counted["paths"]["/echo"] == {"messages_in": 2, "bytes_in": 204, "messages_out": 2, "bytes_out": 204}
    assert counted["pings_received"] == 1
    assert lab.stats()["answered"]["by_code"] == {"101": 1}
    lines = lines_of(lab, log)
    arrivals = {line["n"]: line["arrival_ns"] for line in lines if "arrival_ns" in line}
    sent = [line for line in lines if "to" in line]
    assert len(sent) == 2
    for line in sent:
        assert line["due_ns"] == arrivals[line["n"]] + 50_000_000
        assert 0 <= line["sent_ns"] - line["due_ns"] < 1e9
    assert [line["code"] for line in lines if "close" in line] == [1000]


def test_rooms_number_and_acknowledge_messages(start_lab, tmp_path: Path):
    log = tmp_path / "log.jsonl"
    lab = start_lab("chat", "--log", log)
    members = [Client(lab.url, "/rooms/a") for _ in range(3)]
    other = Client(lab.url, "/rooms/b")
    until(lab, lambda counts: counts["connections"]["open"] == 4)
    members[0].send('{"op":"publish","id":"x7","price":1}')
    members[0].send("not JSON")
    for number, member in enumerate(members):
        received = [member.text() for _ in range(3 if number == 0 else 2)]
        if number == 0:
            received.remove('{"ack":"x7"}')
        assert json.loads(received[0]) == {"op": "publish", "id": "x7", "price": 1, "seq": 1}
        assert received[1] == "not JSON"
    other.send("{}")
    assert other.text() == '{"seq":1}'
    for client in [*members, other]:
        client.close()
    counted = until(lab, lambda counts: counts["connections"]["open"] == 0)
    room = counted["paths"]["/rooms/a"]
    assert (room["messages_in"], room["messages_out"]) == (2, 7)
    lines = lines_of(lab, log)
    published = [line for line in lines if line.get("path") == "/rooms/a" and "arrival_ns" in line]
    assert [(line["seq"], line["members"]) for line in published] == [(1, 3), (2, 3)]
    sent = Counter(line["to"] for line in lines if "to" in line)
    assert sorted(sent.values()) == [1, 2, 2, 2]


def test_faults_are_repeatable_and_logged(start_lab, tmp_path: Path):
    path = "/echo?drop=0.2&duplicate=20%25&reorder=0.2"
    runs = []
    for run in range(2):
        log = tmp_path / f"{run}.jsonl"
        lab = start_lab("chat", "--seed", 5, "--log", log)
        for _ in range(run):
            lab.stats()
        client = Client(lab.url, path)
        for number in range(40):
            client.send(str(number))
        client.send(b"last", PING)
        received = []
        while (frame := client.frame()) != (0x80 | PONG, b"last"):
            received.append(int(frame[1]))
        client.close()
        counted = until(lab, lambda counts: counts["connections"]["open"] == 0)
        expected, held = [], []
        for line in (line for line in lines_of(lab, log) if "to" in line):
            times = {None: 1, "duplicated": 2, "reordered": 1}.get(line["fault"], 0)
            expected += [line["n"]] * times
            held += [line["n"]] * (line["fault"] == "unsent")
        assert received == expected
        assert {*range(40)} - {*received} != set()
        assert len({*range(40)} - {*received}) == counted["dropped"] + counted["unsent"]
        assert counted["unsent"] == len(held)
        assert len(received) - len({*received}) == counted["duplicated"] > 0
        assert counted["reordered"] > 0
        assert received != sorted(received)
        runs.append(received)
    assert runs[0] == runs[1]


@pytest.mark.parametrize(("code", "frame"), [(1011, struct.pack(">H", 1011)), (4000, struct.pack(">H", 4000))])
def test_lab_closes_after_messages(start_lab, code: int, frame: bytes):
    lab = start_lab("chat")
    client = Client(lab.url, f"/echo?close-after=2&code={code}")
    client.send("1")
    client.send("2")
    assert [client.text(), client.text()] == ["1", "2"]
    assert client.frame() == (0x80 | CLOSE, frame)
    client.send(frame, CLOSE)
    assert client.file.read() == b""
    counted = until(lab, lambda counts: counts["connections"]["open"] == 0)
    assert counted["connections"]["closed_by_lab"] == {str(code): 1}


def test_lab_ends_connections_without_a_close_frame(start_lab):
    lab = start_lab("chat", "close-after=1", "code=1006")
    client = Client(lab.url, "/echo")
    client.send("1")
    assert client.file.read() in (b"", b"\x81\x011")
    counted = until(lab, lambda counts: counts["connections"]["open"] == 0)
    assert counted["connections"]["closed_by_lab"] == {"1006": 1}
    Client(lab.url, "/echo").socket.shutdown(socket.SHUT_RDWR)
    until(lab, lambda counts: counts["connections"]["lost"] == 1)


def test_violations_close_the_connection(start_lab):
    lab = start_lab("chat")
    for sent, code, name in [
        (b"\x81\x00", 1002, "unmasked"),
        (b"\x81\x81\x00\x00\x00\x00\xff", 1007, "utf8"),
        (b"\x82\xff\x00\x00\x00\x00\x7f\x00\x00\x00\x00\x00\x00\x00", 1009, "message_too_large"),
    ]:
        client = Client(lab.url, "/echo")
        client.socket.sendall(sent)
        assert client.frame() == (0x80 | CLOSE, struct.pack(">H", code))
        client.socket.close()
        counted = until(lab, lambda counts: counts["connections"]["open"] == 0)
        assert counted["violations"][name] == 1


def test_upgrades_are_refused_by_path(start_lab):
    lab = start_lab("chat")
    for path, status, header in [
        ("/refuse/401", 401, "www-authenticate"),
        ("/refuse/302", 302, "location"),
        ("/refuse/426", 426, "upgrade"),
        ("/proxy200", 200, "content-type"),
        ("/echo?drop=2", 400, "content-length"),
        ("/elsewhere", 404, "content-length"),
    ]:
        client = Client(lab.url, path)
        assert client.status == status, path
        assert header in client.headers, path
    wrong = Client(lab.url, "/wrong-accept")
    assert wrong.status == 101
    assert not wrong.is_accepted
    by_code = lab.stats()["answered"]["by_code"]
    assert by_code == {"101": 1, "200": 1, "302": 1, "400": 1, "401": 1, "404": 1, "426": 1}


def test_compression_is_only_accepted_if_enabled(start_lab):
    offer = "permessage-deflate; client_max_window_bits"
    assert "sec-websocket-extensions" not in Client(start_lab("chat").url, "/echo", Sec_WebSocket_Extensions=offer).headers
    client = Client(start_lab("chat", "deflate=on").url, "/echo", Sec_WebSocket_Extensions=offer)
    assert client.headers["sec-websocket-extensions"] == "permessage-deflate"
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    inflater = zlib.decompressobj(-15)
    lengths = []
    for _ in range(2):
        text = "".join(f"word {number} " for number in range(30))
        compressed = deflater.compress(text.encode()) + deflater.flush(zlib.Z_SYNC_FLUSH)
        client.send(compressed.removesuffix(b"\x00\x00\xff\xff"), TEXT, first=0xC0)
        first, payload = client.frame()
        assert first == 0xC0 | TEXT
        assert inflater.decompress(payload + b"\x00\x00\xff\xff").decode() == text
        lengths.append(len(payload))
    assert lengths[1] < lengths[0] / 3, "the second message refers to the first"
    client.close()


def test_lab_sends_pings(start_lab):
    lab = start_lab("chat", "ping=20ms")
    client = Client(lab.url, "/echo")
    for number in (1, 2):
        first, payload = client.frame()
        assert (first, int.from_bytes(payload, "big")) == (0x80 | PING, number)
        client.send(payload, PONG)
    until(lab, lambda counts: counts["pongs_received"] == 2)


def test_slow_connection_is_read_slowly(start_lab):
    lab = start_lab("chat")
    client = Client(lab.url, "/slow?read=2000")
    begun = time.monotonic()
    for _ in range(10):
        client.send(bytes(92), BINARY)
    assert [client.frame()[1] for _ in range(10)] == [bytes(92)] * 10
    # 980 bytes, the last of which are read after four tenths of a second.
    assert time.monotonic() - begun > 0.35


def test_browser_uses_the_lab(start_lab, browser):
    lab = start_lab("chat", "deflate=on")
    page = browser.new_page()
    result = page.evaluate(
        """async (url) => {
          const big = 'lorem ipsum '.repeat(20000);
          const socket = new WebSocket(url, ['a', 'b']);
          socket.binaryType = 'arraybuffer';
          const received = [];
          socket.onopen = () => { socket.send('{"id":1}'); socket.send(big); socket.send(new Uint8Array([1, 2])); };
          socket.onmessage = ({ data }) => {
            received.push(typeof data === 'string' ? data === big || data : [...new Uint8Array(data)]);
            if (received.length === 4) socket.close(4001, 'done');
          };
          const { code } = await new Promise((resolve) => { socket.onclose = resolve; });
          return { code, received, protocol: socket.protocol, extensions: socket.extensions };
        }""",
        lab.url.replace("http:", "ws:") + "/rooms/browser",
    )
    page.close()
    assert result == {
        "code": 4001,
        "protocol": "a",
        "extensions": "permessage-deflate",
        "received": ['{"id":1,"seq":1}', '{"ack":1}', True, [1, 2]],
    }
    counted = until(lab, lambda counts: counts["connections"]["open"] == 0)
    assert counted["connections"]["closed_by_client"] == {"4001": 1}
    assert counted["violations"] == {}
