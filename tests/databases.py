"""Real servers for tests and benchmarks: PostgreSQL and Redis on free ports, stopped on exit."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import ports
from required_tools import tool_path

PASSWORD = "hunt%r2/and@more"


def unprivileged() -> list[str]:
    """Returns the command prefix that drops root privileges, because PostgreSQL refuses to run as
    root.
    """
    if os.getuid() != 0:
        return []
    known = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in known else "nobody"
    return ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}", "--clear-groups"]


@contextlib.contextmanager
def start_server(*command: object, cwd: Path | None = None, kill: bool = False):
    """Yields a started server. Terminates it on exit, or kills it with `kill`."""
    process = subprocess.Popen(
        list(map(str, command)), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        (process.kill if kill else process.terminate)()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


class Postgres:
    """A PostgreSQL with ten connections; ordinary users may have seven of them."""

    CONNECTIONS = 7

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, ports.free()
        self.socket_folder = folder / "socket"

    def url(self, user: str = "shop", password: str | None = PASSWORD) -> str:
        escaped = "" if password is None else ":" + "".join(f"%{byte:02X}" for byte in password.encode())
        return f"postgres://{user}{escaped}@127.0.0.1:{self.port}/shop"

    def psql(self, *flags: str, user: str = "admin", database: str = "shop") -> list[str]:
        return [tool_path("psql"), "-X", "-q", "-t", "-A", "-h", "127.0.0.1", "-p", str(self.port), "-U", user, "-d", database, *flags]

    def query(self, statement: str, user: str = "admin", database: str = "shop") -> str:
        command = self.psql("-v", "ON_ERROR_STOP=1", "-c", statement, user=user, database=database)
        run = subprocess.run(command, env=self.env(), capture_output=True, text=True, timeout=20, check=True)
        return run.stdout.strip()

    def is_ready(self) -> bool:
        with contextlib.suppress(subprocess.CalledProcessError):
            return self.query("SELECT 1", database="postgres") == "1"
        return False

    @staticmethod
    def env() -> dict[str, str]:
        return {**os.environ, "PGPASSWORD": PASSWORD}


def wait_until(condition, what: str, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.02)


@contextlib.contextmanager
def postgres(certificates: Path | None = None):
    """Starts a server with a database `shop` and a user who may read it.

    `certificates` enables TLS.
    """
    folder = Path(tempfile.mkdtemp(prefix="loadline-postgres-"))
    secret = folder / "password"
    secret.write_text(PASSWORD)
    (folder / "socket").mkdir()
    own = [folder, secret, folder / "socket"]
    if certificates:
        own += [Path(shutil.copy(certificates / name, folder)) for name in ("server.pem", "server.key")]
        (folder / "server.key").chmod(0o600)
    run_as = unprivileged()
    if run_as:
        user = pwd.getpwnam(run_as[1].removeprefix("--reuid="))
        for path in own:
            os.chown(path, user.pw_uid, user.pw_gid)
    server = Postgres(folder)
    data = folder / "data"
    made = [
        *run_as,
        tool_path("initdb"),
        "-D",
        data,
        "-U",
        "admin",
        "-A",
        "scram-sha-256",
        f"--pwfile={secret}",
        "--no-sync",
        "-E",
        "UTF8",
    ]
    subprocess.run(list(map(str, made)), cwd=folder, check=True, capture_output=True, timeout=60)
    settings = {
        "port": server.port,
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": server.socket_folder,
        "max_connections": 10,
        "fsync": "off",
        "autovacuum": "off",
    }
    if certificates:
        settings |= {"ssl": "on", "ssl_cert_file": folder / "server.pem", "ssl_key_file": folder / "server.key"}
    flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    with start_server(*run_as, str(Path(tool_path("initdb")).parent / "postgres"), "-D", data, *flags, cwd=folder):
        wait_until(lambda: listens(server.port), "PostgreSQL")
        wait_until(server.is_ready, "an answer of PostgreSQL")
        server.query(f"CREATE ROLE shop LOGIN PASSWORD '{PASSWORD}'", database="postgres")
        server.query("GRANT pg_monitor TO shop", database="postgres")
        server.query(f"CREATE ROLE blind LOGIN PASSWORD '{PASSWORD}'", database="postgres")
        server.query("CREATE DATABASE shop OWNER shop", database="postgres")
        server.query(
            "CREATE TABLE stock (id int PRIMARY KEY, n int NOT NULL); INSERT INTO stock SELECT i, 0 FROM generate_series(1, 1000) i; "
            "ALTER TABLE stock OWNER TO shop"
        )
        yield server
    shutil.rmtree(folder)


@contextlib.contextmanager
def redis(folder: Path):
    """Starts a server with a password. Yields its port."""
    port = ports.free()
    flags = ["--port", port, "--bind", "127.0.0.1", "--save", "", "--requirepass", "hunter2", "--dir", folder]
    with start_server(tool_path("redis-server"), *flags):
        wait_until(lambda: listens(port), "Redis")
        yield port
