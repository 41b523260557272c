"""Printing: every chart is drawn, no controls are shown, and no row or chart is split."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from required_tools import tool_path

XHTML = "{http://www.w3.org/1999/xhtml}"
UNCUT = """
() => [...document.querySelectorAll('tr, .chart, .headline, .ledger')]
  .filter(e => e.offsetParent !== null && getComputedStyle(e).breakInside !== 'avoid').length
"""

# The text of every heading and figure. Names may wrap, figures may not.
TABLES = """
() => [...document.querySelectorAll('table')].filter(t => t.offsetParent !== null)
  .flatMap(t => [...t.querySelectorAll('td.number, thead th')])
  .map(cell => cell.innerText)
"""


def words_on_paper(pdf: Path) -> Counter[str]:
    """Returns the words of a PDF. Each lies completely on its page."""
    text = subprocess.run([tool_path("pdftotext"), "-bbox", pdf, "-"], capture_output=True, text=True, check=True, timeout=60).stdout
    words = Counter()
    for sheet in ElementTree.fromstring(text.replace("\f", "")).iter(f"{XHTML}page"):
        width, height = float(sheet.get("width")), float(sheet.get("height"))
        for word in sheet.iter(f"{XHTML}word"):
            assert 0 <= float(word.get("xMin")) <= float(word.get("xMax")) <= width, word.text
            assert 0 <= float(word.get("yMin")) <= float(word.get("yMax")) <= height, word.text
            words[word.text] += 1
    return words


@pytest.mark.parametrize("kind", ["healthy", "erroring", "huge"])
def test_printed_page_contains_every_figure(kind: str, open_report, results: Path) -> None:
    opened = open_report(kind, color_scheme="dark")
    page = opened.page
    # A4 without margins, as used for printing.
    page.set_viewport_size({"width": 703, "height": 1032})
    page.emulate_media(media="print")
    opened.charts()
    assert page.evaluate(UNCUT) == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    wide = page.evaluate("""() => [...document.querySelectorAll('table')].filter(t => t.getBoundingClientRect().right > 704).length""")
    assert wide == 0
    assert page.get_by_role("button", name="Light", exact=True).count() == 0
    assert page.evaluate("[...document.querySelectorAll('thead')].every(t => getComputedStyle(t).display === 'table-header-group')")
    page.emulate_media(media="null")
    pdf = page.pdf(path=results / f"{kind}.pdf", format="A4", prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF-")
    assert opened.errors == []

    printed = words_on_paper(results / f"{kind}.pdf")
    expected = Counter(word for text in page.evaluate(TABLES) for word in text.split())
    assert sum(expected.values()) > 50
    assert {word: n for word, n in expected.items() if printed[word] < n} == {}


def test_charts_never_scrolled_into_view_are_printed(open_report, results: Path) -> None:
    """Printing right after opening draws charts that were not visible yet."""
    opened = open_report("healthy", color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = opened.page.evaluate(background)
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.page.evaluate(background) == "rgb(255, 255, 255)"
    blank = opened.page.evaluate(opened.undrawn)
    assert blank == 0
    opened.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.page.evaluate(background) == dark
    assert opened.errors == []
