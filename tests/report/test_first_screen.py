"""The first screen shows the most important figures without scrolling, for any verdict, on wide
and narrow windows.
"""

from __future__ import annotations

import pytest

KINDS = ["healthy", "overloaded", "erroring", "generator-limited", "closed"]
# Elements of the head outside of the window.
OUTSIDE = """
() => [...document.querySelectorAll(
  'h1, .states, .sentence, .objective, .next > div, .glance > div, .deciding > div, .telling li, .trust')]
  .map(e => [e.className || e.tagName, e.getBoundingClientRect()])
  .filter(([, box]) => box.width === 0 || box.top < 0 || box.bottom > innerHeight || box.right > innerWidth)
  .map(([name, box]) => [name, box.bottom])
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_first_screen_fits_the_window(kind: str, scheme: str, open_report) -> None:
    opened = open_report(kind, viewport={"width": 1200, "height": 800}, color_scheme=scheme)
    page = opened.page
    assert page.evaluate(OUTSIDE) == []
    names = page.locator(".glance dt").all_inner_texts()
    assert names[:3] == ["load", "answered/s", "errors"]
    assert names[3:] == ["p50", "p95", "p99", "largest"]
    contents = page.locator(".contents")
    assert contents.is_visible()
    # Next to the text, not over it.
    assert contents.bounding_box()["x"] + contents.bounding_box()["width"] <= page.locator("main").bounding_box()["x"]
    assert opened.errors == []


def test_first_screen_has_question_advice_and_certainty(open_report) -> None:
    page = open_report("overloaded").page
    assert page.locator(".objective").inner_text().startswith("Does the shop answer within 50 ms")
    assert page.locator(".next dt").all_inner_texts() == ["what to do", "certainty"]
    assert page.locator(".next li").count() == 2


def test_judged_figure_is_marked_in_the_endpoint_table(open_report) -> None:
    page = open_report("healthy").page
    marked = page.locator(".endpoints td:has(.judged)")
    assert marked.count() == 1
    row = page.locator(".endpoints tr:has(.judged)")
    heads = page.locator(".endpoints thead th").all_inner_texts()
    at = row.locator("th, td").evaluate_all("cells => cells.findIndex(cell => cell.querySelector('.judged'))")
    assert heads[at].strip() == "p99"
    assert "judged by a criterion" in page.locator("#endpoints").inner_text()


def test_judged_service_time_has_a_marked_column(open_report) -> None:
    def judge_the_service(data: dict) -> None:
        data["summary"]["all"]["judged"] = ["service/p95"]

    page = open_report("healthy", judge_the_service).page
    heads = [head.strip() for head in page.locator(".endpoints thead th").all_inner_texts()]
    at = (
        page.locator(".endpoints .total")
        .locator("th, td")
        .evaluate_all("cells => cells.flatMap((cell, at) => cell.querySelector('.judged') ? [at] : [])")
    )
    assert [heads[i] for i in at] == ["service p95"]
    assert page.locator(".endpoints td:has(.judged)").count() == 1


def test_invalid_measurement_hides_no_figure(open_report) -> None:
    page = open_report("generator-limited", viewport={"width": 1200, "height": 800}).page
    assert page.locator(".states").inner_text().endswith("INVALID")
    assert page.locator(".glance dd:not(.muted)").count() == 7


def test_first_screen_has_at_most_three_conclusions_in_order(open_report) -> None:
    def set_conclusions(data: dict) -> None:
        kinds = ["generator", "saturation", "errors", "slowest"]
        data["summary"]["conclusions"] = [{"kind": kind, "tone": "bad", "text": f"of {kind} 1", "figures": []} for kind in kinds]
        data["summary"]["verdict"]["key_conclusions"] = [0, 1, 2]

    page = open_report("overloaded", set_conclusions).page
    assert page.locator(".telling li > span:last-child").all_inner_texts() == ["of generator 1", "of saturation 1", "of errors 1"]
    assert page.locator(".conclusions li").count() == 4


def test_chips_omit_figures_already_in_the_sentence(open_report) -> None:
    def set_one_conclusion(data: dict) -> None:
        count = data["summary"]["requests"]["issued"]
        text = f"{count:,} requests were sent."
        figures = ["requests.issued", "users.max"]
        data["summary"]["conclusions"] = [{"kind": "errors", "tone": "bad", "text": text, "figures": figures}]

    chips = open_report("overloaded", set_one_conclusion).page.locator("#conclusions .chip").all_inner_texts()
    assert [chip.rsplit(" ", 1)[0] for chip in chips] == ["users max"]


def test_percentile_with_few_samples_is_marked_and_has_an_interval(open_report) -> None:
    def set_few_samples(data: dict) -> None:
        for row in [data["summary"]["all"], *data["summary"]["labels"]]:
            row["service"]["p99"] = {
                "beyond": 3,
                "too_few": True,
                "thin": {"ns": 312_000_000, "low_ns": 280_000_000, "largest_ns": 401_000_000},
            }
            row["response"] = None

    page = open_report("closed", set_few_samples).page
    thin = page.locator(".endpoints .total .thin").first
    assert thin.inner_text().split() == ["312", "ms?", "280–≥", "401"]
    colour = "e => getComputedStyle(e).color"
    assert thin.evaluate(colour) != page.locator(".endpoints .total td").first.evaluate(colour)


def test_single_endpoint_has_one_row(open_report) -> None:
    rows = open_report("single").page.locator(".endpoints tbody tr:not(.group) th").all_inner_texts()
    assert rows.count("GET /health") == 1
    assert "all requests" not in rows


def test_iteration_with_one_request_has_no_row_of_its_own(open_report) -> None:
    def headings(change) -> str:
        return open_report("single", change).page.locator(".endpoints tr.group").all_inner_texts()

    def set_equal_times(data: dict) -> None:
        (request,) = data["summary"]["labels"]
        request["response"] = request["service"]
        whole = {**request, "id": 99, "group": "iteration", "text": "default", "iteration": request["service"], "service": None}
        data["summary"]["iterations"] = [{**whole, "response": None}]

    def set_pauses(data: dict) -> None:
        set_equal_times(data)
        (whole,) = data["summary"]["iterations"]
        whole["unpaused"] = whole["iteration"]

    assert [text.split(" · ")[0] for text in headings(set_equal_times)] == ["Requests"]
    assert [text.split(" · ")[0] for text in headings(set_pauses)] == ["Iterations", "Requests"]


@pytest.mark.parametrize("width", [400, 700, 1199, 1200])
def test_page_does_not_scroll_sideways_at_any_width(width: int, open_report) -> None:
    page = open_report("overloaded", viewport={"width": width, "height": 800}).page
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert page.locator(".contents").is_visible() == (width >= 1200)


def test_about_follows_the_verdict(open_report) -> None:
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
    # Only URLs of pages become links.
    assert [link.get_attribute("href") for link in section.locator("dd a").all()] == ["https://wiki.example/x"]
    assert opened.errors == []
    assert open_report("healthy").page.locator("#about").is_hidden()
