"""Between the conductor's pipe and the actors: a thread that reads of each node, and one that writes to it. No node waits for
another, and no call to Ray is made per anything of the load: one waits for bytes, and one takes all bytes that have come meanwhile."""

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

#: Groups of calls that never wait for each other, with one thread each.
GROUPS = {"read": 1, "write": 1, "control": 1}
#: A node that takes nothing is given up when so much waits for it.
MOST_WAITING = 64 * 1024 * 1024
MOST_AT_ONCE = 4 * 1024 * 1024
#: Time for the last messages to reach a node. A node that takes nothing is released without them.
FLUSH_SECONDS = 5.0
#: Longer than an actor takes to end its program: by itself, by SIGTERM, by SIGKILL.
RELEASE_SECONDS = 3 * node.GRACE_SECONDS + 5
#: A first actor on a node waits for a new process of Python's.
BEGIN_SECONDS = 60


class Member:
    """One node of the run, as it is seen from here."""

    def __init__(self, number: int, actor: Any, pipe: Pipe) -> None:
        self.number, self.actor, self._pipe = number, actor, pipe
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._is_writing = False
        self._is_over = False

    def call(self, group: str, method: str, *arguments: Any) -> ray.ObjectRef[Any]:
        """A call of the actor, among the others of its group."""
        return getattr(self.actor, method).options(concurrency_group=group).remote(*arguments)

    def start(self) -> None:
        """Bytes flow from now on."""
        for work, name in ((self._read, "read"), (self._write, "write")):
            threading.Thread(target=work, name=f"{name} {self.number}", daemon=True).start()

    def send(self, data: bytes) -> None:
        """To be written, behind what waits already; never waits itself, for what other nodes are told comes by the same way."""
        with self._changed:
            if self._is_over:
                return
            self._waiting.append(data)
            self._size += len(data)
            is_too_much = self._size > MOST_WAITING
            self._changed.notify_all()
        if is_too_much:
            self._lose(f"it has not taken {MOST_WAITING >> 20} MiB of what it was told")

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
            except RayError as why:
                self._lose(_why_lost(why))
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()

    def _next(self) -> bytes:
        """As much as one call takes; an end goes by itself."""
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
                    data, said, has_ended, code = ray.get(self.call("read", "read"))
                except RayError as why:
                    # What the call would have brought is gone with it, and a stream with a hole is none.
                    self._lose(_why_lost(why))
                    return
                if data:
                    self._pipe.write(self.number, data)
                for line in said:
                    self._pipe.tell(said=self.number, text=line)
                if has_ended and not is_closed:
                    is_closed = True
                    self._pipe.write(self.number, b"")
                if code is not None:
                    self._lose(*_how_ended(code))
                    return

    def _lose(self, why: str, code: int | None = None) -> None:
        with self._changed:
            if self._is_over:
                return
            self._is_over = True
            self._waiting.clear()
            self._changed.notify_all()
        # One that is given up must not go on; one whose program has ended is asked to clean up later.
        if code is None:
            with contextlib.suppress(RayError):
                ray.kill(self.actor)
        with contextlib.suppress(BrokenPipeError):
            self._pipe.tell(lost=self.number, why=why, **({} if code is None else {"code": code}))

    def flush(self, until: float) -> None:
        """Waits until the node has everything that was sent to it, or until the monotonic time ``until``."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or not (self._waiting or self._is_writing), max(0.0, until - time.monotonic()))

    def stop(self) -> None:
        """Ends both threads. Nothing is reported about this node from now on."""
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

    def carry_out(self) -> None:
        """Until the pipe is closed. Raises ``Refused`` when there is nothing to carry out."""
        self._listen_from_now()
        try:
            cluster.connect(self._address, self._order.nodes, self._order.insecure)
            # Ray makes its own way out of signals; the conductor's is to close the pipe.
            signal.signal(signal.SIGTERM, lambda *_: self._is_closed.set())
            self._count = self._order.nodes or max(cluster.with_room(), 1)
            self._group = cluster.placed(self._count, self._order.timeout_s, self._is_closed.is_set)
            if self._group is not None:
                self._begin(self._group)
                for member in self._members:
                    member.start()
                self._is_closed.wait()
        finally:
            self._release()
        if self._broken is not None:
            raise Refused(f"what the conductor says is not understood: {self._broken}")

    def _listen_from_now(self) -> None:
        """Also while nodes are waited for: whoever gives up then is to be heard."""
        threading.Thread(target=self._listen, name="conductor", daemon=True).start()

    def _listen(self) -> None:
        try:
            while frame := self._pipe.read():
                stream, data = frame
                if stream == CONTROL:
                    raise Broken("there is one order, the first")
                if stream >= len(self._members):
                    raise Broken(f"there is no node {stream}")
                self._members[stream].send(data)
        except Broken as why:
            self._broken = why
        finally:
            self._is_closed.set()

    def _begin(self, group: PlacementGroup) -> None:
        order = self._order
        ids = cluster.nodes_of(group)
        # As it is, and not by its name, which a node's own package may have given to something else.
        ray.cloudpickle.register_pickle_by_value(node)
        actors = ray.remote(concurrency_groups=GROUPS)(node.Node)
        members = [Member(number, actors.options(**_placed_at(group, number)).remote(), self._pipe) for number in range(self._count)]
        files = ray.put(order.files)
        # Not told to the constructor: what that is told is kept by the cluster for as long as it knows the actor.
        calls = [m.call("control", "begin", order.arguments, order.folder, files, order.environment) for m in members]
        self._members = members
        names = []
        for number, call in enumerate(calls):
            try:
                name, refusal = ray.get(call, timeout=BEGIN_SECONDS)
            except GetTimeoutError:
                raise Refused(f"node {number} ({ids[number][:8]}) has not started its part within {BEGIN_SECONDS} s") from None
            except RayError as why:
                raise Refused(f"node {number} ({ids[number][:8]}) cannot start its part: {_why_lost(why)}") from None
            if refusal is not None:
                raise Refused(f"node {number} ({name}): {refusal}")
            names.append(name)
        placed = [{"node": number, "name": name, "ray": ids[number]} for number, name in enumerate(names)]
        with contextlib.suppress(BrokenPipeError):
            self._pipe.tell(placed=placed)

    def _release(self) -> None:
        """Everything, also of a run that never began. What does not answer is Ray's to end: actors end with their driver."""
        if not ray.is_initialized():
            return
        calls = []
        # A node that reads the end of its stream ends by itself: it removes a record that the conductor has, and keeps one that it lacks.
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
    """A part is carried out once or not at all: nobody starts it again behind the conductor's back."""
    place = PlacementGroupSchedulingStrategy(placement_group=group, placement_group_bundle_index=number)
    return {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": place}


def _how_ended(code: int) -> tuple[str, int]:
    """A signal as shells have it."""
    if code >= 0:
        return f"its process ended with code {code}", code
    with contextlib.suppress(ValueError):
        return f"its process was ended by {signal.Signals(-code).name}", 128 - code
    return f"its process was ended by signal {-code}", 128 - code


def _why_lost(why: RayError) -> str:
    """One line of Ray's many."""
    text = " ".join(str(why).split())
    if isinstance(why, ActorUnavailableError):
        return "the connection to it broke"
    if isinstance(why, ActorDiedError | NodeDiedError):
        return "its node died" if "node" in text.lower() and "died" in text.lower() else "what Ray ran there died"
    return text[:200] or type(why).__name__
