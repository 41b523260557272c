"""TLS certificates: an authority, two servers, one self-signed, one expired, one client."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

from required_tools import tool_path

# `openssl x509` cannot set a start date in the past; only `openssl ca` can.
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


def make(folder: Path) -> Path:
    """Creates an authority, a server certificate for 127.0.0.1, one for another host, a
    self-signed one, and a client's.
    """
    tool_path("openssl")

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


def serve(certificates: Path, name: str, client_ca: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
    if client_ca:
        context.load_verify_locations(certificates / "authority.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context
