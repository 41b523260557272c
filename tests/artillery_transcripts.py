"""Compares two Artillery transcripts. Numbers are masked; labels, order and widths are not."""

from __future__ import annotations

import json
import re
from pathlib import Path


def mask_numbers(text: str) -> list[str]:
    """Masks the numbers of all lines. A metric's line keeps its width up to the value."""
    text = re.sub(r"t[a-z0-9]{4}_[a-z0-9]{29}_[a-z0-9]{4}", "ID", text)
    text = re.sub(r"id [0-9a-f-]{36}\n", "", text)
    text = re.sub(r"(?<=[ (])\d+(\.\d+)?(?=(s?\)|/sec|\n| seconds?\n|ms\n))", "N", text)
    text = re.sub(r"\d\d:\d\d:\d\d\([+-]\d{4}\)", "TIME", text)
    text = re.sub(r"Total time: .*", "Total time: T", text)
    return re.sub(r"Log file: .*\n", "", text).splitlines()


def split_blocks(lines: list[str]) -> dict[str, list]:
    """Returns the parts of a transcript: phase lines, the metrics of each period, the summary."""
    phases = [line for line in lines if line.startswith("Phase ")]
    text = "\n".join(lines)
    summary = text.split("Summary report @ TIME\n")[-1] if "Summary report" in text else ""
    periods = re.findall(r"-{38}\nMetrics for period to: TIME \(width: Ns\)\n-{38}\n\n(.*?)\n\n\n", text, re.S)
    return {"phases": phases, "periods": [p.splitlines() for p in periods], "summary": summary.splitlines()}


def summary_labels(stdout: str) -> list[str]:
    """Returns the names in the summary of an unmasked transcript, in order."""
    summary = stdout.split("Summary report @")[-1] if "Summary report @" in stdout else ""
    return re.findall(r"(?m)^(\S.*?):(?: \.|$)", summary.split("Log file:")[0])


def shape(value: object, path: str = "") -> set[str]:
    """Returns every key of a JSON tree with its type, ignoring the index of periods."""
    match value:
        case dict():
            return {path}.union(*(shape(item, f"{path}/{key}") for key, item in value.items()))
        case list():
            return {path}.union(*(shape(item, f"{path}[]") for item in value))
        case int() | float():
            return {f"{path}:number"}
        case _:
            return {f"{path}:{type(value).__name__}"}


def assert_same_json(ours: Path, theirs: Path) -> None:
    # Artillery's periods contain a null from a division by zero; ours do not.
    stray = "/intermediate[]/http.request_rate:NoneType"
    assert shape(json.loads(ours.read_text())) == shape(json.loads(theirs.read_text())) - {stray}
    assert ours.read_text().startswith('{\n  "aggregate": {\n    "counters": {\n')
