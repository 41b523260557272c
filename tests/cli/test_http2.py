"""HTTP/2 through the command: versions, streams, faults, with the lab `http2` and fake servers."""

from __future__ import annotations

import json
import time
from pathlib import Path

import fake_servers
import pytest
from certificates import serve

SECOND = ("--rate", "20/s", "--duration", "200ms")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\x04\0\0\0\0\0"


def events(loadline) -> str:
    folder = loadline.folder / ".loadline/runs/last"
    return "\n".join(path.read_text() for path in folder.glob("events.jsonl"))


def run_four(loadline, url: str, *flags: str, env: dict[str, str] | None = None) -> dict[str, int]:
    """Sends four requests and returns the count of each error reason."""
    done = loadline("run", url, *SECOND, *flags, env=env)
    assert done.returncode in (0, 1, 3), done.stderr
    summary = loadline.summary()
    assert summary["requests"]["issued"] == 4
    return loadline.errors()


def test_prior_knowledge_shares_connections(loadline, start_lab):
    lab = start_lab("http2", "service=20ms")
    done = loadline("run", f"{lab.url}/x", "--rate", "400/s", "--duration", "1s", "-c", "2", "--http", "2-prior-knowledge")
    assert done.returncode == 0, done.stdout + done.stderr
    assert loadline.summary()["requests"]["ok"] == 400
    counted = lab.stats()
    assert counted["answered"]["total"] == 400
    assert counted["http2"]["connections"] == 2
    assert min(counted["http2"]["by_connection"]) > 100
    assert "speaks HTTP/2 and allows 100 streams per connection" in events(loadline)
    first = " ".join(done.stdout.split())
    assert "HTTP/2 with prior knowledge · h2 (2 connections, server allows 100 streams) ·" in first
    http2 = loadline.summary()["http2"]
    assert (http2["opened"], http2["closed"]) == (2, {"client": 2})
    spread = http2["requests_per_connection"]
    by_connection = counted["http2"]["by_connection"]
    assert (spread["min"], spread["max"]) == (min(by_connection), max(by_connection))
    report = (loadline.folder / ".loadline/runs/last/report.md").read_text()
    assert "## HTTP/2" in report
    assert "h2 (2 connections, server allows 100 streams)" in report
    manifest = json.loads((loadline.folder / ".loadline/runs/last/manifest.json").read_text())
    assert manifest["negotiated"] == [{"origin": lab.url, "version": "h2", "stream_limit": 100}]


def test_trace_names_the_version(loadline, start_lab):
    done = loadline("run", start_lab("http2").url, "--once", "--trace", "--http", "2-prior-knowledge")
    assert done.returncode == 0, done.stderr
    assert "> GET / HTTP/2\n" in done.stdout


def test_each_user_has_a_connection(loadline, start_lab):
    lab = start_lab("http2")
    done = loadline("run", lab.url, "--users", "3", "-n", "30", "--http", "2-prior-knowledge")
    assert done.returncode == 0, done.stderr
    counted = lab.stats()["http2"]
    assert counted["connections"] == 3
    assert counted["max_open"] <= 3


def test_body_and_headers_arrive(loadline, start_lab):
    lab = start_lab("http2")
    body = loadline.write("body", "x" * 300_000)
    flags = ("-d", f"@{body}", "-H", "connection: keep-alive", "-H", "x-a: 1", "--http", "2-prior-knowledge")
    assert run_four(loadline, lab.url, *flags) == {}
    assert lab.stats()["http2"]["body_bytes"] == 4 * 300_000


def test_waiting_for_a_stream_is_not_service(loadline, start_lab):
    """At 300/s, a limit of 10 streams with 50 ms of service answers 200/s."""
    lab = start_lab("http2", "service=50ms", "max-streams=10")
    flags = ("--rate", "300/s", "--duration", "2s", "-c", "1", "--http", "2-prior-knowledge", "--drain", "10s", "--no-guard")
    done = loadline("run", lab.url, *flags)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    summary = loadline.summary()
    assert summary["requests"]["ok"] == 600
    times = summary["all"]
    assert 50e6 <= times["service"]["p50"]["ns"] < 58e6
    # After two seconds, 200 requests are behind, which need another second.
    assert times["response"]["max"]["ns"] > 700e6
    assert lab.stats()["http2"]["max_open"] == 10
    http2 = summary["http2"]
    assert http2["waited"] > 300
    # The wait for a stream is nearly all of the wait: the connection is open.
    assert http2["stream_wait"]["max"]["ns"] > 650e6
    expected = f"{http2['waited']} of 600 requests waited for the server's limit of 10 streams on 1 connection, p99 "
    assert http2["sentence"].startswith(expected)
    assert expected in " ".join(done.stdout.split())
    assert summary["saturation"]["reached"][0]["resource"] == "HTTP/2 streams"
    assert "First resource to saturate: HTTP/2 streams (the test's connections: 0 of 10 left" in " ".join(done.stdout.split())


