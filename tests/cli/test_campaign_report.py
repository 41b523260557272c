"""The report of a campaign with several scenarios: local times, today's volume, requests per
iteration and charts of each stage.
"""

import json

PLAN = """loadline: 1
name: Clinic
target: {url}
server: {{ lab: "{url}/__lab/stats" }}
scenarios:
  - name: check-in
    volume: {{ volume: 72000/h, today: 480/d }}
    steps: [ {{ get: /shared }}, {{ post: /check-in }}, {{ post: /check-in }} ]
  - name: reminder
    volume: {{ volume: 36000/h, today: {{ volume: 60, hours: 6 }} }}
    steps: [ {{ get: /shared }} ]
stages:
  - {{ name: half, load: {{ level: 0.5x, duration: 2s }}, on-fail: continue }}
  - {{ name: whole, load: {{ level: 1x, duration: 2s }}, on-fail: continue }}
cool-down: false
show:
  time-zone: {zone}
  metrics: {{ lab.received.total: Requests that the target received }}
"""


def test_report_compares_todays_volume_and_shows_each_stage(loadline, start_lab):
    lab = start_lab("truth")
    loadline.write("clinic.yml", PLAN.format(url=lab.url, zone="UTC+05:30"))
    run = loadline("campaign", "clinic.yml")
    assert run.returncode == 0, run.stdout + run.stderr
    folder = loadline.folder / ".loadline/campaigns/last"
    paper = " ".join((folder / "report.md").read_text().split())
    page = (folder / "report.html").read_text()
    for text in (
        "| From (UTC+05:30) | To (UTC+05:30) |",
        "| check-in | 480/d | 20.0 | 1,800 x | 3,600 x |",
        "| reminder | 60 in 6 h | 10.0 | 1,800 x | 3,600 x |",
        "| Total | | 30.0 | 1,800 x | 3,600 x |",
        "Today's volume is 0.028 % of it.",
        "| check-in | POST /check-in | 2 | 2 | 2 |",
        "| check-in | GET /shared | 1 | 1 † | 1 † |",
        "| reminder | GET /shared | 1 | 1 † | 1 † |",
    ):
        assert text in paper, (text, paper)
    assert page.count('<div class="charts">') == 2
    charts = sorted(path.name for path in (folder / "charts").glob("stage-*"))
    names = ("latency", "server-1", "throughput")
    assert charts == [f"stage-{number}-{name}.svg" for number in (1, 2) for name in names]
    for chart in charts:
        assert f"(charts/{chart})" in paper
    stored = json.loads((folder / "campaign.json").read_text())
    shared = [row["measured"] for row in stored["calls"] if row["is_shared"]]
    assert shared == [[1.0, 1.0], [1.0, 1.0]]
    (today,) = {row["today"]["text"] for row in stored["stages"][0]["planned"]["scenarios"] if row["name"] == "check-in"}
    assert today == "480/d"


def test_unknown_time_zone_is_refused_before_the_first_stage(loadline, start_lab):
    lab = start_lab("truth")
    loadline.write("clinic.yml", PLAN.format(url=lab.url, zone="America/New_Yorc"))
    run = loadline("campaign", "clinic.yml")
    assert run.returncode == 2
    problem = "clinic.yml:17:14: `time-zone: America/New_Yorc` is not in this machine's time zone database: did you mean"
    assert problem in run.stderr, run.stderr
    assert lab.stats()["received"]["total"] == 0


def test_local_time_zone_is_stored_by_its_name(loadline, start_lab):
    lab = start_lab("truth")
    loadline.write("clinic.yml", PLAN.format(url=lab.url, zone="local"))
    run = loadline("campaign", "clinic.yml", env={"TZ": "Asia/Kolkata"})
    assert run.returncode == 0, run.stdout + run.stderr
    folder = loadline.folder / ".loadline/campaigns/last"
    assert "From (Asia/Kolkata)" in (folder / "report.md").read_text()
    (times,) = {row["from_local"][-6:] for row in json.loads((folder / "campaign.json").read_text())["stages"]}
    assert times == "+05:30"
