"""``FastHttpUser``'s session on the engine.

Common calls use a short path. All other calls use the original client, with only the sending
replaced. How responses are interpreted and reported is that client's code.
"""

from __future__ import annotations

import json as jsonlib
import time
import weakref
from datetime import timedelta

from gevent.lock import Semaphore
from geventhttpclient._parser import HTTPParseError
from geventhttpclient.client import _FIELD_VALUE_RE, _TOKEN_RE, IDEMPOTENT_METHODS, HTTPClientPool
from geventhttpclient.header import Headers
from geventhttpclient.response import HTTPConnectionClosed
from locust.contrib import fasthttp as stock

from loadline import _native
from loadline.locust import calls, faults, heads, urls
from loadline.locust.calls import Call, Events
from loadline.locust.engine import engine, new_session

_VALID = stock.LocustUserAgent.valid_response_codes
_BODY_METHODS = frozenset(("POST", "PUT", "PATCH"))
#: Connection errors after which the client sends again, if the method allows it.
_SENT_AGAIN = frozenset(("closed_early", "kept_closed", "kept_reset", "kept_broken_pipe"))


def client_error(answer: _native.Answer) -> Exception:
    """Returns the exception that the client raises if there is no complete response."""
    if answer.fault in faults.TIMEOUTS:
        return TimeoutError("timed out")
    garbled = HTTPParseError("Expected HTTP/, RTSP/ or ICE/", 8)
    return faults.cause(answer, HTTPConnectionClosed("connection closed."), garbled, stock.SSLError)


class _Stream:
    """A body that was already received, readable as a stream."""

    def __init__(self, response: _Native) -> None:
        self._owner = response
        self._at = 0
        self.message_complete = True

    @property
    def version(self) -> str:
        return heads.version(self._owner._native[0].head)

    @property
    def length(self) -> int:
        return len(self._owner.content)

    def get_code(self) -> int:
        return self._owner.status_code

    def read(self, n: int | None = None) -> bytes:
        body = self._owner.content or b""
        end = len(body) if n is None else self._at + n
        found, self._at = body[self._at : end], min(end, len(body))
        return found

    def readline(self, sep: bytes = b"\r\n") -> bytes:
        body = self._owner.content or b""
        at = body.find(sep, self._at)
        return self.read(None if at < 0 else at + len(sep) - self._at)

    def __iter__(self):
        while block := self.read(4096):
            yield block

    def release(self) -> None:
        pass


class _Native:
    """A response of the engine as the client's response, converted on first access."""

    _native: tuple[_native.Answer, tuple[str, str]]

    @property
    def _sent_request(self) -> str:
        """The head of the request as sent, which the client logs for an error status."""
        return self.__dict__["_head"].decode("latin-1")

    def _take(self, answer: _native.Answer, sent_as: tuple[str, str], sent_request: tuple) -> None:
        own = self.__dict__
        own["_native"] = (answer, sent_as)
        own["_sent_request"] = sent_request
        own["status_code"] = answer.status

    @property
    def headers(self):
        own = self.__dict__
        if "_headers" not in own:
            own["_headers"] = Headers(heads.fields(own["_native"][0].head))
        return own["_headers"]

    @property
    def request(self):
        own = self.__dict__
        if "_made" not in own:
            method, url, sent, payload = own["_sent_request"]
            if sent is None:
                sent = Headers(heads.fields(b"\r\n" + own["_block"]))
            own["_made"] = stock.FastRequest(url, method=method, headers=sent, payload=payload)
        return own["_made"]

    @property
    def content(self):
        own = self.__dict__
        if "_body" not in own:
            answer = own["_native"][0]
            own["_body"] = answer.take_body()
            own["_short"] = answer.fault is not None
        answer = own["_native"][0]
        if answer.unreadable:
            raise heads.decoding_error(heads.encoding(answer.head), own["_body"])
        if own["_short"]:
            # The client raises once, then returns the received part.
            own["_short"] = False
            raise HTTPParseError("Incomplete response.")
        return own["_body"]

    @property
    def _response(self):
        own = self.__dict__
        if "_stream" not in own:
            own["_stream"] = _Stream(self)
        return own["_stream"]

    @property
    def stream(self):
        return self._response

    @property
    def history(self):
        try:
            return self._history
        except AttributeError:
            return []

    @property
    def elapsed(self):
        service = self._native[0].service_ns
        return None if service is None else timedelta(seconds=service / 1e9)

    @property
    def status_code(self):
        return self.__dict__["status_code"]

    def __len__(self):
        return len(self.content)

    def read(self, n=None):
        return self._response.read(n)

    def readline(self):
        return self._response.readline()

    def release(self):
        pass


class FastResponse(_Native, stock.FastResponse):
    """A response without a `with` block."""

    def __init__(self, answer, sent_as, sent_request):
        self._take(answer, sent_as, sent_request)


class ResponseContextManager(_Native, stock.ResponseContextManager):
    """A response in a `with` block."""

    def __init__(self, answer, sent_as, sent_request):
        self._take(answer, sent_as, sent_request)


