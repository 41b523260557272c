"""What requests raises where the engine has no complete answer: the same exceptions, with the same words and the same causes behind
them, so that failures are grouped as they would be."""

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

_TIMEOUTS = frozenset(("response_timeout", "idle_timeout", "connect_timeout"))


def of(answer: _native.Answer, whom: Whom, limits: tuple, request: requests.PreparedRequest) -> requests.RequestException:
    """The exception for an answer that is none."""
    if answer.fault is None:
        return _sealed(answer, request)
    if answer.status:
        return _cut(answer, request)
    if answer.fault in _TIMEOUTS:
        return _too_late(answer, whom, limits, request)
    cause = _cause(answer)
    if isinstance(cause, ssl.SSLError):
        return exceptions.SSLError(cause, request=request)
    return _because(exceptions.ConnectionError(cause, request=request), cause)


def _because(error: Exception, cause: Exception) -> Exception:
    error.__context__ = cause
    return error


def _cause(answer: _native.Answer) -> Exception:
    fault = answer.fault or ""
    if fault == "refused":
        return ConnectionRefusedError(111, "Connection refused")
    if fault == "unreachable":
        return OSError(113, "No route to host")
    if fault == "dns_not_found":
        return socket.gaierror(-2, "Name or service not known")
    if fault == "dns_again":
        return socket.gaierror(-3, "Temporary failure in name resolution")
    if fault in ("reset", "kept_reset"):
        return ConnectionResetError(104, "Connection reset by peer")
    if fault in ("broken_pipe", "kept_broken_pipe"):
        return BrokenPipeError(32, "Broken pipe")
    if fault in ("closed_early", "kept_closed"):
        return http.client.RemoteDisconnected("Remote end closed connection without response")
    if fault.startswith("http_"):
        return http.client.BadStatusLine(answer.fault_text)
    if fault.startswith("tls"):
        return ssl.SSLError(1, answer.fault_text)
    if fault == "no_descriptors":
        return OSError(24, "Too many open files")
    if fault == "no_ports":
        return OSError(99, "Cannot assign requested address")
    return OSError(answer.fault_text)


def _too_late(answer: _native.Answer, whom: Whom, limits: tuple, request) -> requests.RequestException:
    host, port, tls = whom
    connect, read = limits
    if not answer.was_sent:
        cause = ConnectTimeoutError(HTTPConnection(host, port), f"Connection to {host} timed out. (connect timeout={connect})")
        return _because(exceptions.ConnectTimeout(cause, request=request), cause)
    pool = f"{'HTTPS' if tls else 'HTTP'}ConnectionPool(host={host!r}, port={port})"
    return exceptions.ReadTimeout(ReadTimeoutError(pool, None, f"Read timed out. (read timeout={read})"), request=request)


def _sealed(answer: _native.Answer, request) -> requests.RequestException:
    """The body does not fit its encoding."""
    encoding = heads.encoding(answer.head)
    why = heads.why_sealed(encoding, answer.take_body())
    cause = DecodeError(f"Received response with content-encoding: {encoding}, but failed to decode it.", why)
    return exceptions.ContentDecodingError(cause, request=request)


def _cut(answer: _native.Answer, request) -> requests.RequestException:
    """The head came, and not all of the body."""
    if answer.fault in _TIMEOUTS:
        # As while a body is read.
        return exceptions.ConnectionError(ReadTimeoutError(None, None, "Read timed out."), request=request)
    came = len(answer)
    missing = heads.missing(answer.head, came)
    if missing is None:
        cause: Exception = ProtocolError("Response ended prematurely")
    else:
        incomplete = IncompleteRead(came, missing)
        cause = ProtocolError(f"Connection broken: {incomplete!r}", incomplete)
    return exceptions.ChunkedEncodingError(cause, request=request)
