"""Groups: transactions are counted separately from requests and iterations, appear in every
report, and can have criteria.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter

import jsonschema
import pytest
import yaml
from conftest import ROOT
from fake_servers import RecordingServer, Request

PLAN = """loadline: 1
name: Shop
target: URL
load: { count: 60, duration: 1500ms }
criteria:
  - transaction p50 of "Check out" < 20s
  - transaction max of "Log in" < 20ms
  - transaction mean < 20s
steps:
  - get: /
  - group: Log in
    steps:
      - get: /login
      - think: 20ms
      - post: { url: /sessions, capture: { token: $.token } }
  - group: Check out
    steps:
      - loop:
          count: 2
          steps:
            - { group: Fill the cart, steps: [ { post: '/cart/{{ token }}' } ] }
      - { if: token == 7, group: Gift, steps: [ { get: /gift } ] }
      - post: { url: /orders, name: Order }
  - get: /bye
"""


class Shop(RecordingServer):
    """Returns tokens and refuses every tenth order."""

    def __init__(self) -> None:
        self.orders = 0
        super().__init__(self.reply)

    def reply(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        if request.path == "/sessions":
            return 200, {}, b'{"token": 8}'
        if request.path == "/orders":
            with self.lock:
                self.orders += 1
                refused = self.orders % 10 == 0
            return (503 if refused else 200), {}, b"{}"
        return 200, {}, b"{}"


@pytest.fixture
def finished_run(loadline):
    """Runs a plan against a shop. Returns the process, the summary and the shop's own counts."""
    with Shop() as shop:
        run = loadline("run", loadline.write("shop.yml", PLAN.replace("URL", shop.url)), "--json", "summary.json")
        received = Counter(request.path for request in shop.requests)
    # Logging in takes longer than its limit. Only counts are checked, so the machine may be busy.
    assert run.returncode == 1, run.stdout + run.stderr
    return run, json.loads((loadline.folder / "summary.json").read_text()), received


def test_groups_are_counted_apart_from_requests_and_agree_with_the_target(finished_run):
    _, summary, received = finished_run
    rows = {row["text"]: row for row in summary["transactions"]}
    # A group that no iteration reached has no row.
    assert list(rows) == ["Log in", "Check out", "Fill the cart"]
    assert {row["group"] for row in rows.values()} == {"transaction"}
    assert rows["Log in"]["count"] == received["/sessions"] == 60
    assert rows["Fill the cart"]["count"] == received["/cart/8"] == 120
    assert rows["Check out"]["count"] == received["/orders"] == 60
    # Every tenth order fails, and so does its enclosing transaction. Earlier transactions of the
    # same pass are complete.
    assert [row["errors"] for row in rows.values()] == [0, 6, 0]
    assert summary["iterations"][0]["errors"] == 6
    assert summary["all"]["count"] == sum(received.values())
    assert summary["all"]["errors"] == 6
    assert summary["arrivals"]["completed"] == 54
    assert (summary["requests"]["adds_up"], summary["arrivals"]["adds_up"]) == (True, True)
    requests = {row["text"] for row in summary["labels"]}
    assert requests == {"GET /", "GET /login", "POST /sessions", "POST /cart/{{ token }}", "POST Order", "GET /bye"}


def test_transaction_has_times_with_and_without_pauses(finished_run):
    _, summary, _ = finished_run
    rows = {row["text"]: row for row in summary["transactions"]}
    log_in = rows["Log in"]
    # The pause is exactly 20 ms: the sums are exact, independent of the histogram's cells.
    assert log_in["iteration"]["mean_ns"] - log_in["unpaused"]["mean_ns"] == pytest.approx(20e6)
    assert log_in["unpaused"]["count"] == 60
    assert "unpaused" not in rows["Check out"]
    # A nested transaction takes no longer than the enclosing one.
    assert rows["Fill the cart"]["iteration"]["min_ns"] <= rows["Check out"]["iteration"]["min_ns"]
    assert summary["iterations"][0]["iteration"]["min_ns"] >= log_in["iteration"]["min_ns"]
    times = {row["id"]: row["time"] for row in summary["percentiles"]}
    assert {times[row["id"]] for row in rows.values()} == {"iteration"}


