"""Sending over the engine, and waiting for it: a greenlet parks, and the hub wakes it when its answer is there. The engine's
threads know nothing of this; they ring one descriptor. There is at most one test under way per process."""

from __future__ import annotations

import itertools
import os
import sys

import gevent
from gevent import GreenletExit, get_hub, getcurrent

from loadline import _native
from loadline.locust.arrivals import desk

#: So many answers are handed out before timers, heartbeats and the web UI have their turn.
BATCH = 64

_sessions = itertools.count(1)


class Engine:
    """The test under way, if there is one."""

    def __init__(self) -> None:
        self.run: _native.Run | None = None
        self._ending: _native.Run | None = None
        self._waiting: dict[int, gevent.Greenlet] = {}
        self._watcher = None
        self._hub = None

    def begin(self, run: _native.Run) -> None:
        """Requests go over this run from now on."""
        self.run = run
        self._hub = get_hub()
        self._watcher = get_hub().loop.io(run.fileno(), 1)
        self._watcher.priority = get_hub().loop.MAXPRI
        self._watcher.start(self._drain)
        if run.has_arrivals:
            desk.open(run)

    def end(self) -> tuple[list[str], bool, str | None] | None:
        """The test is over: what there is to say of it."""
        run = self.run
        if run is None:
            return None
        desk.close()
        # In this order: an interrupt may come between any two of them, and the run is to be ended behind it.
        self._ending = run
        self.run = None
        self._unwatch()
        # Greenlets of the test's own that nobody has stopped: no answer will come.
        waiting, self._waiting = self._waiting, {}
        for greenlet in waiting.values():
            get_hub().loop.run_callback(greenlet.throw, ConnectionError("the test is over"))
        told = _waited_for(get_hub().threadpool.spawn(run.end))
        self._ending = None
        return told

    def _unwatch(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()
            watcher.close()

    def end_of_process(self) -> tuple[list[str], bool, str | None] | None:
        """The process ends, and nothing waits any more."""
        # Locust kills the greenlet that ends a test where the process is told to end meanwhile.
        run, self.run, self._ending = self.run or self._ending, None, None
        return None if run is None else run.end()

    def is_here(self) -> bool:
        """Whether requests can go over it: a test runs, and this is the thread that it runs on."""
        return self.run is not None and get_hub() is self._hub

    def close(self, session: int) -> None:
        """Closes the connections of a session."""
        if self.run is not None:
            self.run.close(session)

    def forget(self) -> None:
        """In a forked child: whatever ran, runs in the parent."""
        self.run = self._ending = None
        self._waiting = {}
        self._watcher = self._hub = None

    def send(
        self,
        session: int,
        verifies: bool,
        method: str,
        name: str,
        whom: tuple[str, int, bool],
        data: bytes,
        connect: float | None,
        read: float | None,
    ) -> _native.Answer:
        """Sends a request and waits for its answer. Whatever ends the wait early has the request given up."""
        run = self.run
        arrival = desk.first.pop(getcurrent(), None) if desk.first else None
        due = None if arrival is None else (arrival.intended_ns, arrival.noticed_ns)
        token = run.send(session, verifies, method, name, *whom, data, connect, read, due)
        waiting = self._waiting
        waiting[token] = getcurrent()
        switch = get_hub().switch
        try:
            answer = switch()
            while answer.__class__ is not _native.Answer or answer.token != token:
                # Somebody else's switch is none of ours.
                answer = switch()
        except BaseException:
            run.cancel(token, session)
            raise
        finally:
            waiting.pop(token, None)
        answer.resumed()
        return answer

    def _drain(self) -> None:
        waiting = self._waiting
        run = self.run
        if run is None:
            # What nobody takes would be there for ever.
            self._unwatch()
            return
        for answer in run.take(BATCH):
            greenlet = waiting.get(answer.token)
            if greenlet is None:
                answer.cancelled()
                continue
            try:
                greenlet.switch(answer)
            except BaseException:
                # Whose it is, it must not cost the others their answers.
                self._hub.handle_error(greenlet, *sys.exc_info())
        if desk.is_open:
            desk.came(run.arrivals())


def _waited_for(result):
    """A user that ends the test from its own task is killed while it does so. Locust's way on to the end has no wait that a kill could
    cut short; ours must not be one: the kill is taken up again behind it."""
    killed = False
    while True:
        try:
            told = result.get()
            break
        except GreenletExit:
            killed = True
    if killed:
        getcurrent().kill(block=False)
    return told


engine = Engine()
os.register_at_fork(after_in_child=engine.forget)


def new_session() -> int:
    """The number of a session: connections are its own."""
    return next(_sessions)


def say(line: str) -> None:
    """A line of our own; standard output is Locust's."""
    print(f"loadline: {line}", file=sys.stderr, flush=True)
