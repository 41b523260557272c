"""`--export otlp`: what a receiver gets equals the record, and its failures are one note."""

import contextlib
import gzip
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fake_servers
import pytest
from protobuf_messages import attributes, double, fields, fixed, varint

PLAN = """
loadline: 1
name: adding
target: http://unused.invalid
load: [{rate: 100/s, duration: 3s}]
scenarios:
  - name: adding
    steps: [{get: /api/sum?a=1&b=2}, {get: /nowhere}]
  - name: refused
    steps: [{get: /api/sum?a=1&b=2}, {get: "http://127.0.0.1:1/"}]
"""
EVERY_INTERVAL = {"OTEL_METRIC_EXPORT_INTERVAL": "1"}


def histogram(point: dict[int, list]) -> dict:
    buckets = fields(point[8][0])
    counts, at, packed = [], 0, buckets[2][0]
    while at < len(packed):
        count, at = varint(packed, at)
        counts.append(count)
    zigzag = buckets[1][0]
    offset = zigzag >> 1 ^ -(zigzag & 1)
    assert point[6][0] == 10, "the scale is 5"
    assert sum(counts) + fixed(point[7][0]) == fixed(point[4][0])
    low, high = (2 ** ((offset + i) / 32) for i in (0, len(counts)))
    assert low * 0.999 <= double(point[12][0]) <= double(point[13][0]) <= high * 1.001
    return {"count": fixed(point[4][0]), "sum": double(point[5][0]), "max": double(point[13][0]), "offset": offset, "buckets": counts}


class Export:
    """The metrics of one request."""

    def __init__(self, body: bytes) -> None:
        (resource_metrics,) = map(fields, fields(body)[1])
        self.resource = dict(attributes(fields(resource_metrics[1][0])[1]))
        self.metrics: dict[str, dict[frozenset, dict | int]] = {}
        self.temporality: dict[str, int] = {}
        self.times: set[tuple[int, int]] = set()
        for metric in map(fields, fields(resource_metrics[2][0])[2]):
            name = metric[1][0].decode()
            (kind,) = {5, 7, 10} & set(metric)
            data = fields(metric[kind][0])
            self.temporality[name] = data.get(2, [0])[0]
            points = self.metrics.setdefault(name, {})
            for point in map(fields, data[1]):
                self.times.add((fixed(point[2][0]), fixed(point[3][0])))
                key = attributes(point.get(1 if kind == 10 else 7, []))
                assert key not in points
                points[key] = histogram(point) if kind == 10 else fixed(point[6][0])

    def points(self, name: str, **wanted: object) -> list:
        wanted = {(key.replace("__", "."), value) for key, value in wanted.items()}
        return [point for key, point in self.metrics.get(name, {}).items() if wanted <= key]

    def sum(self, name: str, **wanted: object) -> int:
        return sum(point if isinstance(point, int) else point["count"] for point in self.points(name, **wanted))


