"""Campaigns run stages in order, watch the service between them, write one report, and keep every
finished stage.
"""

import json
import os
import re
import signal
import socket
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import wait_until
from process_tree import arguments, children

PLAN = """loadline: 1
name: Shop
target: {target}
scenarios:
  - name: order
    volume: 72000/h
    steps: [ {{ get: / }} ]
stages:
{stages}
cool-down: {cool_down}
assumptions: [ Nobody leaves. ]
"""

#: Chance affects the figures of a busy machine. These tests check what was run, stored and
#: reported.
ANYHOW = "on-fail: continue"


def stage(name: str, level: str = "1x", duration: str = "2s", more: str = ANYHOW) -> str:
    return f"  - {{ name: {name}, load: {{ level: {level}, duration: {duration} }}, {more} }}"


def campaign(loadline, lab, *stages: str, cool_down: str = "false") -> Path:
    return loadline.write("shop.yml", PLAN.format(target=lab.url, stages="\n".join(stages), cool_down=cool_down))


def campaign_folder(loadline) -> Path:
    return loadline.folder / ".loadline" / "campaigns" / "last"


def campaign_report(loadline) -> dict:
    return json.loads((campaign_folder(loadline) / "campaign.json").read_text())


def ledger(loadline) -> list[dict]:
    return [json.loads(line) for line in (campaign_folder(loadline) / "campaign.jsonl").read_text().splitlines()]


def finished_stages(loadline) -> list[int]:
    return [line["stage"] for line in ledger(loadline)[1:] if line["event"] == "ended"]


def test_campaign_runs_every_stage_and_writes_one_report(loadline, start_lab):
    lab = start_lab("truth")
    campaign(loadline, lab, stage("half", "0.5x"), stage("whole"), cool_down="{ at-most: 20s, rate: 20/s, for: 1s }")
    run = loadline("campaign", "shop.yml")
    report = campaign_report(loadline)
    rows = report["stages"]
    assert [row["name"] for row in rows] == ["half", "whole"], run.stderr
    assert [row["requests"] for row in rows] == [20, 40]
    assert [row["planned"]["arrivals_per_second"] for row in rows] == [10.0, 20.0]
    polls = rows[1]["cool_down"]["runs"]
    assert polls
    assert rows[0]["cool_down"] is None
    # The target received the requests of all runs together.
    folder = campaign_folder(loadline)
    records = [Path(row["report"]).parent for row in rows] + [Path(name) for name in polls]
    summaries = [json.loads((folder / record / "summary.json").read_text()) for record in records]
    assert lab.stats()["received"]["total"] == sum(summary["requests"]["issued"] for summary in summaries)
    page = (folder / "report.html").read_text()
    paper = (folder / "report.md").read_text()
    for text in ("Shop", "Load", "Results", "Recovery", "Nobody leaves.", "72000/h"):
        assert text in page, text
        assert text in paper, text
    for row in rows:
        assert row["report"] in page
        assert (folder / row["report"]).is_file()
    for chart in (folder / "charts").iterdir():
        assert f"charts/{chart.name}" in paper
    heads = run.stdout.splitlines()[1].split()
    assert heads == ["stage", "verdict", "requests/s", "errors", "p50", "p95", "p99", "lasted"]
    assert "Report: .loadline/campaigns/" in run.stdout
    assert not list((loadline.folder / ".loadline").glob("runs/*"))


def test_failed_stage_prevents_the_next_one(loadline, start_lab):
    lab = start_lab("truth", "mode=error", "share=100%")
    campaign(loadline, lab, stage("half", more="criteria: [ errors < 1% ]"), stage("whole"))
    run = loadline("campaign", "shop.yml")
    verdicts = [row["verdict"] for row in campaign_report(loadline)["stages"]]
    assert verdicts[0] == "FAIL", run.stderr
    assert verdicts[1] == "NOT RUN"
    assert run.returncode == 1
    assert "whole was not run." in " ".join(run.stdout.split())
    assert finished_stages(loadline) == [0]


def test_failed_stage_with_on_fail_continue_runs_the_next_one(loadline, start_lab):
    lab = start_lab("truth", "mode=error", "share=100%")
    campaign(loadline, lab, stage("half", more=f"criteria: [ errors < 1% ], {ANYHOW}"), stage("whole"))
    run = loadline("campaign", "shop.yml")
    assert finished_stages(loadline) == [0, 1], run.stderr
    assert run.returncode == 1