class LocustBadStatusCode(stock.LocustBadStatusCode):
    """The client formats the whole exchange for each error status; this class formats it on access."""

    @property
    def http_log(self):
        answered = self.response
        return stock.LocustUserAgent._conversation_str(self.url, answered, payload=answered.request.payload)


LocustBadStatusCode.__module__ = stock.__name__


class _Pool(HTTPClientPool):
    """Closing the pool also closes the engine's connections. This is the documented method to reconnect."""

    def __init__(self, original: HTTPClientPool, session: int) -> None:
        self.__dict__.update(original.__dict__)
        self._session = session

    def close(self) -> None:
        super().close()
        engine.close(self._session)


class _UserAgent(stock.LocustUserAgent):
    """The original client, but requests are sent by the engine."""

    def _urlopen(self, request):
        owner, call = self.owner, calls.current.call
        body = request.payload
        if isinstance(body, str):
            body = body.encode()
        is_bytes = isinstance(body, bytes | bytearray | memoryview | None)
        if call is None or call.is_stream or not owner.is_native() or not is_bytes:
            return super()._urlopen(request)
        answer, call.first = call.first, None
        head = call.first_head
        if answer is None:
            client = self.clientpool.get_client(request.url_split)
            uri = getattr(request.url_split, "quoted_uri", request.url_split.request_uri)
            head = client._build_request(request.method, uri, body=body, headers=request.headers).encode("latin-1")
            data = head + bytes(body or b"")
            whom = (client.host, client.port, client.ssl)
            answer = owner.send(request.method, call.sent_as[1], whom, data)
        led, call.led = call.led, None
        if led is not None:
            answer.follows(led)
        if answer.fault is not None and answer.status == 0:
            call.lost = answer
            raise client_error(answer)
        call.led = answer if answer.status in self.redirect_response_codes else None
        sent_request = (request.method, request.url, request.headers, request.payload)
        response = FastResponse(answer, call.sent_as, sent_request)
        response.__dict__["_head"] = head
        return response


def _copied(headers: Headers) -> dict:
    """Copies headers. The values of a repeated header are in a list that is changed in place."""
    return {name: list(value) if isinstance(value, list) else value for name, value in dict.items(headers)}


def _seconds(limit) -> float | None:
    return None if limit is None else float(limit)


