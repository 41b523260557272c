"""A test with several processes, at Locust's master: workers, their parts of the record, and one
verdict at the end.

Parts are assigned in the options of Locust's spawn messages.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time

import gevent
from gevent import get_hub
from locust.runners import STATE_MISSING

from loadline import _native
from loadline.locust.engine import log
from loadline.locust.outcome import not_recorded, print_results

#: Loadline's key in the options of spawn messages and in worker reports.
KEY = "loadline"
#: Each worker reports on connecting. One that does not within this time runs without Loadline.
REPORT_SECONDS = 5
#: In addition to the stop timeout of users.
PATIENCE_SECONDS = 60
LOOK_SECONDS = 1
#: A worker reports immediately after the end of its part.
LAST_WORDS_SECONDS = 2


class Master:
    """The running test, if there is one, and all workers that ever connected."""

    def __init__(self) -> None:
        self.division: _native.Division | None = None
        self._environment = None
        #: The Loadline version of each worker, or None.
        self._versions: dict[str, str | None] = {}
        #: The part number of each worker.
        self._numbers: dict[str, int] = {}
        self._unmeasured: set[str] = set()
        #: The last test that each worker has fully reported.
        self._over: dict[str, str | None] = {}
        self._run_id = ""
        #: Workers that have ended their part of the test.
        self._closed: set[str] = set()
        self._polling: gevent.Greenlet | None = None
        self._finishing: gevent.Greenlet | None = None
        self._is_beginning = False

    def begin(self, environment, facts: tuple) -> None:
        """Starts the record of a test and numbers the connected workers."""
        if self._is_beginning:
            return
        self._is_beginning = True
        try:
            self._wait_for_the_last()
            self._begin(environment, facts)
        finally:
            self._is_beginning = False

    def _begin(self, environment, facts: tuple) -> None:
        runner, options = environment.runner, environment.parsed_options
        if options is None:
            log("the master has no options, so it cannot assign parts: each worker writes a separate record")
            return
        present = self._wait_for_reports(runner)
        measured = sorted((client for client in present if self._has_loadline(client)), key=runner.get_worker_index)
        handed = {"part": None, "numbers": {}}
        setattr(options, KEY, handed)
        if not measured:
            log("no worker uses Loadline: nothing is recorded")
            return
        try:
            division = _native.Division(facts, len(measured))
        except (RuntimeError, ValueError, OverflowError) as error:
            not_recorded(environment, error)
            return
        self._environment, self.division = environment, division
        self._numbers = {client: number for number, client in enumerate(measured)}
        self._unmeasured, self._closed = set(), set()
        handed.update(part=division.handed(), numbers=self._numbers)
        self._run_id = run_id(handed["part"])
        for client in present:
            self._named_if_unmeasured(client)
        self._polling = gevent.spawn(self._poll)

    def _wait_for_reports(self, runner) -> list[str]:
        """Returns the workers that run a part of the test."""
        until = time.monotonic() + REPORT_SECONDS
        while True:
            clients = runner.clients
            present = [client.id for client in clients.ready + clients.running + clients.spawning]
            if time.monotonic() > until or all(client in self._versions for client in present):
                return present
            gevent.sleep(0.02)

    def _has_loadline(self, client: str) -> bool:
        return self._versions.get(client) == _native.__version__

    def connected(self, client: str) -> None:
        """Handles a new worker.

        During a test it receives users immediately, and therefore a part.
        """
        is_stock = client in self._versions and not self._has_loadline(client)
        if self.division is not None and client not in self._numbers and not is_stock:
            self._numbers[client] = max(self._numbers.values(), default=-1) + 1

    def reported(self, client: str, data: dict) -> None:
        """Handles a worker's report, with or without Loadline's data."""
        report = data.get(KEY) or {}
        is_new = client not in self._versions
        self._versions[client] = report.get("version")
        self._over[client] = report.get("over")
        if is_new and self.division is not None:
            if self._has_loadline(client):
                self.division.remark(f"worker {client} connected during the test")
            self._named_if_unmeasured(client)

    def _named_if_unmeasured(self, client: str) -> None:
        if self._has_loadline(client) or client in self._unmeasured:
            return
        self._unmeasured.add(client)
        version = self._versions.get(client)
        what = f"has Loadline {version}, not {_native.__version__}" if version else "runs without Loadline"
        text = f"worker {client} {what}: its requests are only in Locust's statistics, not in Loadline's figures"
        self.division.is_unmeasured(text)
        log(text)

    def _poll(self) -> None:
        while self.division is not None:
            self.division.look()
            gevent.sleep(LOOK_SECONDS)

    def end(self) -> None:
        """Starts finishing the test in the background, because a worker may take a while to close
        its part.
        """
        if self.division is not None and self._finishing is None:
            self._finishing = gevent.spawn(self._finish)

    def _wait_for_the_last(self) -> None:
        self.end()
        if self._finishing is not None:
            self._finishing.join()

    def quit(self, runner) -> None:
        """Receives the last reports after workers were stopped and Locust reads no more messages,
        until the record is complete.
        """
        finishing = self._finishing
        if finishing is None:
            return
        listening = gevent.spawn(self._listen, runner)
        finishing.join()
        until = time.monotonic() + LAST_WORDS_SECONDS
        while time.monotonic() < until and any(self._over.get(one) != self._run_id for one in self._closed):
            gevent.sleep(0.02)
        listening.kill()

    def _listen(self, runner) -> None:
        while True:
            client, message = runner.server.recv_from_client()
            if message.type == "stats":
                runner.environment.events.worker_report.fire(client_id=client, data=message.data)

    def _finish(self) -> None:
        environment, division = self._environment, self.division
        self._wait_for_parts(environment, division)
        if self._polling is not None:
            self._polling.kill(block=False)
        results = get_hub().threadpool.apply(division.end)
        self.division = self._finishing = None
        if print_results(results) and environment.process_exit_code is None:
            environment.process_exit_code = 1

    def _wait_for_parts(self, environment, division: _native.Division) -> None:
        began = time.monotonic()
        until = began + (environment.stop_timeout or 0) + PATIENCE_SECONDS
        missing_since: dict[str, float] = {}
        while (now := time.monotonic()) < until:
            for client, number in self._numbers.items():
                ended = division.has_ended(number)
                if ended:
                    self._closed.add(client)
                    continue
                if ended is None:
                    # A worker without a part never had users, has no Loadline, or was killed
                    # earlier.
                    node = environment.runner.clients.get(client)
                    is_there = node is not None and node.state != STATE_MISSING and self._has_loadline(client)
                    if is_there and now - began < REPORT_SECONDS:
                        break
                    continue
                if not _is_free(division.folder(number)):
                    missing_since.pop(client, None)
                    break
                # The lock is taken shortly after the folder was created, so only a folder that is
                # unlocked twice is abandoned.
                if now - missing_since.setdefault(client, now) < 1:
                    break
            else:
                return
            gevent.sleep(0.05)


def run_id(handed: str) -> str:
    """Returns the run id, which all parts of a test share."""
    return json.loads(handed)["part"]["run_id"]


def starts_ns(handed: str) -> int:
    """Returns the start of a test on CLOCK_MONOTONIC."""
    return json.loads(handed)["part"]["start"]["monotonic_ns"]


def hold(folder: str) -> int:
    """Locks a folder to show that its writer is running, as long as the returned descriptor is open."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    # Without file locks a killed process is waited for like a slow one.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def _is_free(folder: str) -> bool:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


master = Master()
