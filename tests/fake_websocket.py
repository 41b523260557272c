"""A WebSocket server that a test scripts frame by frame, valid or not."""

from __future__ import annotations

import base64
import hashlib
import socket
import struct
from collections.abc import Callable

import fake_servers

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\n"


def frame(opcode: int, payload: bytes | str = b"", *, final: bool = True, first: int | None = None, masked: bool = False) -> bytes:
    """A frame of the server. `first` replaces the first byte."""
    payload = payload.encode() if isinstance(payload, str) else payload
    length = len(payload)
    mask = 0x80 if masked else 0
    if length < 126:
        head = bytes([mask | length])
    elif length < 1 << 16:
        head = bytes([mask | 126]) + struct.pack(">H", length)
    else:
        head = bytes([mask | 127]) + struct.pack(">Q", length)
    return bytes([first if first is not None else opcode | (0x80 if final else 0)]) + head + (bytes(4) if masked else b"") + payload


def close(code: int, reason: str = "") -> bytes:
    return frame(CLOSE, struct.pack(">H", code) + reason.encode())


def accept(key: str) -> str:
    return base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()


class Peer:
    """An upgraded connection."""

    def __init__(self, connection: socket.socket, headers: dict[str, str]) -> None:
        self.connection = connection
        self.headers = headers
        self.stream = connection.makefile("rb")

    def send(self, *frames: bytes) -> None:
        self.connection.sendall(b"".join(frames))

    def receive(self) -> tuple[int, bytes] | None:
        """Returns opcode and payload of the next frame, which must be masked. `None` at the end."""
        head = self.stream.read(2)
        if len(head) < 2:
            return None
        assert head[0] & 0x80, "the client sends messages in one frame"
        assert head[1] & 0x80, "a client masks its frames"
        length = head[1] & 0x7F
        if length == 126:
            length = struct.unpack(">H", self.stream.read(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self.stream.read(8))[0]
        mask = self.stream.read(4)
        return head[0] & 0x0F, bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.stream.read(length)))


class WebSocketServer(fake_servers.FakeServer):
    """Upgrades each connection and passes it to a function. `upgrade` returns another response to the given key."""

    def __init__(self, serve: Callable[[Peer], None], upgrade: Callable[[str], str] | None = None) -> None:
        super().__init__(self._upgrade)
        self.of_peer = serve
        self.upgrade = upgrade or (lambda key: f"101 Switching\r\n{UPGRADE}Sec-WebSocket-Accept: {accept(key)}")
        self.requests: list[dict[str, str]] = []
        self.failed: list[AssertionError] = []

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        # An assertion in a thread of the server fails the test, unless the test itself failed.
        if self.failed and error[0] is None:
            raise self.failed[0]

    def _upgrade(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        request = stream.readline().decode()
        headers = {}
        while (line := stream.readline().decode().strip()) != "":
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        headers[":path"] = request.split()[1]
        self.requests.append(headers)
        connection.sendall(f"HTTP/1.1 {self.upgrade(headers['sec-websocket-key'])}\r\n\r\n".encode())
        try:
            self.of_peer(Peer(connection, headers))
        except AssertionError as error:
            self.failed.append(error)
        connection.close()


def echo(peer: Peer) -> None:
    """Returns each message, and answers a close frame."""
    while (received := peer.receive()) is not None:
        opcode, payload = received
        if opcode in (TEXT, BINARY):
            peer.send(frame(opcode, payload))
        elif opcode == CLOSE:
            peer.send(frame(CLOSE, payload[:2]))
            return