def test_transaction_has_a_row_in_every_report(loadline, finished_run):
    run, _, _ = finished_run
    console = run.stdout
    assert re.search(r"^transaction Log in +60 +0 ", console, re.M), console
    assert re.search(r"^transaction Check out +60 +6 ", console, re.M), console
    assert re.search(r"^transaction Log in .*\n  without pauses ", console, re.M), console
    folder = loadline.folder / ".loadline/runs/last"
    report = re.sub(" +", " ", (folder / "report.md").read_text())
    assert re.search(r"^\| transaction Check out \| 60 \|.*\| 6 \(10.0 %\) \|", report, re.M), report
    assert "| transaction Log in, without pauses |" in report
    assert "Percentiles of transactions cover the time from" in report
    again = loadline("report", "last", "--export", "csv=rows.csv")
    assert again.returncode == 0, again.stderr
    rows = list(csv.DictReader((loadline.folder / "rows.csv").read_text().splitlines()))
    of_group = [row for row in rows if row["group"] == "transaction"]
    assert sum(int(row["done"]) for row in of_group if row["label"] == "Fill the cart") == 120
    assert sum(int(row["failed"]) for row in of_group) == 6
    assert {row["sent"] for row in of_group} == {""}
    assert {row["service_p50_ms"] for row in of_group} == {""}
    # A second in which a transaction started and none ended has a row without a time.
    assert all(row["iteration_max_ms"] for row in of_group if int(row["done"]))


def test_criteria_apply_to_transactions(loadline, finished_run):
    _, summary, _ = finished_run
    assert [(row["text"], row["judgement"]) for row in summary["criteria"]] == [
        ('transaction p50 of "Check out" < 20s', "PASS"),
        ('transaction max of "Log in" < 20ms', "FAIL"),
        ("transaction mean < 20s", "PASS"),
    ]
    log_in = next(row for row in summary["transactions"] if row["text"] == "Log in")
    assert summary["criteria"][1]["value"] == log_in["iteration"]["max"]["ns"]


def test_page_has_a_transaction_row_with_details(loadline, finished_run, browser):
    _, summary, _ = finished_run
    row = next(row for row in summary["transactions"] if row["text"] == "Check out")
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: message.type in ("error", "warning") and errors.append(message.text))
    page.goto((loadline.folder / ".loadline/runs/last/report.html").resolve().as_uri())
    table = page.locator("table.endpoints")
    body = table.locator("tbody", has=page.get_by_text("Transactions · first step due to end of last"))
    names = [name.split("\n")[0] for name in body.locator("th[scope=row]").all_inner_texts()]
    assert names == ["Log in", "Log in, without pauses", "Check out", "Fill the cart"]
    line = body.get_by_role("row").filter(has_text="Check out")
    # Bytes are counted with the group's requests.
    assert line.locator("td").first.inner_text() == str(row["count"])
    assert line.locator("td.number").last.inner_text() == "–"
    body.get_by_role("button", name="Check out").click()
    detail = body.locator(".detail")
    assert "transaction over time" in detail.inner_text()
    assert "Time by part" in detail.inner_text()
    assert "received" not in detail.inner_text()
    context.close()
    assert errors == []


def test_once_shows_where_groups_begin_and_end(loadline):
    with Shop() as shop:
        run = loadline("run", loadline.write("shop.yml", PLAN.replace("URL", shop.url)), "--once")
    assert run.returncode == 0, run.stdout + run.stderr
    result = [re.sub(r"[\d.]+ (µs|ms|s)\b", "TIME", line.strip().removeprefix("-").strip()) for line in run.stdout.splitlines()]
    of_groups = [line for line in result if "group " in line]
    assert of_groups == [
        "group Log in begins",
        "TIME  group Log in ends, TIME of it pauses",
        "group Check out begins",
        *["group Fill the cart begins", "TIME  group Fill the cart ends"] * 2,
        "TIME  group Check out ends",
    ]
    broken = PLAN.replace("/orders, name: Order", "/orders, name: Order, check: { status: 201 }")
    with Shop() as shop:
        run = loadline("run", loadline.write("shop.yml", broken.replace("URL", shop.url)), "--once")
    assert run.returncode == 1, run.stdout
    assert re.search(r"  group Check out fails with an error$", run.stdout, re.M), run.stdout


