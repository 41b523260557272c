"""Documents are consistent: links resolve, each page states its kind, and table cells are short."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = {
    "tutorials": "Tutorial:",
    "how-to": "How-to guide:",
    "reference": "Reference:",
    "explanation": "Explanation:",
}
LONGEST_CELL = 160
FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1?\2[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
# Documents of other projects, used as test data.
EXCLUDED = ("vendor/", "tests/", "crates/")
# Reports printed by Loadline.
GENERATED = re.compile(r"(^|/)report/report\.md$")
# A Rust test writes these tables into the page.
GENERATED_TABLES = re.compile(r"<!-- (\w+) -->.*?<!-- /\1 -->", re.DOTALL)


def documents() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = listed.stdout.splitlines()
    return sorted({path for path in paths if not path.startswith(EXCLUDED) and (ROOT / path).is_file()})


def without_fences(text: str) -> str:
    """The text with its fenced code blocks blanked; line numbers stay."""
    return FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    words = re.sub(r"[^\w\- ]", "", heading.lower())
    return words.replace(" ", "-")


def anchors(path: Path) -> set[str]:
    found: set[str] = set()
    text = without_fences(path.read_text())
    for heading in HEADING.findall(text):
        name, number = slug(heading), 0
        while name in found:
            number += 1
            name = f"{slug(heading)}-{number}"
        found.add(name)
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def broken_links(document: str) -> Iterator[str]:
    text = CODE.sub(lambda code: " " * len(code[0]), without_fences((ROOT / document).read_text()))
    for match in LINK.finditer(text):
        link = match[1]
        if re.match(r"[a-z][a-z+.-]*:", link):
            continue
        place = f"{document}:{text.count(chr(10), 0, match.start()) + 1}: {link}"
        path, _, anchor = link.partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        if not target.exists():
            yield f"{place}: no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{place}: no such heading"


def long_cells(document: str) -> Iterator[str]:
    text = GENERATED_TABLES.sub(lambda table: "\n" * table[0].count("\n"), (ROOT / document).read_text())
    for number, line in enumerate(without_fences(text).splitlines(), 1):
        if not line.lstrip().startswith("|"):
            continue
        for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
            if len(cell.strip()) > LONGEST_CELL:
                yield f"{document}:{number}: {len(cell.strip())} characters: {cell.strip()[:60]}…"


def test_documents_are_found() -> None:
    assert {"README.md", "docs/README.md", "docs/reference/plan.md"} <= set(documents())


@pytest.mark.parametrize("document", documents())
def test_document_links_resolve(document: str) -> None:
    assert list(broken_links(document)) == []


@pytest.mark.parametrize("document", [path for path in documents() if not GENERATED.search(path)])
def test_table_cells_are_short(document: str) -> None:
    assert list(long_cells(document)) == []


@pytest.mark.parametrize("document", [path for path in documents() if path.count("/") > 1 and path.split("/")[1] in KINDS])
def test_page_says_its_kind(document: str) -> None:
    title, blank, first = (ROOT / document).read_text().split("\n")[:3]
    assert title.startswith("# ")
    assert blank == ""
    assert first.startswith(KINDS[document.split("/")[1]])


def test_page_outside_of_a_kind_is_known() -> None:
    pages = {path for path in documents() if path.startswith("docs/") and path.count("/") == 1}
    assert pages <= {"docs/README.md", "docs/glossary.md", "docs/style.md"}


def test_site_has_every_page() -> None:
    listed = set(re.findall(r"^ .*?([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    pages = {path.removeprefix("docs/") for path in documents() if path.startswith("docs/")}
    assert listed == pages


def test_slug_matches_github() -> None:
    assert slug("Criteria and stop rules") == "criteria-and-stop-rules"
    assert slug("`--on ray`: Ray, on 8 machines") == "--on-ray-ray-on-8-machines"


def test_link_to_nowhere_is_reported(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "a.md").write_text("# A\n\n[x](b.md) [y](#a) [z](#b) `[code](c.md)`\n\n```\n[fenced](d.md)\n```\n")
    assert list(broken_links("a.md")) == ["a.md:3: b.md: no such file", "a.md:3: #b: no such heading"]
