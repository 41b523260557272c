"""Locust's web UI in a browser, with Loadline's engine: starting, changing and stopping a test,
and its files.
"""

from __future__ import annotations

import csv
import io
import time
import urllib.request

import ports
import pytest
from playwright.sync_api import expect

FILE = """
from locust import FastHttpUser, constant, task

class User(FastHttpUser):
    wait_time = constant(0.1)

    @task
    def get(self):
        self.client.get("/")
"""


@pytest.fixture
def web_ui(locust, start_lab):
    """A lab, and Locust's web UI for a test of it."""
    lab = start_lab("truth")
    locust.write(FILE)
    port = ports.free()
    options = ("--web-host", "127.0.0.1", "--web-port", port, "-H", lab.url)
    with locust.loadline.start("locust", *options) as process:
        try:
            assert any("Starting web interface" in line for line in process.stderr)
            yield f"http://127.0.0.1:{port}", lab, process
        finally:
            process.terminate()
            process.communicate(timeout=30)


def _wait_for_stats(page, url: str, is_there) -> dict:
    """Returns the web UI's statistics as soon as they meet the condition."""
    deadline = time.monotonic() + 30
    while not is_there(stats := page.request.get(f"{url}/stats/requests").json()):
        assert time.monotonic() < deadline, stats
        page.wait_for_timeout(100)
    return stats


def test_web_ui_starts_changes_and_stops_a_test(locust, web_ui, browser):
    url, lab, process = web_ui
    page = browser.new_page()
    # Requests to other servers come from Locust's own page.
    page.route("**/*", lambda route: route.continue_() if route.request.url.startswith(url) else route.abort())
    page.goto(url)
    page.fill("input[name=userCount]", "2")
    page.fill("input[name=spawnRate]", "2")
    page.click("button[type=submit]")
    expect(page.get_by_role("cell", name="GET")).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Edit").click()
    page.fill("input[name=userCount]", "5")
    page.get_by_role("button", name="Update").click()
    # Users may still send, ten per second each, until the engine receives the change.
    ending = _wait_for_stats(page, url, lambda stats: stats["user_count"] == 5)["stats"][-1]["num_requests"] + 50
    _wait_for_stats(page, url, lambda stats: stats["stats"][-1]["num_requests"] > ending)
    # The link leads to the live page while the test runs.
    live = page.request.get(f"{url}/loadline", max_redirects=0)
    assert live.status == 302
    assert "<!doctype html>" in page.request.get(live.headers["location"]).text()[:100].lower()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("STOPPED")).to_be_visible(timeout=20_000)
    page.get_by_text("Download Data").click()
    with page.expect_download() as download:
        page.get_by_text("Download requests CSV").click()
    link = page.get_by_role("link", name="Loadline: live view and report")
    assert link.get_attribute("href") == "/loadline"
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    page.close()
    assert any("loadline: record" in line for line in process.stderr)
    with urllib.request.urlopen(f"{url}/loadline", timeout=10) as answer:
        assert answer.read() == (locust.folder / ".loadline/runs/last/report.html").read_bytes()
    counted = next(row for row in rows if row["Name"] == "Aggregated")
    summary = locust.loadline.summary()
    requests = summary["requests"]
    cancelled = requests["none_by_class"].get("unfinished", 0)
    assert int(counted["Request Count"]) == requests["issued"] - cancelled > 0
    assert 0 <= requests["issued"] - lab.stats()["received"]["total"] <= cancelled
    assert summary["users"]["max"] == 5
