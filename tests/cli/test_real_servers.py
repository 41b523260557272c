"""Answers as real servers give them: encodings that nobody asked for, redirects without an end, idle connections that are closed."""

import gzip

import peers
import pytest

PLAN = """
loadline: 1
target: {url}
load: {{ count: 4, duration: 100ms }}
steps: [ {{ get: {{ url: /a{more} }} }} ]
"""
CHECK = ", check: { body: hello }"


def run(loadline, url: str, more: str = "") -> dict:
    done = loadline("run", loadline.write("p.yml", PLAN.format(url=url, more=more)))
    assert done.returncode in (0, 1, 3), done.stderr
    summary = loadline.summary()
    assert summary["requests"]["issued"] == 4
    for error in summary["errors"]:
        assert error["reason"] in done.stdout
    return summary


def encoded(encoding: str, body: bytes):
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n"
    return peers.Peer(peers.answer(head % (encoding.encode(), len(body)) + body))


# What `printf hello | zstd` makes.
ZSTD = bytes.fromhex("28b52ffd045829000068656c6c6fa36d9f88")


@pytest.mark.parametrize(
    ("encoding", "body", "trouble"),
    [
        ("zstd", ZSTD, None),
        ("gzip", gzip.compress(b"hello") + bytes(9), None),
        ("gzip", gzip.compress(b"hello") + b"garbage", "the body is broken gzip"),
        ("dcb", b"hello", "encoding dcb is not supported"),
    ],
    ids=["zstd", "gzip and zeros", "gzip and garbage", "unknown"],
)
def test_encodings(loadline, encoding, body, trouble):
    """An answer is an answer; who wants to read it is told what cannot be read."""
    with encoded(encoding, body) as peer:
        assert run(loadline, peer.url)["requests"]["ok"] == 4
        found = run(loadline, peer.url, CHECK)
        assert found["requests"]["ok"] == (0 if trouble else 4)
        assert found["requests"]["none"] == 0
        told = [(error["reason"], error["first"]["detail"].split(": ")[-1]) for error in found["errors"]]
        assert told == ([("content encoding", trouble)] if trouble else [])


def test_a_redirect_loop_is_an_answer_that_failed(loadline):
    loop = b"HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n"
    with peers.Peer(peers.answer(loop)) as peer:
        found = run(loadline, peer.url)
    assert (found["requests"]["failed"], found["requests"]["none"]) == (4, 0)
    assert found["all"]["codes"] == {"302": 4}
    (error,) = found["errors"]
    assert (error["reason"], error["count"]) == ("redirect limit", 4)
    assert error["first"]["detail"].endswith(": 10 followed")


def test_the_end_of_a_kept_connection_has_a_name_of_its_own(loadline):
    def serve(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        # The second request is read, and not answered.
        connection.recv(65536)
        connection.close()

    with peers.Peer(serve) as peer:
        done = loadline("run", peer.url, "--connections", "1", "--rate", "20/s", "--duration", "200ms")
        assert done.returncode in (1, 0), done.stderr
    (error,) = loadline.summary()["errors"]
    assert (error["reason"], error["count"]) == ("kept connection closed before its next answer", 2)