class FastHttpSession(Events, stock.FastHttpSession):
    """Replaces the Locust class of this name."""

    def __init__(self, base_url, request_event, user, insecure=True, client_pool=None, ssl_context_factory=None, **kwargs):
        super().__init__(base_url, request_event, user, insecure, client_pool, ssl_context_factory, **kwargs)
        agent = self.client
        agent.__class__ = _UserAgent
        agent.owner = self
        if client_pool is None:
            self._session = new_session()
            weakref.finalize(self, engine.close, self._session)
            size = max(int(kwargs.get("concurrency") or 1), 1)
            self._turns = Semaphore(size)
            agent.clientpool = _Pool(agent.clientpool, self._session)
        else:
            shared = getattr(client_pool, "_loadline", None)
            if shared is None:
                size = max(int(client_pool.client_args.get("concurrency") or 1), 1)
                shared = client_pool._loadline = (new_session(), Semaphore(size), size)
                weakref.finalize(client_pool, engine.close, shared[0])
            self._session, self._turns, size = shared
        self._attempts = size + 1
        self._verifies = not insecure
        #: Whether an option requires the client's own sockets.
        self._own_sockets = ssl_context_factory is not None or bool(kwargs.get("proxy_host"))
        self._connect = _seconds(kwargs.get("connection_timeout", 60.0))
        self._read = _seconds(kwargs.get("network_timeout", 60.0))
        self._base = urls.Base(self.base_url)
        self._defaults = _copied(agent.default_headers)
        self._blocks = heads.Blocks()

    def is_native(self) -> bool:
        """Returns whether the engine sends this session's requests."""
        return engine.is_here() and not self._own_sockets

    def send(self, method: str, name: str, whom: urls.Whom, data: bytes) -> _native.Answer:
        """Sends a request on a connection of the session, within its connection limit."""
        with self._turns:
            answer = engine.send(self._session, self._verifies, method, name, whom, data, self._connect, self._read)
            if answer.fault in _SENT_AGAIN and method in IDEMPOTENT_METHODS:
                answer = self._again(answer, method, name, whom, data)
            return answer

    def _again(self, answer, method, name, whom, data):
        """Sends again after a closed connection, as the client does.

        Each attempt is a request in the record.
        """
        for _ in range(self._attempts):
            if answer.fault not in _SENT_AGAIN or answer.status:
                break
            answer.settle_failed(False, "resent by the client")
            answer = engine.send(self._session, self._verifies, method, name, whom, data, self._connect, self._read)
        return answer

    def request(
        self,
        method,
        url,
        name=None,
        data=None,
        catch_response=False,
        stream=False,
        headers=None,
        auth=None,
        json=None,
        allow_redirects=True,
        context={},  # noqa: B006  (the original's own)
        **kwargs,
    ):
        if self.request_name and not name:
            name = self.request_name
        sent_as = (method, name or url)
        positional = (method, url, name, data, catch_response, stream, headers, auth, json, allow_redirects, context)
        payload = data
        if not data and json is not None:
            payload = jsonlib.dumps(json)
        base = self._base
        if (
            kwargs
            or stream
            or method not in heads.METHODS
            or base.whom is None
            or base.url != self.base_url
            or not engine.is_here()
            or self._own_sockets
            or self.cookiejar._cookies
            or (path := base.path(url)) is None
            or not (block := self._block(headers, auth, payload is not data, payload))
        ):
            return self._use_original(Call(sent_as, is_stream=stream), positional, kwargs)
        start_time = time.time()
        body = payload.encode() if isinstance(payload, str) else payload
        if body:
            tail = b"Content-Length: %d\r\n\r\n" % len(body)
        elif method in _BODY_METHODS:
            tail = b"Content-Length: 0\r\n\r\n"
        else:
            tail = b"\r\n"
        line = f"{method} {path} HTTP/1.1\r\n".encode("ascii")
        started = time.perf_counter()
        head = line + block + tail
        answer = self.send(method, sent_as[1], base.whom, head + body if body else head)
        status = answer.status
        length = len(answer)
        ms = (time.perf_counter() - started) * 1000
        if answer.fault or answer.sets_cookies or answer.location or answer.unreadable:
            # The client handles redirects.
            return self._use_original(Call(sent_as, answer, ms, head), positional, kwargs)
        built_url = self._build_url(url)
        kind = ResponseContextManager if catch_response else FastResponse
        response = kind(answer, sent_as, (method, built_url, None, payload))
        response.__dict__.update(_block=block, _head=head)
        exception = None
        if status not in _VALID:
            # The client logs the body as UTF-8 and raises if that fails.
            response.content.decode()
            exception = LocustBadStatusCode(built_url, code=status)
            exception.response = response
            response.error = exception
        meta = {
            "request_type": method,
            "name": sent_as[1],
            "context": {**self.user.context(), **context} if self.user else context,
            "response": response,
            "exception": exception,
            "start_time": start_time,
            "url": built_url,
            "response_length": length,
            "response_time": ms,
        }
        if catch_response:
            response._request_event = self._event
            response.request_meta = meta
            response._catch_response = True
            return response
        self._event.fire(**meta)
        return response

    def _use_original(self, call, positional, kwargs):
        """Sends with the original client on the engine."""
        before = calls.current.call
        calls.current.call = call
        try:
            response = super().request(*positional, **kwargs)
        finally:
            calls.current.call = before
        own = response.__dict__
        if response.__class__ is stock.ResponseContextManager:
            response._request_event = self._event
            response.request_meta["response_time"] += call.ms or 0
            if "_sent_request" in own:
                response.__class__ = ResponseContextManager
        return response

    def _send_request_safe_mode(self, method, url, **kwargs):
        response = super()._send_request_safe_mode(method, url, **kwargs)
        call = calls.current.call
        if call is not None and call.lost is not None and "_native" not in response.__dict__:
            response._native = (call.lost, call.sent_as)
        return response

    def _block(self, headers, auth, is_json, payload) -> bytes | None:
        """Returns the head lines that depend only on the headers, or None if the client must build
        them.
        """
        if not dict.__eq__(self.client.default_headers, self._defaults):
            self._defaults = _copied(self.client.default_headers)
            self._blocks.clear()
        try:
            key = (tuple(headers.items()) if headers else None, auth, self.auth_header, is_json, type(payload), bool(payload))
            return self._blocks[key]
        except KeyError:
            return self._blocks.keep(key, self._made_block(headers, auth, is_json, payload))
        except (TypeError, AttributeError):
            return None

    def _made_block(self, headers, auth, is_json, payload) -> bytes | None:
        merged = dict(headers) if headers else {}
        if auth:
            merged["Authorization"] = stock._construct_basic_auth_str(auth[0], auth[1])
        elif self.auth_header:
            merged["Authorization"] = self.auth_header
        for header, value in (("Accept-Encoding", "gzip, deflate, br"), ("Content-Type", None), ("Accept", None)):
            if header in merged or header.lower() in merged:
                continue
            if value or is_json:
                merged[header] = value or "application/json"
        fields = self.client.default_headers.copy()
        fields.update(merged)
        if payload and "content-type" not in fields or not isinstance(payload, str | bytes | None):
            return None
        if any(name in fields for name in ("host", "content-length", "transfer-encoding", "expect", "cookie")):
            return None
        lines = []
        for field, value in fields.items():
            for one in value if isinstance(value, list) else [value]:
                if not isinstance(one, str) or not _TOKEN_RE.fullmatch(field) or not _FIELD_VALUE_RE.fullmatch(one):
                    return None
                lines.append(f"{field}: {one}\r\n")
        return "".join(lines).encode("latin-1") + b"Host: %b\r\n" % self._base.host_header
