"""Answers of real servers: unrequested encodings, endless redirects, closed idle connections."""

import gzip

import fake_servers
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


def encoded_peer(encoding: str, body: bytes):
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n"
    return fake_servers.FakeServer(fake_servers.answer_with(head % (encoding.encode(), len(body)) + body))


# The output of `printf hello | zstd`.
ZSTD = bytes.fromhex("28b52ffd045829000068656c6c6fa36d9f88")


@pytest.mark.parametrize(
    ("encoding", "body", "trouble"),
    [
        ("zstd", ZSTD, None),
        ("gzip", gzip.compress(b"hello") + bytes(9), None),
        ("gzip", gzip.compress(b"hello") + b"garbage", "the body is invalid gzip"),
        ("dcb", b"hello", "encoding dcb is not supported"),
    ],
    ids=["zstd", "gzip and zeros", "gzip and garbage", "unknown"],
)
def test_encoded_answer_is_counted_and_unreadable_body_fails_its_check(loadline, encoding, body, trouble):
    """Any encoding counts as an answer; a check on a body that cannot be decoded reports the
    reason.
    """
    with encoded_peer(encoding, body) as peer:
        assert run(loadline, peer.url)["requests"]["ok"] == 4
        found = run(loadline, peer.url, CHECK)
        assert found["requests"]["ok"] == (0 if trouble else 4)
        assert found["requests"]["none"] == 0
        reasons = [(error["reason"], error["first"]["detail"].split(": ")[-1]) for error in found["errors"]]
        assert reasons == ([("content encoding", trouble)] if trouble else [])


def test_redirect_loop_is_a_failed_answer(loadline):
    loop = b"HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n"
    with fake_servers.FakeServer(fake_servers.answer_with(loop)) as peer:
        found = run(loadline, peer.url)
    assert (found["requests"]["failed"], found["requests"]["none"]) == (4, 0)
    assert found["all"]["codes"] == {"302": 4}
    (error,) = found["errors"]
    assert (error["reason"], error["count"]) == ("redirect limit", 4)
    assert error["first"]["detail"].endswith(": 10 followed")


def test_closed_keep_alive_connection_has_its_own_reason(loadline):
    def serve(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        # The second request is read but not answered.
        connection.recv(65536)
        connection.close()

    with fake_servers.FakeServer(serve) as peer:
        done = loadline("run", peer.url, "--connections", "1", "--rate", "20/s", "--duration", "200ms")
        assert done.returncode in (1, 0), done.stderr
    (error,) = loadline.summary()["errors"]
    assert (error["reason"], error["count"]) == ("reused connection closed before its next answer", 2)
