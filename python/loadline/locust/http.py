"""``HttpUser``'s session on the engine: a complete ``requests.Session``.

Common calls use a short path. All other calls use requests itself, with the engine as an adapter,
or with its own sockets where necessary.
"""

from __future__ import annotations

import time
import weakref
from datetime import timedelta
from http.client import HTTPMessage
from io import BytesIO

import requests
from gevent.lock import Semaphore
from locust import clients as stock
from requests.adapters import BaseAdapter
from requests.auth import HTTPBasicAuth, _basic_auth_str
from requests.compat import json as complexjson
from requests.cookies import RequestsCookieJar, extract_cookies_to_jar
from requests.models import PreparedRequest, RequestEncodingMixin, Response
from requests.sessions import merge_setting
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers
from urllib3._collections import HTTPHeaderDict
from urllib3.response import HTTPResponse as Urllib3Response

from loadline import _native
from loadline.locust import calls, faults, heads, urls
from loadline.locust.calls import Call, Events
from loadline.locust.engine import engine, new_session

#: Methods without a Content-Length for a missing body.
_BARE = frozenset(("GET", "HEAD"))


class ResponseContextManager(stock.ResponseContextManager):
    """A response of the engine as requests' response, converted on first access."""

    def __init__(self, answer: _native.Answer, sent_as: tuple[str, str], sent_request: tuple) -> None:
        # Does not call the original constructor: its attributes are created on demand.
        own = self.__dict__
        own["_native"] = (answer, sent_as)
        own["_sent_request"] = sent_request
        own["status_code"] = answer.status
        own["_content_consumed"] = True
        own["_next"] = None
        own["_entered"] = False
        own["_manual_result"] = None

    def __exit__(self, exc, value, traceback):
        # The original's result for a successful response without manual marking.
        if exc is None and self._manual_result is None and self.status_code < 400:
            self._request_event.fire(**self.request_meta)
            return True
        return super().__exit__(exc, value, traceback)

    def __getattr__(self, name: str):
        make = _MADE.get(name)
        if make is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = self.__dict__[name] = make(self)
        return value


def _headers(response) -> CaseInsensitiveDict:
    fields = HTTPHeaderDict()
    for name, value in heads.fields(response._native[0].head):
        fields.add(name, value)
    return CaseInsensitiveDict(fields)


def _request(response) -> PreparedRequest:
    method, url, block, body = response._sent_request
    request = PreparedRequest()
    request.method, request.url, request.body = method, url, body
    request.headers = CaseInsensitiveDict(heads.fields(b"\r\n" + block))
    request.hooks = {"response": []}
    request._cookies = RequestsCookieJar()
    return request


def _elapsed(response):
    return timedelta(seconds=(response._native[0].service_ns or 0) / 1e9)


def _cookies(response) -> RequestsCookieJar:
    jar = RequestsCookieJar()
    extract_cookies_to_jar(jar, response.request, response.raw)
    return jar


def _raw(response) -> Urllib3Response:
    return _raw_of(response._native[0], response._sent_request[0], response._content)


def _raw_of(answer: _native.Answer, method: str, body: bytes) -> Urllib3Response:
    """Returns the response as urllib3 does. The body is already decoded."""
    fields = HTTPHeaderDict()
    message = HTTPMessage()
    for name, value in heads.fields(answer.head):
        fields.add(name, value)
        message.add_header(name, value)
    raw = Urllib3Response(
        body=BytesIO(body),
        headers=fields,
        status=answer.status,
        version=11 if heads.version(answer.head) == "HTTP/1.1" else 10,
        reason=heads.reason(answer.head),
        preload_content=False,
        decode_content=False,
        original_response=_Original(message),
        request_method=method,
    )
    return raw


class _Original:
    """The attributes that cookie jars need."""

    def __init__(self, message: HTTPMessage) -> None:
        self.msg = message

    def isclosed(self) -> bool:
        return True

    def close(self) -> None:
        pass


