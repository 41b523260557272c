"""`loadline plan` prints the load profile of a plan without sending anything."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from conftest import ROOT

CHECK_IN = """
loadline: 1
name: vets-api check-in
target: http://127.0.0.1:1
load:
  - { name: half, level: 0.5x, duration: 1m }
  - { name: full, level: 1x, duration: 1m }
csv: { file: patients.csv }
scenarios:
  - name: Check-in
    volume: 35260/h
    steps:
      - get: /sessions
      - post: { url: /sessions, json: { last: '{{ last }}' } }
      - get: /patient_check_ins
      - patch: { url: /demographics, json: {} }
      - post: { url: /patient_check_ins, json: {} }
  - name: Pre check-in
    volume: 145000/h
    steps:
      - get: /sessions
      - post: { url: /sessions, json: { last: '{{ last }}' } }
      - get: /pre_check_ins
      - post: { url: /pre_check_ins, json: {} }
"""

SHORTENER = """
loadline: 1
name: URL shortener
target: http://127.0.0.1:1
load: { level: 1x, duration: 10s }
scenarios:
  - { name: check-in, volume: { volume: 500000, hours: 12, clustering: 1.5 }, steps: [ { post: /shorten } ] }
  - { name: reminder, volume: 500/s, steps: [ { post: /shorten } ] }
