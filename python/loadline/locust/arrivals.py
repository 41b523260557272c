"""Arrivals at a rate for users that know nothing of it: one task for each, begun when it is due or, where no user is free then, as
soon as one is. When arrivals are due is the engine's; here they are given to users. Beside the session classes only what is named
here is replaced, and only once there is such a test."""

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


def wanted() -> str | None:
    """What the environment asks for."""
    return os.environ.get(NAME, "").strip() or None


class Arrival:
    """One arrival, on CLOCK_MONOTONIC."""

    __slots__ = ("intended_ns", "noticed_ns", "number")

    def __init__(self, number: int, intended_ns: int, noticed_ns: int) -> None:
        self.number, self.intended_ns, self.noticed_ns = number, intended_ns, noticed_ns


class Desk:
    """Arrivals that wait for users, or users that wait for arrivals."""

    def __init__(self) -> None:
        self._run: _native.Run | None = None
        self._due: deque[Arrival] = deque()
        self._free: deque[gevent.Greenlet] = deque()
        #: Users that carry out a task.
        self._busy: set[gevent.Greenlet] = set()
        #: By user, the arrival whose first request has not been sent yet.
        self.first: dict[gevent.Greenlet, Arrival] = {}

    def open(self, run: _native.Run) -> None:
        """From now on each task is an arrival's."""
        _replace()
        self._run = run

    def close(self) -> None:
        """The test is over, or this is another process."""
        self.__init__()

    def end(self) -> None:
        """Users are about to be stopped: what is due from now on was never planned."""
        if self._run is not None:
            self._run.end_arrivals()

    @property
    def is_open(self) -> bool:
        """Whether arrivals decide when tasks begin."""
        return self._run is not None

    def came(self, due: list[tuple[int, int]]) -> None:
        """Arrivals are due: in the hub."""
        now = _native.now_ns()
        for number, intended_ns in due:
            arrival = Arrival(number, intended_ns, now)
            if self._free:
                _wake(self._free.popleft(), arrival)
            else:
                self._due.append(arrival)

    def carry_out(self, user, task, execute) -> None:
        """Waits for an arrival, and carries out a task for it."""
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
        # Whoever is stopped now has nothing under way.
        user._state = LOCUST_STATE_WAITING
        if self._due:
            # Also where tasks never wait the others have their turn.
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

    def waits(self, task_set, wait) -> None:
        """Between two tasks nobody waits for anything but the next arrival; within one a user may wait as he likes."""
        if self._run is None or getcurrent() in self._busy:
            wait(task_set)
            return
        if task_set.user._state == LOCUST_STATE_STOPPING:
            raise StopUser


desk = Desk()
os.register_at_fork(after_in_child=desk.close)

#: How tasks end beside returning, without an error.
_ENDS = (InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopUser, StopTest)
_replaced = False


def _wake(greenlet: gevent.Greenlet, arrival: Arrival) -> None:
    try:
        greenlet.switch(arrival)
    except BaseException:
        # Whose it is, it must not cost the others their arrivals.
        get_hub().handle_error(greenlet, *sys.exc_info())


def _replace() -> None:
    """Has task sets ask the desk before each task."""
    global _replaced
    if _replaced:
        return
    _replaced = True
    for task_set in (TaskSet, DefaultTaskSet):
        task_set.execute_task = _executing(task_set.execute_task)
    wait = TaskSet.wait
    TaskSet.wait = lambda self: desk.waits(self, wait)


def _executing(original):
    def execute_task(self, task):
        # What a nested task set does are its own
        if not desk.is_open or hasattr(task, "tasks"):
            original(self, task)
        else:
            desk.carry_out(self.user, task, lambda: original(self, task))

    return execute_task
