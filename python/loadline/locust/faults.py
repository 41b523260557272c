"""Exceptions for incomplete responses: socket errors, wrapped as requests does, with equal
messages and causes so that failures are grouped equally.
"""

from __future__ import annotations

import http.client
import socket
import ssl

import requests
from requests import exceptions
from urllib3.connection import HTTPConnection
from urllib3.exceptions import ConnectTimeoutError, DecodeError, IncompleteRead, ProtocolError, ReadTimeoutError

from loadline import _native
from loadline.locust import heads
from loadline.locust.urls import Whom

#: Faults that are timeouts.
TIMEOUTS = frozenset(("response_timeout", "idle_timeout", "connect_timeout"))
#: The exception of a socket for each fault, for new and reused connections.
_OF_SOCKETS = {
    "refused": (ConnectionRefusedError, 111, "Connection refused"),
    "unreachable": (OSError, 113, "No route to host"),
    "dns_not_found": (socket.gaierror, -2, "Name or service not known"),
    "dns_again": (socket.gaierror, -3, "Temporary failure in name resolution"),
    "reset": (ConnectionResetError, 104, "Connection reset by peer"),
    "broken_pipe": (BrokenPipeError, 32, "Broken pipe"),
    "no_descriptors": (OSError, 24, "Too many open files"),
    "no_ports": (OSError, 99, "Cannot assign requested address"),
}


def exception_of(answer: _native.Answer, whom: Whom, limits: tuple, request: requests.PreparedRequest) -> requests.RequestException:
    """Returns the exception for an incomplete response."""
    if answer.fault is None:
        return _undecodable(answer, request)
    if answer.status:
        return _cut(answer, whom, request)
    if answer.fault in TIMEOUTS:
        return _too_late(answer, whom, limits, request)
    cause = _cause(answer)
    if isinstance(cause, ssl.SSLError):
        return exceptions.SSLError(cause, request=request)
    return _with_context(exceptions.ConnectionError(cause, request=request), cause)


def _with_context(error: Exception, cause: Exception) -> Exception:
    error.__context__ = cause
    return error


def cause(answer: _native.Answer, closed: Exception, garbled: Exception, tls: type[Exception]) -> Exception:
    """Returns the exception that Python's sockets raise.

    The caller supplies its own exceptions for early closes, malformed responses and TLS errors.
    """
    fault = answer.fault or ""
    if fault in ("closed_early", "kept_closed"):
        return closed
    if fault.startswith("http_"):
        return garbled
    if fault.startswith("tls"):
        return tls(1, answer.fault_text)
    kind, number, words = _OF_SOCKETS.get(fault.removeprefix("kept_"), (OSError, None, answer.fault_text))
    return kind(words) if number is None else kind(number, words)


def _cause(answer: _native.Answer) -> Exception:
    closed = http.client.RemoteDisconnected("Remote end closed connection without response")
    return cause(answer, closed, http.client.BadStatusLine(answer.fault_text), ssl.SSLError)


def _too_late(answer: _native.Answer, whom: Whom, limits: tuple, request) -> requests.RequestException:
    connect, read = limits
    if not answer.was_sent:
        host, port, _ = whom
        cause = ConnectTimeoutError(HTTPConnection(host, port), f"Connection to {host} timed out. (connect timeout={connect})")
        return _with_context(exceptions.ConnectTimeout(cause, request=request), cause)
    return exceptions.ReadTimeout(ReadTimeoutError(_pool(whom), None, f"Read timed out. (read timeout={read})"), request=request)


def _pool(whom: Whom) -> str:
    """Returns urllib3's text for a connection pool."""
    host, port, tls = whom
    return f"{'HTTPS' if tls else 'HTTP'}ConnectionPool(host={host!r}, port={port})"


def _undecodable(answer: _native.Answer, request) -> requests.RequestException:
    """Returns the exception for a body that does not match its encoding."""
    encoding = heads.encoding(answer.head)
    error = heads.decoding_error(encoding, answer.take_body())
    cause = DecodeError(f"Received response with content-encoding: {encoding}, but failed to decode it.", error)
    return exceptions.ContentDecodingError(cause, request=request)


def _cut(answer: _native.Answer, whom: Whom, request) -> requests.RequestException:
    """Returns the exception for an incomplete body."""
    if answer.fault in TIMEOUTS:
        # As raised while reading a body.
        return exceptions.ConnectionError(ReadTimeoutError(_pool(whom), None, "Read timed out."), request=request)
    received = len(answer)
    missing = heads.missing(answer.head, received)
    if missing is None:
        cause: Exception = ProtocolError("Response ended prematurely")
    else:
        incomplete = IncompleteRead(received, missing)
        cause = ProtocolError(f"Connection broken: {incomplete!r}", incomplete)
    return exceptions.ChunkedEncodingError(cause, request=request)
