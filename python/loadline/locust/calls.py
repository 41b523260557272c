"""State of a call that uses the original client, while the client handles it."""

from __future__ import annotations

from gevent.local import local


class Call:
    """A call of a session that uses the original client."""

    __slots__ = ("first", "first_head", "is_stream", "led", "lost", "ms", "sent_as")

    def __init__(self, sent_as, first=None, ms=None, first_head=None, is_stream=False):
        self.sent_as = sent_as
        #: The head, as sent, of the request that was already answered.
        self.first_head = first_head
        #: Whether the body is streamed, which needs the client's own sockets.
        self.is_stream = is_stream
        #: Milliseconds spent on that response.
        self.ms = ms
        #: A response that was already received.
        self.first = first
        #: A response that may be a redirect.
        self.led = None
        #: A response that is incomplete.
        self.lost = None


class _Calls(local):
    """The current call of each greenlet. One user may have several calls at the same time."""

    call: Call | None = None


current = _Calls()


class Events:
    """A session's request event.

    Adds the time that a call spent before the original client's clock started.
    """

    @property
    def request_event(self):
        call = current.call
        return self._event if call is None or call.ms is None else _Later(self._event, call.ms)

    @request_event.setter
    def request_event(self, event):
        self._event = event


class _Later:
    """The event of a request that was partly sent earlier."""

    def __init__(self, event, ms: float) -> None:
        self._event, self._ms = event, ms

    def fire(self, **meta) -> None:
        meta["response_time"] += self._ms
        self._event.fire(**meta)