class Exhausted(BaseHTTPRequestHandler):
    """Answers immediately for a number of requests, then slowly."""

    protocol_version = "HTTP/1.1"
    left = 70

    def do_GET(self) -> None:
        Exhausted.left -= 1
        if Exhausted.left < 0:
            time.sleep(1)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_service_that_does_not_recover_ends_the_campaign(loadline):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Exhausted)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    lab = SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}")
    cool_down = "{ at-most: 4s, rate: 20/s, for: 1s }"
    try:
        campaign(loadline, lab, stage("quick"), stage("slow", more="on-fail: stop"), stage("never"), cool_down=cool_down)
        run = loadline("campaign", "shop.yml")
    finally:
        server.shutdown()
        server.server_close()
    rows = campaign_report(loadline)["stages"]
    assert rows[2]["verdict"] == "NOT RUN", run.stderr
    cooled = rows[1]["cool_down"]
    assert cooled["recovered_ns"] is None
    assert cooled["settled_ns"] == 1_000_000_000
    assert run.returncode == 1
    words = " ".join(run.stdout.split())
    assert "After slow the service did not recover within " in words
    assert "until then, an overload needs manual intervention" in words


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_campaign_keeps_finished_stages_and_resumes(loadline, start_lab, number):
    lab = start_lab("truth")
    campaign(loadline, lab, stage("half"), stage("whole", duration="60s"))
    process = loadline.start("campaign", "shop.yml")
    wait_for_requests(lab, 60)
    process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number, errors
    assert finished_stages(loadline) == [0, 1]
    assert [row["verdict"] for row in campaign_report(loadline)["stages"]][1] == "UNFINISHED"
    assert "--resume" in errors
    # The interrupted stage runs again; the finished stage does not.
    before = lab.stats()["received"]["total"]
    process = loadline.start("campaign", "shop.yml", "--resume")
    wait_for_requests(lab, before + 20)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert "1/2 half: finished earlier" in errors
    assert finished_stages(loadline) == [0, 1, 1]


def test_killed_campaign_keeps_finished_stages_and_leaves_no_process(loadline, start_lab):
    lab = start_lab("truth")
    campaign(loadline, lab, stage("half"), stage("whole", duration="60s"), stage("more"))
    process = loadline.start("campaign", "shop.yml", start_new_session=True)
    wait_for_requests(lab, 60)
    stage_pid = children(process.pid)
    assert len(stage_pid) == 1
    process.kill()
    process.communicate(timeout=60)
    # The run in flight ends normally and writes its record.
    wait_until(lambda: is_gone(stage_pid[0]), "the end of the run")
    assert finished_stages(loadline) == [0]
    assert (campaign_folder(loadline) / "report.md").is_file()
    run = campaign_folder(loadline) / "2-whole" / "last" / "summary.json"
    assert json.loads(run.read_text())["requests"]["issued"] > 0
    # The report is written again from the existing records.
    for name in ("report.html", "report.md", "campaign.json"):
        (campaign_folder(loadline) / name).unlink()
    shown = loadline("report", ".loadline/campaigns/last")
    assert shown.returncode == 0, shown.stderr
    assert [row["verdict"] for row in campaign_report(loadline)["stages"]][1:] == ["UNFINISHED", "NOT RUN"]
    assert campaign_report(loadline)["stages"][0]["requests"] == 40
    for name in ("report.html", "report.md"):
        assert "half" in (campaign_folder(loadline) / name).read_text()
    assert "more was not run." in " ".join(shown.stdout.split())
    for flags in (("--json", "x.json"), ("--export", "csv=x"), ("--out", "x")):
        refused = loadline("report", ".loadline/campaigns/last", *flags)
        assert refused.returncode == 2
        assert f"{flags[0]} requires a run, but .loadline/campaigns/last is a campaign" in refused.stderr
    campaign(loadline, lab, stage("half"), stage("whole"))
    changed = loadline("campaign", "shop.yml", "--resume")
    assert changed.returncode == 2
    assert "shop.yml has changed since the campaign in " in changed.stderr


