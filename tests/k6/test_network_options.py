"""`loadline k6 run`: options about addresses, TLS versions, and where messages go."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager

import fake_servers
import pytest
from certificates import serve

GET = """
import http from 'k6/http';
export default function () {
  const r = http.get(__ENV.URL);
  console.log(`got ${r.status} ${r.error_code} ${r.tls_version} ${r.error}`);
}
"""


@pytest.fixture
def k6(loadline):
    """Runs a script that sends one request to a URL and logs the result."""

    def run(url: str, *flags: str, options: str = "{}", code: int = 0):
        loadline.write("script.js", f"export const options = {options};\n{GET}")
        done = loadline("k6", "run", "-e", f"URL={url}", *flags, "script.js")
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}{done.stderr}"
        return done

    return run


@pytest.fixture
def server():
    with fake_servers.RecordingServer() as server:
        yield server


@contextmanager
def noting_clients():
    """A server that notes the addresses of its clients, one for each connection."""
    clients = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            clients.append(self.client_address[0])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", clients
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("flags", [("--blacklist-ip", "127.0.0.0/8"), ("--blacklist-ip", "10.0.0.0/8", "--blacklist-ip", "127.0.0.1")])
def test_no_request_is_sent_to_an_address_of_the_blacklist(k6, server, flags):
    done = k6(server.url, *flags)
    assert f"got 0 1110  IP (127.0.0.1) is in a blacklisted range ({flags[-1]})" in done.stderr
    assert server.lines == []


def test_other_addresses_are_allowed(k6, server):
    done = k6(server.url, options="{ blacklistIPs: ['10.0.0.0/8', '::1'] }")
    assert "got 200 0" in done.stderr
    # A name is reached by its other addresses.
    done = k6(server.url.replace("127.0.0.1", "localhost"), options="{ blacklistIPs: ['::/0'] }")
    assert "got 200 0" in done.stderr
    # The addresses of `hosts` are checked too.
    done = k6("http://shop.test/", options="{ blacklistIPs: ['10.0.0.0/8'], hosts: { 'shop.test': '10.1.2.3' } }")
    assert "got 0 1110  IP (10.1.2.3) is in a blacklisted range (10.0.0.0/8)" in done.stderr


def test_connections_come_from_the_local_addresses_in_turn(k6):
    with noting_clients() as (url, clients):
        k6(url, "--local-ips", "127.0.0.2-127.0.0.3", "--vus", "4", "--iterations", "4", "--no-connection-reuse")
    assert sorted(clients) == ["127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3"]


def test_too_many_local_addresses_are_refused(k6, server):
    done = k6(server.url, "--local-ips", "10.0.0.0/8", code=104)
    assert "--local-ips: more than 65536 addresses: use smaller ranges" in done.stderr


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ("'tls1.2'", "tls1.2"),
        ("{ min: 'tls1.0', max: 'tls1.2' }", "tls1.2"),
        ("{ min: 'tls1.3' }", "tls1.3"),
        ("{ max: 'tls1.3' }", "tls1.3"),
    ],
)
def test_versions_of_tls_are_limited(k6, certificates, versions, expected):
    def answer(connection):
        with serve(certificates, "server").wrap_socket(connection, server_side=True) as tls:
            fake_servers.ok_with()(tls)

    with fake_servers.FakeServer(answer) as peer:
        done = k6(peer.url.replace("http", "https"), options=f"{{ insecureSkipTLSVerify: true, tlsVersion: {versions} }}")
    assert f"got 200 0 {expected}" in done.stderr


def test_versions_that_are_not_offered_are_refused(k6, server):
    done = k6(server.url, options="{ tlsVersion: { min: 'tls1.0', max: 'tls1.1' } }", code=104)
    assert "option `tlsVersion` without TLS 1.2 and 1.3 is not supported: allow one of these versions" in done.stderr


def test_names_are_looked_up_as_the_policy_says(k6, server):
    url = server.url.replace("127.0.0.1", "localhost")
    for policy in ("onlyIPv4", "preferIPv4", "any"):
        done = k6(url, "--dns", f"ttl=0,select=first,policy={policy}", options="{ hosts: { 'other.test': '127.0.0.9' } }")
        # With `any`, the first address may be of IPv6.
        assert "got 200 0" in done.stderr or (policy == "any" and "got 0 1212" in done.stderr), done.stderr
    # The server has an IPv4 address only.
    done = k6(url, options="{ dns: { policy: 'onlyIPv6' } }")
    assert "got 0 1101" in done.stderr or "got 0 1212" in done.stderr, done.stderr


def test_messages_of_the_script_go_to_a_file(k6, server, loadline):
    done = k6(server.url, "--console-output", "console.txt")
    assert "got 200" not in done.stderr
    text = (loadline.folder / "console.txt").read_text()
    assert 'level=info msg="got 200 0  " source=console' in text
    # Other messages stay in the log, and the next run appends.
    k6(server.url, "--console-output", "console.txt")
    assert (loadline.folder / "console.txt").read_text().count("got 200") == 2
    done = k6(server.url, "--console-output", "no/such/folder", code=104)
    assert "--console-output: no/such/folder: No such file" in done.stderr


@pytest.mark.parametrize(("flag", "has_body"), [("--http-debug", False), ("--http-debug=full", True)])
def test_requests_and_responses_are_logged(loadline, server, flag, has_body):
    script = "import http from 'k6/http';\nexport default function () { http.post(`${__ENV.URL}/a`, 'the body'); }\n"
    loadline.write("script.js", script)
    done = loadline("k6", "run", flag, "-e", f"URL={server.url}", "script.js")
    assert done.returncode == 0, done.stderr
    assert r'msg="Request:\nPOST /a HTTP/1.1\r\nHost: 127.0.0.1:' in done.stderr
    assert r'msg="Response:\nHTTP/1.1 200 OK\r\n' in done.stderr
    assert "source=http-debug" in done.stderr
    assert ("the body" in done.stderr) == has_body
