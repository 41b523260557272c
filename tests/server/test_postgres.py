"""A real PostgreSQL under load: its figures, lock waits, and exhausted connections."""

import json
import os
import socket
import socketserver
import threading

import pytest
from conftest import wait_until
from databases import PASSWORD


def server_samples(loadline, source: str) -> list[dict]:
    lines = (loadline.folder / ".loadline/runs/last/server.jsonl").read_text().splitlines()
    return [sample for sample in map(json.loads, lines) if sample["source"] == source]


def values(loadline, source: str, metric: str) -> list[float]:
    return [sample["metrics"][metric] for sample in server_samples(loadline, source) if metric in sample.get("metrics", {})]


def test_postgres_figures_show_the_load_of_a_service(loadline, postgres, serve):
    service = serve()
    run = loadline(
        *("run", f"{service.url}/stock", "--rate", "40/s", "--duration", "5s", "--server", f"db={postgres.url()}"),
        *("--check", "server.db.commits > 20/s", "--check", "server.db.tuples-updated > 10/s"),
        *("--check", "server.db.hit-share > 50%", "--check", "server.db.deadlocks <= 0/s"),
        *("--check", "server.db.connections-used max < 7", "--check", "server.db.hidden <= 0"),
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert values(loadline, "db", "connections-max")[0] == postgres.CONNECTIONS
    # Three connections of the service, and Loadline's own.
    assert max(values(loadline, "db", "connections-used")) == 4
    assert values(loadline, "db", "commits")[-1] > values(loadline, "db", "commits")[0] + 100
    for path in (loadline.folder / ".loadline").rglob("*"):
        held = b"" if path.is_dir() else path.read_bytes()
        assert PASSWORD.encode() not in held, path
        assert postgres.url().split("@")[0].split(":")[-1].encode() not in held, path


def test_postgres_lock_waits_are_reported(loadline, postgres, serve):
    service = serve(connections=4)
    run = loadline(
        *("run", f"{service.url}/held", "--rate", "40/s", "--duration", "3s", "--server", f"db={postgres.url()}"),
        *("--check", "server.db.waiting-on-locks < 0.5", "--check", 'server.db.waiting max of "Lock" < 1'),
        *("--check", "server.db.locks-waiting max < 1"),
    )
    assert run.returncode == 1, run.stdout + run.stderr
    judged = [one["judgement"] for one in loadline.summary()["criteria"]]
    assert judged == ["FAIL"] * 3, loadline.summary()["criteria"]


def test_exhausted_postgres_connections_saturate_first(loadline, postgres, serve):
    service = serve(connections=postgres.CONNECTIONS - 1)
    run = loadline("run", f"{service.url}/stock", "--rate", "20/s", "--duration", "13s", "--server", f"db={postgres.url()}")
    # The machine may be busy here.
    assert run.returncode == 0, run.stdout + run.stderr
    found = loadline.summary()["saturation"]
    first = found["reached"][found["first"]]
    assert (first["resource"], first["source"], first["limit"]) == ("database connections", "db", "0 of 7 left")
    assert "First resource to saturate: database connections (db: 0 of 7 left)" in run.stdout.replace("\n  ", " ")


def test_lost_postgres_connection_is_reopened(loadline, postgres, serve):
    service = serve(connections=1)
    mine = "FROM pg_stat_activity WHERE application_name = 'loadline'"
    run = loadline.start("run", f"{service.url}/stock", "--rate", "5/s", "--duration", "6s", "--server", f"db={postgres.url()}")
    first = wait_until(lambda: postgres.query(f"SELECT pid {mine}"), "the connection of the run")
    postgres.query(f"SELECT pg_terminate_backend(pid) {mine}")
    second = wait_until(lambda: postgres.query(f"SELECT pid {mine}"), "another connection")
    said = run.communicate(timeout=30)
    # The machine may be busy here.
    assert run.returncode == 0, said
    assert first != second
    assert not [sample for sample in server_samples(loadline, "db") if "gap" in sample]


def test_postgres_by_unix_socket_with_limited_rights(loadline, postgres, serve):
    service = serve(connections=2)
    by_socket = f"postgres://blind:{postgres.url().split('@')[0].split(':')[-1]}@:{postgres.port}/shop?host={postgres.socket_folder}"
    run = loadline("run", f"{service.url}/stock", "--rate", "5/s", "--duration", "2s", "--server", f"db={by_socket}")
    assert run.returncode == 0, run.stderr
    assert "2 of its sessions are hidden from blind: grant pg_monitor to this user" in run.stderr
    assert min(values(loadline, "db", "hidden")) >= 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"password": "wrong-one"}, 'the server reports: password authentication failed for user "shop"'),
        ({"password": None}, "the server requires a password"),
        ({"database": "nowhere"}, 'the server reports: database "nowhere" does not exist'),
        ({"port": 1}, "127.0.0.1:1: connection refused"),
        ({"mode": "verify-full"}, "invalid peer certificate"),
    ],
)
def test_postgres_error_is_one_line(loadline, postgres, serve, change, said):
    service = serve(connections=1)
    url = postgres.url(password=change.get("password", PASSWORD))
    at = f"127.0.0.1:{change.get('port', postgres.port)}/{change.get('database', 'shop')}"
    url = f"{url.rsplit('@', 1)[0]}@{at}"
    url += f"?sslmode={change['mode']}" if "mode" in change else ""
    run = loadline("run", f"{service.url}/stock", "--rate", "5/s", "--duration", "1s", "--server", f"db={url}")
    assert run.returncode == 0, run.stderr
    assert f"db cannot be measured yet: {said}" in run.stderr
    assert "wrong-one" not in run.stdout + run.stderr


