"""HTTP/2 with real servers: nginx, nghttpd, Node.js and Go. All requests are answered, once each."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from pathlib import Path

import ports
import pytest
from databases import listens, start_server
from required_tools import tool_path

NGINX = """
worker_processes 1; daemon off; error_log {folder}/error.log; pid {folder}/pid;
events {{ worker_connections 256; }}
http {{
  access_log {folder}/access.log; client_body_temp_path {folder}/body;
  keepalive_requests 100; http2_max_concurrent_streams 16;
  ssl_certificate {certificates}/server.pem; ssl_certificate_key {certificates}/server.key;
  server {{
    listen 127.0.0.1:{plain} http2; listen 127.0.0.1:{tls} ssl http2;
    location / {{ default_type text/plain; return 200 'hello'; }}
  }}
}}
"""

NODE = """
const http2 = require("node:http2"), fs = require("node:fs");
const [plain, tls, key, cert] = process.argv.slice(2);
function answer(stream, headers) {
  let bytes = 0;
  stream.on("error", () => {});
  stream.on("data", (part) => (bytes += part.length));
  stream.on("end", () => {
    stream.respond({ ":status": 200, "x-method": headers[":method"], trailer: "x-sum" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-sum": String(bytes) }));
    stream.end("x".repeat(bytes));
  });
  stream.resume();
}
http2.createServer({ settings: { maxConcurrentStreams: 8 } }).on("stream", answer).listen(Number(plain), "127.0.0.1");
const pair = { key: fs.readFileSync(key), cert: fs.readFileSync(cert) };
http2.createSecureServer(pair).on("stream", answer).listen(Number(tls), "127.0.0.1");
"""

GO = """
package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_ = n
		io.WriteString(w, r.Proto)
	})
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	plain := http.Server{Addr: os.Args[1], Handler: handler, Protocols: protocols}
	go plain.ListenAndServe()
	tls := http.Server{Addr: os.Args[2], Handler: handler, Protocols: protocols}
	tls.ListenAndServeTLS(os.Args[3], os.Args[4])
}
"""


class Peer:
    """A server that listens with and without TLS."""

    def __init__(self) -> None:
        self.plain, self.tls = ports.free(), ports.free()

    def wait(self) -> Peer:
        deadline = time.monotonic() + 20
        while not (listens(self.plain) and listens(self.tls)):
            assert time.monotonic() < deadline, "the server does not listen"
        return self

    def url(self, scheme: str) -> str:
        return f"{scheme}://127.0.0.1:{self.tls if scheme == 'https' else self.plain}/"


@pytest.fixture
def nginx(tmp_path, certificates):
    peer = Peer()
    config = tmp_path / "nginx.conf"
    config.write_text(NGINX.format(folder=tmp_path, certificates=certificates, plain=peer.plain, tls=peer.tls))
    # nginx's worker runs as another user, which may not enter the test's folder.
    user = ["-g", "user root;"] if os.getuid() == 0 else []
    with start_server(tool_path("nginx"), "-c", config, *user):
        yield peer.wait()


@pytest.fixture
def nghttpd(tmp_path, certificates):
    (tmp_path / "index.html").write_text("hello")
    peer, options = Peer(), ["-a", "127.0.0.1", "-d", tmp_path, "-m", "10"]
    pair = [certificates / "server.key", certificates / "server.pem"]
    tool = tool_path("nghttpd")
    with start_server(tool, *options, "--no-tls", peer.plain), start_server(tool, *options, peer.tls, *pair):
        yield peer.wait()


@pytest.fixture
def node(tmp_path, certificates):
    peer, program = Peer(), tmp_path / "server.js"
    program.write_text(NODE)
    pair = [certificates / "server.key", certificates / "server.pem"]
    with start_server("node", program, peer.plain, peer.tls, *pair):
        yield peer.wait()


@pytest.fixture(scope="session")
def go_program(tmp_path_factory) -> Path:
    tool = shutil.which("go")
    if not tool:
        pytest.skip("Go is not installed")
    folder = tmp_path_factory.mktemp("go")
    (folder / "main.go").write_text(GO)
    program = folder / "server"
    with contextlib.closing(os.popen(f"cd {folder} && GOFLAGS=-mod=mod {tool} build -o server main.go 2>&1")) as build:
        told = build.read()
    assert program.exists(), told
    return program


@pytest.fixture
def go(go_program, certificates):
    peer = Peer()
    addresses = [f"127.0.0.1:{peer.plain}", f"127.0.0.1:{peer.tls}"]
    with start_server(go_program, *addresses, certificates / "server.pem", certificates / "server.key"):
        yield peer.wait()


def load(loadline, peer: Peer, scheme: str, *flags: str) -> dict:
    """Sends 400 requests over two connections, and returns the summary."""
    url, tls = peer.url(scheme), ["-k"] if scheme == "https" else []
    # All users start together, so that one connection is not enough.
    load = ("-n", "400", "--users", "8", "-c", "2", "--http", "2-prior-knowledge")
    done = loadline("run", url, *load, *tls, *flags)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = loadline.summary()
    assert (summary["requests"]["issued"], summary["requests"]["ok"]) == (400, 400)
    # A connection that the server retires ends while others open.
    assert re.match(r"h2 \([234] connections", summary["run"]["http"]), summary["run"]["http"]
    return summary


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_nginx_closes_connections_and_loses_no_request(loadline, nginx, tmp_path, scheme):
    """nginx sends GOAWAY after 100 requests on a connection."""
    summary = load(loadline, nginx, scheme)
    http2 = summary["http2"]
    assert http2["opened"] >= 4
    assert http2["goaways"]["NO_ERROR"] >= 2
    # Requests that are on their way when nginx sends GOAWAY are sent again on another connection.
    assert http2["requests_per_connection"]["max"] <= 100 + 8
    assert http2["stream_limit"] == 16
    answered = (tmp_path / "access.log").read_text().splitlines()
    assert len([line for line in answered if '"GET / HTTP/2.0" 200' in line]) == 400


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_nghttpd(loadline, nghttpd, scheme):
    http2 = load(loadline, nghttpd, scheme)["http2"]
    assert (http2["opened"], http2["stream_limit"], http2["requests_per_connection"]["connections"]) == (2, 10, 2)
    sizes = http2["header_bytes"]
    assert 0 < sizes["sent_compressed"] < sizes["sent"] / 4, "constant fields are indexed"
    assert 0 < sizes["received_compressed"] < sizes["received"] / 2, "nghttpd indexes its answers"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_node_reads_bodies_and_sends_trailers(loadline, node, scheme):
    body = loadline.write("body", "x" * 5000)
    summary = load(loadline, node, scheme, "-d", f"@{body}")
    assert summary["all"]["bytes_out"] > 400 * 5000
    # 5,000 bytes, the frame header of each DATA frame, and the two header blocks.
    assert 400 * 5009 < summary["all"]["bytes_in"] < 400 * 5200
    assert summary["run"]["http"].endswith("server allows 8 streams)" if scheme == "http" else ")")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_go(loadline, go, scheme):
    body = loadline.write("body", "x" * 100_000)
    http2 = load(loadline, go, scheme, "-d", f"@{body}")["http2"]
    assert http2["upload_blocked_ns"] > 0, "Go's windows are smaller than the bodies of all streams"
    done = loadline("run", go.url(scheme), "--once", "--trace", "--http", "2-prior-knowledge", "-k")
    assert re.search(r"^< HTTP/2\.0$", done.stdout, re.M), done.stdout
