"""Every number in the sentences of `report.md` is in `summary.json`."""

import json
import re

NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?:\s?(?:%|ns|µs|ms|s|min|h|kB|MB|GB|B)\b|\s?%)?")


def leaves(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def three_digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def renderings(value: float) -> set[str]:
    """Returns all notations of a figure: as a count, a rate, a time, a share."""
    texts = {f"{round(value):,}", three_digits(value), f"{value:.2f}".rstrip("0").rstrip("."), f"{value:.3f}".rstrip("0").rstrip(".")}
    for unit, factor in (("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        texts |= {f"{three_digits(value / factor)} {unit}", f"{round(value / factor)} {unit}"}
        # The bounds of an interval have the unit of its value.
        texts |= {f"{round(value / factor):,} {unit}", f"{value / factor:.3f} {unit}"}
    share = abs(value) * 100
    texts |= {f"{three_digits(share)} %", f"{share:.3f}".rstrip("0").rstrip(".") + " %", f"{share:.0f} %", f"{share:.2f} %"}
    return texts


def unknown_numbers(text: str, summary: dict) -> list[str]:
    known: set[str] = set()
    # The summary's own sentences are prose: their numbers must occur elsewhere in it.
    sources = {key: value for key, value in summary.items() if key not in ("conclusions", "assumptions", "verdict")}
    words = set(NUMBER.findall(" ".join(str(leaf) for leaf in leaves(sources) if isinstance(leaf, str))))
    words = {number.strip() for number in words}
    for leaf in leaves(summary):
        if isinstance(leaf, (int, float)) and not isinstance(leaf, bool):
            known |= renderings(leaf)
    unknown = []
    for number in NUMBER.findall(text):
        number = number.strip()
        if number not in known and number not in words:
            unknown.append(number)
    return unknown


def prose(text: str) -> str:
    """Returns the sentences, without tables, code, pictures and fixed explanations."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "!["))]
    # The unit of an interval is said once.
    lines = [re.sub(r"between ([\d.,]+) and ([\d.,]+) (ns|µs|ms|s)\b", r"between \1 \3 and \2 \3", line) for line in lines]
    # The explanation of p99 and intervals contains no figure of the run.
    return "\n".join(lines).replace("95 % confidence", "").replace("95 % interval", "").replace("1 % of the requests due", "")


def test_every_number_in_prose_is_in_the_summary(loadline, start_lab):
    url = start_lab("fhir").url
    result = loadline(
        "run", f"{url}/fhir/R4/Patient/none", "--rate", "150/s", "--duration", "12s", "--check", "p99 < 1s", "--check", "errors < 1%"
    )
    # A busy machine may make the measurement invalid; the text must be true anyway.
    assert result.returncode == 1, result.stdout + result.stderr
    record = loadline.folder / ".loadline/runs/last"
    text = prose((record / "report.md").read_text())
    summary = json.loads((record / "summary.json").read_text())
    assert len(NUMBER.findall(text)) > 20
    started = summary["run"]["started_utc"][:19].replace("T", " ")
    assert started in text
    assert unknown_numbers(text.replace(started, ""), summary) == []


def test_invented_number_is_found():
    summary = {"all": {"count": 1234, "p99": {"ns": 2_010_000}}, "text": "from 5 to 6", "conclusions": ["7 of 71"]}
    assert unknown_numbers("1,234 requests, p99 2.01 ms, from 5 to 6", summary) == []
    assert unknown_numbers("1,235 requests, p99 2.02 ms, 7", summary) == ["1,235", "2.02 ms", "7"]
