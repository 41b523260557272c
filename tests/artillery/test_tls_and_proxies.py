"""TLS with its errors under Node's names, certificates, and proxies."""

import json
import socket
import threading

import fake_servers
import pytest
from certificates import serve

SCRIPT = """
config: {{ target: {url}, phases: [ {{ duration: 1, arrivalCount: 1 }} ], tls: {tls} }}
scenarios: [ {{ flow: [ {{ get: {{ url: /a }} }} ] }} ]
"""


def run(loadline, certificates, name: str, tls: str = "{}", client_ca: bool = False, host: str = "127.0.0.1", flags=(), env=None):
    with fake_servers.RecordingServer(tls=serve(certificates, name, client_ca)) as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url.replace("127.0.0.1", host), tls=tls))
        done = loadline("artillery", "run", script, "-o", "out.json", *flags, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    counters = json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]
    return [key.removeprefix("errors.") for key in counters if key.startswith("errors.")], peer


@pytest.mark.parametrize(
    ("name", "tls", "error"),
    [
        ("server", "{ ca: AUTHORITY }", None),
        ("alone", "{ rejectUnauthorized: false }", None),
        ("alone", "{}", "DEPTH_ZERO_SELF_SIGNED_CERT"),
        ("alone", "{ ca: ALONE }", None),
        ("server", "{}", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
        ("chain", "{}", "SELF_SIGNED_CERT_IN_CHAIN"),
        ("elsewhere", "{ ca: AUTHORITY }", "ERR_TLS_CERT_ALTNAME_INVALID"),
        ("elsewhere", "{ ca: AUTHORITY, servername: elsewhere.test }", None),
        ("old", "{ ca: AUTHORITY }", "CERT_HAS_EXPIRED"),
    ],
)
def test_server_certificate_is_verified_as_in_node(loadline, certificates, name, tls, error):
    tls = tls.replace("AUTHORITY", str(certificates / "authority.pem")).replace("ALONE", str(certificates / "alone.pem"))
    errors, peer = run(loadline, certificates, name, tls)
    assert errors == ([error] if error else [])
    assert peer.lines == ([] if error else ["GET /a"])


def test_alpn_is_not_offered(loadline, certificates):
    """Node's client offers no ALPN, so a server that would refuse HTTP/1.1 may still answer.

    Loadline's own client offers it.
    """
    context = serve(certificates, "server")
    context.set_alpn_protocols(["http/1.1"])
    chosen = []

    def say(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as tls:
            chosen.append(tls.selected_alpn_protocol())
            fake_servers.ok_with()(tls)

    with fake_servers.FakeServer(say) as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url.replace("http", "https"), tls="{}"))
        for command in (["artillery", "run"], ["run"]):
            done = loadline(*command, script, "-k")
            assert done.returncode == 0, done.stderr
    assert chosen == [None, "http/1.1"]


def test_node_extra_ca_certs_are_trusted(loadline, certificates):
    """Node trusts these in addition to the system's. A test's own `ca` replaces all of them."""

    def extra(file: str) -> dict[str, str]:
        return {"NODE_EXTRA_CA_CERTS": str(certificates / file)}

    errors, peer = run(loadline, certificates, "server", env=extra("authority.pem"))
    assert (errors, peer.lines) == ([], ["GET /a"])
    alone = f"{{ ca: {certificates / 'alone.pem'} }}"
    assert run(loadline, certificates, "server", alone, env=extra("authority.pem"))[0] == ["UNABLE_TO_VERIFY_LEAF_SIGNATURE"]
    with fake_servers.RecordingServer() as plain:
        script = loadline.write("s.yml", SCRIPT.format(url=plain.url, tls="{}"))
        done = loadline("artillery", "run", script, env=extra("gone.pem"))
    assert done.returncode == 0
    assert plain.lines == ["GET /a"]
    assert f"warning: NODE_EXTRA_CA_CERTS: ignoring extra certificates from `{certificates}/gone.pem`" in done.stderr


def test_insecure_flag_accepts_any_certificate(loadline, certificates):
    assert run(loadline, certificates, "alone", flags=["-k"])[0] == []


def test_client_certificates_are_sent(loadline, certificates):
    authority, client = certificates / "authority.pem", certificates / "client"
    # Text in the script, and files in its folder.
    pem = json.dumps((certificates / "client.pem").read_text())
    tls = f"{{ ca: {authority}, cert: {pem}, key: {client}.key }}"
    errors, peer = run(loadline, certificates, "server", tls, client_ca=True)
    assert (errors, peer.lines) == ([], ["GET /a"])
    errors, peer = run(loadline, certificates, "server", f"{{ ca: {authority} }}", client_ca=True)
    assert (errors, peer.lines) == (["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"], [])
    for file in (loadline.folder / ".loadline/runs").rglob("*"):
        assert not file.is_file() or b"PRIVATE KEY" not in file.read_bytes()


def test_https_to_a_plain_server_is_eproto(loadline):
    with fake_servers.RecordingServer() as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url.replace("http", "https"), tls="{}"))
        done = loadline("artillery", "run", script)
    assert "errors.EPROTO: " in done.stdout


class Proxy:
    """A proxy that connects to any host, or refuses, and records the requests."""

    def __init__(self, status: str = "200 Connection established") -> None:
        self.asked: list[str] = []
        self.status = status

    def __call__(self, client: socket.socket) -> None:
        head = client.recv(65536).decode()
        self.asked.append(head)
        client.sendall(f"HTTP/1.1 {self.status}\r\n\r\n".encode())
        if not self.status.startswith("200"):
            return client.close()
        host, port = head.split(" ")[1].rsplit(":", 1)
        server = socket.create_connection((host, int(port)))

        def pump(source: socket.socket, sink: socket.socket) -> None:
            try:
                while data := source.recv(65536):
                    sink.sendall(data)
                sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        back = threading.Thread(target=pump, args=(server, client), daemon=True)
        back.start()
        pump(client, server)
        back.join(timeout=5)
        server.close()


def test_requests_go_through_the_proxy(loadline, certificates):
    proxy = Proxy()
    with fake_servers.FakeServer(proxy) as pipe, fake_servers.RecordingServer() as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url, tls="{}"))
        environment = {"HTTP_PROXY": pipe.url.replace("http://", "http://user:p%40ss@")}
        done = loadline("artillery", "run", script, env=environment)
    assert "http.codes.200: " in done.stdout, done.stdout + done.stderr
    host = peer.url.removeprefix("http://")
    assert proxy.asked == [f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n\r\n"]
    proxy = Proxy()
    with fake_servers.FakeServer(proxy) as pipe, fake_servers.RecordingServer(tls=serve(certificates, "server")) as peer:
        tls = f"{{ ca: {certificates / 'authority.pem'} }}"
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url, tls=tls))
        done = loadline("artillery", "run", script, env={"HTTP_PROXY": pipe.url})
    assert "http.codes.200: " in done.stdout, done.stdout + done.stderr
    assert len(proxy.asked) == 1


def test_refusing_proxy_is_an_error(loadline):
    proxy = Proxy("407 Proxy Authentication Required")
    with fake_servers.FakeServer(proxy) as pipe, fake_servers.RecordingServer() as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url, tls="{}"))
        done = loadline("artillery", "run", script, env={"HTTP_PROXY": pipe.url})
    assert "errors.ERR_PROXY_CONNECT: " in done.stdout
    assert peer.lines == []
