"""TLS with real servers: errors are named, and HTTP works over TLS."""

import re
import socket
import ssl
import subprocess
import threading

import fake_servers
import pytest
from certificates import serve
from required_tools import tool_path

LOAD = ("--rate", "20/s", "--duration", "200ms")
SETTINGS = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64"


def error_counts(loadline, url: str, *flags, env=None) -> dict[str, int]:
    """Returns the count of each error reason over four requests.

    Each reason must also be printed.
    """
    done = loadline("run", url, *LOAD, *flags, env=env)
    assert done.returncode in (0, 1, 3), done.stderr
    summary = loadline.summary()
    assert summary["requests"]["issued"] == 4
    for error in summary["errors"]:
        assert error["reason"] in re.sub(r"\s+", " ", done.stdout), done.stdout
    return loadline.errors()


class Tls(fake_servers.FakeServer):
    """A server with TLS."""

    def __init__(self, context: ssl.SSLContext, then) -> None:
        def handshake(connection: socket.socket) -> None:
            with context.wrap_socket(connection, server_side=True) as tls:
                then(tls)

        super().__init__(handshake)
        self.url = self.url.replace("http", "https")


def tls_1_1(certificates) -> ssl.SSLContext:
    context = serve(certificates, "server")
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_tls_fault_of_the_server_is_named(loadline, certificates):
    ok = fake_servers.ok_with()
    with fake_servers.FakeServer(ok) as plain:
        found = error_counts(loadline, plain.url.replace("http", "https"))
        assert found == {"TLS: the port answers in plain text, without TLS": 4}
    with fake_servers.FakeServer(lambda connection: (connection.recv(1), connection.close())) as closing:
        (cause,) = error_counts(loadline, closing.url.replace("http", "https"))
        # Unread data makes some kernels report a reset.
        assert cause in ("TLS: connection closed during the handshake", "connection reset")
    with Tls(tls_1_1(certificates), ok) as peer:
        assert error_counts(loadline, peer.url, "-k") == {"TLS: no common version (ours: 1.2, 1.3)": 4}
    with Tls(serve(certificates, "server", client_ca=True), ok) as peer:
        found = error_counts(loadline, peer.url, "-k")
        assert found == {"TLS: the server refused, alert certificate_required": 4}
    with Tls(serve(certificates, "server"), ok) as peer:
        assert error_counts(loadline, peer.url) == {"TLS: unknown issuer": 4}
    with fake_servers.FakeServer(fake_servers.answer_with(b"\x15\x03\x01\0\x02\x02\x0a")) as alarmed:
        assert error_counts(loadline, alarmed.url) == {"not HTTP: the port uses TLS (https)": 4}
    with Tls(serve(certificates, "old"), ok) as peer:
        trust = {"SSL_CERT_FILE": str(certificates / "authority.pem")}
        assert error_counts(loadline, peer.url, env=trust) == {"TLS: certificate expired": 4}


def test_tls_end_without_close_notify_is_accepted_as_end(loadline, certificates):
    """A TCP close without close_notify completes only a body that ends with the connection."""

    def once(text: bytes):
        return lambda tls: (tls.recv(65536), tls.sendall(text))

    with Tls(serve(certificates, "server"), once(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end")) as peer:
        assert error_counts(loadline, peer.url, "-k") == {}
    with Tls(serve(certificates, "server"), once(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort")) as peer:
        assert error_counts(loadline, peer.url, "-k") == {"connection closed before the answer was complete": 4}


def test_tls_alpn_offers_http_1_1(loadline, certificates):
    context = serve(certificates, "server")
    context.set_alpn_protocols(["h2", "http/1.1"])
    chosen = []

    def say(tls: ssl.SSLSocket) -> None:
        chosen.append(tls.selected_alpn_protocol())
        fake_servers.ok_with()(tls)

    with Tls(context, say) as peer:
        assert error_counts(loadline, peer.url, "-k") == {}
    assert set(chosen) == {"http/1.1"}


@pytest.fixture
def only_http2(certificates):
    """A server that accepts HTTP/2 only."""
    pair = ["-cert", certificates / "server.pem", "-key", certificates / "server.key"]
    command = [tool_path("openssl"), "s_server", "-accept", "127.0.0.1:0", "-alpn", "h2", *pair]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    port = next(line.rsplit(":", 1)[1].strip() for line in process.stdout if line.startswith("ACCEPT"))
    # Its output must be drained.
    drain = threading.Thread(target=process.stdout.read, daemon=True)
    drain.start()
    yield f"https://127.0.0.1:{port}"
    process.kill()
    process.wait(timeout=10)
    drain.join(timeout=10)
    process.stdin.close()
    process.stdout.close()


def test_tls_server_with_http_2_only_is_named(loadline, certificates, only_http2):
    assert error_counts(loadline, only_http2, "-k") == {"TLS: the server supports only HTTP/2": 4}
    frames = "not HTTP/1.1: the server supports only HTTP/2"
    with fake_servers.FakeServer(fake_servers.answer_with(SETTINGS)) as clear:
        assert error_counts(loadline, clear.url) == {frames: 4}
    with Tls(serve(certificates, "server"), fake_servers.answer_with(SETTINGS)) as peer:
        assert error_counts(loadline, peer.url, "-k") == {frames: 4}


def test_tls_server_certificate_itself_can_be_trusted(loadline, certificates):
    """As in OpenSSL, a server's own certificate can be trusted directly, even if it is not an
    authority.
    """
    with Tls(serve(certificates, "alone"), fake_servers.ok_with()) as peer:
        own = {"SSL_CERT_FILE": str(certificates / "alone.pem")}
        assert error_counts(loadline, peer.url, env=own) == {}
        assert error_counts(loadline, peer.url.replace("127.0.0.1", "localhost"), env=own) == {
            "TLS: certificate is for another name": 4
        }
        other = {"SSL_CERT_FILE": str(certificates / "authority.pem")}
        assert error_counts(loadline, peer.url, env=other) == {"TLS: self-signed certificate": 4}
        bundle = loadline.folder / "bundle.pem"
        bundle.write_bytes(b"# Caf\xe9 Root CA\n" + (certificates / "alone.pem").read_bytes())
        done = loadline("run", peer.url, *LOAD, env={"SSL_CERT_FILE": str(bundle)})
        assert (loadline.summary()["errors"], "warning" in done.stderr) == ([], False), done.stderr
        done = loadline("run", peer.url, *LOAD, env={"SSL_CERT_FILE": "gone.pem"})
        assert "warning: SSL_CERT_FILE: gone.pem: No such file" in done.stderr
    with Tls(serve(certificates, "old"), fake_servers.ok_with()) as peer:
        own = {"SSL_CERT_FILE": str(certificates / "old.pem")}
        assert error_counts(loadline, peer.url, env=own) == {"TLS: certificate expired": 4}
