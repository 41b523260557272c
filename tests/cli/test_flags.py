"""Flags of `loadline run` that users of other tools expect."""

import os
import socket
import threading

import fake_servers
import pytest

PLAN = """
loadline: 1
target: {}
load:
  - {{ rate: 20/s, duration: 4s }}
  - {{ rate: 10/s, duration: 4s }}
steps:
  - get: /
"""


@pytest.mark.parametrize("load", [("--rate", "100/s"), ("--users", "3"), ("--connections", "7")])
def test_exact_number_of_requests_is_sent(loadline, start_lab, load) -> None:
    lab = start_lab("truth")
    run = loadline("run", f"{lab.url}/", "-n", "50", *load)
    assert run.returncode == 0, run.stderr
    summary = loadline.summary()
    assert summary["requests"]["issued"] == summary["requests"]["ok"] == lab.stats()["received"]["total"] == 50
    # A closed loop ends with its last request.
    assert summary["run"]["elapsed_ns"] < 20e9


def test_number_of_requests_is_only_for_urls(loadline) -> None:
    plan = loadline.write("plan.yml", PLAN.format("http://127.0.0.1:1"))
    run = loadline("run", plan, "--requests", "5")
    assert run.returncode == 2
    assert "--requests counts the requests of a URL" in run.stderr
    run = loadline("run", "http://127.0.0.1:1", "--requests", "5", "--rate", "1", "--duration", "1")
    assert run.returncode == 2
    assert "--rate, --duration and --requests determine each other" in run.stderr


def test_duration_alone_scales_the_load_of_a_plan(loadline, start_lab) -> None:
    plan = loadline.write("plan.yml", PLAN.format(start_lab("truth").url))
    run = loadline("run", plan, "--duration", "2")
    assert run.returncode == 0, run.stderr
    assert "30 planned = 30 started" in run.stdout
    assert "was scaled in time to 2 s by --duration" in " ".join(run.stdout.split())


def test_quiet_prints_only_the_verdict(loadline, start_lab) -> None:
    run = loadline("run", f"{start_lab('truth').url}/", "-z", "1", "--check", "errors < 1%", "-q")
    assert run.returncode == 0, run.stderr
    assert run.stdout == "PASS  the criterion held; 10 requests, 0 failed\n"
    assert run.stderr == ""


def test_verbose_shows_service_time_and_intervals(loadline, start_lab) -> None:
    run = loadline("run", f"{start_lab('truth').url}/", "--duration", "2", "--check", "first-byte p50 < 9s")
    assert "  service " not in run.stdout
    assert len(run.stdout.splitlines()) <= 24
    again = loadline("report", "--verbose")
    assert "\n  service " in again.stdout
    assert "\n  first byte " in again.stdout
    assert "Lateness " in again.stdout


def test_run_whose_requests_all_failed_fails_without_a_criterion(loadline) -> None:
    refuse = fake_servers.answer_with(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
    with fake_servers.FakeServer(refuse) as peer:
        run = loadline("run", peer.url, "--duration", "1")
        assert run.returncode == 1
        assert run.stdout.splitlines()[-1] == "FAIL  all 10 requests failed"
        loadline("report", "--export", "junit=ci.xml")
        assert "all 10 requests failed" in (loadline.folder / "ci.xml").read_text()
        run = loadline("run", peer.url, "--duration", "1", "--allow-failures")
        assert run.returncode == 0


def test_version_is_a_command_too(loadline) -> None:
    assert loadline("version").stdout == loadline("--version").stdout


def test_run_without_a_writable_folder_does_not_start(loadline) -> None:
    with fake_servers.RecordingServer() as peer:
        refused = loadline("run", peer.url, "--duration", "1", "--runs", "/proc/nothing")
        assert refused.returncode == 3
        assert "choose a writable folder with --runs or LOADLINE_RUNS; or use --no-record" in refused.stderr
        assert peer.lines == []
        run = loadline("run", peer.url, "--duration", "1", "--no-record")
    assert run.returncode == 0, run.stderr
    assert len(peer.lines) == 10
    assert not (loadline.folder / ".loadline").exists()


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("t.js", "module.exports = {};", "this is JavaScript"),
        ("t.jmx", "<jmeterTestPlan version='1.2'/>", "this is a JMeter plan"),
        ("t.json", '{"info": {"_postman_id": "1"}, "item": []}', "this is a Postman collection"),
        ("t.json", '{"swagger": "2.0"}', "this is a Swagger 2 document"),
        ("t.yaml", "openapi: 3.0.0", "this is an OpenAPI document"),
        ("t.har", '{"log": {"entries": []}}', "this is a HAR file"),
    ],
)
def test_files_of_other_tools_are_named_with_a_way_to_use_them(loadline, name, text, advice) -> None:
    run = loadline("run", loadline.write(name, text))
    assert run.returncode == 2
    assert advice in run.stderr
    assert "`loadline init" in run.stderr


class Tunnel:
    """A proxy that opens a tunnel for each CONNECT and notes its destination."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.server = fake_servers.FakeServer(self.serve)

    def serve(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        self.seen.append(head.split(b"\r\n")[0].decode())
        host, port = head.split()[1].decode().rsplit(":", 1)
        with socket.create_connection((host.replace("app.test", "127.0.0.1"), int(port))) as target:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=pump, args=(target, connection))
            back.start()
            pump(connection, target)
            back.join()


def pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        # The run ended.
        return


def test_requests_go_through_a_proxy(loadline) -> None:
    tunnel = Tunnel()
    with fake_servers.RecordingServer() as peer, tunnel.server as proxy:
        run = loadline("run", f"{peer.url}/a", "--duration", "1", "-x", proxy.url)
        assert run.returncode == 0, run.stderr
        assert peer.lines == ["GET /a"] * 10
        assert set(tunnel.seen) == {f"CONNECT 127.0.0.1:{peer.port} HTTP/1.1"}
        tunnel.seen.clear()
        # Like Go's client, a proxy of the environment is not used for this machine.
        env = {**os.environ, "HTTP_PROXY": proxy.url}
        run = loadline("run", f"{peer.url}/b", "--duration", "1", env=env)
        assert run.returncode == 0, run.stderr
        assert tunnel.seen == []
        allowed = ("--allow-host", "app.test")
        run = loadline("run", f"http://app.test:{peer.port}/c", "--duration", "1", *allowed, env=env)
        assert run.returncode == 0, run.stderr
        assert set(tunnel.seen) == {f"CONNECT app.test:{peer.port} HTTP/1.1"}
        assert f"Note: requests go through the proxy 127.0.0.1:{proxy.port}" in run.stdout
    wrong = loadline("run", "http://127.0.0.1:1", "-x", "socks5://proxy")
    assert wrong.returncode == 2
    assert "--proxy: use a URL such as http://proxy:3128" in wrong.stderr


def test_port_out_of_range_is_named(loadline) -> None:
    run = loadline("run", "http://127.0.0.1:99999/")
    assert run.returncode == 2
    assert run.stderr == "loadline: `http://127.0.0.1:99999/` has a port that is not a number from 0 to 65535\n"


def test_single_unanswered_request_is_not_counted_as_several(loadline) -> None:
    run = loadline("run", "http://127.0.0.1:1/", "-n", 1, "-q")
    assert run.returncode == 3
    assert run.stdout == "COULD NOT RUN  The only request was not answered.\n"
