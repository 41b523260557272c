"""Requests equal Artillery's byte for byte. Headers are compared as a set."""

import re
from pathlib import Path

import fake_servers

GOLDEN = Path(__file__).parent / "golden"


def parse(text: str) -> tuple[str, frozenset[str], str]:
    head, _, body = text.partition("\n\n")
    first, *lines = head.splitlines()
    # Names are compared without case; the port is the server's.
    headers = (line.partition(": ") for line in lines)
    return first, frozenset(f"{k.lower()}: {v}" for k, _, v in headers if k.lower() != "host"), body.rstrip("\n")


def mask_boundary(text: str) -> str:
    """Boundaries differ in every request."""
    return re.sub(r"-{26}[0-9a-f]{24}", "BOUNDARY", text)


def test_requests_equal_artillerys(loadline):
    seen = []

    def serve(connection):
        while request := connection.recv(65536).decode():
            seen.append(request.replace("\r\n", "\n"))
            path = request.split(" ")[1]
            extra = "Set-Cookie: sid=abc; Path=/\r\n" if path == "/cookie" else ""
            if path == "/redir":
                connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
                continue
            connection.sendall(f"HTTP/1.1 200 OK\r\n{extra}Content-Length: 0\r\n\r\n".encode())
        connection.close()

    script = (GOLDEN / "wire.yml").read_text()
    transcript = mask_boundary((GOLDEN / "wire.txt").read_text())
    wanted = [parse(text) for text in re.split(r"^--------\n", transcript, flags=re.M) if text.strip()]
    with fake_servers.FakeServer(serve) as peer:
        run = loadline("artillery", "run", "-q", loadline.write("w.yml", script.replace("http://127.0.0.1:8111", peer.url)))
    assert run.returncode == 0, run.stderr
    ours = [parse(mask_boundary(text)) for text in seen]
    assert [request[0] for request in ours] == [request[0] for request in wanted]
    for mine, theirs in zip(ours, wanted, strict=False):
        assert mine == theirs
