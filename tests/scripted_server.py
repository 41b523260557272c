"""A server for comparing clients. It answers by path and records the exact bytes it receives."""

from __future__ import annotations

import gzip
import socket
import zlib

from fake_servers import FakeServer

JSON = b'{"n": 12345, "text": "\xc3\xa9"}'


def answer(status: str, body: bytes = b"", *lines: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


ANSWERS = {
    "/": answer("200 OK", JSON, "Content-Type: application/json", "X-Seen: One"),
    "/created": answer("201 CREATED", b"made"),
    "/empty": b"HTTP/1.1 204 No Content\r\n\r\n",
    "/missing": answer("404 NOT FOUND", b"nothing here", "Content-Type: text/plain"),
    "/broken": answer("500 INTERNAL SERVER ERROR", b"oh no"),
    "/teapot": answer("418 I'M A TEAPOT", b"tea"),
    "/teapot/cookie": answer("418 I'M A TEAPOT", b"tea", "Set-Cookie: bad=1; Path=/"),
    "/binary": answer("404 NOT FOUND", b"\xff\xfe\x00"),
    "/to-missing": answer("302 Found", b"", "Location: /missing"),
    "/partial": answer("206 Partial Content", b"half"),
    "/there": answer("302 Found", b"", "Location: /"),
    "/far": answer("301 Moved Permanently", b"", "Location: /there"),
    "/see": answer("303 See Other", b"", "Location: /"),
    "/again": answer("307 Temporary Redirect", b"", "Location: /created"),
    "/loop": answer("302 Found", b"", "Location: /loop"),
    "/cookie": answer("200 OK", b"ok", "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d; Path=/"),
    "/away": answer("302 Found", b"", "Location: /", "Set-Cookie: on=theway; Path=/"),
    "/gzip": answer("200 OK", gzip.compress(JSON, mtime=0), "Content-Encoding: gzip", "Content-Type: application/json"),
    "/sealed": answer("200 OK", b"no gzip", "Content-Encoding: gzip"),
    "/deflate": answer("200 OK", zlib.compress(b"deflated"), "Content-Encoding: deflate"),
    "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n",
    "/latin": answer("200 OK", "caf\xe9".encode("latin-1"), "Content-Type: text/plain; charset=iso-8859-1"),
}

#: After these responses the server closes the connection.
ENDS = {
    "/gone": b"",
    "/cut": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
    "/cut-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
    "/cut-missing": b"HTTP/1.1 404 NOT FOUND\r\nContent-Length: 100\r\n\r\nabc",
    "/until-close": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it",
}


class ScriptedServer(FakeServer):
    """Answers on all connections and records requests in order."""

    def __init__(self) -> None:
        super().__init__(self._serve_one)
        self.requests: list[bytes] = []
        #: The number of the connection of each request.
        self.connections: list[int] = []

    def _serve_one(self, connection: socket.socket) -> None:
        number = self.open.index(connection)
        with connection, connection.makefile("rb") as stream:
            while head := _head(stream):
                lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                body = stream.read(int(lengths[0].split(b":")[1])) if lengths else b""
                self.requests.append(head + body)
                self.connections.append(number)
                path = head.split(b" ", 2)[1].decode().partition("?")[0]
                if path == "/silent":
                    # Block until the client gives up.
                    stream.read(1)
                    return
                if path in ENDS:
                    connection.sendall(ENDS[path])
                    return
                reply = ANSWERS.get(path, ANSWERS["/"])
                if head.startswith(b"HEAD "):
                    reply = reply.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
                connection.sendall(reply)


def _head(stream) -> bytes:
    lines = []
    while line := stream.readline():
        lines.append(line)
        if line == b"\r\n":
            return b"".join(lines)
    return b""