@pytest.mark.parametrize("load", [("--rate", "500/s"), ("--users", "8")])
def test_goaway_loses_no_request(loadline, start_lab, load):
    """Users who start together wear out both connections at the same time."""
    lab = start_lab("http2", "goaway-after=50", "service=5ms")
    done = loadline("run", lab.url, *load, "-n", "500", "-c", "2", "--http", "2-prior-knowledge")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = loadline.summary()
    assert (summary["requests"]["issued"], summary["requests"]["ok"]) == (500, 500)
    counted = lab.stats()
    assert counted["answered"]["total"] == 500
    assert summary["http2"]["goaways"]["NO_ERROR"] >= counted["http2"]["goaways"] - 2
    assert summary["http2"]["closed"]["goaway"] >= counted["http2"]["goaways"] - 2


def test_refused_streams_are_resent_once(loadline, start_lab):
    lab = start_lab("http2", "refuse=30%", "--seed", 7)
    done = loadline("run", lab.url, "--rate", "500/s", "--duration", "1s", "-c", "2", "--http", "2-prior-knowledge")
    assert done.returncode in (0, 1, 3), done.stderr
    summary = loadline.summary()
    counted, counts = lab.stats(), summary["http2"]
    refused = loadline.errors()["HTTP/2: refused stream"]
    assert summary["requests"]["issued"] == 500
    assert summary["requests"]["ok"] == 500 - refused == counted["answered"]["total"]
    assert counted["http2"]["refused"] == counts["resent"] + refused == counts["resets_received"]["REFUSED_STREAM"]
    assert 20 < refused < 80, "9 % of all"


def test_server_chooses_http2_over_tls(loadline, start_lab, certificates):
    lab = start_lab("http2", f"cert={certificates / 'server.pem'}", f"key={certificates / 'server.key'}")
    for version in ("2", "auto", "2-prior-knowledge"):
        assert run_four(loadline, lab.url, "--http", version, "-k") == {}
        assert "speaks HTTP/2" in events(loadline)
    (reason,) = run_four(loadline, lab.url, "-k")
    assert reason == "status 505", "the default is HTTP/1.1"


class Tls(fake_servers.FakeServer):
    """A server with TLS and these protocols in ALPN."""

    def __init__(self, certificates: Path, protocols: list[str], then) -> None:
        context = serve(certificates, "server")
        if protocols:
            context.set_alpn_protocols(protocols)

        def handshake(connection) -> None:
            with context.wrap_socket(connection, server_side=True) as tls:
                then(tls)

        super().__init__(handshake)
        self.url = self.url.replace("http", "https")


@pytest.mark.parametrize("protocols", [[], ["http/1.1"]])
def test_server_without_h2_fails_by_name_or_gets_http1(loadline, certificates, protocols):
    with Tls(certificates, protocols, fake_servers.ok_with()) as peer:
        found = run_four(loadline, peer.url, "--http", "2", "-k")
        assert found == {"TLS: no h2 (ALPN), the server does not offer HTTP/2": 4}
        assert run_four(loadline, peer.url, "--http", "auto", "-k") == {}
        assert "is loaded over HTTP/1.1: the server chose it (ALPN)" in events(loadline)