"""


def cells(text: str, first: str) -> list[str]:
    """Returns the cells of the table row that begins with a string."""
    rows = [line for line in text.splitlines() if line.startswith(f"| {first} ")]
    assert rows, (first, text)
    return [cell.strip() for cell in rows[0].strip("|").split("|")]


def profile_of(loadline, text: str, *flags: object) -> str:
    loadline.write("patients.csv", "last\nDoe\nPowers\n")
    run = loadline("plan", loadline.write("plan.yml", text), *flags)
    assert run.returncode == 0, run.stderr
    assert not (loadline.folder / ".loadline").exists()
    return run.stdout


def test_profile_of_the_checkin_study(loadline):
    shown = profile_of(loadline, CHECK_IN)
    assert cells(shown, "Check-in") == ["Check-in", "35260/h", "9.79", "5", "10", "5"]
    assert cells(shown, "Pre check-in") == ["Pre check-in", "145000/h", "40.28", "20", "40", "4"]
    for endpoint, half, full in [
        ("GET /sessions", "25", "50"),
        ("POST /sessions", "25", "50"),
        ("GET /patient_check_ins", "5", "10"),
        ("PATCH /demographics", "5", "10"),
        ("POST /patient_check_ins", "5", "10"),
        ("GET /pre_check_ins", "20", "40"),
        ("POST /pre_check_ins", "20", "40"),
    ]:
        assert cells(shown, endpoint) == [endpoint, half, full]
    totals = [line for line in shown.splitlines() if line.startswith("| Total ")]
    assert [cell.strip() for cell in totals[1].strip("|").split("|")] == ["Total", "105", "210"]
    assert "1x is 50.07 arrivals per second" in shown
    assert "4,506 arrivals in 2 min, about 18,905 requests" in shown
    assert "patients.csv: 2 rows, 4,506 needed: each is used about 2253 times" in shown
    assert "in flight: unknown; set the duration of a request" in shown
    assert "█" in shown
    assert all(len(line) <= 200 for line in shown.splitlines())


def test_profile_of_the_shortener_volumes(loadline):
    shown = profile_of(loadline, SHORTENER, "--exact")
    assert cells(shown, "check-in")[1:4] == ["500000 in 12 h × 1.5", "17.36", "17.36"]
    assert cells(shown, "reminder")[1:4] == ["500/s", "500.00", "500.00"]
    # Each iteration is one request, so the number is exact.
    assert "5,173 arrivals in 10 s, 5,173 requests." in shown


def test_profile_uses_assumptions_of_flags_and_plan(loadline):
    shown = profile_of(loadline, CHECK_IN, "--latency", "1.1s", "--answer", "2kB")
    assert "if a request takes 1.1 s: 116 users and 116 requests at 0.5x, 231 users and 231 requests at 1x" in shown
    assert "420 kB/s from the service" in shown
    said = CHECK_IN.replace("name: vets-api check-in", "assume: { latency: 1.1s, answer: 2kB }")
    assert "231 users and 231 requests at 1x" in profile_of(loadline, said)
    assert "105 users and 105 requests at 1x" in profile_of(loadline, said, "--latency", "500ms")


def test_profile_as_json_and_markdown(loadline):
    shown = profile_of(loadline, CHECK_IN, "--json", "profile.json", "--markdown")
    assert "## Endpoints" in shown
    assert "GET /patient\\_check\\_ins" in shown
    assert "```text" in shown
    result = json.loads((loadline.folder / "profile.json").read_text())
    assert abs(result["profile"]["full_per_second"] - 180260 / 3600) < 1e-9
    assert [column["name"] for column in result["profile"]["columns"]] == ["0.5x", "1x"]
    assert result["profile"]["bandwidth"][1]["sent"] > 210 * 40
    assert {check["about"] for check in result["machine"]} == {"cores", "descriptors", "ports", "memory"}


def test_profile_checks_this_machine(loadline):
    huge = SHORTENER.replace("500/s", "5000000/s")
    shown = profile_of(loadline, huge, "--latency", "10s")
    for about in ("cores", "descriptors", "ports", "memory"):
        assert f"- {about}: NOT ENOUGH" in shown, shown
    small = profile_of(loadline, SHORTENER, "--latency", "1ms")
    assert "NOT ENOUGH" not in small.split("- ports")[0]


def test_profile_of_campaign_stages_is_one_load(loadline):
    stages = CHECK_IN.split("csv:")
    text = (
        stages[0].split("load:")[0]
        + "stages:\n  - { name: low, load: { level: 0.5x, duration: 10s } }\n"
        + "  - { name: high, load: { level: 1.5x, duration: 10s } }\ncsv:"
        + stages[1]
    )
    shown = profile_of(loadline, text)
    assert cells(shown, "low")[1:3] == ["0 s", "10 s"]
    assert cells(shown, "high")[1:3] == ["10 s", "20 s"]
    assert cells(shown, "GET /sessions") == ["GET /sessions", "25", "50", "75"]
    alone = profile_of(loadline, text, "--stage", "high")
    assert "10 s" in alone
    assert "low" not in alone


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("volume: 35260/h", "volume: 35260"), "plan.yml:11:13: `35260` has no unit of time"),
        (("level: 1x", "level: fast"), "plan.yml:7:26: `fast` is not a level"),
        (("name: vets-api check-in", "assume: { latency: 3 }"), "plan.yml:3:20: `3` has no unit"),
        (("name: vets-api check-in", "assume: { answer: 3 }"), "plan.yml:3:19: `3` is not a size"),
    ],
)
def test_profile_error_is_reported_with_its_place(loadline, change, expected):
    loadline.write("patients.csv", "last\nDoe\n")
    run = loadline("plan", loadline.write("plan.yml", CHECK_IN.replace(*change)))
    assert run.returncode == 2
    assert run.stdout == ""
    assert expected in run.stderr, run.stderr
    assert len(run.stderr.splitlines()) == 1, run.stderr


def test_profile_wrong_flags_are_refused(loadline):
    plan = loadline.write("plan.yml", SHORTENER)
    run = loadline("plan", plan, "--latency", "3")
    assert run.returncode == 2
    assert "--latency '3', column 1: `3` has no unit" in run.stderr
    assert loadline("plan").returncode == 2
    missing = loadline("plan", "gone.yml")
    assert missing.returncode == 2
    assert "gone.yml" in missing.stderr


def example_plans() -> list[Path]:
    """Native plans of the repository's examples and tests."""
    files = [*ROOT.glob("examples/**/*.yml"), *ROOT.glob("tests/**/*.yml")]
    return [file for file in files if file.read_text().startswith("loadline: 1")]


def documented_plans() -> list[str]:
    pages = [page.read_text() for page in (ROOT / "docs").rglob("*.md")]
    blocks = [block.split("```")[0] for page in pages for block in page.split("```yaml\n")[1:]]
    return [block for block in blocks if block.startswith("loadline: 1")]