@pytest.mark.parametrize(("mode", "encrypted"), [("", "t"), ("?sslmode=disable", "f"), ("?sslmode=verify-full", "t")])
def test_postgres_tls_is_used_if_available(loadline, postgres, serve, certificates, mode, encrypted):
    service = serve(connections=1)
    flags = ("--rate", "5/s", "--duration", "2s", "--server", f"db={postgres.url()}{mode}")
    env = {**os.environ, "SSL_CERT_FILE": str(certificates / "authority.pem")}
    run = loadline.start("run", f"{service.url}/stock", *flags, env=env)
    mine = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'loadline'"
    assert wait_until(lambda: postgres.query(mine), "the connection of the run") == encrypted
    said = run.communicate(timeout=30)
    assert run.returncode == 0, said
    assert not [sample for sample in server_samples(loadline, "db") if "gap" in sample]


def test_postgres_without_tls_is_refused_if_tls_is_required(loadline, start_lab):
    lab = start_lab("sum")

    class Plain(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(8)
            self.request.sendall(b"N")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Plain) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        where = f"postgres://me@127.0.0.1:{server.server_address[1]}/shop?sslmode=require"
        run = loadline("run", f"{lab.url}/api/sum", "--duration", "1s", "--server", f"db={where}")
        server.shutdown()
    assert run.returncode == 0, run.stderr
    assert "db cannot be measured yet: the server does not support TLS: use sslmode=disable" in run.stderr


def test_endpoint_that_is_not_postgres_is_reported(loadline, start_lab):
    lab = start_lab("sum")
    where = lab.url.replace("http://", "postgres://me@") + "/shop"
    run = loadline("run", f"{lab.url}/api/sum", "--duration", "1s", "--server", f"db={where}")
    assert run.returncode == 0, run.stderr
    assert "db cannot be measured yet: the response is not from a PostgreSQL server" in run.stderr


def test_postgres_that_never_answers_does_not_delay_the_run(loadline, start_lab):
    lab = start_lab("sum")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"postgres://me@127.0.0.1:{silent.getsockname()[1]}/shop"
        run = loadline("run", f"{lab.url}/api/sum", "--rate", "50/s", "--duration", "3s", "--server", f"db={where}")
    assert run.returncode == 0, run.stderr
    assert "db cannot be measured yet: no answer in time" in run.stderr
    assert loadline.summary()["arrivals"]["planned"] == loadline.summary()["arrivals"]["started"]
