"""The first screen: what everybody looks for is there without scrolling, whatever the verdict, on wide and narrow windows."""

from __future__ import annotations

import pytest

KINDS = ["healthy", "overloaded", "erroring", "generator-limited", "closed"]
# What of the head lies outside of the window.
OUTSIDE = """
() => [...document.querySelectorAll('h1, .states, .sentence, .glance > div, .deciding > div, .telling li, .trust')]
  .map(e => [e.className || e.tagName, e.getBoundingClientRect()])
  .filter(([, box]) => box.width === 0 || box.top < 0 || box.bottom > innerHeight || box.right > innerWidth)
  .map(([name, box]) => [name, box.bottom])
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_of_it_is_seen_without_scrolling(kind: str, scheme: str, open_report) -> None:
    opened = open_report(kind, viewport={"width": 1200, "height": 800}, color_scheme=scheme)
    page = opened.page
    assert page.evaluate(OUTSIDE) == []
    names = page.locator(".glance dt").all_inner_texts()
    assert names[:3] == ["load", "answered/s", "errors"]
    assert names[3:] == ["p50", "p95", "p99", "largest"]
    contents = page.locator(".contents")
    assert contents.is_visible()
    # Beside what is read, not over it.
    assert contents.bounding_box()["x"] + contents.bounding_box()["width"] <= page.locator("main").bounding_box()["x"]
    assert opened.errors == []


def test_an_invalid_measurement_hides_no_figure(open_report) -> None:
    page = open_report("generator-limited", viewport={"width": 1200, "height": 800}).page
    assert page.locator(".states").inner_text().endswith("INVALID")
    assert page.locator(".glance dd:not(.muted)").count() == 7


def test_the_head_has_three_conclusions_at_most_in_their_order(open_report) -> None:
    def more(data: dict) -> None:
        kinds = ["generator", "saturation", "errors", "slowest"]
        data["summary"]["conclusions"] = [{"kind": kind, "tone": "bad", "text": f"of {kind} 1", "figures": []} for kind in kinds]
        data["summary"]["verdict"]["telling"] = [0, 1, 2]

    page = open_report("overloaded", more).page
    assert page.locator(".telling li > span:last-child").all_inner_texts() == ["of generator 1", "of saturation 1", "of errors 1"]
    assert page.locator(".conclusions li").count() == 4


def test_figures_that_the_sentence_says_are_not_said_beside_it(open_report) -> None:
    def one(data: dict) -> None:
        count = data["summary"]["requests"]["issued"]
        text = f"{count:,} requests were sent."
        figures = ["requests.issued", "users.max"]
        data["summary"]["conclusions"] = [{"kind": "errors", "tone": "bad", "text": text, "figures": figures}]

    chips = open_report("overloaded", one).page.locator("#conclusions .chip").all_inner_texts()
    assert [chip.rsplit(" ", 1)[0] for chip in chips] == ["users max"]


def test_a_percentile_of_few_samples_is_marked_and_has_its_interval(open_report) -> None:
    def few(data: dict) -> None:
        for row in [data["summary"]["all"], *data["summary"]["labels"]]:
            row["service"]["p99"] = {
                "beyond": 3,
                "too_few": True,
                "thin": {"ns": 312_000_000, "low_ns": 280_000_000, "largest_ns": 401_000_000},
            }
            row["response"] = None

    page = open_report("closed", few).page
    thin = page.locator(".endpoints .total .thin").first
    assert thin.inner_text().split() == ["312", "ms?", "280–≥", "401"]
    colour = "e => getComputedStyle(e).color"
    assert thin.evaluate(colour) != page.locator(".endpoints .total td").first.evaluate(colour)


def test_one_endpoint_has_one_row(open_report) -> None:
    rows = open_report("single").page.locator(".endpoints tbody tr:not(.group) th").all_inner_texts()
    assert rows.count("GET /health") == 1
    assert "all requests" not in rows


def test_an_iteration_that_is_one_request_has_no_row_of_its_own(open_report) -> None:
    def headings(change) -> str:
        return open_report("single", change).page.locator(".endpoints tr.group").all_inner_texts()

    def same(data: dict) -> None:
        (request,) = data["summary"]["labels"]
        request["response"] = request["service"]
        whole = {**request, "id": 99, "group": "iteration", "text": "default", "iteration": request["service"], "service": None}
        data["summary"]["iterations"] = [{**whole, "response": None}]

    def with_pauses(data: dict) -> None:
        same(data)
        (whole,) = data["summary"]["iterations"]
        whole["unpaused"] = whole["iteration"]

    assert [text.split(" · ")[0] for text in headings(same)] == ["Requests"]
    assert [text.split(" · ")[0] for text in headings(with_pauses)] == ["Iterations", "Requests"]


@pytest.mark.parametrize("width", [400, 700, 1199, 1200])
def test_no_width_makes_the_page_scroll_sideways(width: int, open_report) -> None:
    page = open_report("overloaded", viewport={"width": width, "height": 800}).page
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert page.locator(".contents").is_visible() == (width >= 1200)


def test_what_a_test_is_for_stands_behind_its_verdict(open_report) -> None:
    about = {
        "objective": "Whether it holds.",
        "owner": "Ann",
        "environment": [["database", "PostgreSQL 17"]],
        "links": [["Runbook", "https://wiki.example/x"], ["Bad", "javascript:alert(1)"]],
        "tags": ["sale", "november"],
    }
    opened = open_report("healthy", lambda data: data["manifest"].update(about=about))
    section = opened.page.locator("#about")
    assert section.locator("p").first.inner_text() == "Whether it holds."
    assert section.locator("dt").all_inner_texts() == ["Owner", "database", "Runbook", "Bad", "Tags"]
    assert section.locator("dd").all_inner_texts()[-1] == "sale, november"
    # Of what a record says only links to pages are links.
    assert [link.get_attribute("href") for link in section.locator("dd a").all()] == ["https://wiki.example/x"]
    assert opened.errors == []
    assert open_report("healthy").page.locator("#about").is_hidden()
