"""Sessions of `loadline locust` and Locust compared: requests byte for byte, and events for each
response.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fake_servers import closed_port
from scripted_server import ScriptedServer

FILE = Path(__file__).parent / "client_features.py"


def _run_and_collect(run, user: str, folder: Path) -> tuple[list, list[bytes], object]:
    events = folder / "events.jsonl"
    with closed_port() as closed, ScriptedServer() as server:
        env = {"EVENTS": str(events), "CLOSED_PORT": str(closed)}
        ended = run("-f", FILE, user, "--headless", "-u", 1, "-t", "30", "-H", server.url, "--only-summary", env=env)
        text = events.read_text()
        for port, word in ((server.url.rpartition(":")[2], "PORT"), (closed, "CLOSED_PORT")):
            text = text.replace(f"{port}", word)
        requests = [re.sub(rb"127.0.0.1:\d+", b"HOST", request) for request in server.requests]
    # Requests generates a new boundary for each multipart body.
    requests = [re.sub(rb"[0-9a-f]{32}", b"BOUNDARY", request) for request in requests]
    requests = [re.sub(rb"([?&]_=)\d+", rb"\1TIME", request) for request in requests]
    text = re.sub(r"0x[0-9a-f]+", "0xADDRESS", text)
    return [json.loads(line) for line in text.splitlines()], requests, ended


@pytest.mark.parametrize("user", ["Requests", "Fast"])
def test_clients_send_the_same_bytes_and_fire_the_same_events(locust, user, tmp_path):
    events, requests, stock = _run_and_collect(locust.stock, user, tmp_path)
    our_events, our_requests, ours = _run_and_collect(locust.ours, user, tmp_path)
    assert len(events) > 60, stock.stderr
    assert our_events == events, ours.stderr
    assert our_requests == requests
    assert ours.returncode == stock.returncode == 1


def test_features_around_clients_behave_as_in_locust(locust, tmp_path):
    def run_and_collect(run) -> tuple[str, list[str], int]:
        events = tmp_path / "events.txt"
        with ScriptedServer() as server:
            file = FILE.with_name("locustfile_features.py")
            options = ("--headless", "-H", server.url, "--only-summary", "--exclude-tags", "left out", "--greeting", "you")
            ended = run("-f", file, *options, env={"EVENTS": str(events)})
            requests = [request.partition(b"\r\n")[0] for request in server.requests]
        rows = [row.split(",")[1:3] + row.split(",")[4:6] for row in (tmp_path / "requests.csv").read_text().splitlines()]
        return events.read_text(), requests, rows, ended

    events, requests, rows, stock = run_and_collect(locust.stock)
    our_events, our_requests, our_rows, ours = run_and_collect(locust.ours)
    assert "listener stops" in events, stock.stderr
    assert "never" not in events
    assert our_events == events, ours.stderr
    assert our_requests == requests
    assert our_rows == rows
    assert ours.returncode == stock.returncode
    # Requests of other clients are recorded in a separate group.
    rows = {row["text"]: row["group"] for row in locust.loadline.summary()["labels"]}
    assert rows["RPC rpc"] == rows["SELECT by hand"] == "script"
    assert rows["GET markov first"] == "request"