def schema(loadline) -> jsonschema.Draft202012Validator:
    shown = loadline("plan", "--schema")
    assert shown.returncode == 0, shown.stderr
    published = json.loads((ROOT / "docs/plan.schema.json").read_text())
    assert json.loads(shown.stdout) == published
    jsonschema.Draft202012Validator.check_schema(published)
    return jsonschema.Draft202012Validator(published)


def test_schema_accepts_all_published_plans(loadline):
    validator = schema(loadline)
    texts = [file.read_text() for file in example_plans()] + documented_plans() + [CHECK_IN, SHORTENER]
    assert len(texts) >= 3
    for text in texts:
        errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(yaml.safe_load(text))]
        assert errors == [], text


@pytest.mark.parametrize(
    "change",
    [
        ("volume: 35260/h", "volume: 35260"),
        ("volume: 35260/h", "volumes: 35260/h"),
        ("level: 1x", "level: 10/s"),
        ("level: 1x", "level: 1x, rate: 10/s"),
        ("level: 1x, duration: 1m", "level: 1x, duration: 60"),
        ("- get: /patient_check_ins", "- gett: /patient_check_ins"),
        ("- get: /patient_check_ins", "- { get: /patient_check_ins, log: x }"),
        ("- get: /patient_check_ins", "- get: { url: /, times: 0 }"),
        ("- get: /patient_check_ins", "- exit: 12"),
        ("csv: { file: patients.csv }", "csv: { path: patients.csv }"),
        ("loadline: 1", "loadline: 2"),
    ],
)
def test_schema_rejects_what_the_command_rejects(loadline, change):
    text = CHECK_IN.replace(*change)
    assert text != CHECK_IN
    loadline.write("patients.csv", "last\nDoe\n")
    assert loadline("plan", loadline.write("plan.yml", text)).returncode == 2
    assert not schema(loadline).is_valid(yaml.safe_load(text))


JOURNEY = """
loadline: 1
target: lab:truth?mode=constant
load: { rate: 100/s, duration: 2s }
steps:
  - get: { url: /first, times: 3 }
  - exit: 50%
  - get: /behind
  - get: { url: /seldom, times: 0.1 }
"""


def test_journeys_match_their_profile(loadline):
    plan = loadline.write("plan.yml", JOURNEY)
    shown = loadline("plan", plan).stdout
    assert cells(shown, "GET /first") == ["GET /first", "300"]
    assert cells(shown, "GET /behind") == ["GET /behind", "50"]
    assert cells(shown, "GET /seldom") == ["GET /seldom", "5"]
    runs = [loadline("run", plan, "--seed", "7") for _ in range(2)]
    for run in runs:
        assert run.returncode == 0, run.stdout + run.stderr
    summary = loadline.summary()
    rows = {row["text"]: row["count"] for row in summary["labels"]}
    arrivals = summary["arrivals"]
    assert rows["GET /first"] == 600
    assert rows["GET /behind"] + arrivals["exited"] == arrivals["completed"] == 200
    # Five standard deviations.
    assert abs(rows["GET /behind"] - 100) < 36
    assert arrivals["adds_up"]
    assert f"200 completed ({arrivals['exited']} of them exited early)" in runs[1].stdout
    # Which users leave is a function of the seed and the arrival.
    assert f"({arrivals['exited']} of them exited early)" in runs[0].stdout


def test_criterion_without_enough_samples_is_named_before_the_run(loadline):
    plan = """
loadline: 1
target: http://127.0.0.1:1
load: { rate: 10/s, duration: 10s }
criteria: [p99 < 1s, p50 < 1s, 'p95 of "GET /b" < 1s']
steps: [{ get: /a }, { get: /b }]
"""
    shown = loadline("plan", loadline.write("plan.yml", plan))
    assert shown.returncode == 0, shown.stderr
    notes = [line for line in shown.stderr.splitlines() if "samples" in line]
    assert [note.split("`")[1] for note in notes] == ["p99 < 1s"], shown.stderr
    assert "needs at least 459 samples to pass, and the plan has about 200: run for 23 s at this rate" in notes[0]
    run = loadline("run", "plan.yml", "--duration", "1s")
    assert '`p95 of "GET /b" < 1s` needs at least 90 samples to pass, and the plan has about 10: run for 9 s' in run.stderr
