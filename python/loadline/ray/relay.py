"""Connects the conductor's pipe with the actors: one thread reads from each node, one writes to
it.

Nodes do not wait for each other, and no Ray call is made per request of the load: each call waits
for bytes and returns all bytes received meanwhile.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections import deque
from typing import Any

import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError, NodeDiedError, RayError
from ray.util.placement_group import PlacementGroup, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from loadline.ray import cluster, node
from loadline.ray.frames import CONTROL, Broken, Pipe
from loadline.ray.order import Order
from loadline.ray.refusal import Refused

#: Concurrency groups of calls that do not wait for each other, one thread each.
GROUPS = {"read": 1, "write": 1, "control": 1}
#: A node that accepts no data is lost when more than this is queued for it.
MOST_WAITING = 64 * 1024 * 1024
MOST_AT_ONCE = 4 * 1024 * 1024
#: Time for the last messages to reach a node. A node that takes nothing is released without them.
FLUSH_SECONDS = 5.0
#: Longer than an actor takes to stop its program, including SIGTERM and SIGKILL.
RELEASE_SECONDS = 3 * node.GRACE_SECONDS + 5
#: The first actor on a node waits for a new Python process.
BEGIN_SECONDS = 60


class Member:
    """One node of the run."""

    def __init__(self, number: int, actor: Any, pipe: Pipe) -> None:
        self.number, self.actor, self._pipe = number, actor, pipe
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._is_writing = False
        self._is_over = False

    def call(self, group: str, method: str, *arguments: Any) -> ray.ObjectRef[Any]:
        """Calls the actor within a concurrency group."""
        return getattr(self.actor, method).options(concurrency_group=group).remote(*arguments)

    def start(self) -> None:
        """Starts forwarding bytes."""
        for work, name in ((self._read, "read"), (self._write, "write")):
            threading.Thread(target=work, name=f"{name} {self.number}", daemon=True).start()

    def send(self, data: bytes) -> None:
        """Queues bytes for the node and never blocks, because frames of all nodes share one
        reader.
        """
        with self._changed:
            if self._is_over:
                return
            self._waiting.append(data)
            self._size += len(data)
            is_too_much = self._size > MOST_WAITING
            self._changed.notify_all()
        if is_too_much:
            self._lose(f"it did not read {MOST_WAITING >> 20} MiB of data sent to it")

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting) or self._is_over)
                if self._is_over:
                    return
                data = self._next()
                self._is_writing = True
            try:
                ray.get(self.call("write", "write", data))
            except RayError as error:
                self._lose(_loss_reason(error))
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()

    def _next(self) -> bytes:
        """Returns the data for one call. An end of stream is sent in a separate call."""
        gathered = [self._waiting.popleft()]
        size = len(gathered[0])
        while size and self._waiting and self._waiting[0] and size < MOST_AT_ONCE:
            gathered.append(self._waiting.popleft())
            size += len(gathered[-1])
        self._size -= size
        return b"".join(gathered)

    def _read(self) -> None:
        is_closed = False
        with contextlib.suppress(BrokenPipeError):
            while not self._is_over:
                try:
                    data, lines, has_ended, code = ray.get(self.call("read", "read"))
                except RayError as error:
                    # The bytes of the failed call are lost, and a stream with a gap is useless.
                    self._lose(_loss_reason(error))
                    return
                if data:
                    self._pipe.write(self.number, data)
                for line in lines:
                    self._pipe.send_control(printed=self.number, text=line)
                if has_ended and not is_closed:
                    is_closed = True
                    self._pipe.write(self.number, b"")
                if code is not None:
                    self._lose(*_how_ended(code))
                    return

    def _lose(self, reason: str, code: int | None = None) -> None:
        with self._changed:
            if self._is_over:
                return
            self._is_over = True
            self._waiting.clear()
            self._changed.notify_all()
        # A lost node must be killed; a node whose program has ended is cleaned up later.
        if code is None:
            with contextlib.suppress(RayError):
                ray.kill(self.actor)
        with contextlib.suppress(BrokenPipeError):
            self._pipe.send_control(lost=self.number, reason=reason, **({} if code is None else {"code": code}))

    def flush(self, until: float) -> None:
        """Waits until the node has everything that was sent to it, or until the monotonic time
        ``until``.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_over or not (self._waiting or self._is_writing), max(0.0, until - time.monotonic())
            )

    def stop(self) -> None:
        """Ends both threads. Later events of this node are not reported."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


class Relay:
    """A run, from its order to the end of the conductor's pipe."""

    def __init__(self, order: Order, address: str | None, pipe: Pipe) -> None:
        self._order, self._address, self._pipe = order, address, pipe
        self._is_closed = threading.Event()
        self._broken: Broken | None = None
        self._members: list[Member] = []
        self._count = 0
        self._group: PlacementGroup | None = None

    def run(self) -> None:
        """Runs until the pipe is closed. Raises ``Refused`` if the run cannot start."""
        self._listen_from_now()
        try:
            cluster.connect(self._address, self._order.nodes, self._order.insecure)
            # Ray handles signals itself; the conductor ends the run by closing the pipe.
            signal.signal(signal.SIGTERM, lambda *_: self._is_closed.set())
            self._count = self._order.nodes or max(cluster.with_room(), 1)
            self._group = cluster.reserve(self._count, self._order.timeout_s, self._is_closed.is_set)
            if self._group is not None:
                self._begin(self._group)
                for member in self._members:
                    member.start()
                self._is_closed.wait()
        finally:
            self._release()
        if self._broken is not None:
            raise Refused(f"protocol error from the conductor: {self._broken}")

    def _listen_from_now(self) -> None:
        """Also reads while waiting for nodes, so that a cancellation is noticed."""
        threading.Thread(target=self._listen, name="conductor", daemon=True).start()

    def _listen(self) -> None:
        try:
            while frame := self._pipe.read():
                stream, data = frame
                if stream == CONTROL:
                    raise Broken("only the first frame may be an order")
                if stream >= len(self._members):
                    raise Broken(f"node {stream} does not exist")
                self._members[stream].send(data)
        except Broken as error:
            self._broken = error
        finally:
            self._is_closed.set()

    def _begin(self, group: PlacementGroup) -> None:
        order = self._order
        ids = cluster.nodes_of(group)
        # By value, because a node's own package may have another module of this name.
        ray.cloudpickle.register_pickle_by_value(node)
        actors = ray.remote(concurrency_groups=GROUPS)(node.Node)
        members = [Member(number, actors.options(**_placed_at(group, number)).remote(), self._pipe) for number in range(self._count)]
        files = ray.put(order.files)
        # Not passed to the constructor, because the cluster stores its arguments as long as it
        # knows the actor.
        calls = [m.call("control", "begin", order.arguments, order.folder, files, order.environment) for m in members]
        self._members = members
        names = []
        for number, call in enumerate(calls):
            try:
                name, refusal = ray.get(call, timeout=BEGIN_SECONDS)
            except GetTimeoutError:
                raise Refused(f"node {number} ({ids[number][:8]}) did not start its part within {BEGIN_SECONDS} s") from None
            except RayError as error:
                raise Refused(f"node {number} ({ids[number][:8]}) cannot start its part: {_loss_reason(error)}") from None
            if refusal is not None:
                raise Refused(f"node {number} ({name}): {refusal}")
            names.append(name)
        placed = [{"node": number, "name": name, "ray": ids[number]} for number, name in enumerate(names)]
        with contextlib.suppress(BrokenPipeError):
            self._pipe.send_control(placed=placed)

    def _release(self) -> None:
        """Releases everything, also of a run that never began.

        Ray ends actors that do not answer with their driver.
        """
        if not ray.is_initialized():
            return
        calls = []
        # A node stops at the end of its stream. It deletes a record that the conductor has
        # received, and keeps one that it has not.
        for member in self._members:
            member.send(b"")
        until = time.monotonic() + FLUSH_SECONDS
        for member in self._members:
            member.flush(until)
        for member in self._members:
            member.stop()
            with contextlib.suppress(RayError):
                calls.append(member.call("control", "release"))
        if calls:
            ray.wait(calls, num_returns=len(calls), timeout=RELEASE_SECONDS)
        if self._group is not None:
            with contextlib.suppress(RayError):
                remove_placement_group(self._group)
        ray.shutdown()


def _placed_at(group: PlacementGroup, number: int) -> dict[str, Any]:
    """Returns actor options that forbid restarts: a part runs at most once."""
    place = PlacementGroupSchedulingStrategy(placement_group=group, placement_group_bundle_index=number)
    return {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": place}


def _how_ended(code: int) -> tuple[str, int]:
    """Describes an exit code. Signals are numbered as in shells."""
    if code >= 0:
        return f"its process ended with code {code}", code
    with contextlib.suppress(ValueError):
        return f"its process was ended by {signal.Signals(-code).name}", 128 - code
    return f"its process was ended by signal {-code}", 128 - code


def _loss_reason(error: RayError) -> str:
    """Shortens Ray's error to one line."""
    text = " ".join(str(error).split())
    if isinstance(error, ActorUnavailableError):
        return "its connection was lost"
    if isinstance(error, ActorDiedError | NodeDiedError):
        return "its node died" if "node" in text.lower() and "died" in text.lower() else "its Ray process died"
    return text[:200] or type(error).__name__
