"""Watches a run with a live view, as its page and programs do."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator


class LiveRun:
    def __init__(self, run: subprocess.Popen[str], view: str = "live view") -> None:
        self.run = run
        line = next(line for line in self.run.stderr if line.startswith(f"{view}: "))
        self.url = re.fullmatch(rf"{view}: (http://127\.0\.0\.1:\d+/[0-9a-f]{{32}}/)\n", line)[1]
        self.port = int(re.search(r":(\d+)/", self.url)[1])
        self.token = self.url.split("/")[3]

    def request(self, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, str, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        found = answer.status, answer.read().decode(), answer.headers
        connection.close()
        return found

    def events(self) -> Iterator[tuple[str, dict]]:
        """Yields the name and data of each event."""
        with urllib.request.urlopen(f"{self.url}events", timeout=20) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            name, data = None, None
            for line in answer:
                line = line.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    data = json.loads(line.removeprefix("data: "))
                elif not line and name:
                    yield name, data
                    name, data = None, None