#: Attributes of a response, created on first access.
_MADE = {
    "headers": _headers,
    "request": _request,
    "elapsed": _elapsed,
    "cookies": _cookies,
    "raw": _raw,
    "history": lambda _: [],
    "reason": lambda response: heads.reason(response._native[0].head),
    "encoding": lambda response: get_encoding_from_headers(response.headers),
    "connection": lambda _: None,
    "url": lambda response: response._sent_request[1],
    "_content": lambda response: response._native[0].take_body(),
}


class Adapter(BaseAdapter):
    """The engine as an adapter of requests, for calls without a short path."""

    def __init__(self, owner: HttpSession, original: stock.LocustHttpAdapter) -> None:
        super().__init__()
        self._owner = owner
        self.original = original

    def send(self, request, stream=False, timeout=None, verify=True, cert=None, proxies=None):
        call = calls.current.call
        body = request.body
        if isinstance(body, str):
            body = body.encode()
        found = urls.split_plain(request.url)
        if (
            call is None
            or not engine.is_here()
            or self._owner._own_sockets
            or stream
            or cert
            or proxies
            or found is None
            or not (isinstance(verify, bool) or not found[0][2])
            or not isinstance(body, bytes | None)
            or "Transfer-Encoding" in request.headers
            or (limits := _limits(timeout)) is None
            or (block := block_of(request.headers, found[1])) is None
        ):
            return self.original.send(request, stream, timeout, verify, cert, proxies)
        whom, _, path = found
        connect, read = limits
        sent_as = call.sent_as
        if not isinstance(sent_as, tuple):
            sent_as = call.sent_as = (request.method, sent_as or request.path_url)
        answer, call.first = call.first, None
        if answer is None:
            data = b"%b %b HTTP/1.1\r\n%b\r\n%b" % (request.method.encode(), path.encode(), block, body or b"")
            with self._owner._turns:
                answer = engine.send(self._owner.session, verify is not False, *sent_as, whom, data, connect, read)
        if call.led is not None:
            answer.follows(call.led)
        call.led = None
        if answer.fault is not None or answer.unreadable:
            error = faults.exception_of(answer, whom, (connect, read), request)
            error.native = (answer, sent_as)
            raise error
        call.led = answer
        return self._response(request, answer, sent_as)

    def _response(self, request: PreparedRequest, answer: _native.Answer, name: tuple[str, str]) -> Response:
        response = Response()
        body = answer.take_body()
        response.status_code = answer.status
        response.raw = _raw_of(answer, request.method, body)
        response.headers = CaseInsensitiveDict(response.raw.headers)
        response.encoding = get_encoding_from_headers(response.headers)
        response.reason = response.raw.reason
        response.url = request.url
        response._content = body
        response._content_consumed = True
        response.request = request
        response.connection = self
        response._native = (answer, name)
        extract_cookies_to_jar(response.cookies, request, response.raw)
        return response

    def close(self) -> None:
        self.original.close()
        engine.close(self._owner.session)


