"""Fake servers with scripted behaviour, valid or not. They run in threads of the test process."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
from collections.abc import Callable, Iterator


class FakeServer:
    """Accepts connections and passes each to a function. Closes at the end of its `with` block."""

    def __init__(self, serve: Callable[[socket.socket], None], host: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.create_server((host, 0), family=family, backlog=512)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        self.serve = serve
        self.open: list[socket.socket] = []
        self.serving: list[threading.Thread] = []
        self.thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> FakeServer:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # shutdown() wakes the accepting thread, which close() alone does not.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.open:
            connection.close()
        self.thread.join(timeout=5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            # A thread must be started before it can be joined.
            thread.start()
            self.serving.append(thread)

    def wait_until_served(self) -> None:
        """Waits until everything from disconnected clients has been read."""
        for thread in self.serving:
            thread.join(timeout=5)

    def _serve(self, connection: socket.socket) -> None:
        try:
            self.serve(connection)
        except OSError:
            connection.close()


def never_answer(connection: socket.socket) -> None:
    """Reads and never answers."""
    while connection.recv(65536):
        pass


def send_garbage(connection: socket.socket) -> None:
    """Answers with bytes that are not HTTP."""
    while connection.recv(65536):
        connection.sendall(b"220 mail.example.test ESMTP ready\r\n\r\n")
    connection.close()


def answer_with(text: bytes) -> Callable[[socket.socket], None]:
    """Answers every request with the same bytes. A request must fit into one read."""

    def serve(connection: socket.socket) -> None:
        while connection.recv(65536):
            connection.sendall(text)
        connection.close()

    return serve


def ok_with(body: bytes = b"{}") -> Callable[[socket.socket], None]:
    return answer_with(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port that refuses connections. No other process can listen on it until the block ends."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


class Request:
    """A request that a server received."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body

    def __repr__(self) -> str:
        return f"{self.method} {self.path}"


class RecordingServer:
    """An HTTP server that records all requests and the peak number of concurrent requests."""

    def __init__(self, reply: Callable[[Request], tuple[int, dict[str, str], bytes]] | None = None, tls=None) -> None:
        recorder = self
        self.requests: list[Request] = []
        self.peak = self.current = 0
        self.lock = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.command, self.path, headers, self.rfile.read(length))
                with recorder.lock:
                    recorder.requests.append(request)
                    recorder.current += 1
                    recorder.peak = max(recorder.peak, recorder.current)
                status, extra, body = (reply or echo)(request)
                with recorder.lock:
                    recorder.current -= 1
                self.send_response_only(status)
                for name, value in extra.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def __getattr__(self, name: str):
                if name.startswith("do_"):
                    return self.serve
                raise AttributeError(name)

            def log_message(self, *_: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_: object) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> RecordingServer:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(timeout=5)

    @property
    def lines(self) -> list[str]:
        return [repr(request) for request in self.requests]


def echo(request: Request) -> tuple[int, dict[str, str], bytes]:
    """Answers with the request's path and body, as JSON."""
    said = {"id": "p7", "list": [1, 2], "path": request.path, "body": request.body.decode("latin-1")}
    return 200, {"content-type": "application/json", "x-id": "h7"}, json.dumps(said).encode()


class LimitedCapacity:
    """Answers at most `at_a_time` requests at the same time, each after `seconds`.

    Capacity: `at_a_time / seconds` per second.
    """

    def __init__(self, at_a_time: int, seconds: float) -> None:
        self.places = threading.Semaphore(at_a_time)
        self.seconds = seconds

    def __call__(self, _request) -> tuple[int, dict[str, str], bytes]:
        with self.places:
            threading.Event().wait(self.seconds)
        return 200, {}, b"{}"
