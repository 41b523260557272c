"""Custom certificates, addresses and sockets, from the command line and from a plan, with errors
reported before the run.
"""

import json
import socket
import tempfile
from pathlib import Path

import fake_servers
import pytest
from certificates import serve

LOAD = ("--rate", "20/s", "--duration", "200ms")
PLAN = """
loadline: 1
target: {url}
load: {{ count: 4, duration: 100ms }}
http: {http}
steps: [ {{ get: /a }} ]
"""


def assert_answered(loadline, done) -> str:
    """Asserts that four requests were answered. Returns the first line of output."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert loadline.summary()["requests"]["ok"] == 4, done.stdout
    return done.stderr.splitlines()[0]


def assert_refused(done, *words: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    assert all(word in line for word in words), line


@pytest.fixture
def asks_for_a_client(certificates):
    """A server that requires a client certificate and records the requested server names."""
    context = serve(certificates, "server", client_ca=True)
    context.names = []
    context.sni_callback = lambda _, name, context: context.names.append(name)
    with fake_servers.RecordingServer(tls=context) as peer:
        peer.names = context.names
        yield peer


def test_custom_certificates_are_used(loadline, certificates, asks_for_a_client):
    peer = asks_for_a_client
    client, authority = certificates / "client", certificates / "authority.pem"
    pair = ("--cert", f"{client}.pem", "--key", f"{client}.key")
    assert_answered(loadline, loadline("run", peer.url, *LOAD, "--cacert", authority, *pair, "--server-name", "right.test"))
    assert set(peer.names) == {"right.test"}
    both = loadline.write("both.pem", Path(f"{client}.key").read_text() + Path(f"{client}.pem").read_text())
    assert_answered(loadline, loadline("run", peer.url, *LOAD, "--cacert", authority, "--cert", both))
    # Paths are relative to the plan; keys may also be given as text.
    key = json.dumps(Path(f"{client}.key").read_text())
    http = f"{{ tls: {{ ca: {authority}, cert: both.pem, key: {key}, server-name: right.test }} }}"
    plan = loadline.write("p.yml", PLAN.format(url=peer.url, http=http))
    assert_answered(loadline, loadline("run", plan))
    assert set(peer.names[-4:]) == {"right.test"}
    # The command line takes precedence.
    loadline("run", plan, "--server-name", "elsewhere.test")
    assert [error["reason"] for error in loadline.summary()["errors"]] == ["TLS: certificate is for another name"]
    for file in (loadline.folder / ".loadline/runs").rglob("*"):
        assert not file.is_file() or b"PRIVATE KEY" not in file.read_bytes()


def test_unusable_certificate_files_are_refused(loadline, certificates):
    url = "https://127.0.0.1:1"
    client, server, authority = (certificates / name for name in ("client", "server", "authority"))
    empty = loadline.write("empty.pem", "")
    run = lambda *flags, what=url: loadline("run", what, *LOAD, *flags)  # noqa: E731
    assert_refused(run("--cacert", "gone.pem"), "--cacert gone.pem", "No such file")
    assert_refused(run("--cacert", empty), f"--cacert {empty}", "no PEM text")
    assert_refused(run("--cert", "gone.pem", "--key", f"{client}.key"), "--cert gone.pem", "No such file")
    assert_refused(run("--cert", f"{client}.pem"), f"--cert {client}.pem", "contains no key", "--key FILE")
    assert_refused(run("--key", f"{client}.key"), "--key without --cert")
    assert_refused(run("--cert", f"{client}.pem", "--key", f"{server}.key"), "the key does not belong to the client certificate")
    assert_refused(run("--cacert", f"{client}.key"), "the authorities", "no certificate")
    assert_refused(run("-k", "--cacert", f"{authority}.pem"), "--cacert cannot be combined with -k")
    assert_refused(run("--server-name", "a b"), "`a b` is not a valid server name")
    assert_refused(run("--cacert", f"{authority}.pem", what="http://127.0.0.1:1"), "--cacert requires https")
    for http, words in [
        ("{ tls: { ca: gone.pem } }", ["p.yml:5:20", "`ca: gone.pem`", "No such file"]),
        (f"{{ tls: {{ cert: {client}.pem }} }}", ["p.yml:5:22", "`cert` without `key`"]),
        ("{ tls: { sni: a } }", ["p.yml:5:16", "unknown key `sni`"]),
        ("{ resolve: 'a:443' }", ["p.yml:5:18", "HOST:PORT:ADDRESS"]),
        ("{ unix: gone.sock }", ["gone.sock", "No such file"]),
    ]:
        assert_refused(loadline("run", loadline.write("p.yml", PLAN.format(url=url, http=http))), *words)


def test_custom_addresses_are_used(loadline, certificates):
    with fake_servers.RecordingServer(tls=serve(certificates, "server")) as peer:
        url, authority = f"https://right.test:{peer.port}", certificates / "authority.pem"
        one = f"Right.Test:{peer.port}:127.0.0.1"
        first = assert_answered(loadline, loadline("run", url, *LOAD, "--cacert", authority, "--resolve", one))
        assert first == "loadline: load goes to right.test (as given: 127.0.0.1, this machine)"
        assert peer.requests[0].headers["host"] == f"right.test:{peer.port}"
        http = f"{{ tls: {{ ca: {authority} }}, resolve: ['*:{peer.port}:127.0.0.1'] }}"
        assert_answered(loadline, loadline("run", loadline.write("p.yml", PLAN.format(url=url, http=http))))
        # A fixed host list with a name does not allow the name's custom address.
        fixed = {"LOADLINE_ALLOW_HOSTS": "right.test"}
        done = loadline("run", url, *LOAD, "--resolve", one, env=fixed)
        assert_refused(done, "host not allowed: `127.0.0.1` is not in LOADLINE_ALLOW_HOSTS")
    assert_refused(loadline("run", url, "--resolve", "right.test:443"), "--resolve 'right.test:443'", "HOST:PORT:ADDRESS")
    done = loadline("run", "http://127.0.0.1:1", *LOAD, "--resolve", "other.test:1:127.0.0.1")
    assert "resolve other.test:1:127.0.0.1: the test does not use this host" in done.stderr


class OnSocket(fake_servers.FakeServer):
    """A server on a Unix domain socket."""

    def __init__(self, path: Path, then) -> None:
        super().__init__(then)
        self.listener.close()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(64)


def test_unix_socket_is_used(loadline, certificates):
    heads = []

    def plain(connection: socket.socket) -> None:
        while head := connection.recv(65536):
            heads.append(head)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def secret(connection: socket.socket) -> None:
        with serve(certificates, "server").wrap_socket(connection, server_side=True) as tls:
            plain(tls)

    # The path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="loadline") as folder:
        path = Path(folder) / "s"
        with OnSocket(path, plain):
            first = assert_answered(loadline, loadline("run", "http://app.test/x", *LOAD, "--unix", path))
            assert first == f"loadline: load is sent to the socket {path} (on this machine), for app.test"
            assert heads[0].startswith(b"GET /x HTTP/1.1\r\nHost: app.test\r\n"), heads[0]
            plan = loadline.write("p.yml", PLAN.format(url="http://app.test", http=f"{{ unix: {path} }}"))
            assert_answered(loadline, loadline("run", plan))
            fixed = {"LOADLINE_ALLOW_HOSTS": "app.test"}
            assert_refused(loadline("run", plan, env=fixed), "host not allowed: `localhost`")
            assert_refused(loadline("run", plan, "--resolve", "app.test:80:127.0.0.1"), "cannot be combined with the socket")
        done = loadline("run", "http://app.test/x", *LOAD, "--unix", path)
        assert done.returncode == 3, done.stdout
        assert [error["reason"] for error in loadline.summary()["errors"]] == ["connection refused"]
        path.unlink()
        with OnSocket(path, secret):
            trust = ("--cacert", certificates / "authority.pem")
            assert_answered(loadline, loadline("run", "https://right.test/x", *LOAD, *trust, "--unix", path))
    assert_refused(loadline("run", "http://app.test/", "--unix", "gone"), "gone: No such file")
    assert_refused(loadline("run", "http://app.test/", "--unix", loadline.write("file", "")), "this is not a socket")
    script = loadline.write("w.lua", "")
    assert_refused(loadline("run", script, "--target", "http://127.0.0.1:1", "--unix", "s"), "are not available for wrk scripts")
