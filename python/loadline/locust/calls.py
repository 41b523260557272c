"""Calls that go the long way, through the client whose place is taken: what has to be known of one while
that client is busy with it."""

from __future__ import annotations

from gevent.local import local


class Call:
    """One call of the session's by the long way."""

    __slots__ = ("first", "first_head", "is_stream", "led", "lost", "ms", "sent_as")

    def __init__(self, sent_as, first=None, ms=None, first_head=None, is_stream=False):
        self.sent_as = sent_as
        #: The head of the request that was answered already, as it was sent.
        self.first_head = first_head
        #: Whether the body is read as it comes, which the client's own sockets do.
        self.is_stream = is_stream
        #: Milliseconds that were spent on that answer.
        self.ms = ms
        #: An answer that is there already.
        self.first = first
        #: An answer that may lead on.
        self.led = None
        #: An answer that is none.
        self.lost = None


class _Calls(local):
    """The call of each greenlet: a user may have several at once."""

    call: Call | None = None


current = _Calls()


class Events:
    """A session's event of requests: of a call by the long way it is told with what was spent before the original's clock began."""

    @property
    def request_event(self):
        call = current.call
        return self._event if call is None or call.ms is None else _Later(self._event, call.ms)

    @request_event.setter
    def request_event(self, event):
        self._event = event


class _Later:
    """The event of a request of which a part was carried out before."""

    def __init__(self, event, ms: float) -> None:
        self._event, self._ms = event, ms

    def fire(self, **meta) -> None:
        meta["response_time"] += self._ms
        self._event.fire(**meta)
