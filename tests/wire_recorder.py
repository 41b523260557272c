"""A server that records every request byte for byte. It answers pipelined requests too."""

from __future__ import annotations

import socket
import threading
from collections import Counter

import fake_servers

ANSWER = b'HTTP/1.1 200 OK\r\nX-Token: t\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"result":3}'


class WireRecorder(fake_servers.FakeServer):
    """Counts requests by their content: request line, header lines in any order, body."""

    def __init__(self, answer: bytes = ANSWER) -> None:
        super().__init__(self._record)
        self.answer = answer
        self.lock = threading.Lock()
        self.seen: Counter[tuple[str, frozenset[str], str]] = Counter()
        self.connections = 0

    def _record(self, connection: socket.socket) -> None:
        with self.lock:
            self.connections += 1
        rest = b""
        while data := connection.recv(1 << 16):
            rest += data
            answers = []
            while (taken := request_size(rest)) is not None:
                request, rest = rest[:taken], rest[taken:]
                with self.lock:
                    self.seen[split_request(request)] += 1
                head_only = request.startswith(b"HEAD ")
                answers.append(self.answer.split(b"\r\n\r\n")[0] + b"\r\n\r\n" if head_only else self.answer)
            connection.sendall(b"".join(answers))
        connection.close()

    def total(self) -> int:
        with self.lock:
            return sum(self.seen.values())


def request_size(data: bytes) -> int | None:
    head, end, _ = data.partition(b"\r\n\r\n")
    if not end:
        return None
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    size = len(head) + 4 + length
    return size if len(data) >= size else None


def split_request(request: bytes) -> tuple[str, frozenset[str], str]:
    head, _, body = request.decode("latin-1").partition("\r\n\r\n")
    first, *headers = head.split("\r\n")
    return first, frozenset(headers), body
