"""External metrics: CSV files of another tool are merged into the report after the run."""

import datetime
import json

import pytest


@pytest.fixture
def recorded(loadline, start_lab):
    """A run with a spike. Returns its start in seconds since 1970."""
    lab = start_lab("sum")
    loadline.write(
        "plan.yml",
        f"""loadline: 1
target: {lab.url}
load:
  - {{ rate: 10/s, duration: 8s }}
  - {{ rate: 60/s, duration: 5s }}
  - {{ rate: 10/s, duration: 8s }}
steps:
  - get: /api/sum
""",
    )
    run = loadline("run", "plan.yml")
    assert run.returncode == 0, run.stdout + run.stderr
    manifest = json.loads((loadline.folder / ".loadline/runs/last/manifest.json").read_text())
    return manifest["start"]["wall_ns"] / 1e9


def test_external_metrics_are_aligned_with_the_run(loadline, recorded):
    moments = [datetime.datetime.fromtimestamp(recorded + 3600 + second, datetime.UTC).isoformat() for second in range(1, 21)]
    rows = [f"{moment},{97 if number >= 8 else 40},{number}" for number, moment in enumerate(moments)]
    loadline.write("db.csv", "\n".join(["time,system_cpu_usage,queue", *rows]) + "\n")
    before = {path.name: path.read_bytes() for path in (loadline.folder / ".loadline/runs/last").glob("*.jsonl")}
    shown = loadline("report", "last", "--server", "db=db.csv", "--clock-offset", "1h")
    assert shown.returncode == 0, shown.stderr
    note = "server.db is from db.csv, offset 1 h, given: measured by another tool, and not part of the record"
    assert note in loadline.summary()["notes"]
    folder = loadline.folder / ".loadline/runs/last"
    assert note in (folder / "report.md").read_text().replace("\n", " ")
    series = json.loads((folder / "series.json").read_text())
    panels = {panel["name"]: panel["values"] for panel in series["server"]}
    known = [value for value in panels["db.queue"] if value is not None]
    assert known
    # The report's seconds start with the load, slightly after the record, so they fall between the
    # file's.
    assert 18 <= max(known) <= 19
    assert before == {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}
    # Without the file the report contains the record only.
    again = loadline("report", "last")
    assert again.returncode == 0
    assert note not in loadline.summary()["notes"]


def test_clock_offset_is_found_from_a_correlated_column_or_refused(loadline, recorded):
    load = [10] * 8 + [60] * 5 + [10] * 8
    rows = [f"{int((recorded + 37 + second + 1) * 1000)},{5 + n},50" for second, n in enumerate(load)]
    loadline.write("app.csv", "\n".join(["time,cpu,flat", *rows]) + "\n")
    shown = loadline("report", "last", "--server", "app=app.csv", "--clock-offset", "auto")
    assert shown.returncode == 0, shown.stderr
    (note,) = [note for note in loadline.summary()["notes"] if "server.app is from" in note]
    assert 'computed from "cpu", which follows the load' in note
    offset = float(note.split("offset ")[1].split(" s")[0])
    assert abs(offset - 37) <= 1
    rows = [f"{int(recorded + second)},50" for second in range(1, 21)]
    loadline.write("flat.csv", "\n".join(["time,flat", *rows]) + "\n")
    flat = loadline("report", "last", "--server", "app=flat.csv", "--clock-offset", "auto")
    assert flat.returncode == 2
    assert "--server: flat.csv: no column follows the load at any offset up to 10 min" in flat.stderr


@pytest.mark.parametrize(
    ("text", "flags", "said"),
    [
        ("time,a\n1700000000,x\n", [], "--server: f.csv:2:12: `x` is not a number"),
        ("a,b\nc,d\n", [], "--server: f.csv: no line begins with a time"),
        ("time,a\n1700000000,1\n", [], "--server: f.csv: none of its times is within the run"),
        (
            "time,a\n1700000000,1\n",
            ["--clock-offset", "soon"],
            "--clock-offset: `soon` is not a valid offset: use a duration such as 2s or -2s, or auto",
        ),
        (None, [], "--server: f.csv: "),
    ],
)
def test_external_metrics_error_is_one_line(loadline, start_lab, text, flags, said):
    lab = start_lab("sum")
    assert loadline("run", f"{lab.url}/api/sum", "--duration", "1s").returncode == 0
    if text is not None:
        loadline.write("f.csv", text)
    run = loadline("report", "last", "--server", "db=f.csv", *flags)
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stderr.count("\n") == 1
