"""Damaged records: the report describes the rest of the data and never replaces a better report."""

import json
import re

import pytest


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A record of three seconds with all derived files."""
    from conftest import Loadline

    loadline = Loadline(tmp_path_factory.mktemp("damage"))
    run = loadline("run", "lab:sum", "--rate", "100/s", "--duration", "3s", "--check", "unsent < 1%")
    assert run.returncode == 0, run.stderr
    return (loadline.folder / ".loadline/runs/last").resolve()


def copied(loadline, record):
    import shutil

    return shutil.copytree(record, loadline.folder / record.name)


def flip_in_a_histogram(path) -> None:
    """Changes the encoded figures of a line in the middle; no figures are read from the other
    columns.
    """
    lines = path.read_bytes().splitlines(keepends=True)
    histograms = [number for number, line in enumerate(lines) if line.startswith(b"Tag=")]
    number = histograms[len(histograms) // 2]
    line = bytearray(lines[number])
    line[(line.rindex(b",") + len(line)) // 2] ^= 0x20
    lines[number] = bytes(line)
    path.write_bytes(b"".join(lines))


def keep_two_intervals(path) -> None:
    """The run has at least three intervals with arrivals, wherever its seconds began."""
    kept = [line for line in path.read_text().splitlines(keepends=True) if json.loads(line)["i"] < 2]
    path.write_text("".join(kept))


DAMAGES = {
    "a flipped byte among the histograms": lambda folder: flip_in_a_histogram(folder / "intervals.hlog"),
    "counters without their tail": lambda folder: keep_two_intervals(folder / "counters.jsonl"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_record_is_reported_and_a_better_report_is_kept(loadline, record, damage):
    folder = copied(loadline, record)
    better = {name: (folder / name).read_bytes() for name in ("summary.json", "report.html", "report.md", "series.json")}
    DAMAGES[damage](folder)
    again = loadline("report", folder.name, "--json", "left.json")
    assert again.returncode == 0, again.stderr
    text = " ".join(again.stdout.split())
    moment = re.search(r"the record is damaged at ([\d.]+ m?s), although the run continued until", text)
    assert moment, text
    assert f"the record ends at {moment[1]}" in text
    assert "never sent" not in text
    assert re.search(r"(\d+) due = \1 started \+ 0 skipped \+ 0 unsent", text), text
    assert "warning: the record is damaged at" in again.stderr
    assert "it was not overwritten" in again.stderr
    left = json.loads((loadline.folder / "left.json").read_text())
    assert left["requests"]["issued"] < 300
    assert left["arrivals"]["unsent"] == 0
    for name, content in better.items():
        assert (folder / name).read_bytes() == content, name


def test_damaged_record_without_a_report_gets_one_with_a_note(loadline, record):
    folder = copied(loadline, record)
    for name in ("summary.json", "report.html", "report.md"):
        (folder / name).unlink()
    keep_two_intervals(folder / "counters.jsonl")
    assert loadline("report", folder.name).returncode == 0
    assert "**the record ends at" in (folder / "report.md").read_text()
    assert json.loads((folder / "summary.json").read_text())["run"]["record_ends_ns"] > 0


def test_unwritten_report_has_no_path_in_the_output(loadline, record):
    folder = copied(loadline, record)
    assert f"Report: {folder.name}/report.html" in loadline("report", folder.name).stdout
    (folder / "report.html").unlink()
    (folder / "report.html").mkdir()
    again = loadline("report", folder.name)
    assert "Report:" not in again.stdout
    assert "cannot write" in again.stderr
