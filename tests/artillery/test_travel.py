"""Through whom and under which certificates requests travel: TLS and its faults by Node's names, proxies."""

import json
import shutil
import socket
import ssl
import subprocess
import threading

import peers
import pytest
from needs import need

SCRIPT = """
config: {{ target: {url}, phases: [ {{ duration: 1, arrivalCount: 1 }} ], tls: {tls} }}
scenarios: [ {{ flow: [ {{ get: {{ url: /a }} }} ] }} ]
"""


# Only a whole authority can date a certificate back.
CA = """
[ca]
default_ca = here
[here]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """An authority, a server of its for 127.0.0.1 and one for elsewhere, one that signed itself, and a client."""
    need("openssl")
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*args: str) -> None:
        subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)

    def certificate(name: str, *args: str, subject: str | None = None) -> None:
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"]
        openssl("req", "-x509", *key, "-out", f"{name}.pem", "-subj", f"/CN={subject or name}", *args)

    def extension(text: str) -> list[str]:
        return ["-addext", text]

    certificate("authority")
    signed = ["-CA", "authority.pem", "-CAkey", "authority.key", *extension("basicConstraints=critical,CA:FALSE")]
    here = extension("subjectAltName=IP:127.0.0.1,DNS:right.test")
    certificate("server", *signed, *here)
    certificate("elsewhere", *signed, *extension("subjectAltName=DNS:elsewhere.test"))
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "old.key", "-out", "old.csr", "-subj", "/CN=old", *here)
    for name, text in {"ca.cnf": CA, "index.txt": "", "serial": "01"}.items():
        (folder / name).write_text(text)
    authority = ["-config", "ca.cnf", "-cert", "authority.pem", "-keyfile", "authority.key"]
    past = ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"]
    openssl("ca", "-batch", "-notext", *authority, *past, "-in", "old.csr", "-out", "old.pem")
    certificate("alone", *here)
    certificate("client", *signed)
    chain = (folder / "server.pem").read_text() + (folder / "authority.pem").read_text()
    (folder / "chain.pem").write_text(chain)
    shutil.copy(folder / "server.key", folder / "chain.key")
    return folder


def serve(certificates, name: str, client_ca: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
    if client_ca:
        context.load_verify_locations(certificates / "authority.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def run(loadline, certificates, name: str, tls: str = "{}", client_ca: bool = False, host: str = "127.0.0.1", flags=()):
    with peers.Recorder(tls=serve(certificates, name, client_ca)) as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url.replace("127.0.0.1", host), tls=tls))
        done = loadline("artillery", "run", script, "-o", "out.json", *flags)
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
def test_certificates(loadline, certificates, name, tls, error):
    tls = tls.replace("AUTHORITY", str(certificates / "authority.pem")).replace("ALONE", str(certificates / "alone.pem"))
    errors, peer = run(loadline, certificates, name, tls)
    assert errors == ([error] if error else [])
    assert peer.lines == ([] if error else ["GET /a"])


def test_insecure(loadline, certificates):
    assert run(loadline, certificates, "alone", flags=["-k"])[0] == []


def test_certificates_of_clients(loadline, certificates):
    authority, client = certificates / "authority.pem", certificates / "client"
    # Text in the script, and files beside it.
    pem = json.dumps((certificates / "client.pem").read_text())
    tls = f"{{ ca: {authority}, cert: {pem}, key: {client}.key }}"
    errors, peer = run(loadline, certificates, "server", tls, client_ca=True)
    assert (errors, peer.lines) == ([], ["GET /a"])
    errors, peer = run(loadline, certificates, "server", f"{{ ca: {authority} }}", client_ca=True)
    assert (len(errors), peer.lines) == (1, [])
    for file in (loadline.folder / ".loadline/runs").rglob("*"):
        assert not file.is_file() or b"PRIVATE KEY" not in file.read_bytes()


def test_a_plain_server_behind_https(loadline):
    with peers.Recorder() as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url.replace("http", "https"), tls="{}"))
        done = loadline("artillery", "run", script)
    assert "errors.EPROTO: " in done.stdout


class Proxy:
    """Connects to whatever host it is asked for, or says no; keeps the requests."""

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


def test_through_a_proxy(loadline, certificates):
    proxy = Proxy()
    with peers.Peer(proxy) as pipe, peers.Recorder() as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url, tls="{}"))
        environment = {"HTTP_PROXY": pipe.url.replace("http://", "http://user:p%40ss@")}
        done = loadline("artillery", "run", script, env=environment)
    assert "http.codes.200: " in done.stdout, done.stdout + done.stderr
    host = peer.url.removeprefix("http://")
    assert proxy.asked == [f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n\r\n"]
    proxy = Proxy()
    with peers.Peer(proxy) as pipe, peers.Recorder(tls=serve(certificates, "server")) as peer:
        tls = f"{{ ca: {certificates / 'authority.pem'} }}"
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url, tls=tls))
        done = loadline("artillery", "run", script, env={"HTTP_PROXY": pipe.url})
    assert "http.codes.200: " in done.stdout, done.stdout + done.stderr
    assert len(proxy.asked) == 1


def test_a_proxy_that_says_no(loadline):
    proxy = Proxy("407 Proxy Authentication Required")
    with peers.Peer(proxy) as pipe, peers.Recorder() as peer:
        script = loadline.write("s.yml", SCRIPT.format(url=peer.url, tls="{}"))
        done = loadline("artillery", "run", script, env={"HTTP_PROXY": pipe.url})
    assert "errors.ERR_PROXY_CONNECT: " in done.stdout
    assert peer.lines == []
