"""A test of several processes, at Locust's master: who is there, which part of the record each keeps, and one record, one verdict
at the end. What a part is told travels in the options of Locust's own spawn messages."""

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
from loadline.locust.engine import say
from loadline.locust.outcome import not_recorded, tell

#: The key of ours in the options of spawn messages, and in the reports of workers.
KEY = "loadline"
#: Each worker reports as soon as it is connected; one that has not for so long is no worker of Loadline's.
REPORT_SECONDS = 5
#: Beyond the time that users are given to stop.
PATIENCE_SECONDS = 60
LOOK_SECONDS = 1
#: A worker that has ended its part reports at once.
LAST_WORDS_SECONDS = 2


class Master:
    """The test under way, if there is one, and the workers that have ever been there."""

    def __init__(self) -> None:
        self.division: _native.Division | None = None
        self._environment = None
        #: By worker, the version of Loadline that it has, or none.
        self._versions: dict[str, str | None] = {}
        #: By worker, the number of its part.
        self._numbers: dict[str, int] = {}
        self._unmeasured: set[str] = set()
        #: By worker, the test of which it has told everything.
        self._over: dict[str, str | None] = {}
        self._run_id = ""
        #: Workers that have ended their part of the test.
        self._closed: set[str] = set()
        self._looking: gevent.Greenlet | None = None
        self._finishing: gevent.Greenlet | None = None
        self._is_beginning = False

    def begin(self, environment, facts: tuple) -> None:
        """A test starts: its record begins, and every worker that is there has a number."""
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
            say("a master without options has nothing to hand parts out with: each worker keeps a record of its own")
            return
        present = self._wait_for_reports(runner)
        measured = sorted((client for client in present if self._has_loadline(client)), key=runner.get_worker_index)
        handed = {"part": None, "numbers": {}}
        setattr(options, KEY, handed)
        if not measured:
            say("no worker sends its requests by Loadline: nothing is recorded")
            return
        try:
            division = _native.Division(facts, len(measured))
        except (RuntimeError, ValueError, OverflowError) as why:
            not_recorded(environment, why)
            return
        self._environment, self.division = environment, division
        self._numbers = {client: number for number, client in enumerate(measured)}
        self._unmeasured, self._closed = set(), set()
        handed.update(part=division.handed(), numbers=self._numbers)
        self._run_id = run_id(handed["part"])
        for client in present:
            self._named_if_unmeasured(client)
        self._looking = gevent.spawn(self._look)

    def _wait_for_reports(self, runner) -> list[str]:
        """The workers that take part."""
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
        """A worker is there. Where a test runs it has users in a moment, and a part from the first."""
        is_stock = client in self._versions and not self._has_loadline(client)
        if self.division is not None and client not in self._numbers and not is_stock:
            self._numbers[client] = max(self._numbers.values(), default=-1) + 1

    def reported(self, client: str, data: dict) -> None:
        """A worker's report: what it says of Loadline, or that it says nothing."""
        told = data.get(KEY) or {}
        is_new = client not in self._versions
        self._versions[client] = told.get("version")
        self._over[client] = told.get("over")
        if is_new and self.division is not None:
            if self._has_loadline(client):
                self.division.remark(f"worker {client} came while the test ran")
            self._named_if_unmeasured(client)

    def _named_if_unmeasured(self, client: str) -> None:
        if self._has_loadline(client) or client in self._unmeasured:
            return
        self._unmeasured.add(client)
        version = self._versions.get(client)
        what = f"has Loadline {version}, not {_native.__version__}" if version else "runs without Loadline"
        text = f"worker {client} {what}: its requests are in Locust's statistics, and not in these figures"
        self.division.is_unmeasured(text)
        say(text)

    def _look(self) -> None:
        while self.division is not None:
            self.division.look()
            gevent.sleep(LOOK_SECONDS)

    def end(self) -> None:
        """Users are stopped, or are about to be: whoever closes his part may take a while, and nobody waits for it here."""
        if self.division is not None and self._finishing is None:
            self._finishing = gevent.spawn(self._finish)

    def _wait_for_the_last(self) -> None:
        self.end()
        if self._finishing is not None:
            self._finishing.join()

    def quit(self, runner) -> None:
        """Workers have been told to quit, and Locust listens to them no more: what they still have to say is heard here, until
        the record is whole and each has reported for the last time."""
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
        if self._looking is not None:
            self._looking.kill(block=False)
        told = get_hub().threadpool.apply(division.end)
        self.division = self._finishing = None
        if tell(told) and environment.process_exit_code is None:
            environment.process_exit_code = 1

    def _wait_for_parts(self, environment, division: _native.Division) -> None:
        began = time.monotonic()
        until = began + (environment.stop_timeout or 0) + PATIENCE_SECONDS
        gone: dict[str, float] = {}
        while (now := time.monotonic()) < until:
            for client, number in self._numbers.items():
                ended = division.has_ended(number)
                if ended:
                    self._closed.add(client)
                    continue
                if ended is None:
                    # A worker that has no part never had users, or no Loadline, or was killed before.
                    node = environment.runner.clients.get(client)
                    is_there = node is not None and node.state != STATE_MISSING and self._has_loadline(client)
                    if is_there and now - began < REPORT_SECONDS:
                        break
                    continue
                if not _is_free(division.folder(number)):
                    gone.pop(client, None)
                    break
                # Taken a moment after its folder was made: who is free twice is gone.
                if now - gone.setdefault(client, now) < 1:
                    break
            else:
                return
            gevent.sleep(0.05)


def run_id(handed: str) -> str:
    """What all parts of a test have in common."""
    return json.loads(handed)["part"]["run_id"]


def starts_ns(handed: str) -> int:
    """When a test starts, by CLOCK_MONOTONIC."""
    return json.loads(handed)["part"]["start"]["monotonic_ns"]


def hold(folder: str) -> int:
    """Says that the process that writes into a folder lives, for as long as the descriptor is open."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    # On a file system without locks who is killed is waited for as long as who is slow.
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
