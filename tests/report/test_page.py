"""The report page: every kind of run renders, charts share cursor and zoom, tables sort, and
nothing is loaded.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

KINDS = ["healthy", "overloaded", "erroring", "generator-limited", "closed", "empty", "single", "all-errors", "killed", "huge"]
# A canvas with a drawing has more than one colour.
PAINTED = """
canvas => {
  const { width, height } = canvas;
  const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer);
  const first = pixels[0];
  return pixels.filter(p => p !== first).length;
}
"""


def test_template_is_one_small_file_with_one_placeholder(template: str) -> None:
    assert template.count("__LOADLINE_PAGE__") == 1
    assert len(template.encode()) < 400_000
    assert not re.search(r"<(script|link|img)[^>]+\b(src|href)=", template)
    policy = re.search(r'Content-Security-Policy"\s+content="([^"]+)"', template)
    assert policy
    allowed = dict(part.strip().split(" ", 1) for part in policy[1].split(";"))
    assert allowed.pop("default-src") == "'none'"
    assert allowed.pop("connect-src") == "'self'"
    assert allowed.pop("script-src") == allowed.pop("style-src") == "'unsafe-inline'"
    assert set(allowed.values()) == {"'none'"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_renders(kind: str, open_report) -> None:
    opened = open_report(kind)
    charts = opened.charts()
    for chart in charts:
        name = chart.get_attribute("data-chart")
        assert chart.locator("canvas").first.evaluate(PAINTED) > 100, name
    drawn = {chart.get_attribute("data-chart") for chart in charts}
    if kind == "empty":
        assert drawn == set()
    else:
        assert {"requests", "throughput", "concurrency", "cpu"} <= drawn
    if kind not in ("empty", "all-errors", "single"):
        assert {"latency", "heat", "density"} <= drawn
    assert ("lateness" in drawn) == (kind not in ("empty", "closed"))
    overflow = opened.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    assert (opened.errors, opened.strays) == ([], [])


def test_sections_are_in_order(open_report) -> None:
    opened = open_report("healthy")
    headings = opened.page.locator("main > section:not([hidden]) > h2").all_inner_texts()
    assert headings == [
        "Verdict",
        "Planned and achieved",
        "Criteria",
        "Endpoints",
        "Latency over time",
        "Distribution",
        "Throughput and errors",
        "Machines",
        "Concurrency",
        "Against offered load",
        "Generator health",
        "Recovery",
        "Conclusions",
        "Provenance",
        "Definitions",
    ]
    contents = opened.page.locator(".contents a").all_inner_texts()
    assert contents == headings


def test_labels_with_markup_are_shown_as_text(open_report) -> None:
    opened = open_report("huge")
    assert opened.page.get_by_text('<script>document.title="owned"</script>', exact=True).count() == 1
    assert opened.page.title().startswith("an hour of everything")
    assert opened.page.locator("main script, main img").count() == 0


def test_figures_equal_the_data(open_report, fixtures: Path) -> None:
    opened = open_report("all-errors")
    text = opened.page.locator(".endpoints .total").inner_text()
    count = json.loads((fixtures / "all-errors.json").read_text())["summary"]["all"]["count"]
    assert f"{count:,}" in text
    assert "100 %" in text
    assert "≥ 10.0 s" in text


def drag(page, chart: str, start: float, end: float) -> None:
    over = page.locator(f"[data-chart={chart}] .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] * start, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, box["y"] + 60, steps=6)
    page.mouse.up()


SNAPSHOT = """
() => Object.fromEntries([...document.querySelectorAll('.chart:not([hidden]) canvas')].map(
  c => [c.closest('.chart').dataset.chart, c.toDataURL()]))