class Receiver:
    """A receiver of OTLP. `answers` gives the status of each request with metrics, 200 at its end."""

    def __init__(self, answers: list[int] | None = None, *, probe: int = 200, reply: bytes = b"", delay_s: float = 0) -> None:
        self.exports: list[Export] = []
        self.heads: list[dict[str, str]] = []
        self.paths: set[str] = set()
        receiver, statuses = self, iter(answers or [])

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                assert self.headers["content-type"] == "application/x-protobuf"
                if self.headers["content-encoding"] == "gzip":
                    body = gzip.decompress(body)
                receiver.heads.append({name.lower(): value for name, value in self.headers.items()})
                receiver.paths.add(self.path)
                if body and delay_s:
                    time.sleep(delay_s)
                status = next(statuses, 200) if body else probe
                if body and status == 200:
                    receiver.exports.append(Export(body))
                self.send_response(status)
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):
                    self.wfile.write(reply if body else b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> "Receiver":
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def run_with(loadline, start_lab, receiver: Receiver, *flags: object, **env: str):
    plan = loadline.write("plan.yml", PLAN)
    lab = start_lab("sum")
    export = f"otlp={receiver.url}"
    return loadline("run", plan, "--target", lab.url, "--export", export, *flags, env={**EVERY_INTERVAL, **env}), lab


def equals_the_record(export: Export, summary: dict) -> None:
    requests = summary["requests"]
    assert export.sum("loadline.requests.issued") == requests["issued"] == 600
    for outcome, figure in (("ok", "ok"), ("failed", "failed"), ("none", "none")):
        assert export.sum("loadline.requests", loadline__outcome=outcome) == requests[figure]
    assert export.sum("loadline.iteration.duration") == summary["arrivals"]["started"]
    assert export.sum("loadline.arrivals", loadline__arrival__state="started") == summary["arrivals"]["started"]
    for label in summary["labels"]:
        name = label["text"]
        for code, n in label["codes"].items():
            assert export.points("loadline.responses", loadline__label=name, http__response__status_code=int(code)) == [n]
        (point,) = export.points("loadline.request.response.duration", loadline__label=name)
        assert point["count"] == label["count"]
        if label["codes"]:
            assert point["max"] == label["response"]["max"]["ns"] / 1e9
            (point,) = export.points("http.client.request.duration", loadline__label=name)
            assert (point["count"], point["max"]) == (label["count"], label["service"]["max"]["ns"] / 1e9)
    assert export.sum("loadline.requests.unanswered", error__type="refused") == requests["none"] > 50
    assert export.sum("loadline.received") == sum(label["bytes_in"] for label in summary["labels"])
    assert export.points("loadline.requests.in_flight") == [0]


def note_of(loadline) -> tuple[int, int, str] | None:
    notes = [note for note in loadline.summary()["notes"] if "--export otlp" in note]
    if not notes:
        return None
    (note,) = notes
    lost, intervals, reason = re.fullmatch(r"--export otlp: (\d+) of (\d+) intervals were not exported in time: (.*)", note).groups()
    return int(lost), int(intervals), reason


def test_received_totals_equal_the_record(loadline, start_lab):
    with Receiver() as receiver:
        run, lab = run_with(
            *(loadline, start_lab, receiver),
            OTEL_EXPORTER_OTLP_HEADERS="api-key=se%20cret",
            OTEL_EXPORTER_OTLP_COMPRESSION="gzip",
            OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=staging",
        )
    assert run.returncode == 0, run.stderr
    assert note_of(loadline) is None
    last = receiver.exports[-1]
    equals_the_record(last, loadline.summary())
    assert receiver.paths == {"/v1/metrics"}
    assert all(head["api-key"] == "se cret" and head["content-encoding"] == "gzip" for head in receiver.heads)
    assert "se cret" not in run.stdout + run.stderr
    assert last.resource["service.name"] == "loadline"
    assert last.resource["loadline.run.name"] == "adding"
    assert last.resource["deployment.environment.name"] == "staging"
    assert last.temporality["http.client.request.duration"] == last.temporality["loadline.requests"] == 2
    address, port = lab.url.removeprefix("http://").split(":")
    server = {"server__address": address, "server__port": int(port)}
    route = {"http__request__method": "GET", "url__template": "/api/sum?a=1&b=2"}
    assert last.sum("http.client.request.duration", **server, **route) == 300
    failed = loadline.summary()["requests"]["failed"]
    assert last.sum("http.client.request.duration", error__type="unexpected_response") == failed > 50
    # Totals never fall, and each export covers the time from the start of the run.
    counts = [export.sum("loadline.requests.issued") for export in receiver.exports]
    assert len(counts) >= 4
    assert counts == sorted(counts)
    assert len({start for export in receiver.exports for start, _ in export.times}) == 1
    (shown,) = {end - start for start, end in last.times}
    assert shown >= 3e9


def test_deltas_add_up_to_the_record(loadline, start_lab):
    with Receiver([200, 503, 503]) as receiver:
        run, _ = run_with(loadline, start_lab, receiver, OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta")
    assert run.returncode == 0, run.stderr
    sums = [export.sum("loadline.requests.issued") for export in receiver.exports]
    assert sum(sums) == loadline.summary()["requests"]["issued"] == 600
    assert receiver.exports[0].temporality["loadline.requests.issued"] == 1
    periods = [next(iter(export.times)) for export in receiver.exports]
    assert [end for _, end in periods[:-1]] == [start for start, _ in periods[1:]]


def test_one_process_exports_the_run_of_several_nodes(loadline, start_lab):
    with Receiver() as receiver:
        run, _ = run_with(loadline, start_lab, receiver, "--on", "local", "--nodes", 2)
    assert run.returncode in (0, 4), run.stderr
    equals_the_record(receiver.exports[-1], loadline.summary())
    assert len({export.resource["loadline.run.id"] for export in receiver.exports}) == 1
    assert note_of(loadline) is None


def test_receiver_that_is_down_loses_only_intervals_that_are_counted(loadline, start_lab):
    with Receiver([200, 503, 503]) as receiver:
        run, _ = run_with(loadline, start_lab, receiver)
    assert run.returncode == 0, run.stderr
    lost, intervals, reason = note_of(loadline)
    assert (lost, reason) == (2, "the receiver is overloaded (503)")
    assert intervals >= 4
    assert run.stderr.count("the receiver is overloaded (503); the run continues") == 1
    equals_the_record(receiver.exports[-1], loadline.summary())


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "the receiver refuses the credentials (401): set OTEL_EXPORTER_OTLP_HEADERS"),
        (404, "the receiver takes no metrics at this path (404)"),
        (301, "the receiver redirects (301): use its final URL"),
    ],
)
def test_refusals_are_reported_before_any_request(loadline, status, reason):
    with Receiver(probe=status) as receiver, fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        run = loadline("run", peer.url, "--rate", "10/s", "--duration", "1s", "--export", f"otlp={receiver.url}")
        assert peer.open == []
    assert run.returncode == 3
    assert run.stderr == f"loadline: --export otlp: {reason}\n"


