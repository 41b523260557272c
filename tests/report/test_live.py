"""The page as a live view, fed by a small event server: it follows the run, stops it, and reports
a lost connection.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import ROOT, wait_until

Wire = queue.Queue[tuple[str, object] | None]


class EventServer:
    """Serves events. Each connection has its own queue of events; None ends it."""

    def __init__(self, template: str) -> None:
        self.connections: queue.Queue[Wire] = queue.Queue()
        self.wires: list[Wire] = []
        self.stops = 0
        event_server = self

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
                event_server.wires.append(wire)
                event_server.connections.put(wire)
                while (event := wire.get()) is not None:
                    name, data = event
                    self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
                    self.wfile.flush()

            def do_POST(self) -> None:
                event_server.stops += 1
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
        """Returns the next connection."""
        return self.connections.get(timeout=20)

    def close(self) -> None:
        for wire in self.wires:
            wire.put(None)
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def event_server(template: str) -> Iterator[EventServer]:
    event_server = EventServer(template)
    yield event_server
    event_server.close()


def slice_columns(value: object, start: int, end: int) -> object:
    """Slices columns, or objects and lists of columns, from `start` to `end`."""
    if isinstance(value, dict):
        return {k: slice_columns(v, start, end) for k, v in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [slice_columns(v, start, end) for v in value]
    return value[start:end] if isinstance(value, list) else value


def page_part(page: dict, start: int, end: int) -> dict:
    series = page["series"]
    timeline = [lane[start:end] for lane in series["criteria_timeline"]]
    return {
        "summary": page["summary"],
        "series": {**series, "points": slice_columns(series["points"], start, end), "criteria_timeline": timeline},
    }


def test_live_page_follows_a_test_to_its_end(event_server: EventServer, browser, fixtures: Path, results: Path) -> None:
    whole = json.loads((fixtures / "overloaded.json").read_text())
    whole["summary"]["run"]["state"] = "running"
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console", lambda message: message.type == "error" and "favicon" not in message.location["url"] and errors.append(message.text)
    )
    page.goto(event_server.url)
    page.get_by_text("connecting").wait_for()
    wire = event_server.accept()

    wire.put(("page", {**page_part(whole, 0, 40), "manifest": whole["manifest"]}))
    page.get_by_text("live", exact=True).wait_for()
    assert page.get_by_text("cut off").count() == 0
    page.wait_for_selector("[data-chart=requests] canvas")

    def last_moment() -> str:
        # A chart that moves under a resting pointer shows the pointer's time, not the key's.
        page.mouse.move(0, 0)
        page.locator("[data-chart=requests] .plot").focus()
        page.keyboard.press("End")
        return page.locator("[data-chart=requests] .moment").inner_text()

    assert last_moment() == "at 39.5 s"
    page.get_by_role("button", name="p99", exact=True).click()
    for second in range(40, 60):
        tick = {**page_part(whole, second - 1, second + 1), "from": second - 1}
        tick["summary"] = {**whole["summary"], "verdict": {**whole["summary"]["verdict"], "sentence": f"Second {second}."}}
        wire.put(("tick", tick))
    page.get_by_text("Second 59.").wait_for()
    # Sorting is kept.
    assert page.locator("th", has=page.get_by_role("button", name="p99", exact=True)).get_attribute("aria-sort") == "descending"
    assert last_moment() == "at 59.5 s"
    page.screenshot(path=results / "live.png")

    # Stopping asks for confirmation; cancelling stops nothing.
    stop, question = page.get_by_role("button", name="Stop the test"), page.get_by_role("dialog", name="Stop the test?")
    for leave in (lambda: page.keyboard.press("Escape"), lambda: page.get_by_role("button", name="Carry on").click()):
        stop.click()
        assert question.is_visible()
        leave()
        assert question.is_hidden()
        assert stop.evaluate("button => button === document.activeElement")
    assert event_server.stops == 0
    stop.click()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("stopping").wait_for()
    wait_until(lambda: event_server.stops == 1, "the page to stop the test")

    wire.put(("end", {"record": "/runs/one", "report": "/runs/one/report.html"}))
    page.get_by_text("The test has ended.").wait_for()
    assert page.get_by_text("/runs/one/report.html", exact=True).is_visible()
    assert stop.is_hidden()
    assert page.locator("[data-chart=requests] canvas").is_visible()
    assert errors == []
    context.close()


def test_live_page_reports_a_lost_connection_and_reconnects(event_server: EventServer, browser, fixtures: Path) -> None:
    whole = json.loads((fixtures / "overloaded.json").read_text())
    context = browser.new_context()
    page = context.new_page()

    def send_page(wire: Wire, seconds: int, sentence: str) -> None:
        """Sends a whole page up to that second and waits until it is shown."""
        fresh = {**page_part(whole, 0, seconds), "manifest": whole["manifest"]}
        fresh["summary"] = {**whole["summary"], "verdict": {**whole["summary"]["verdict"], "sentence": sentence}}
        wire.put(("page", fresh))
        page.get_by_text(sentence).wait_for()
        page.get_by_text("live", exact=True).wait_for()

    page.goto(event_server.url)
    wire = event_server.accept()
    send_page(wire, 10, "Ten seconds.")
    wire.put(None)
    page.get_by_text("connection lost").wait_for()
    assert page.get_by_text("Ten seconds.").is_visible()
    # The browser reconnects by itself.
    wire = event_server.accept()
    send_page(wire, 30, "Thirty seconds.")
    # Seconds are missing, so the page requests everything again.
    wire.put(("tick", {**page_part(whole, 50, 51), "from": 50}))
    send_page(event_server.accept(), 60, "Sixty seconds.")
    context.close()


def newest_second(second: int, **newest: object) -> dict:
    """Returns the data of the newest second of a one-minute test."""
    nothing = {
        "span_ns": [(second - 1) * 10**9, second * 10**9],
        "end_ns": 60 * 10**9,
        "phase": {"name": "peak", "number": 2, "count": 3},
        "closed": False,
        "answered_per_second": 1234.4,
        "in_flight": 17,
        "users": 17,
        "time": "response",
        "p95": {"at_least_ns": 10**10, "beyond": 60},
        "ended": 1240,
        "errors": 12,
        "error_share": 12 / 1240,
        "errors_so_far": 40,
        "kinds": [],
        "kinds_omitted": 0,
    }
    return {"newest": {**nothing, **newest}, "log": {"lines": [], "left_out": 0}}


ERROR = {
    "reason": "check `status is 200` failed",
    "class": "failed",
    "label": "POST /cart",
    "count": 1040,
    "now": 12,
    "first": {
        "label": 3,
        "reason": "check",
        "detail": "expected 200, found 503",
        "status": 503,
        "intended_ns": 0,
        "done_ns": 31 * 10**9,
    },
}


@pytest.fixture
def watched(event_server: EventServer, browser, fixtures: Path):
    """Opens the live page with a run. Returns the page and its event queue."""
    whole = json.loads((fixtures / "erroring.json").read_text())
    whole["summary"]["run"]["state"] = "running"
    contexts = []

    def open_(**options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.goto(event_server.url)
        wire = event_server.accept()
        wire.put(("page", {**page_part(whole, 0, 40), "manifest": whole["manifest"]}))
        page.get_by_text("live", exact=True).wait_for()
        return page, wire

    yield open_
    for context in contexts:
        context.close()


def test_live_bar_shows_progress_and_the_newest_second(watched) -> None:
    page, wire = watched()
    wire.put(("now", newest_second(31)))
    page.get_by_text("peak (phase 2 of 3) · 31 s of 1 min").wait_for()
    assert page.get_by_role("progressbar", name="Planned time").get_attribute("aria-valuenow") == "51"
    figures = page.get_by_label("The newest second").inner_text().split("\n")
    figures = [text for text in figures if text.strip()]
    assert figures == [
        *("Rate", "1,234/s", "answered"),
        *("In flight", "17", "requests"),
        *("p95", "≥ 10.0 s", "response time"),
        *("Errors", "12 (0.968 %)", "40 in total"),
    ]
    # Without a planned end there is no bar, closed loops show users, and no data shows no
    # percentile.
    nothing = {"p95": None, "ended": 0, "errors": 0, "error_share": None, "answered_per_second": 0}
    wire.put(("now", newest_second(32, end_ns=0, closed=True, users=5, **nothing)))
    page.get_by_text("32 s elapsed").wait_for()
    assert page.get_by_role("progressbar").count() == 0
    text = " ".join(page.get_by_label("The newest second").inner_text().split())
    assert text == "Rate 0/s answered Users 5 running p95 – response time Errors – 40 in total"
    page.mouse.wheel(0, 4000)
    assert page.get_by_text("32 s elapsed").is_visible()
    assert page.locator(".live-bar").bounding_box()["y"] == 0
    wire.put(("now", newest_second(70)))
    page.get_by_text("the load has ended").wait_for()


def test_live_tabs_of_errors_and_log_keep_their_scroll_position(watched) -> None:
    page, wire = watched()
    lines = [{"at_ns": n * 10**9, "kind": "message", "text": f"line {n} <b>"} for n in range(150)]
    first = {**ERROR["first"], "mismatches": ["$.ok is false, expected true"], "body": '{"error": "db deadlock"}' + " " * 300 + "end"}
    tick = newest_second(31, kinds=[ERROR, {**ERROR, "label": "GET /cart", "first": first}], kinds_omitted=7)
    tick["log"] = {"lines": lines, "left_out": 1200}
    wire.put(("now", tick))
    tabs = page.get_by_role("tab")
    page.get_by_text("POST /cart", exact=True).first.wait_for()
    assert tabs.all_inner_texts() == ["Errors (40)", "Log"]
    row = page.get_by_role("tabpanel").get_by_role("row").nth(1).inner_text()
    assert "expected 200, found 503" in row
    assert "1,040" in row
    # Expected and actual values and the start of the response say more than a status.
    answered = page.get_by_role("tabpanel").get_by_role("row").nth(2).inner_text()
    assert '$.ok is false, expected true, answered {"error": "db deadlock"}' in answered
    assert "end" not in answered.split("answered")[1]
    assert "0:31.0" in row
    assert page.get_by_text("7 more kinds are not shown.").is_visible()
    tabs.first.focus()
    page.keyboard.press("ArrowRight")
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    panel = page.get_by_role("tabpanel", name="Log")
    assert page.get_by_text("1,200 more lines are not shown.").is_visible() or panel.evaluate("p => p.scrollTop") > 0
    # The log follows its end until the user scrolls up.
    at_end = "p => p.scrollTop + p.clientHeight >= p.scrollHeight - 4"
    assert panel.evaluate(at_end)
    tick["log"]["lines"].append({"at_ns": 150 * 10**9, "kind": "warning", "text": "the newest"})
    wire.put(("now", tick))
    page.get_by_text("the newest", exact=True).wait_for()
    assert panel.evaluate(at_end)
    panel.evaluate("p => { p.scrollTop = 40 }")
    tick["log"]["lines"].append({"at_ns": 151 * 10**9, "kind": "message", "text": "newer still"})
    wire.put(("now", tick))
    page.get_by_text("newer still", exact=True).wait_for(state="attached")
    assert panel.evaluate("p => p.scrollTop") == 40


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_live_page_fits_and_axe_finds_no_serious_problem(width: int, scheme: str, watched, results: Path) -> None:
    page, wire = watched(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tick = newest_second(31, kinds=[ERROR])
    tick["log"]["lines"] = [{"at_ns": 10**9, "kind": "phase", "text": "phase peak started"}]
    wire.put(("now", tick))
    page.get_by_text("POST /cart", exact=True).first.wait_for()
    page.screenshot(path=results / f"cockpit-{scheme}-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".live-bar").bounding_box()["height"] < 300
    # The table of errors needs no sideways scrolling.
    assert page.locator(".kinds").evaluate("t => t.parentElement.scrollWidth - t.parentElement.clientWidth") == 0
    page.get_by_role("button", name="Stop the test").click()
    page.screenshot(path=results / f"cockpit-stop-{scheme}-{width}.png")
    page.evaluate((ROOT / "web/node_modules/axe-core/axe.min.js").read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    grave = [(v["id"], [n["target"] for n in v["nodes"]][:5]) for v in found["violations"] if v["impact"] in ("serious", "critical")]
    assert grave == []


def test_live_page_stays_after_the_server_has_gone(event_server: EventServer, watched) -> None:
    page, wire = watched()
    wire.put(("now", newest_second(31)))
    page.get_by_text("31 s of 1 min").wait_for()
    event_server.close()
    # The browser retries a few times, some seconds apart.
    page.get_by_text("unreachable", exact=True).wait_for(timeout=60_000)
    assert page.get_by_text("31 s of 1 min").is_visible()
    assert page.get_by_role("heading", level=1).is_visible()
