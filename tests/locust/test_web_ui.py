"""Locust's web UI in a browser, with our engine below it: a test started, changed and stopped there, and its files."""

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
    """A lab, and Locust's web UI of a test of it."""
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


def _told(page, url: str, is_there) -> dict:
    """What the web UI tells of the test, as soon as it is there."""
    until = time.monotonic() + 30
    while not is_there(told := page.request.get(f"{url}/stats/requests").json()):
        assert time.monotonic() < until, told
        page.wait_for_timeout(100)
    return told


def test_a_test_is_started_changed_and_stopped_in_the_web_ui(locust, web_ui, browser):
    url, lab, process = web_ui
    page = browser.new_page()
    # Whatever else there is on the page is the original's.
    page.route("**/*", lambda route: route.continue_() if route.request.url.startswith(url) else route.abort())
    page.goto(url)
    page.fill("input[name=userCount]", "2")
    page.fill("input[name=spawnRate]", "2")
    page.click("button[type=submit]")
    expect(page.get_by_role("cell", name="GET")).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Edit").click()
    page.fill("input[name=userCount]", "5")
    page.get_by_role("button", name="Update").click()
    # All of them, for as long as it takes the engine to be told: each sends ten a second.
    ending = _told(page, url, lambda told: told["user_count"] == 5)["stats"][-1]["num_requests"] + 50
    _told(page, url, lambda told: told["stats"][-1]["num_requests"] > ending)
    # The live page is the link's for as long as the test runs.
    live = page.request.get(f"{url}/loadline", max_redirects=0)
    assert live.status == 302
    assert "<!doctype html>" in page.request.get(live.headers["location"]).text()[:100].lower()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("STOPPED")).to_be_visible(timeout=20_000)
    page.get_by_text("Download Data").click()
    with page.expect_download() as download:
        page.get_by_text("Download requests CSV").click()
    link = page.get_by_role("link", name="Loadline: live page and report")
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
