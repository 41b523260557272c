"""The page of a real run shows the plan, follows the run, and its button ends it."""

from __future__ import annotations

import csv
import re
import signal
from pathlib import Path


def test_real_run_is_followed_and_stopped_from_its_page(loadline, start_lab, browser, results: Path) -> None:
    lab = start_lab("sum")
    flags = ("--rate", "200/s", "--duration", "60s", "--check", "errors < 1%", "--ui")
    run = loadline.start("run", f"{lab.url}/api/sum", *flags)
    try:
        line = next(line for line in run.stderr if line.startswith("live view: "))
        url = line.removeprefix("live view: ").strip()
        context = browser.new_context(viewport={"width": 1200, "height": 900})
        page = context.new_page()
        errors: list[str] = []
        strays: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: message.type in ("error", "warning") and errors.append(message.text))
        page.on("request", lambda request: request.url.startswith(url[: url.index("/", 8)]) or strays.append(request.url))
        page.goto(url)
        page.get_by_text("live", exact=True).wait_for()
        page.wait_for_selector("[data-chart=requests] canvas")
        # It continues to update.
        page.locator("[data-chart=requests] .plot").focus()

        def last_moment() -> float:
            page.keyboard.press("End")
            return float(re.search(r"[\d.]+", page.locator("[data-chart=requests] .moment").inner_text())[0])

        first = last_moment()
        page.wait_for_timeout(100)
        while last_moment() < first + 2:
            page.wait_for_timeout(100)
        page.screenshot(path=results / "live-run.png")
        assert page.get_by_label("The newest second").inner_text().count("/s") == 1
        page.get_by_role("tab", name="Log").click()
        page.get_by_role("tabpanel", name="Log").get_by_text("phase 1 started").wait_for()
        with page.expect_download() as fetched:
            page.get_by_role("link", name="CSV").click()
        rows = list(csv.DictReader(fetched.value.path().read_text().splitlines()))
        assert sum(int(row["ok"]) for row in rows if row["group"] == "all") > 200
        page.get_by_role("button", name="Change the load").click()
        rate = page.get_by_role("textbox", name="Arrivals per second")
        assert rate.input_value() == "200"
        rate.fill("-3")
        page.get_by_role("button", name="Change", exact=True).click()
        page.get_by_text("The load was not changed: `-3` is negative: use a rate of 0 or more.").wait_for()
        rate.fill("350")
        page.screenshot(path=results / "live-change.png")
        rate.press("Enter")
        page.get_by_text(re.compile(r"The load was changed: after [\d.]+ s: 350/s instead of 200/s\.")).wait_for()
        page.get_by_role("tabpanel", name="Log").get_by_text("the live view changed the rate from 200/s to 350/s").wait_for()
        page.get_by_role("button", name="Stop the test").click()
        page.get_by_role("button", name="Stop", exact=True).click()
        page.get_by_text("The test has ended.").wait_for()
        report = Path(page.locator(".live-bar .path").inner_text())
        assert report.is_absolute()
        page.get_by_text("the stop button of the live view").first.wait_for()
        context.close()
        assert (errors, strays) == ([], [])
    finally:
        if run.poll() is None:
            run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=20)
    assert run.returncode == 130
    assert report.is_file()
    summary = loadline.summary()
    assert summary["run"]["ended_by"] == "the stop button of the live view"
    assert any("the live view changed the rate from 200/s to 350/s" in note for note in summary["notes"])
    assert summary["requests"]["ok"] == lab.stats()["answered"]["total"]
