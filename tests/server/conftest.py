"""Real PostgreSQL, Redis and Prometheus servers, and a small service that uses them."""

from __future__ import annotations

import contextlib
import queue
import socket
import subprocess
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import databases
import ports
import pytest
from conftest import wait_until
from databases import Postgres, start_server
from required_tools import tool_path


@pytest.fixture(scope="session")
def postgres(certificates: Path):
    with databases.postgres(certificates) as server:
        yield server


@pytest.fixture
def redis(tmp_path: Path):
    with databases.redis(tmp_path) as port:
        yield port


class Service:
    """Answers `/stock` using the database and Redis, and `/metrics` for Prometheus."""

    def __init__(self, database: Postgres, redis: int | None, connections: int) -> None:
        self.served = 0
        self.counting = threading.Lock()
        self.redis = redis and socket.create_connection(("127.0.0.1", redis), timeout=5)
        if self.redis:
            self.redis.sendall(b"AUTH hunter2\r\n")
            assert self.redis.recv(100) == b"+OK\r\n"
        self.clients: queue.SimpleQueue = queue.SimpleQueue()
        self.processes = []
        for _ in range(connections):
            client = subprocess.Popen(
                database.psql(user="shop"), env=database.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
            self.processes.append(client)
            self.clients.put(client)
        for client in self.processes:
            self.statement(client, "SELECT 1;")
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = outer.answer(self.path).encode()
                self.send_response(200)
                self.send_header("content-type", "text/plain; version=0.0.4")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def statement(client: subprocess.Popen[str], text: str) -> None:
        client.stdin.write(f"{text}\n\\echo done\n")
        client.stdin.flush()
        while client.stdout.readline() != "done\n":
            assert client.poll() is None, "psql has ended"

    def answer(self, path: str) -> str:
        if path == "/metrics":
            return f'# TYPE served counter\nserved_total{{path="/stock"}} {self.served}\n# TYPE up_since gauge\nup_since 7\n'
        client = self.clients.get()
        try:
            # All requests lock the same row for a moment, so others wait for the lock.
            held = "PERFORM pg_sleep(0.05);" if path == "/held" else ""
            self.statement(client, f"DO $$ BEGIN UPDATE stock SET n = n + 1 WHERE id = 1; {held} END $$; SELECT count(*) FROM stock;")
        finally:
            self.clients.put(client)
        with self.counting:
            self.served += 1
            if self.redis:
                self.redis.sendall(b"INCR served\r\n")
                self.redis.recv(100)
        return "ok"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        if self.redis:
            self.redis.close()
        for client in self.processes:
            client.stdin.close()
            client.wait(timeout=10)
            client.stdout.close()


@pytest.fixture
def serve(postgres: Postgres):
    services = []

    def start(connections: int = 3, redis: int | None = None) -> Service:
        services.append(Service(postgres, redis, connections))
        return services[-1]

    yield start
    for service in services:
        service.close()


@pytest.fixture
def prometheus(tmp_path: Path):
    """Starts a Prometheus that scrapes a service once a second."""
    with contextlib.ExitStack() as ends:

        def start(target: str, interval: str = "1s") -> str:
            port = ports.free()
            config = tmp_path / "prometheus.yml"
            config.write_text(
                f"global: {{ scrape_interval: {interval}, scrape_timeout: {interval} }}\n"
                f"scrape_configs: [{{ job_name: shop, static_configs: [{{ targets: ['{target.removeprefix('http://')}'] }}] }}]\n"
            )
            flags = [f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"]
            ends.enter_context(start_server(tool_path("prometheus"), *flags, cwd=tmp_path, kill=True))
            url = f"http://127.0.0.1:{port}"

            def has_scraped() -> bool:
                with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/api/v1/query?query=up", timeout=2) as answer:
                    return b'"1"' in answer.read()
                return False

            wait_until(has_scraped, "a scrape of Prometheus")
            return url

        yield start


@pytest.fixture
def remote_write(tmp_path: Path):
    """A Prometheus that takes remote writes."""
    port = ports.free()
    config = tmp_path / "prometheus.yml"
    config.write_text("{}\n")
    flags = [f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"]
    with start_server(tool_path("prometheus"), *flags, "--web.enable-remote-write-receiver", cwd=tmp_path, kill=True):
        url = f"http://127.0.0.1:{port}"

        def is_ready() -> bool:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/-/ready", timeout=2) as answer:
                return answer.status == 200
            return False

        wait_until(is_ready, "Prometheus")
        yield url
