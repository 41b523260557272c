"""Custom metrics on the page: a table, a dozen charts, and the others on request."""

from __future__ import annotations

from pathlib import Path


def add_metrics(counters: int):
    """Returns a change that adds a histogram and counters, each with a row of the table and a column per point."""

    def change(data: dict) -> None:
        n = len(data["series"]["points"]["from_ns"])
        sizes = [None if i % 10 == 3 else 40 + i % 7 for i in range(n)]
        upper = [None if size is None else size * 2 for size in sizes]
        series = [{"name": f"orders {i}", "kind": "counter", "count": [i + 1] * n} for i in range(counters)]
        series.append({"name": "basket size", "kind": "histogram", "count": [9] * n, "p50": sizes, "p95": upper})
        data["series"]["custom"] = series
        rows = [{"name": one["name"], "kind": one["kind"], "count": sum(one["count"]), "per_second": 1.0} for one in series]
        rows[-1]["values"] = {"min": 40.0, "p50": 43.0, "max": 92.0}
        rows.append({"name": "rare", "kind": "counter", "count": 1, "per_second": 0.1})
        data["summary"]["custom"] = rows

    return change


def test_custom_metrics_have_charts(open_report, results: Path) -> None:
    opened = open_report("healthy", add_metrics(2))
    section = opened.page.locator("#custom")
    section.scroll_into_view_if_needed()
    opened.charts()
    titles = section.locator("h3").all_inner_texts()
    assert titles == ["orders 0 (counter)", "orders 1 (counter)", "basket size (histogram)"]
    assert section.locator("tbody tr").count() == 4
    assert section.get_by_text("One metric has no chart.").is_visible()
    assert not section.get_by_role("button", name="more chart").is_visible()
    section.locator("[data-chart=custom-2] .u-over").hover()
    legend = section.locator("[data-chart=custom-2] .legend").inner_text()
    assert "p50" in legend
    assert "p95" in legend
    section.screenshot(path=results / "custom-metrics.png")
    assert (opened.errors, opened.strays) == ([], [])


def test_more_than_twelve_charts_are_shown_on_request(open_report) -> None:
    opened = open_report("healthy", add_metrics(14))
    section = opened.page.locator("#custom")
    opened.charts()
    assert section.locator(".chart:visible").count() == 12
    section.get_by_role("button", name="Show 3 more charts").click()
    opened.charts()
    assert section.locator(".chart:visible").count() == 15
    assert not section.get_by_role("button", name="more chart").is_visible()
    assert opened.errors == []