def test_http1_server_is_named(loadline):
    with fake_servers.FakeServer(fake_servers.answer_with(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as peer:
        found = run_four(loadline, peer.url, "--http", "2-prior-knowledge")
    assert found == {"HTTP/2: the server speaks HTTP/1 (RFC 9113 3.4)": 4}


def test_http2_without_tls_is_refused_before_the_run(loadline):
    done = loadline("run", "http://127.0.0.1:9/", "--http", "2")
    assert done.returncode == 3, done.stdout
    assert "HTTP/2 without TLS (http://127.0.0.1:9) needs the version `2-prior-knowledge`" in done.stderr


def test_settings_flood_ends_the_connection(loadline):
    def flood(connection) -> None:
        connection.recv(65536)
        while True:
            connection.sendall(SETTINGS * 100)

    with fake_servers.FakeServer(flood) as peer:
        found = run_four(loadline, peer.url, "--http", "2-prior-knowledge")
    assert sum(found.values()) == 4
    named = {
        "HTTP/2: too many control or empty frames without progress (RFC 9113 10.5)",
        "HTTP/2: too many unread acknowledgements (RFC 9113 10.5)",
    }
    assert set(found) <= named, found


def test_goaway_at_once_fails_after_the_second_attempt(loadline):
    def leave(connection) -> None:
        connection.recv(65536)
        connection.sendall(SETTINGS + b"\0\0\x08\x07\0\0\0\0\0" + bytes(8))
        connection.recv(65536)
        connection.close()

    with fake_servers.FakeServer(leave) as peer:
        found = run_four(loadline, peer.url, "--http", "2-prior-knowledge")
    assert found == {"HTTP/2: GOAWAY, NO_ERROR": 4}


def test_lost_connection_is_a_reset(loadline):
    def close(connection) -> None:
        connection.recv(65536)
        connection.sendall(SETTINGS)
        connection.recv(65536)
        connection.close()

    with fake_servers.FakeServer(close) as peer:
        found = run_four(loadline, peer.url, "--http", "2-prior-knowledge")
    assert sum(found.values()) == 4
    assert set(found) <= {"connection closed before the answer was complete", "connection reset"}, found


def test_timed_out_request_is_cancelled_and_the_connection_lives_on(loadline, start_lab):
    lab = start_lab("http2", "service=1m")
    plan = loadline.write(
        "plan.yml",
        f"""
        loadline: 1
        target: {lab.url}
        load: {{ rate: 20/s, duration: 500ms }}
        http:
          timeout: 200ms
          connections: 1
          versions: {{ "{lab.url}": 2-prior-knowledge }}
        steps: [ get: / ]
        """,
    )
    done = loadline("run", plan)
    assert done.returncode in (1, 3), done.stderr
    assert loadline.errors() == {"no answer in time": 10}
    deadline = time.monotonic() + 5
    while lab.stats()["http2"]["cancelled"] < 10:
        assert time.monotonic() < deadline
    assert lab.stats()["http2"]["connections"] == 1
    assert loadline.summary()["http2"]["resets_sent"] == {"CANCEL": 10}


@pytest.mark.parametrize(("spread", "connections"), [("even", 4), ("fill", 1)])
def test_connections_are_filled_or_shared_evenly(loadline, start_lab, spread, connections):
    lab = start_lab("http2", "service=20ms", "max-streams=1000")
    plan = loadline.write(
        "plan.yml",
        f"""
        loadline: 1
        target: {lab.url}
        load: {{ rate: 400/s, duration: 500ms }}
        http: {{ connections: 4, streams: 1000, version: 2-prior-knowledge, spread: {spread} }}
        steps: [ get: / ]
        """,
    )
    done = loadline("run", plan)
    assert done.returncode == 0, done.stderr
    assert lab.stats()["http2"]["connections"] == connections


def test_find_searches_over_http2(loadline, start_lab):
    lab = start_lab("http2")
    search = ("--slo", "p99 < 10s", "--max", "40/s", "--probe", "1s", "--settle", "200ms", "--budget", "20s")
    done = loadline("find", lab.url, *search, "--http", "2-prior-knowledge")
    assert done.returncode in (0, 1, 5), done.stdout + done.stderr
    assert lab.stats()["answered"]["total"] > 20
    assert lab.stats()["http2"]["connections"] > 0


def test_runs_over_different_versions_are_not_compared_silently(loadline, start_lab, certificates):
    pair = (f"cert={certificates / 'server.pem'}", f"key={certificates / 'server.key'}")
    runs = []
    for options in (("max-streams=10",), ("max-streams=20",)):
        lab = start_lab("http2", *pair, *options)
        assert run_four(loadline, lab.url, "--http", "auto", "-k") == {}
        runs.append((loadline.folder / ".loadline/runs/last").resolve().name)
    with Tls(certificates, ["http/1.1"], fake_servers.ok_with()) as peer:
        assert run_four(loadline, peer.url, "--http", "auto", "-k") == {}
        runs.append((loadline.folder / ".loadline/runs/last").resolve().name)
    for other, text in ((1, "HTTP/2 with 20 streams"), (2, "HTTP/1.1")):
        done = loadline("compare", runs[0], runs[other])
        said = " ".join((done.stdout + done.stderr).split())
        assert "the HTTP versions differ: HTTP/2 with 10 streams in" in said, said
        assert text in said
    done = loadline("history", "errors")
    assert "different HTTP version" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize(
    ("http", "message"),
    [
        ("version: 3", "`version: 3` is not an HTTP version: use one of auto, 1.1, 2, 2-prior-knowledge"),
        ("versions: { a.test: 2 }", "`a.test` is not an origin"),
        ("streams: 0", "`streams: 0` must be a whole number, 1 or more"),
        ("spread: odd", "`spread: odd` must be even or fill"),
        ("window: 3GB", "`window: 3GB` is not a size from 1B to 2GB"),
    ],
)
def test_invalid_setting_is_refused(loadline, http, message):
    plan = loadline.write("plan.yml", f"loadline: 1\ntarget: https://a.test\nhttp: {{ {http} }}\nsteps: [ get: / ]\n")
    done = loadline("run", plan)
    assert done.returncode == 2
    assert message in done.stderr