def test_unreachable_target_ends_a_campaign_like_a_run(loadline):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nowhere = SimpleNamespace(url=f"http://127.0.0.1:{unused.getsockname()[1]}")
        campaign(loadline, nowhere, stage("half", more="on-fail: stop"), stage("whole"))
        single = loadline("run", "shop.yml", "--stage", "half")
        several = loadline("campaign", "shop.yml")
    assert (single.returncode, several.returncode) == (3, 3), several.stdout + several.stderr
    half, whole = campaign_report(loadline)["stages"]
    assert (half["verdict"], whole["verdict"]) == ("FAIL", "NOT RUN")
    assert half["reason"] == "none of 40 requests was answered"
    for text in (single.stdout, several.stdout, (campaign_folder(loadline) / half["report"]).read_text()):
        assert "The load generator, not the server" not in " ".join(text.split())


def test_stage_reports_its_start_and_end_time(loadline, start_lab):
    lab = start_lab("truth")
    campaign(loadline, lab, stage("half"))
    before = datetime.now(UTC).replace(microsecond=0)
    run = loadline("campaign", "shop.yml")
    after = datetime.now(UTC)
    assert run.returncode == 0, run.stdout + run.stderr
    (row,) = campaign_report(loadline)["stages"]
    begin, end = (datetime.fromisoformat(row[name]) for name in ("from_utc", "to_utc"))
    assert before <= begin < end <= after
    page = (campaign_folder(loadline) / "report.html").read_text()
    assert f"{begin:%Y-%m-%d %H:%M:%S}" in page
    assert f"{end:%Y-%m-%d %H:%M:%S}" in page


MOCKED = """
mocks:
  backend: { routes: [ { get: /, status: 200 } ] }
"""


