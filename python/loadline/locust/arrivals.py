"""Starts tasks at an arrival rate: one task per arrival, at its due time or as soon as a user is
free.

The engine decides when arrivals are due; this module assigns them to users. In addition to the
session classes, only the names listed here are replaced, and only during such a test.
"""

from __future__ import annotations

import os
import sys
from collections import deque

import gevent
from gevent import GreenletExit, get_hub, getcurrent
from locust.exception import InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopTest, StopUser
from locust.user.task import LOCUST_STATE_RUNNING, LOCUST_STATE_STOPPING, LOCUST_STATE_WAITING, DefaultTaskSet, TaskSet

from loadline import _native

NAME = "LOADLINE_ARRIVAL_RATE"


def requested_rate() -> str | None:
    """Returns the arrival rate from the environment, or None."""
    return os.environ.get(NAME, "").strip() or None


class Arrival:
    """An arrival, with times of CLOCK_MONOTONIC."""

    __slots__ = ("intended_ns", "noticed_ns", "number")

    def __init__(self, number: int, intended_ns: int, noticed_ns: int) -> None:
        self.number, self.intended_ns, self.noticed_ns = number, intended_ns, noticed_ns


class ArrivalDispatcher:
    """Matches arrivals with free users."""

    def __init__(self) -> None:
        self._run: _native.Run | None = None
        self._due: deque[Arrival] = deque()
        self._free: deque[gevent.Greenlet] = deque()
        #: Users that run a task.
        self._busy: set[gevent.Greenlet] = set()
        #: The arrival of each user whose first request was not sent yet.
        self.first: dict[gevent.Greenlet, Arrival] = {}

    def open(self, run: _native.Run) -> None:
        """Assigns tasks to the run's arrivals until it is stopped."""
        _replace()
        self._run = run

    def close(self) -> None:
        """Stops dispatching, at the end of a test or in a forked process."""
        self.__init__()

    def end(self) -> None:
        """Marks that users are about to stop: later arrivals count as not planned."""
        if self._run is not None:
            self._run.end_arrivals()

    @property
    def is_open(self) -> bool:
        """Returns whether arrivals start tasks."""
        return self._run is not None

    def dispatch(self, due: list[tuple[int, int]]) -> None:
        """Assigns due arrivals. Must be called in the hub."""
        now = _native.now_ns()
        for number, intended_ns in due:
            arrival = Arrival(number, intended_ns, now)
            if self._free:
                _wake(self._free.popleft(), arrival)
            else:
                self._due.append(arrival)

    def run_task(self, user, task, execute) -> None:
        """Waits for an arrival and runs a task for it."""
        run = self._run
        arrival = self._next(user)
        greenlet = getcurrent()
        run.started(arrival.number, arrival.intended_ns, getattr(task, "__name__", None) or type(task).__name__)
        self.first[greenlet] = arrival
        self._busy.add(greenlet)
        well: bool | None = True
        try:
            execute()
        except GreenletExit:
            well = None
            raise
        except _ENDS:
            raise
        except BaseException:
            well = False
            raise
        finally:
            self._busy.discard(greenlet)
            self.first.pop(greenlet, None)
            run.over(arrival.number, well)

    def _next(self, user) -> Arrival:
        if user._state == LOCUST_STATE_STOPPING:
            raise StopUser
        # A user stopped here has no task in flight.
        user._state = LOCUST_STATE_WAITING
        if self._due:
            # Gives other users a turn even if tasks never wait.
            gevent.sleep(0)
        arrival = self._due.popleft() if self._due else self._park()
        user._state = LOCUST_STATE_RUNNING
        return arrival

    def _park(self) -> Arrival:
        greenlet = getcurrent()
        self._free.append(greenlet)
        try:
            while True:
                arrival = get_hub().switch()
                if arrival.__class__ is Arrival:
                    return arrival
        except BaseException:
            if greenlet in self._free:
                self._free.remove(greenlet)
            raise

    def wait_for_arrival(self, task_set, wait) -> None:
        """Between two tasks a user waits only for its next arrival.

        Within a task it waits as requested.
        """
        if self._run is None or getcurrent() in self._busy:
            wait(task_set)
            return
        if task_set.user._state == LOCUST_STATE_STOPPING:
            raise StopUser


dispatcher = ArrivalDispatcher()
os.register_at_fork(after_in_child=dispatcher.close)

#: Exceptions with which tasks end without an error.
_ENDS = (InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopUser, StopTest)
_replaced = False


def _wake(greenlet: gevent.Greenlet, arrival: Arrival) -> None:
    try:
        greenlet.switch(arrival)
    except BaseException:
        # An exception of one user must not cost the others their arrivals.
        get_hub().handle_error(greenlet, *sys.exc_info())


def _replace() -> None:
    """Makes task sets wait for an arrival before each task."""
    global _replaced
    if _replaced:
        return
    _replaced = True
    for task_set in (TaskSet, DefaultTaskSet):
        task_set.execute_task = _executing(task_set.execute_task)
    wait = TaskSet.wait
    TaskSet.wait = lambda self: dispatcher.wait_for_arrival(self, wait)


def _executing(original):
    def execute_task(self, task):
        # Tasks of a nested task set need no arrivals of their own
        if not dispatcher.is_open or hasattr(task, "tasks"):
            original(self, task)
        else:
            dispatcher.run_task(self.user, task, lambda: original(self, task))

    return execute_task
