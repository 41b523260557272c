"""Deliveries on the page: a row for each kind of receivers, and what the table does not show."""

from __future__ import annotations

from pathlib import Path

COUNTS = {"left": 0, "refused": 1, "unknown": 2, "duplicates": 4, "out_of_order": 5, "not_due": 6}
OTHERS = {"received_not_due": 0, "receivers_with_losses": 3, "foreign": 0, "unstamped": 0}
LISTENERS = {"receivers": "listeners", "planned": 200, "connected": 199, "published": 1500, "expected": 30000, "received": 29720}
SUBSCRIBERS = {"receivers": "mqtt", "connected": 7, "published": 10, "expected": None, "received": 20, "lost": None}


def add_deliveries(data: dict) -> None:
    listeners = {**COUNTS, **OTHERS, **LISTENERS, "lost": {"least": 270, "most": 280}}
    subscribers = {**COUNTS, **OTHERS, **SUBSCRIBERS, "receivers_with_losses": 0}
    data["summary"]["deliveries"] = [listeners, subscribers]


def test_deliveries_have_a_section(open_report, results: Path) -> None:
    opened = open_report("healthy", add_deliveries)
    section = opened.page.locator("#deliveries")
    rows = [row.locator("th, td").all_inner_texts() for row in section.locator("tbody tr").all()]
    assert rows == [
        ["WebSocket listeners", "1,500", "1", "2", "30,000", "29,720", "270 to 280", "4", "5", "6"],
        ["MQTT subscribers", "10", "1", "2", "–", "20", "–", "4", "5", "6"],
    ]
    assert section.locator("li").all_inner_texts() == [
        "listeners: 199 of 200 connected, 0 of them lost their connection",
        "listeners that missed a message: 3",
    ]
    section.screenshot(path=results / "deliveries.png")
    assert (opened.errors, opened.strays) == ([], [])


def test_page_without_receivers_has_no_deliveries(open_report) -> None:
    opened = open_report("healthy")
    assert not opened.page.locator("#deliveries").is_visible()
