"""TLS as servers really have it: why it fails is told by name, and what travels under it."""

import re
import socket
import ssl
import subprocess
import threading

import peers
import pytest
from certificates import serve
from needs import need

LOAD = ("--rate", "20/s", "--duration", "200ms")
SETTINGS = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64"


def causes(loadline, url: str, *flags, env=None) -> dict[str, int]:
    """How often which reason was counted, of four requests; they must be in the console too."""
    done = loadline("run", url, *LOAD, *flags, env=env)
    assert done.returncode in (0, 1, 3), done.stderr
    summary = loadline.summary()
    assert summary["requests"]["issued"] == 4
    for error in summary["errors"]:
        assert error["reason"] in re.sub(r"\s+", " ", done.stdout), done.stdout
    return {error["reason"]: error["count"] for error in summary["errors"]}


class Tls(peers.Peer):
    """A peer behind TLS."""

    def __init__(self, context: ssl.SSLContext, then) -> None:
        def handshake(connection: socket.socket) -> None:
            with context.wrap_socket(connection, server_side=True) as tls:
                then(tls)

        super().__init__(handshake)
        self.url = self.url.replace("http", "https")


def old(certificates) -> ssl.SSLContext:
    context = serve(certificates, "server")
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_faults_of_the_server_by_name(loadline, certificates):
    ok = peers.ok()
    with peers.Peer(ok) as plain:
        found = causes(loadline, plain.url.replace("http", "https"))
        assert found == {"TLS: the port answers in clear, without TLS": 4}
    with peers.Peer(lambda connection: (connection.recv(1), connection.close())) as closing:
        (cause,) = causes(loadline, closing.url.replace("http", "https"))
        # What was sent and never read makes some kernels say "reset".
        assert cause in ("TLS: connection closed during the handshake", "connection reset")
    with Tls(old(certificates), ok) as peer:
        assert causes(loadline, peer.url, "-k") == {"TLS: no version in common (ours: 1.2, 1.3)": 4}
    with Tls(serve(certificates, "server", client_ca=True), ok) as peer:
        found = causes(loadline, peer.url, "-k")
        assert found == {"TLS: the server refused, alert certificate_required": 4}
    with Tls(serve(certificates, "server"), ok) as peer:
        assert causes(loadline, peer.url) == {"TLS: unknown issuer": 4}
    with peers.Peer(peers.answer(b"\x15\x03\x01\0\x02\x02\x0a")) as alarmed:
        assert causes(loadline, alarmed.url) == {"not HTTP: the port speaks TLS (https)": 4}
    with Tls(serve(certificates, "old"), ok) as peer:
        trust = {"SSL_CERT_FILE": str(certificates / "authority.pem")}
        assert causes(loadline, peer.url, env=trust) == {"TLS: certificate expired": 4}


def test_an_end_without_a_goodbye_is_an_end(loadline, certificates):
    """TCP's end, without TLS's own before it, completes what is delimited by the end and nothing else."""

    def once(text: bytes):
        return lambda tls: (tls.recv(65536), tls.sendall(text))

    with Tls(serve(certificates, "server"), once(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end")) as peer:
        assert causes(loadline, peer.url, "-k") == {}
    with Tls(serve(certificates, "server"), once(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort")) as peer:
        assert causes(loadline, peer.url, "-k") == {"connection closed before the answer was complete": 4}


def test_http_1_is_offered(loadline, certificates):
    context = serve(certificates, "server")
    context.set_alpn_protocols(["h2", "http/1.1"])
    chosen = []

    def say(tls: ssl.SSLSocket) -> None:
        chosen.append(tls.selected_alpn_protocol())
        peers.ok()(tls)

    with Tls(context, say) as peer:
        assert causes(loadline, peer.url, "-k") == {}
    assert set(chosen) == {"http/1.1"}


@pytest.fixture
def only_http2(certificates):
    """A server that refuses whoever does not speak HTTP/2."""
    pair = ["-cert", certificates / "server.pem", "-key", certificates / "server.key"]
    command = [need("openssl"), "s_server", "-accept", "127.0.0.1:0", "-alpn", "h2", *pair]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    port = next(line.rsplit(":", 1)[1].strip() for line in process.stdout if line.startswith("ACCEPT"))
    # Nobody else reads what it says.
    drain = threading.Thread(target=process.stdout.read, daemon=True)
    drain.start()
    yield f"https://127.0.0.1:{port}"
    process.kill()
    process.wait(timeout=10)
    drain.join(timeout=10)
    process.stdin.close()
    process.stdout.close()


def test_servers_that_speak_http_2_only(loadline, certificates, only_http2):
    assert causes(loadline, only_http2, "-k") == {"TLS: the server speaks HTTP/2 only": 4}
    frames = "not HTTP/1.1: the server speaks HTTP/2 only"
    with peers.Peer(peers.answer(SETTINGS)) as clear:
        assert causes(loadline, clear.url) == {frames: 4}
    with Tls(serve(certificates, "server"), peers.answer(SETTINGS)) as peer:
        assert causes(loadline, peer.url, "-k") == {frames: 4}


def test_a_certificate_that_is_trusted_as_it_is(loadline, certificates):
    """As OpenSSL does it: a server's own certificate may stand among the trusted ones, authority or not."""
    with Tls(serve(certificates, "alone"), peers.ok()) as peer:
        own = {"SSL_CERT_FILE": str(certificates / "alone.pem")}
        assert causes(loadline, peer.url, env=own) == {}
        assert causes(loadline, peer.url.replace("127.0.0.1", "localhost"), env=own) == {"TLS: certificate for another name": 4}
        other = {"SSL_CERT_FILE": str(certificates / "authority.pem")}
        assert causes(loadline, peer.url, env=other) == {"TLS: self-signed certificate": 4}
        bundle = loadline.folder / "bundle.pem"
        bundle.write_bytes(b"# Caf\xe9 Root CA\n" + (certificates / "alone.pem").read_bytes())
        done = loadline("run", peer.url, *LOAD, env={"SSL_CERT_FILE": str(bundle)})
        assert (loadline.summary()["errors"], "warning" in done.stderr) == ([], False), done.stderr
        done = loadline("run", peer.url, *LOAD, env={"SSL_CERT_FILE": "gone.pem"})
        assert "warning: SSL_CERT_FILE: gone.pem: No such file" in done.stderr
    with Tls(serve(certificates, "old"), peers.ok()) as peer:
        own = {"SSL_CERT_FILE": str(certificates / "old.pem")}
        assert causes(loadline, peer.url, env=own) == {"TLS: certificate expired": 4}
