"""`--export statsd`: what a receiver gets equals the record, and a missing receiver is reported."""

import re
import socket
import threading
from collections import Counter
from pathlib import Path

import fake_servers
import pytest

PLAN = """
loadline: 1
name: shop | till
target: http://unused.invalid
load: [{rate: 200/s, duration: 2s}]
scenarios:
  - name: adding
    steps: [{get: /api/sum?a=1&b=2}, {get: /nowhere}]
  - name: refused
    steps: [{get: /api/sum?a=1&b=2}, {get: "http://127.0.0.1:1/"}]
"""
LINE = re.compile(r"loadline\.([a-z_.]+):([0-9.]+)\|(c|g|ms)(?:\|@([0-9.e-]+))?\|#(.*)")


class Receiver:
    """Adds up what it receives, as a StatsD server does."""

    def __init__(self, receiving: socket.socket) -> None:
        self.socket = receiving
        self.counters: Counter[tuple[str, ...]] = Counter()
        self.times: Counter[tuple[str, ...]] = Counter()
        self.gauges: dict[str, float] = {}
        self.largest = 0
        self.thread = threading.Thread(target=self.receive)
        self.thread.start()

    def receive(self) -> None:
        while (datagram := self.socket.recv(1 << 16)) != b"end":
            self.largest = max(self.largest, len(datagram))
            for line in datagram.decode().splitlines():
                name, value, kind, rate, tags = LINE.fullmatch(line).groups()
                first, *others = tags.split(",")
                assert first == "test:shop _ till", line
                key = (name, *others)
                if kind == "c":
                    self.counters[key] += int(value)
                elif kind == "ms":
                    self.times[key] += int(1 / float(rate or 1))
                else:
                    self.gauges[name] = float(value)

    def end(self) -> None:
        with socket.socket(self.socket.family, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"end", self.socket.getsockname())
        self.thread.join(10)
        self.socket.close()

    def sum(self, name: str, **tags: str) -> int:
        return sum(n for key, n in self.counters.items() if key[0] == name and {f"{k}:{v}" for k, v in tags.items()} <= set(key))


@pytest.fixture(params=["udp", "unix"])
def receiver(request, tmp_path: Path):
    if request.param == "udp":
        receiving = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiving.bind(("127.0.0.1", 0))
        address = f"udp://127.0.0.1:{receiving.getsockname()[1]}"
    else:
        receiving = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiving.bind(str(tmp_path / "statsd.socket"))
        address = f"unix://{tmp_path / 'statsd.socket'}"
    receiving.settimeout(60)
    return Receiver(receiving), address


def test_received_totals_equal_the_record(loadline, start_lab, receiver):
    receiver, address = receiver
    lab = start_lab("sum")
    run = loadline("run", loadline.write("plan.yml", PLAN), "--target", lab.url, "--export", f"statsd={address}")
    receiver.end()
    assert run.returncode == 0, run.stderr
    assert "exported" not in run.stdout + run.stderr
    summary = loadline.summary()
    requests = summary["requests"]
    assert requests["issued"] == 800
    assert receiver.sum("requests.issued") == requests["issued"]
    for outcome, figure in (("ok", "ok"), ("failed", "failed"), ("none", "none")):
        assert receiver.sum("requests", outcome=outcome) == requests[figure]
    assert receiver.sum("iterations") == summary["arrivals"]["started"] == receiver.sum("arrivals", state="started")
    assert receiver.sum("requests.unanswered", cause="refused") == requests["none"] > 50
    for label in summary["labels"]:
        name = label["text"]
        assert {key[2]: n for key, n in receiver.counters.items() if key[:2] == ("responses", f"label:{name}")} == {
            f"code:{code}": n for code, n in label["codes"].items()
        }
        assert receiver.sum("received_bytes", label=name) == label["bytes_in"]
        # A refused connection has no service time.
        for metric, times in (("response_time", "response"), ("service_time", "service")):
            timed = sum(n for key, n in receiver.times.items() if key[:2] == (metric, f"label:{name}"))
            assert timed == (label["count"] if times == "response" else sum(label["codes"].values()))
    assert receiver.gauges == {"in_flight": 0, "users": 0, "connections": 0}
    assert receiver.largest <= (1432 if address.startswith("udp") else 8192)


def test_missing_receiver_is_reported_before_any_request(loadline, tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with fake_servers.FakeServer(fake_servers.ok_with()) as peer:
        for address, reason in (
            (f"udp://127.0.0.1:{port}", f"127.0.0.1:{port}: connection refused"),
            (f"unix://{tmp_path}/none", f"{tmp_path}/none: No such file or directory"),
        ):
            run = loadline("run", peer.url, "--rate", "10/s", "--duration", "1s", "--export", f"statsd={address}")
            assert run.returncode == 3
            assert run.stderr.startswith(f"loadline: --export statsd: {reason}"), run.stderr
            assert run.stderr.count("\n") == 1
        run = loadline("run", peer.url, "--rate", "10/s", "--duration", "1s", "--export", "statsd=127.0.0.1:8125")
        assert run.returncode == 2
        assert "use statsd=udp://HOST:PORT" in run.stderr
        assert peer.open == []


def lost_intervals(loadline, reason: str) -> tuple[int, int]:
    (note,) = [note for note in loadline.summary()["notes"] if "--export statsd" in note]
    lost, intervals = re.fullmatch(rf"--export statsd: (\d+) of (\d+) intervals were not exported in time: {reason}", note).groups()
    return int(lost), int(intervals)


def fill(receiving: socket.socket) -> None:
    """Fills the queue of a socket, so that a sender blocks."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        while True:
            sender.sendto(b"", receiving.getsockname())


def test_receiver_that_disappears_loses_counted_intervals(loadline, start_lab):
    lab = start_lab("sum")
    receiving = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiving.bind(("127.0.0.1", 0))
    address = f"udp://127.0.0.1:{receiving.getsockname()[1]}"
    flags = ("--rate", "50/s", "--duration", "8s", "--export", f"statsd={address}")
    run = loadline.start("run", f"{lab.url}/api/sum", *flags, stderr=-2)
    receiving.settimeout(30)
    assert receiving.recv(1 << 16) == b""
    # The second interval begins when the first one has arrived.
    begun = 0
    while begun < 2:
        begun += receiving.recv(1 << 16).count(b"loadline.in_flight:")
    receiving.close()
    out, _ = run.communicate(timeout=30)
    assert run.returncode == 0, out
    warnings = [line for line in out.splitlines() if "the run continues" in line]
    assert warnings == ["loadline: warning: --export statsd: connection refused; the run continues"]
    lost, intervals = lost_intervals(loadline, "connection refused")
    assert 1 <= lost < intervals
    assert loadline.summary()["requests"]["ok"] == 400


def test_receiver_that_does_not_read_does_not_slow_the_run(loadline, start_lab, tmp_path):
    lab = start_lab("sum")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiving:
        receiving.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        receiving.bind(str(tmp_path / "statsd.socket"))
        with pytest.raises(BlockingIOError):
            fill(receiving)
        flags = ("--rate", "50/s", "--duration", "3s", "--export", f"statsd=unix://{tmp_path}/statsd.socket")
        run = loadline("run", f"{lab.url}/api/sum", *flags)
    assert run.returncode == 0, run.stderr
    assert loadline.summary()["requests"]["ok"] == 150
    lost, intervals = lost_intervals(loadline, "the receiver does not read its socket")
    assert lost == intervals
