"""Our sessions beside Locust's own: the same locustfile, what each sends to the byte, and what listeners are told of each answer."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest
from scripted import Server

FILE = Path(__file__).parent / "what_people_write.py"


def _carried_out(run, user: str, folder: Path) -> tuple[list, list[bytes], object]:
    told = folder / "told.jsonl"
    with socket.socket() as taken, Server() as server:
        # Bound and never listening: whoever connects is refused.
        taken.bind(("127.0.0.1", 0))
        env = {"TOLD": str(told), "NOBODY": str(taken.getsockname()[1])}
        ended = run("-f", FILE, user, "--headless", "-u", 1, "-t", "30", "-H", server.url, "--only-summary", env=env)
        nobody = taken.getsockname()[1]
        text = told.read_text()
        for port, word in ((server.url.rpartition(":")[2], "PORT"), (nobody, "NOBODY")):
            text = text.replace(f"{port}", word)
        requests = [re.sub(rb"127.0.0.1:\d+", b"HOST", request) for request in server.requests]
    # Requests has a boundary of its own for each body of files.
    requests = [re.sub(rb"[0-9a-f]{32}", b"BOUNDARY", request) for request in requests]
    requests = [re.sub(rb"([?&]_=)\d+", rb"\1TIME", request) for request in requests]
    text = re.sub(r"0x[0-9a-f]+", "0xADDRESS", text)
    return [json.loads(line) for line in text.splitlines()], requests, ended


@pytest.mark.parametrize("user", ["Requests", "Fast"])
def test_what_is_sent_and_what_is_told_is_the_same(locust, user, tmp_path):
    told, requests, stock = _carried_out(locust.stock, user, tmp_path)
    our_told, our_requests, ours = _carried_out(locust.ours, user, tmp_path)
    assert len(told) > 60, stock.stderr
    assert our_told == told, ours.stderr
    assert our_requests == requests
    assert ours.returncode == stock.returncode == 1


def test_what_locustfiles_do_around_a_client_is_the_same(locust, tmp_path):
    def carried_out(run) -> tuple[str, list[str], int]:
        told = tmp_path / "told.txt"
        with Server() as server:
            file = FILE.with_name("what_locustfiles_do.py")
            options = ("--headless", "-H", server.url, "--only-summary", "--exclude-tags", "left out", "--greeting", "you")
            ended = run("-f", file, *options, env={"TOLD": str(told)})
            requests = [request.partition(b"\r\n")[0] for request in server.requests]
        rows = [row.split(",")[1:3] + row.split(",")[4:6] for row in (tmp_path / "requests.csv").read_text().splitlines()]
        return told.read_text(), requests, rows, ended

    told, requests, rows, stock = carried_out(locust.stock)
    our_told, our_requests, our_rows, ours = carried_out(locust.ours)
    assert "listener stops" in told, stock.stderr
    assert "never" not in told
    assert our_told == told, ours.stderr
    assert our_requests == requests
    assert our_rows == rows
    assert ours.returncode == stock.returncode
    # Requests of other clients are in the record, and are told apart.
    rows = {row["text"]: row["group"] for row in locust.loadline.summary()["labels"]}
    assert rows["RPC rpc"] == rows["SELECT by hand"] == "script"
    assert rows["GET markov first"] == "request"
