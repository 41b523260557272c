"""Sends requests with the engine and waits for responses: a greenlet parks, and the hub wakes it.

The engine's threads signal one file descriptor. At most one test runs per process.
"""

from __future__ import annotations

import itertools
import os
import sys

import gevent
from gevent import GreenletExit, get_hub, getcurrent

from loadline import _native
from loadline.locust.arrivals import dispatcher

#: Responses delivered before timers, heartbeats and the web UI get a turn.
BATCH = 64

_sessions = itertools.count(1)


class Engine:
    """The running test, if there is one."""

    def __init__(self) -> None:
        self.run: _native.Run | None = None
        self._ending: _native.Run | None = None
        self._waiting: dict[int, gevent.Greenlet] = {}
        self._watcher = None
        self._hub = None

    def begin(self, run: _native.Run) -> None:
        """Sends all later requests with this run."""
        self.run = run
        self._hub = get_hub()
        self._watcher = get_hub().loop.io(run.fileno(), 1)
        self._watcher.priority = get_hub().loop.MAXPRI
        self._watcher.start(self._drain)
        if run.has_arrivals:
            dispatcher.open(run)

    def end(self) -> tuple[list[str], bool, str | None] | None:
        """Ends the test. Returns its results, or None if there was none."""
        run = self.run
        if run is None:
            return None
        dispatcher.close()
        # In this order, because an interrupt between any two steps must still end the run.
        self._ending = run
        self.run = None
        self._unwatch()
        # The test's own greenlets that were not stopped no longer get a response.
        waiting, self._waiting = self._waiting, {}
        for greenlet in waiting.values():
            get_hub().loop.run_callback(greenlet.throw, ConnectionError("the test has ended"))
        results = _waited_for(get_hub().threadpool.spawn(run.end))
        self._ending = None
        return results

    def _unwatch(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()
            watcher.close()

    def end_of_process(self) -> tuple[list[str], bool, str | None] | None:
        """Ends the run when the process exits. No caller is waiting by then."""
        # Locust kills the greenlet that ends a test if the process is stopped meanwhile.
        run, self.run, self._ending = self.run or self._ending, None, None
        return None if run is None else run.end()

    def is_here(self) -> bool:
        """Returns whether requests can be sent: a test runs on this thread."""
        return self.run is not None and get_hub() is self._hub

    def close(self, session: int) -> None:
        """Closes the connections of a session."""
        if self.run is not None:
            self.run.close(session)

    def forget(self) -> None:
        """Drops all state in a forked child. Runs belong to the parent."""
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
        """Sends a request and waits for its response.

        If the wait ends early, the request is cancelled.
        """
        run = self.run
        arrival = dispatcher.first.pop(getcurrent(), None) if dispatcher.first else None
        due = None if arrival is None else (arrival.intended_ns, arrival.noticed_ns)
        token = run.send(session, verifies, method, name, *whom, data, connect, read, due)
        waiting = self._waiting
        waiting[token] = getcurrent()
        switch = get_hub().switch
        try:
            answer = switch()
            while answer.__class__ is not _native.Answer or answer.token != token:
                # Ignore switches made by other code.
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
            # An unread descriptor would stay ready forever.
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
                # An exception of one user must not cost the others their responses.
                self._hub.handle_error(greenlet, *sys.exc_info())
        if dispatcher.is_open:
            dispatcher.dispatch(run.arrivals())


def _waited_for(result):
    """Waits for a result even if the greenlet is killed, then repeats the kill.

    A user that ends the test from its own task is killed while it does so. Locust's own path to the
    end has no wait that a kill could interrupt.
    """
    killed = False
    while True:
        try:
            value = result.get()
            break
        except GreenletExit:
            killed = True
    if killed:
        getcurrent().kill(block=False)
    return value


engine = Engine()
os.register_at_fork(after_in_child=engine.forget)


def new_session() -> int:
    """Returns the number of a new session, which has its own connections."""
    return next(_sessions)


def log(line: str) -> None:
    """Prints one of Loadline's messages on standard error. Standard output belongs to Locust."""
    print(f"loadline: {line}", file=sys.stderr, flush=True)
