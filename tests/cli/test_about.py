"""`about:` says in the owner's words what a test is for; both reports print it, and nothing is measured by it."""

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
TOLD = [
    "Whether sums hold what the sale of November asks for.",
    "| Owner | Ann, the payments team |",
    "| service | 2 instances \\| 4 cores |",
    "| database | PostgreSQL 17 |",
    "| generators | 1 |",
    "| Tags | sale, november |",
]


def squeezed(text):
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def test_both_reports_of_a_run_print_it(loadline):
    run = loadline("run", loadline.write("p.yml", PLAN))
    assert run.returncode == 0, run.stderr
    (folder,) = (loadline.folder / ".loadline/runs").glob("2*")
    told = squeezed((folder / "report.md").read_text())
    for line in TOLD:
        assert line in told
    assert told.index(TOLD[0]) < told.index("## "), "in front of every section"
    assert json.loads((folder / "manifest.json").read_text())["about"]["owner"] == "Ann, the payments team"


def test_a_campaign_prints_it_once(loadline):
    run = loadline("campaign", loadline.write("p.yml", STAGES))
    assert run.returncode == 0, run.stderr
    report = loadline.folder / ".loadline/campaigns/last/report.md"
    told = squeezed(report.read_text())
    for line in TOLD:
        assert told.count(line) == 1, told


def test_what_is_wrong_is_told_once_with_its_place(loadline):
    for command, plan in (("run", PLAN), ("campaign", STAGES)):
        wrong = plan.replace("owner:", "owners:").replace("https://wiki", "wiki")
        run = loadline(command, loadline.write("p.yml", wrong))
        assert run.returncode == 2
        assert run.stderr.count("p.yml:5:3: unknown key `owners`") == 1, run.stderr
        assert run.stderr.count("p.yml:7:21: `wiki.example/sums` is not a link") == 1, run.stderr
