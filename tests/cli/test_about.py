"""The plan's `about:` section is printed in both reports and affects no measurement."""

import json

PLAN = """loadline: 1
name: Sums
about:
  objective: Whether sums hold what the sale of November asks for.
  owner: Ann, the payments team
  environment: { service: '2 instances | 4 cores', database: PostgreSQL 17, generators: 1 }
  links: { Runbook: 'https://wiki.example/sums' }
  tags: [ sale, november ]
target: lab:sum
load: { rate: 20/s, duration: 1s }
steps: [ { get: '/api/sum?a=1&b=2' } ]
"""
LOAD = "load: { rate: 20/s, duration: 1s }"
STAGES = PLAN.replace(LOAD, f"stages: [ {{ name: one, {LOAD} }} ]\ncool-down: false")
EXPECTED_LINES = [
    "Whether sums hold what the sale of November asks for.",
    "| Owner | Ann, the payments team |",
    "| service | 2 instances \\| 4 cores |",
    "| database | PostgreSQL 17 |",
    "| generators | 1 |",
    "| Tags | sale, november |",
]


def normalize_spaces(text):
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def test_about_is_printed_in_both_reports_of_a_run(loadline):
    run = loadline("run", loadline.write("p.yml", PLAN))
    assert run.returncode == 0, run.stderr
    (folder,) = (loadline.folder / ".loadline/runs").glob("2*")
    text = normalize_spaces((folder / "report.md").read_text())
    for line in EXPECTED_LINES:
        assert line in text
    assert text.index(EXPECTED_LINES[0]) < text.index("## "), "in front of every section"
    assert json.loads((folder / "manifest.json").read_text())["about"]["owner"] == "Ann, the payments team"


def test_about_is_printed_once_in_a_campaign_report(loadline):
    run = loadline("campaign", loadline.write("p.yml", STAGES))
    assert run.returncode == 0, run.stderr
    report = loadline.folder / ".loadline/campaigns/last/report.md"
    text = normalize_spaces(report.read_text())
    for line in EXPECTED_LINES:
        assert text.count(line) == 1, text


def test_about_with_an_error_is_reported_once_with_its_place(loadline):
    for command, plan in (("run", PLAN), ("campaign", STAGES)):
        wrong = plan.replace("owner:", "owners:").replace("https://wiki", "wiki")
        run = loadline(command, loadline.write("p.yml", wrong))
        assert run.returncode == 2
        assert run.stderr.count("p.yml:5:3: unknown key `owners`") == 1, run.stderr
        assert run.stderr.count("p.yml:7:21: `wiki.example/sums` is not a link") == 1, run.stderr