def test_mock_that_dies_is_named_as_the_cause(loadline, start_lab):
    lab = start_lab("truth")
    plan = campaign(loadline, lab, stage("half"), stage("whole", duration="60s"), stage("more"), cool_down="{ at-most: 20s }")
    plan.write_text(plan.read_text() + MOCKED)
    process = loadline.start("campaign", "shop.yml")
    wait_for_requests(lab, 60)
    (mock,) = [pid for pid in children(process.pid) if b"mock" in arguments(pid)]
    (stage_pid,) = [pid for pid in children(process.pid) if pid != mock]
    os.kill(mock, signal.SIGKILL)
    os.kill(stage_pid, signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 3, out + errors
    half, whole, more = campaign_report(loadline)["stages"]
    assert whole["verdict"] == "COULD NOT RUN"
    assert "the mock process of the plan exited: signal: 9" in whole["reason"]
    assert more["verdict"] == "NOT RUN"
    assert "does not recover by itself" not in out


def test_mock_that_dies_during_cool_down_leaves_recovery_unknown(loadline, start_lab):
    lab = start_lab("truth")
    plan = campaign(loadline, lab, stage("half"), stage("whole"), stage("more"), cool_down="{ at-most: 7s, rate: 10/s, for: 6s }")
    plan.write_text(plan.read_text() + MOCKED)
    process = loadline.start("campaign", "shop.yml")
    wait_until(lambda: any(campaign_folder(loadline).glob("2-whole-looks-1/last/server.jsonl")), "the first look")
    (mock,) = [pid for pid in children(process.pid) if b"mock" in arguments(pid)]
    os.kill(mock, signal.SIGKILL)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 3, out + errors
    whole, more = campaign_report(loadline)["stages"][1:]
    assert whole["verdict"] == "RAN"
    assert whole["cool_down"]["recovered_ns"] is None
    assert "the mock process of the plan exited: signal: 9" in whole["cool_down"]["unmeasured"]
    assert more["verdict"] == "NOT RUN"
    assert "unknown: the mock process of the plan exited" in (campaign_folder(loadline) / "report.md").read_text()


def wait_for_requests(lab, least: int) -> None:
    """Waits until the target has received `least` requests."""
    wait_until(lambda: lab.stats()["received"]["total"] >= least, f"the request number {least}")


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_stage_may_be_a_command_line_of_another_tool(loadline, start_lab):
    lab = start_lab("truth")
    plan = f"""loadline: 1
target: {lab.url}
criteria: [ errors < 1% ]
stages:
  - {{ name: bare, run: 'wrk -t1 -c2 -d1s {{{{ target }}}}/x', {ANYHOW} }}
  - {{ name: missing, run: [artillery, run, nowhere.yml], {ANYHOW} }}
"""
    loadline.write("mixed.yml", plan)
    run = loadline("campaign", "mixed.yml")
    bare, missing = campaign_report(loadline)["stages"]
    assert bare["requests"] > 0, run.stderr
    assert bare["load"] == "wrk -t1 -c2 -d1s {{ target }}/x"
    assert missing["verdict"] == "COULD NOT RUN"
    assert "nowhere.yml" in missing["reason"]
    assert run.returncode == 3


def test_stage_output_of_another_tool_is_stored_without_secrets(loadline, start_lab):
    lab = start_lab("truth")
    url = f"{lab.url.replace('//', '//me:hunter-2@')}/x?api_key=k3y-in-clear"
    plan = f"""loadline: 1
target: {lab.url}
criteria: [ errors < 1% ]
stages:
  - {{ name: bare, run: 'wrk -t1 -c2 -d1s {url}', {ANYHOW} }}
"""
    loadline.write("mixed.yml", plan)
    run = loadline("campaign", "mixed.yml")
    assert campaign_report(loadline)["stages"][0]["requests"] > 0, run.stderr
    files = [path for path in (loadline.folder / ".loadline").rglob("*") if path.is_file()]
    assert any(path.name == "output.txt" for path in files)
    for secret in (b"hunter-2", b"k3y-in-clear"):
        assert not [path for path in files if secret in path.read_bytes()]


def test_embedded_target_lives_as_long_as_the_campaign(loadline):
    plan = PLAN.format(target="lab:shortener?token=demo", stages=stage("half") + "\n" + stage("whole"), cool_down="false")
    plan = plan.replace("steps: [ { get: / } ]", "steps: [ { get: { url: /nothing, expect: 404 } } ]")
    loadline.write("shop.yml", plan + "server: { lab: lab:/__lab/stats }\n")
    run = loadline("campaign", "shop.yml")
    folder = campaign_folder(loadline)
    rows = campaign_report(loadline)["stages"]
    assert [row["requests"] for row in rows] == [40, 40], run.stderr
    assert all(row["error_share"] == 0.0 for row in rows)
    second = json.loads((folder / Path(rows[1]["report"]).parent / "series.json").read_text())
    counted = [panel for panel in second["server"] if panel["name"] == "lab.received.total"]
    # The counter continues: the same lab received the first stage's requests.
    assert counted
    assert max(value for value in counted[0]["values"] if value is not None) > 40


SCALED = """loadline: 1
name: Sums
target: lab:sum
criteria: [ service p50 < 16ms ]
steps: [ { get: { url: /api/sum, times: 10 } } ]
stages:
  - { name: slow, load: { rate: 5/s, duration: 2s }, target: 'lab:sum?work=20ms', on-fail: continue }
  - { name: fast, load: { rate: 5/s, duration: 2s }, against: slow, on-fail: continue }
  - { name: fast again, run: 'wrk -t1 -c1 -d2s {{ target }}/api/sum', on-fail: continue }
server: { lab: lab:/__lab/stats }
cool-down: false
"""


def test_stage_with_own_target_is_compared_with_the_previous_stage_on_it(loadline):
    loadline.write("sums.yml", SCALED)
    run = loadline("campaign", "sums.yml")
    slow, fast, again = campaign_report(loadline)["stages"]
    assert slow["verdict"] == "FAIL", run.stderr
    assert (slow["target"], fast.get("target")) == ("lab:sum?work=20ms", None)
    (pair,) = campaign_report(loadline)["comparisons"]
    assert (pair["before"], pair["after"]) == ("slow", "fast")
    shown = {figure["name"]: figure for figure in pair["figures"]}
    assert shown["p50"]["change"].startswith("−"), shown["p50"]
    assert "fast next to slow: " in run.stdout
    assert [row["verdict"] for row in (slow, fast, again)] == ["FAIL", "PASS", "PASS"]
    assert run.returncode == 0
    assert "The cause of the failure of slow has been fixed: fast holds." in " ".join(run.stdout.split())
    # The campaign's target continues to count after a stage with another target, whose requests are
    # not included.
    second = json.loads((campaign_folder(loadline) / Path(again["report"]).parent / "series.json").read_text())
    (counted,) = [panel for panel in second["server"] if panel["name"] == "lab.received.total"]
    most = max(value for value in counted["values"] if value is not None)
    assert 100 < most <= fast["requests"] + again["requests"] + 5


LOOKED_AT = """loadline: 1
name: Sums
target: lab:sum
steps: [ { get: /api/sum } ]
stages:
  - { name: first, load: { rate: 30/s, duration: 1s }, on-fail: continue }
  - { name: slow, load: { rate: 30/s, duration: 1s }, target: 'lab:sum?work=10ms', on-fail: continue }
  - { name: slow again, load: { rate: 30/s, duration: 1s }, target: 'lab:sum?work=10ms', on-fail: continue }
cool-down: { at-most: 10s, rate: 20/s, for: 1s }
"""


def test_cool_down_polls_the_service_of_its_stage(loadline):
    loadline.write("sums.yml", LOOKED_AT)
    run = loadline("campaign", "sums.yml")
    first, slow, again = (row["cool_down"] for row in campaign_report(loadline)["stages"])
    # The first stage on a target measures its normal times. After the other stage, the slow target
    # is judged by its own times.
    assert (first, slow) == (None, None), run.stderr
    assert again["bound_ns"] > 15_000_000
    (polls,) = again["runs"][:1]
    manifest = json.loads((campaign_folder(loadline) / polls / "summary.json").read_text())
    assert manifest["all"]["service"]["p50"]["ns"] >= 10_000_000


def test_embedded_target_with_an_error_is_reported_before_the_first_stage(loadline):
    loadline.write("sums.yml", SCALED.replace("target: lab:sum\n", "target: lab:sum?wrok=1ms\n"))
    wrong = loadline("campaign", "sums.yml")
    assert wrong.returncode == 2
    assert "wrok" in wrong.stderr
    assert not (loadline.folder / ".loadline/campaigns").exists()
    loadline.write("sums.yml", SCALED)
    replaced = loadline("campaign", "sums.yml", "--target", "http://127.0.0.1:1")
    assert replaced.returncode == 2
    assert "--target http://127.0.0.1:1: stage `slow` has its own target" in replaced.stderr


def test_campaign_error_is_reported_before_any_request(loadline, start_lab):
    lab = start_lab("truth")
    loadline.write("plain.yml", f"loadline: 1\ntarget: {lab.url}\nload: {{ rate: 1/s, duration: 1s }}\nsteps: [ {{ get: / }} ]\n")
    campaign(loadline, lab, stage("half"), stage("half"), "  - { name: other, load: { rate: 5, duration: 10 } }")
    for given, said in [
        (("campaign", "plain.yml"), "plain.yml:1:1: this plan has no `stages`: use `loadline run`"),
        (("campaign", "shop.yml"), "shop.yml:10:13: there is another stage `half`: give this one a different name"),
        (("campaign", "shop.yml"), "`10` has no unit: use, for example, 10s"),
        (("campaign", "nowhere.yml"), "nowhere.yml"),
        (("campaign", "shop.yml", "--resume"), "give this one a different name"),
        (
            ("run", "shop.yml"),
            "this plan has stages: use `loadline campaign` to run all of them, or `--stage 'half'` to run one",
        ),
        (("run", "plain.yml", "--stage", "half"), "`--stage half`: this plan has no `stages`"),
        (("run", lab.url, "--stage", "half"), "--stage requires a plan with stages: remove it for a URL"),
    ]:
        run = loadline(*given)
        assert run.returncode == 2, (given, run.stderr)
        assert said in run.stderr, (given, run.stderr)
        assert "panicked" not in run.stderr
    campaign(loadline, lab, stage("half"))
    none = loadline("campaign", "shop.yml", "--resume")
    assert none.returncode == 2
    assert "there is no campaign last in .loadline/campaigns" in none.stderr
    assert lab.stats()["received"]["total"] == 0
    assert not (loadline.folder / ".loadline/campaigns").exists()


CONTENT = """
sections:
  - { title: Overview, place: start, text: "What *check-in* is." }
  - { title: Questions, file: questions.md }
differences: { Instances: [6, 16, more threads] }
show:
  rates: per minute
  time-zone: UTC-05:00
  metrics: { lab.received.total: Requests that the target received }
  links: { Grafana: 'https://g.example/d?from={{ from_ms }}&to={{ to_ms }}' }
server: { lab: "%s/__lab/stats" }
"""


def test_content_of_the_team_is_in_the_report(loadline, start_lab):
    lab = start_lab("truth")
    plan = campaign(loadline, lab, stage("half", more=f"notes: 'See [the board](https://example.org/board).', {ANYHOW}"))
    plan.write_text(plan.read_text() + CONTENT % lab.url)
    loadline.write("questions.md", "# Inner\n\n- How many threads?\n")
    run = loadline("campaign", "shop.yml")
    assert run.returncode == 0, run.stdout + run.stderr
    folder = campaign_folder(loadline)
    (folder / "notes").mkdir()
    (folder / "notes" / "2022-06-29.md").write_text("# Update\n\nNothing <b>changes</b>.\n")
    os.mkfifo(folder / "notes" / "pipe.md")
    again = loadline("report", ".loadline/campaigns/last")
    assert again.returncode == 0
    assert "notes/pipe.md: it is not a file; the report lacks this section" in again.stderr
    paper = (folder / "report.md").read_text()
    page = (folder / "report.html").read_text()
    order = ["**Certainty:**", "## Overview", "## Load", "## Tested and target environment", "## Results", "### Stage half"]
    order += ["See [the board]", "## Server", "## Assumptions", "## Questions", "### Inner", "## Update", "## Appendix"]
    places = [paper.index(text) for text in order]
    assert places == sorted(places), paper
    for text in ("more threads", "Requests that the target received", "Requests/min", "From (UTC-05:00)"):
        assert text in paper, text
        assert text in page, text
    assert "Nothing &lt;b&gt;changes&lt;/b&gt;." in page
    (row,) = campaign_report(loadline)["stages"]
    local = datetime.fromisoformat(row["from_local"])
    assert local == datetime.fromisoformat(row["from_utc"])
    assert local.strftime("| %Y-%m-%d %H:%M:%S -05:00 |") in paper
    (link,) = row["links"]
    assert link["url"] in paper
    assert re.fullmatch(r"https://g\.example/d\?from=\d{13}&to=\d{13}", link["url"])
    total = row["requests_by_endpoint"][-1]
    assert (total["is_total"], total["requests"], total["failures"]) == (True, row["requests"], 0)


def test_requests_table_of_a_campaign_has_every_stage(loadline, start_lab):
    lab = start_lab("truth")
    campaign(loadline, lab, stage("half", "0.5x"), stage("whole"))
    assert loadline("campaign", "shop.yml").returncode == 0
    shown = loadline("report", ".loadline/campaigns/last", "--table", "requests")
    assert shown.returncode == 0, shown.stderr
    assert [line for line in shown.stdout.splitlines() if line.startswith("## ")] == ["## half", "## whole"]
    rows = [line.split("|") for line in shown.stdout.splitlines() if line.startswith("| GET /")]
    assert [row[2].strip() for row in rows] == ["20", "40"]


def test_external_metrics_may_cover_the_whole_campaign(loadline, start_lab):
    lab = start_lab("truth")
    campaign(loadline, lab, stage("half"), stage("whole"))
    assert loadline("campaign", "shop.yml").returncode == 0
    rows = campaign_report(loadline)["stages"]
    begin, end = (datetime.fromisoformat(text).timestamp() for text in (rows[0]["from_utc"], rows[1]["to_utc"]))
    seconds = range(int(begin) - 3, int(end) + 4)
    lines = [
        f"{instance};{datetime.fromtimestamp(second, UTC).isoformat()};{value} %"
        for second in seconds
        for instance, value in (("a", 40), ("b", second % 2))
    ]
    loadline.write("cloud.csv", "\n".join(["sep=;", "Host;Time;CPU", *lines]) + "\n")
    shown = loadline("report", ".loadline/campaigns/last", "--server", "cloud=cloud.csv")
    assert shown.returncode == 0, shown.stderr
    for row in campaign_report(loadline)["stages"]:
        measured = {(one["name"], one["instance"]): one for one in row["server"] if one["name"] == "cloud.CPU"}
        assert measured["cloud.CPU", "a"]["mean"] == 40
        assert 0 <= measured["cloud.CPU", "b"]["mean"] <= 1
    assert "server.cloud is from cloud.csv" in (campaign_folder(loadline) / "report.md").read_text()
    loadline.write("old.csv", "time,cpu\n1700000000,1\n")
    refused = loadline("report", ".loadline/campaigns/last", "--server", "cloud=old.csv")
    assert refused.returncode == 2
    assert "--server: old.csv: none of its times is within the run" in refused.stderr