def test_malformed_group_is_refused_before_the_first_request(loadline):
    with Shop() as shop:
        text = PLAN.replace("URL", shop.url)
        nameless = loadline("run", loadline.write("a.yml", text.replace("group: Log in", "group: 7")))
        unknown = loadline("run", loadline.write("b.yml", text.replace('of "Check out"', 'of "Chek out"')))
        other = loadline("run", loadline.write("c.yml", text.replace('transaction p50 of "Check', 'iteration p50 of "Check')))
        received = list(shop.requests)
    assert (nameless.returncode, unknown.returncode, other.returncode) == (2, 2, 2)
    assert "a.yml:11:12: `group` must be text, not a number: quote it" in nameless.stderr
    assert 'cannot be judged: no label matches "Chek out"' in unknown.stderr
    assert '(there are "Log in", "Check out", "Fill the cart", "Gift")' in unknown.stderr
    assert 'no label matches "Check out"' in other.stderr
    assert received == []


def test_slow_group_ends_the_load_by_a_stop_rule(loadline):
    stop = "stop: [ 'transaction p50 of \"Log in\" > 10ms for 1s: stop fail' ]\n"
    with Shop() as shop:
        text = PLAN.replace("URL", shop.url).replace("count: 60, duration: 1500ms", "rate: 40/s, duration: 60s")
        run = loadline("run", loadline.write("shop.yml", text + stop))
    assert run.returncode == 1, run.stderr
    summary = loadline.summary()
    pattern = r'`transaction p50 of "Log in" > 10ms for 1 s`: (\d+) of \1 transactions took longer'
    assert re.fullmatch(pattern, summary["run"]["stopped"]["text"]), summary["run"]["stopped"]


def test_runs_are_compared_by_transactions(loadline):
    rows = []
    for _ in range(2):
        with Shop() as shop:
            run = loadline("run", loadline.write("shop.yml", PLAN.replace("URL", shop.url)))
        assert run.returncode == 1, run.stdout + run.stderr
        rows.append({row["text"]: row for row in loadline.summary()["transactions"]})
    names = sorted(path.name for path in (loadline.folder / ".loadline/runs").iterdir() if path.is_dir() and not path.is_symlink())
    metric = 'transaction p50 of "Check out"'
    compared = loadline("compare", *names, "--metric", metric, "--anyway", "--json", "compared.json")
    result = json.loads((loadline.folder / "compared.json").read_text())
    judged = {figure["subject"]: figure for figure in result["judged"]}
    assert judged[metric]["baseline"] == [rows[0]["Check out"]["iteration"]["p50"]["ns"]], compared.stdout
    assert judged[metric]["candidate"] == [rows[1]["Check out"]["iteration"]["p50"]["ns"]]
    of_all = loadline("compare", *names, "--metric", "transaction mean", "--anyway")
    assert of_all.returncode == 2, of_all.stdout
    # There is no row for several groups together.
    assert re.search(r'transaction mean: \S+ has several of them: choose one with `of`, from "Log in", ', of_all.stderr), of_all.stderr


def test_published_schema_covers_groups():
    validator = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/plan.schema.json").read_text()))
    assert list(validator.iter_errors(yaml.safe_load(PLAN))) == []
    for wrong in (
        "{ group: Pay }",
        "{ group: 7, steps: [ { get: / } ] }",
        "{ group: Pay, get: / }",
        "{ get: /, steps: [ { get: / } ] }",
        "{ group: Pay, steps: [ { get: / } ], get: / }",
        "{ if: token, get: /, steps: [ { get: / } ] }",
    ):
        plan = PLAN.replace("  - get: /bye\n", f"  - {wrong}\n")
        assert list(validator.iter_errors(yaml.safe_load(plan))) != [], wrong