def test_missing_receiver_and_unsupported_settings_are_reported_before_any_request(loadline):
    with Receiver() as receiver:
        url = receiver.url
    flags = ("--rate", "10/s", "--duration", "1s", "--export")
    with fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        run = loadline("run", peer.url, *flags, f"otlp={url}")
        assert run.returncode == 3
        assert run.stderr == f"loadline: --export otlp: POST {url.removeprefix('http://')}/v1/metrics: connection refused\n"
        run = loadline("run", peer.url, *flags, "otlp", env={"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
        assert run.returncode == 2
        assert "OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not supported: use http/protobuf" in run.stderr
        assert peer.open == []


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, r"the receiver refuses the credentials \(401\): set OTEL_EXPORTER_OTLP_HEADERS"),
        (413, r"the receiver refuses a request of \d+ kB as too large \(413\)"),
        (404, r"the receiver takes no metrics at this path \(404\)"),
    ],
)
def test_refusals_during_the_run_are_one_note(loadline, start_lab, status, reason):
    with Receiver([status] * 99) as receiver:
        run, _ = run_with(loadline, start_lab, receiver)
    assert run.returncode == 0, run.stderr
    lost, intervals, cause = note_of(loadline)
    assert lost == intervals
    assert re.fullmatch(reason, cause)
    assert run.stderr.count("--export otlp") == 1
    assert receiver.exports == []


def test_slow_receiver_and_rejected_points_are_one_note(loadline, start_lab):
    with Receiver(delay_s=8) as receiver:
        run, _ = run_with(loadline, start_lab, receiver, OTEL_EXPORTER_OTLP_TIMEOUT="2000")
    assert run.returncode == 0, run.stderr
    lost, intervals, reason = note_of(loadline)
    assert lost == intervals
    assert reason.endswith(("/v1/metrics: no answer in time", "it did not finish within 5 s"))
    assert loadline.summary()["requests"]["issued"] == 600

    partial = b"\x0a\x08\x08\x07\x12\x04full"
    with Receiver(reply=partial) as receiver:
        run, _ = run_with(loadline, start_lab, receiver)
    assert note_of(loadline)[2] == "the receiver rejects 7 points: full"
