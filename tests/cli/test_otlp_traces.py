"""`--export otlp-traces`: the spans that a receiver gets belong to requests that the service received."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fake_servers import RecordingServer, Request
from protobuf_messages import attributes, double, fields, fixed

INTERNAL, CLIENT = 1, 3


class Span:
    def __init__(self, message: bytes) -> None:
        found = fields(message)
        self.trace, self.id = found[1][0].hex(), found[2][0].hex()
        self.parent = found[4][0].hex() if 4 in found else None
        self.name, self.kind = found[5][0].decode(), found[6][0]
        self.start, self.end = fixed(found[7][0]), fixed(found[8][0])
        self.failed = 15 in found and fields(found[15][0])[3] == [2]
        if self.kind == CLIENT:
            self.attributes = dict(attributes(found[9]))
        else:
            pairs = map(fields, found[9])
            self.times = {pair[1][0].decode(): double(fields(pair[2][0])[4][0]) for pair in pairs}


class SpanReceiver:
    """Collects spans. `statuses` are those of the first requests with spans, 200 at their end."""

    def __init__(self, statuses: list[int] | None = None, *, probe: int = 200) -> None:
        self.spans: list[Span] = []
        self.paths: set[str] = set()
        receiver, answers = self, iter(statuses or [])

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.paths.add(self.path)
                status = next(answers, 200) if body else probe
                if body and status == 200:
                    (resource_spans,) = map(fields, fields(body)[1])
                    receiver.resource = dict(attributes(fields(resource_spans[1][0])[1]))
                    receiver.spans.extend(map(Span, fields(resource_spans[2][0])[2]))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> "SpanReceiver":
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def pairs(self) -> list[tuple[Span, Span]]:
        """Returns the span from the intended start and its child, the call, of each request."""
        assert len(self.spans) % 2 == 0
        pairs = list(zip(self.spans[::2], self.spans[1::2], strict=True))
        for whole, call in pairs:
            assert (whole.kind, call.kind) == (INTERNAL, CLIENT)
            assert whole.parent is None
            assert (call.trace, call.parent) == (whole.trace, whole.id)
            assert whole.start <= call.start <= call.end == whole.end
        return pairs


def run(loadline, service: str, receiver: str, *flags: str):
    export = ("--export", f"otlp-traces={receiver}")
    return loadline("run", f"{service}/orders", "--rate", "30/s", "--duration", "2s", "--trace-context", *export, *flags)


def fails_sometimes(request: Request) -> tuple[int, dict[str, str], bytes]:
    with fails_sometimes.lock:
        fails_sometimes.count += 1
        fails = fails_sometimes.count % 6 == 0
    return (503 if fails else 200), {}, b""


fails_sometimes.lock = threading.Lock()


def sent(service: RecordingServer) -> set[tuple[str, str]]:
    headers = [request.headers["traceparent"].split("-") for request in service.requests]
    return {(trace, span) for _, trace, span, _ in headers}


def test_spans_belong_to_requests_that_the_service_received(loadline) -> None:
    fails_sometimes.count = 0
    with RecordingServer(fails_sometimes) as service, SpanReceiver() as receiver:
        done = run(loadline, service.url, receiver.url, "--name", "orders", "--allow-failures")
    assert done.returncode == 0, done.stderr
    assert receiver.paths == {"/v1/traces"}
    assert receiver.resource["loadline.run.name"] == "orders"
    pairs = receiver.pairs()
    calls = [call for _, call in pairs]
    assert {(call.trace, call.id) for call in calls} <= sent(service)
    assert len({call.id for call in calls}) == len(calls)
    # All failed requests have spans, and the slowest ones of the summary.
    failed = [call for call in calls if call.failed]
    assert len(failed) == loadline.summary()["requests"]["failed"] == 10
    assert all(call.attributes["http.response.status_code"] == 503 for call in failed)
    assert all(call.attributes["error.type"] == "unexpected_response" for call in failed)
    exported = {call.trace: call for call in calls}
    for slow in loadline.summary()["traces"]["slowest"]:
        call = exported[slow["trace_id"]]
        assert call.id == slow["span_id"]
        assert call.end - call.start == slow["service_ns"]
    for whole, call in pairs:
        assert call.name == whole.name == "GET /orders"
        assert call.attributes["url.template"] == "/orders"
        before_ns = (whole.times["loadline.lateness"] + whole.times["loadline.wait"]) * 1e9
        assert abs(call.start - whole.start - before_ns) < 1000


def test_receiver_that_recovers_gets_all_spans(loadline) -> None:
    with RecordingServer() as service, SpanReceiver([503, 503]) as receiver:
        done = run(loadline, service.url, receiver.url)
    assert done.returncode == 0, done.stderr
    assert "the run continues" in done.stderr
    exported = {call.trace for _, call in receiver.pairs()}
    assert {slow["trace_id"] for slow in loadline.summary()["traces"]["slowest"]} <= exported


def test_receiver_that_fails_is_one_note(loadline) -> None:
    with RecordingServer() as service, SpanReceiver([503] * 100) as receiver:
        done = run(loadline, service.url, receiver.url)
    assert done.returncode == 0, done.stderr
    assert receiver.spans == []
    (note,) = [note for note in loadline.summary()["notes"] if "--export otlp-traces" in note]
    assert "intervals were not exported in time" in note


@pytest.mark.parametrize(
    ("probe", "reason"),
    [(404, "404"), (401, "set OTEL_EXPORTER_OTLP_HEADERS")],
)
def test_wrong_receiver_is_refused_before_the_run(loadline, probe, reason) -> None:
    with RecordingServer() as service, SpanReceiver(probe=probe) as receiver:
        done = run(loadline, service.url, receiver.url)
    assert done.returncode == 3
    assert "--export otlp-traces: " in done.stderr
    assert reason in done.stderr
    assert service.requests == []


def test_requests_must_be_traced(loadline) -> None:
    with RecordingServer() as service, SpanReceiver() as receiver:
        export = f"otlp-traces={receiver.url}"
        done = loadline("run", f"{service.url}/a", "--rate", "1/s", "--duration", "1s", "--export", export)
    assert done.returncode == 2
    assert "--export otlp-traces: no request carries a trace context: add --trace-context" in done.stderr