"""


def visible_range(page) -> list[float]:
    """Returns the range that the charts show, in seconds."""
    return [float(n) for n in re.findall(r"([\d.]+) s", page.locator(".zoom-strip").inner_text())]


def test_zoom_applies_to_all_charts(open_report) -> None:
    opened = open_report("overloaded")
    opened.charts()
    page = opened.page
    page.mouse.move(2, 2)
    before = page.evaluate(SNAPSHOT)
    drag(page, "latency", 0.3, 0.5)
    strip = page.locator(".zoom-strip")
    assert visible_range(page) == pytest.approx([36, 60], abs=0.3)
    page.mouse.move(2, 2)
    page.wait_for_function("() => document.querySelector('.moment').textContent === ''")
    zoomed = page.evaluate(SNAPSHOT)
    still = {"density", "curve"}
    assert {name for name in before if before[name] == zoomed[name]} == still
    drag(page, "cpu", 0.25, 0.75)
    assert visible_range(page) == pytest.approx([42, 54], abs=0.3)
    page.locator("[data-chart=throughput] .u-over").dblclick()
    assert visible_range(page) == pytest.approx([36, 60], abs=0.3)
    strip.get_by_role("button", name="whole run").click()
    assert strip.is_hidden()
    page.mouse.move(2, 2)
    page.wait_for_function("() => document.querySelector('.moment').textContent === ''")
    assert page.evaluate(SNAPSHOT) == before
    assert opened.errors == []


def test_cursor_applies_to_all_charts_and_fills_legends(open_report) -> None:
    opened = open_report("overloaded")
    opened.charts()
    page = opened.page
    page.locator("[data-chart=latency] .u-over").hover(position={"x": 300, "y": 80})
    moments = set(page.locator(".chart:not([hidden]):not([data-chart=density]):not([data-chart=curve]) .moment").all_inner_texts())
    assert len({m for m in moments if m.startswith("at ")}) == 1
    value = page.locator("[data-chart=cpu] .legend .value").first.inner_text()
    assert re.fullmatch(r"[\d.]+ %", value)
    page.locator("[data-chart=heat] .u-over").hover(position={"x": 300, "y": 100})
    assert re.search(r"^[\d,]+ between [\d.]+ .s and", page.locator("[data-chart=heat] .legend .value").inner_text())
    page.mouse.move(2, 2)
    assert page.locator("[data-chart=cpu] .legend .value").first.inner_text() == ""


def test_keys_move_the_cursor_and_zoom(open_report) -> None:
    opened = open_report("overloaded")
    opened.charts()
    page = opened.page
    page.locator("[data-chart=requests] .plot").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    moment = page.locator("[data-chart=cpu] .moment")
    assert moment.inner_text() == "at 1.5 s"
    page.keyboard.press("+")
    strip = page.locator(".zoom-strip")
    assert strip.is_visible()
    page.keyboard.press("Escape")
    assert strip.is_hidden()
    assert moment.inner_text() == ""
    assert "Requests per second" in page.locator(".unseen[aria-live]").inner_text()


def test_line_can_be_hidden(open_report) -> None:
    opened = open_report("overloaded")
    opened.charts()
    button = opened.page.locator("[data-chart=latency]").get_by_role("button", name="response max")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert (
        opened.page.locator("[data-chart=latency]").get_by_role("button", name="response max").get_attribute("aria-pressed") == "false"
    )


def endpoint_names(page) -> list[str]:
    return [t.strip() for t in page.locator(".endpoints tbody").last.locator("tr:not(.group):not(.total) th .text").all_inner_texts()]


def test_endpoint_table_sorts_by_mouse_and_keyboard(open_report) -> None:
    opened = open_report("overloaded")
    page = opened.page
    as_given = endpoint_names(page)
    heading = page.locator("th", has=page.get_by_role("button", name="p50", exact=True))
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert endpoint_names(page) == as_given[::-1]
    # The pressed button keeps the focus.
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert endpoint_names(page) == as_given
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "none"
    page.get_by_role("button", name="name", exact=True).focus()
    page.keyboard.press("Space")
    assert endpoint_names(page) == sorted(as_given)


def test_row_shows_its_status_codes(open_report) -> None:
    page = open_report("erroring").page
    row = page.get_by_role("button", name="GET /", exact=True)
    row.click()
    details = page.locator(".details").inner_text()
    assert "503" in details
    assert "timeout" in details
    page.get_by_role("button", name="GET /", exact=True).press("Enter")
    assert page.locator(".details").count() == 0


def test_row_opens_its_details(open_report) -> None:
    opened = open_report("erroring")
    page = opened.page
    page.get_by_role("button", name="GET /", exact=True).click()
    detail = page.locator(".detail")
    assert detail.get_by_role("img").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))") == [
        "GET /: percentiles over time",
        "GET /: distribution",
    ]
    paths = detail.locator("path.line").evaluate_all("all => all.map(one => one.getAttribute('d').length)")
    assert len(paths) == 3
    assert min(paths) > 100
    assert detail.locator("rect.bar").count() == 5
    assert detail.get_by_role("row", name="first byte").count() == 1
    assert detail.get_by_role("row", name="service time").count() == 1
    assert detail.get_by_role("row", name="steady").inner_text().split("\t")[1:3] == ["400", "3"]
    assert "pool exhausted" in detail.locator("pre").inner_text()
    assert '$.state is "refused", expected "paid"' in detail.inner_text()
    # Details stay within the screen and do not widen the page.
    page.set_viewport_size({"width": 400, "height": 900})
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    assert detail.evaluate("one => one.getBoundingClientRect().right") <= 400
    assert (opened.errors, opened.strays) == ([], [])


def test_theme_can_be_selected(open_report) -> None:
    opened = open_report("healthy", color_scheme="dark")
    page = opened.page
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.get_by_role("button", name="Light", exact=True).click()
    assert page.evaluate(background) != dark
    page.reload()
    assert page.get_by_role("button", name="Dark", exact=True).is_visible()
    opened.charts()
    assert opened.errors == []


def test_missing_data_is_reported(browser, template: str, tmp_path: Path) -> None:
    page = browser.new_page()
    path = tmp_path / "broken.html"
    path.write_text(template)
    page.goto(path.as_uri())
    assert "contains no report" in page.locator("#app").inner_text()
    page.close()


def test_large_report_responds_before_its_charts_are_drawn(open_report) -> None:
    """An hour, 200 labels and every chart: the first click does not wait for the last chart."""
    page = open_report("huge").page
    page.get_by_role("button", name="p50", exact=True).click()
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("p50")
