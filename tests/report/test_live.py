"""The page as a live view: fed by a small server of events, it follows, stops, and says when nobody is there any more."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

Wire = queue.Queue[tuple[str, object] | None]


class Stage:
    """A server of events. Each connection has a queue of its own for what it is told; None ends it."""

    def __init__(self, template: str) -> None:
        self.connections: queue.Queue[Wire] = queue.Queue()
        self.wires: list[Wire] = []
        self.stops = 0
        stage = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/":
                    return self.answer("text/html; charset=utf-8", template.replace("__LOADLINE_PAGE__", "null").encode())
                if self.path != "/events":
                    return self.send_error(404)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                wire: Wire = queue.Queue()
                stage.wires.append(wire)
                stage.connections.put(wire)
                while (event := wire.get()) is not None:
                    name, data = event
                    self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
                    self.wfile.flush()

            def do_POST(self) -> None:
                stage.stops += 1
                self.answer("text/plain", b"stopping\n")

            def answer(self, kind: str, body: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def accept(self) -> Wire:
        """The next connection."""
        return self.connections.get(timeout=20)

    def close(self) -> None:
        for wire in self.wires:
            wire.put(None)
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def stage(template: str) -> Iterator[Stage]:
    stage = Stage(template)
    yield stage
    stage.close()


def cut(value: object, start: int, end: int) -> object:
    """Columns, or objects and lists of columns, from `start` up to `end`."""
    if isinstance(value, dict):
        return {k: cut(v, start, end) for k, v in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [cut(v, start, end) for v in value]
    return value[start:end] if isinstance(value, list) else value


def part(page: dict, start: int, end: int) -> dict:
    series = page["series"]
    timeline = [lane[start:end] for lane in series["criteria_timeline"]]
    return {
        "summary": page["summary"],
        "series": {**series, "points": cut(series["points"], start, end), "criteria_timeline": timeline},
    }


def test_it_follows_a_test_to_its_end(stage: Stage, browser, fixtures: Path, results: Path) -> None:
    whole = json.loads((fixtures / "overloaded.json").read_text())
    whole["summary"]["run"]["state"] = "running"
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console", lambda message: message.type == "error" and "favicon" not in message.location["url"] and errors.append(message.text)
    )
    page.goto(stage.url)
    page.get_by_text("connecting").wait_for()
    wire = stage.accept()

    wire.put(("page", {**part(whole, 0, 40), "manifest": whole["manifest"]}))
    page.get_by_text("live", exact=True).wait_for()
    assert page.get_by_text("cut off").count() == 0
    page.wait_for_selector("[data-chart=requests] canvas")

    def last_moment() -> str:
        # A chart that moves under a resting pointer takes the pointer's moment, not the key's.
        page.mouse.move(0, 0)
        page.locator("[data-chart=requests] .plot").focus()
        page.keyboard.press("End")
        return page.locator("[data-chart=requests] .moment").inner_text()

    assert last_moment() == "at 39.5 s"
    page.get_by_role("button", name="p99", exact=True).click()
    for second in range(40, 60):
        tick = {**part(whole, second - 1, second + 1), "from": second - 1}
        tick["summary"] = {**whole["summary"], "verdict": {**whole["summary"]["verdict"], "sentence": f"Second {second}."}}
        wire.put(("tick", tick))
    page.get_by_text("Second 59.").wait_for()
    # What somebody sorted stays sorted.
    assert page.locator("th", has=page.get_by_role("button", name="p99", exact=True)).get_attribute("aria-sort") == "descending"
    assert last_moment() == "at 59.5 s"
    page.screenshot(path=results / "live.png")

    page.get_by_role("button", name="Stop the test").click()
    page.get_by_text("stopping").wait_for()
    assert stage.stops == 1

    wire.put(("end", {}))
    page.get_by_text("The test is over.").wait_for()
    assert page.get_by_role("button", name="Stop the test").is_hidden()
    assert page.locator("[data-chart=requests] canvas").is_visible()
    assert errors == []
    context.close()


def test_a_lost_connection_is_said_and_taken_up_again(stage: Stage, browser, fixtures: Path) -> None:
    whole = json.loads((fixtures / "overloaded.json").read_text())
    context = browser.new_context()
    page = context.new_page()

    def say(wire: Wire, seconds: int, sentence: str) -> None:
        """A whole page, up to that second, and wait until it is shown."""
        fresh = {**part(whole, 0, seconds), "manifest": whole["manifest"]}
        fresh["summary"] = {**whole["summary"], "verdict": {**whole["summary"]["verdict"], "sentence": sentence}}
        wire.put(("page", fresh))
        page.get_by_text(sentence).wait_for()
        page.get_by_text("live", exact=True).wait_for()

    page.goto(stage.url)
    wire = stage.accept()
    say(wire, 10, "Ten seconds.")
    wire.put(None)
    page.get_by_text("connection lost").wait_for()
    assert page.get_by_text("Ten seconds.").is_visible()
    # The browser comes back by itself.
    wire = stage.accept()
    say(wire, 30, "Thirty seconds.")
    # Seconds are missing: the page asks for everything again.
    wire.put(("tick", {**part(whole, 50, 51), "from": 50}))
    say(stage.accept(), 60, "Sixty seconds.")
    context.close()