class _Unlimited:
    """Replaces a semaphore if connections are not limited."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_) -> None:
        pass


def _is_plain_pool(pool_manager) -> bool:
    """Returns whether a pool manager only limits the number of connections.

    Others need their own sockets.
    """
    return not set(pool_manager.connection_pool_kw) - {"maxsize", "block"} and not getattr(pool_manager, "proxy", None)


def _shared(pool_manager):
    """Returns the engine session of a pool manager, shared by its users, and its limit."""
    shared = getattr(pool_manager, "_loadline", None)
    if shared is None:
        limits = pool_manager.connection_pool_kw
        is_limited = limits.get("block", False)
        turns = Semaphore(max(int(limits.get("maxsize", 1)), 1)) if is_limited else _Unlimited()
        shared = pool_manager._loadline = (new_session(), turns)
        weakref.finalize(pool_manager, engine.close, shared[0])
    return shared


def block_of(headers, host: bytes) -> bytes | None:
    """Returns the header lines of a prepared request, Host first, or None if requests must write
    them.
    """
    lines = [] if "Host" in headers else [b"Host: %b\r\n" % host]
    for name, value in headers.items():
        name = name.encode("ascii") if isinstance(name, str) else name
        try:
            value = value.encode("latin-1") if isinstance(value, str) else value
        except UnicodeEncodeError:
            return None
        if b"\r" in value or b"\n" in value:
            return None
        lines.append(b"%b: %b\r\n" % (name, value))
    return b"".join(lines)


class HttpSession(Events, stock.HttpSession):
    """Replaces the Locust class of this name."""

    def __init__(self, base_url, request_event, user, *args, pool_manager=None, **kwargs):
        super().__init__(base_url, request_event, user, *args, pool_manager=pool_manager, **kwargs)
        if pool_manager is None:
            self.session, self._turns = new_session(), _Unlimited()
            weakref.finalize(self, engine.close, self.session)
        else:
            self.session, self._turns = _shared(pool_manager)
        self._own_sockets = pool_manager is not None and not _is_plain_pool(pool_manager)
        for prefix in ("https://", "http://"):
            self.mount(prefix, Adapter(self, self.get_adapter(prefix)))
        self._mounted = dict(self.adapters)
        self._base = urls.Base(self.base_url)
        self._known_cookies = None
        self._blocks = heads.Blocks()

    def request(
        self,
        method,
        url,
        name=None,
        catch_response=False,
        context={},  # noqa: B006  (the original's own)
        *,
        data=None,
        json=None,
        params=None,
        headers=None,
        files=None,
        auth=None,
        timeout=None,
        allow_redirects=True,
        verify=None,
        **kwargs,
    ):
        if self.request_name and not name:
            name = self.request_name
        positional = (method, url, name, catch_response, context)
        options = (kwargs, data, json, params, headers, files, auth, timeout, allow_redirects, verify)
        verify = self.verify if verify is None else verify
        base = self._base
        if (
            kwargs
            or not engine.is_here()
            or self._own_sockets
            or base.whom is None
            or base.url != self.base_url
            or self.adapters != self._mounted
            or self.cookies._cookies
            or self.trust_env
            or self.stream
            or self.cert
            or self.proxies
            or self.params
            or self.hooks["response"]
            or params
            or files
            or not isinstance(url, str)
            or (path := base.path(url)) is None
            or type(verify) is not bool
            or method not in heads.METHODS
            or (limits := _limits(timeout)) is None
            or (body := _body(data, json)) is None
            or (block := self._block(headers, auth)) is None
        ):
            return self._use_original(Call(name), positional, *options)
        body, kind = body
        if block[1]:
            kind = b""
        if body is not None:
            tail = b"Content-Length: %d\r\n%b%b\r\n" % (len(body), kind, block[2])
        elif method in _BARE:
            tail = b"%b\r\n" % block[2]
        else:
            tail = b"Content-Length: 0\r\n%b\r\n" % block[2]
        connect, read = limits
        head = f"{method} {path} HTTP/1.1\r\n".encode("ascii") + block[0] + tail
        sent_as = (method, name or path)
        start_time = time.time()
        started = time.perf_counter()
        data = head + body if body else head
        with self._turns:
            answer = engine.send(self.session, verify, method, sent_as[1], base.whom, data, connect, read)
        ms = (time.perf_counter() - started) * 1000
        if answer.fault or answer.sets_cookies or answer.location or answer.unreadable:
            # requests handles redirects.
            return self._use_original(Call(name, answer, ms), positional, *options)
        complete_url = base.origin + path
        response = ResponseContextManager(answer, sent_as, (method, complete_url, head, body))
        own = response.__dict__
        own["_request_event"] = self._event
        own["_catch_response"] = catch_response
        own["request_meta"] = {
            "request_type": method,
            "response_time": ms,
            "name": sent_as[1],
            "context": {**self.user.context(), **context} if self.user else context,
            "response": response,
            "exception": None,
            "start_time": start_time,
            "url": complete_url,
            "response_length": len(answer),
        }
        if not catch_response:
            response.__exit__(None, None, None)
        return response

    def _use_original(self, call, positional, kwargs, data, json, params, headers, files, auth, timeout, allow_redirects, verify):
        """Sends with requests, with the engine as an adapter."""
        options = dict(
            kwargs,
            data=data,
            json=json,
            params=params,
            headers=headers,
            files=files,
            auth=auth,
            timeout=timeout,
            allow_redirects=allow_redirects,
            verify=verify,
        )
        before = calls.current.call
        calls.current.call = call
        try:
            response = super().request(*positional, **options)
        finally:
            calls.current.call = before
        response._request_event = self._event
        response.request_meta["response_time"] += call.ms or 0
        return response

    def _send_request_safe_mode(self, method, url, **kwargs):
        response = super()._send_request_safe_mode(method, url, **kwargs)
        error = getattr(response, "error", None)
        if error is not None and "_native" not in response.__dict__:
            native = getattr(error, "native", None) or getattr(error.response, "_native", None)
            if native is not None:
                response._native = native
        return response

    def _block(self, headers, auth) -> tuple[bytes, bool, bytes] | None:
        """Returns the head lines that depend only on the headers, whether they include a content
        type, and the line with the credentials. Returns None if requests must build them.
        """
        auth = auth or self.auth
        if auth is not None and type(auth) not in (tuple, HTTPBasicAuth):
            return None
        own = self.headers
        store = own._store if type(own) is CaseInsensitiveDict else None
        if store is None:
            return None
        if store != self._known_cookies:
            self._known_cookies = store.copy()
            self._blocks.clear()
        if type(auth) is HTTPBasicAuth:
            auth = (auth.username, auth.password)
        try:
            key = (tuple(headers.items()) if headers else None, auth)
            return self._blocks[key]
        except KeyError:
            return self._blocks.keep(key, self._made_block(headers, auth))
        except (TypeError, AttributeError):
            return None

    def _made_block(self, headers, auth) -> tuple[bytes, bool, bytes] | None:
        request = PreparedRequest()
        request.prepare_method("GET")
        merged = merge_setting(headers, self.headers, dict_class=CaseInsensitiveDict)
        try:
            request.prepare_headers(merged)
        except requests.RequestException:
            return None
        if any(name in request.headers for name in ("Host", "Content-Length", "Transfer-Encoding", "Cookie", "Authorization")):
            return None
        block = block_of(request.headers, self._base.host_header)
        if block is None:
            return None
        credentials = b""
        if auth is not None:
            if len(auth) != 2 or not all(isinstance(one, str) for one in auth):
                return None
            credentials = b"Authorization: %b\r\n" % _basic_auth_str(*auth).encode("latin-1")
        return block, "Content-Type" in request.headers, credentials


def _limits(timeout) -> tuple[float | None, float | None] | None:
    """Returns connect and read timeouts in seconds, or None if requests must handle the value."""
    if timeout is None:
        return None, None
    pair = timeout if isinstance(timeout, tuple) and len(timeout) == 2 else (timeout, timeout)
    for one in pair:
        if one is not None and (isinstance(one, bool) or not isinstance(one, int | float) or not 0 < one < 1e9):
            return None
    return pair


def _body(data, json) -> tuple[bytes | None, bytes] | None:
    """Returns a body and its content type line, or None if requests must encode it."""
    if not data:
        if json is None:
            return None, b""
        try:
            text = complexjson.dumps(json, allow_nan=False)
        except ValueError:
            return None
        return text.encode(), b"Content-Type: application/json\r\n"
    if isinstance(data, bytes):
        return data, b""
    if isinstance(data, str):
        return data.encode(), b""
    if isinstance(data, dict):
        text = RequestEncodingMixin._encode_params(data)
        return text.encode(), b"Content-Type: application/x-www-form-urlencoded\r\n"
    return None
