"""Scripts in the styles of tutorials and public repositories run, and do what each one is about."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_shop import Shop

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass
class Case:
    """A run that ended as expected. `checks` that failed are a failure of the test."""

    out: str
    errors: str
    shop: Shop
    summary: dict[str, Any]
    folder: Path

    @property
    def checks(self) -> int:
        checks = self.summary["metrics"].get("checks")
        if checks is None:
            return 0
        assert checks["fails"] == 0, self.out
        return checks["passes"]

    def count(self, metric: str) -> int:
        return self.summary["metrics"][metric]["count"]

    def requests(self, pattern: str) -> int:
        """Number of requests that the shop saw, as `GET /path`."""
        return sum(re.fullmatch(pattern, line) is not None for line in self.shop.lines)


@pytest.fixture
def run(loadline, start_lab):
    def run(name: str, *flags: str, code: int = 0) -> Case:
        chat = start_lab("chat").url.replace("http", "ws") if "ws-" in name else ""
        # Its files are read, and those that it writes are found, in one folder.
        shutil.copytree(SCRIPTS, loadline.folder / "scripts")
        with Shop() as shop:
            variables = ["-e", f"BASE_URL={shop.url}", "-e", f"WS_URL={chat}"]
            done = loadline("k6", "run", *variables, *flags, "--summary-export", "exported.json", f"scripts/{name}")
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}{done.stderr}"
        if code == 0:
            assert "level=error" not in done.stderr, done.stderr
        exported = json.loads((loadline.folder / "exported.json").read_text())
        failed = [name for name, metric in exported["metrics"].items() if any(metric.get("thresholds", {}).values())]
        assert not failed, failed
        return Case(done.stdout, done.stderr, shop, exported, loadline.folder)

    return run


def test_every_script_has_a_case():
    names = {path.name for path in SCRIPTS.iterdir() if path.suffix in (".js", ".ts")}
    cases = Path(__file__).read_text()
    assert len(names) >= 20
    assert [name for name in names if f'"{name}"' not in cases] == []


def rest_crud(case: Case) -> None:
    assert case.checks == 6 * 8
    assert case.requests("POST /my/items") == case.requests(r"PATCH /my/items/\d+") == case.requests(r"DELETE /my/items/\d+") == 6
    assert case.shop.items == {}


def login_token(case: Case) -> None:
    assert case.requests("POST /auth/login") == 1
    tokens = {request.headers.get("authorization") for request in case.shop.requests if request.path == "/my/items"}
    assert tokens == {"Bearer token-demo"}
    assert case.shop.lines[-1] == "GET /health?token=token-demo"
    assert case.checks == 3 * case.count("iterations") + 1


def correlation(case: Case) -> None:
    assert case.checks == 2 * 5
    assert case.requests("GET /api/products/6") == 2


def groups_thresholds(case: Case) -> None:
    assert case.checks == 4
    assert case.summary["metrics"]["http_reqs{kind:api}"]["count"] == 8
    assert case.summary["root_group"]["groups"]["user flow"]["groups"]["product page"]["path"] == "::user flow::product page"
    assert "p(99.9)=" in case.out
    assert "count=" in case.out


def mixed_scenarios(case: Case) -> None:
    assert case.requests("POST /orders") == 6
    assert {order["currency"] for order in case.shop.orders} == {"EUR"}
    assert sorted(order["product"] for order in case.shop.orders) == list(range(6))
    assert case.requests(r"GET /health\?admin=admin") == 1
    assert case.requests(r"GET /api/products\?page=2") >= 4


def arrival_rates(case: Case) -> None:
    paths = Counter(request.path for request in case.shop.requests)
    assert paths.pop("/api/search?q=product") == 15
    assert paths == {f"/health?n={n}": 1 for n in range(10)}


def csv_users(case: Case) -> None:
    assert case.checks == 9
    assert {name: case.shop.users[name] for name in ("ann", "bob", "eve")} == {"ann": "p,1", "bob": 'said "hi"', "eve": "p3"}


def json_data(case: Case) -> None:
    assert case.checks == 24
    assert case.requests(r"GET /api/products/(3|5|7|11)") == 8


def summary_files(case: Case) -> None:
    assert "\n→    ✓ status is 200\n" in case.out
    assert json.loads((case.folder / "summary.json").read_text())["metrics"]["http_reqs"]["values"]["count"] == 2
    assert "<h1>2 requests</h1>" in (case.folder / "summary.html").read_text()
    suites = ElementTree.parse(case.folder / "junit.xml").getroot()
    names = {suite.get("name") for suite in suites.iter("testcase")}
    assert names == {"http_reqs - count==2", "checks - rate>0.9"}


def custom_metrics(case: Case) -> None:
    metrics = case.summary["metrics"]
    assert (metrics["orders"]["count"], metrics["basket_size"]["value"]) == (4, 4)
    assert metrics["order_failures"]["passes"] == 1
    assert [order["price"] for order in case.shop.orders] == [10, 20, 30, 40]
    assert "order_waiting" in case.out


def cookies_and_forms(case: Case) -> None:
    assert case.checks == 4 * 7
    assert case.requests("POST /login") == 4
    bodies = {request.body.decode() for request in case.shop.requests if request.method == "POST"}
    assert all("csrf=c-42" in body and "go=1" in body and "password=x" in body for body in bodies)


def upload(case: Case) -> None:
    assert case.checks == 12
    size = (SCRIPTS / "data/products.json").stat().st_size
    assert case.shop.uploads[1]["files"]["json"] == {"name": "b.json", "type": "application/json", "size": size}


def seeding(case: Case) -> None:
    items = case.shop.items.values()
    assert Counter(item["kind"] for item in items) == {"own": 6, "shared": 7}
    assert sorted(item["number"] for item in items if item["kind"] == "shared") == list(range(7))
    assert len({item["key"] for item in items}) == 13


def ws_chat(case: Case) -> None:
    assert case.checks == 4
    metrics = case.summary["metrics"]
    assert metrics["ws_msgs_received"]["count"] > metrics["ws_msgs_sent"]["count"] / 2 > 0
    # Metrics without samples are not in the summary.
    assert {"chat_latency", "ws_ping"} <= metrics.keys()


def abort_and_fail(case: Case) -> None:
    assert "test aborted: no product: no such product" in case.errors
    assert case.requests(r"GET /health\?teardown=1") == 1


def stage_tags(case: Case) -> None:
    assert case.checks == 2 * len(case.shop.requests) >= 8
    assert case.summary["metrics"]["duration_of_vu_1"]["max"] > 0


def converted_har(case: Case) -> None:
    assert case.checks == 2 * 5
    home = [request.headers for request in case.shop.requests if request.path == "/"]
    assert home[0]["user-agent"].startswith("Mozilla/5.0")
    assert home[0]["sec-ch-ua"] == '"Chromium";v="120"'
    logins = [request.headers.get("cookie") for request in case.shop.requests if request.path == "/auth/login"]
    assert logins == ["_ga=GA1.1"] * 2


def checks(expected: int, requests: int | None = None):
    """A run whose checks all pass, with a number of requests."""

    def verify(case: Case) -> None:
        assert case.checks == expected, case.out
        if requests is not None:
            assert len(case.shop.requests) == requests, case.shop.lines

    return verify


def profile(at_least: int, most_users: int):
    def verify(case: Case) -> None:
        assert case.checks >= at_least
        # The gauge is sampled each second, so that short runs may miss the peak.
        assert f"{most_users:02d} max VUs" in case.out or f"{most_users} max VUs" in case.out

    return verify


CASES = [
    ("rest-crud.js", (), 0, rest_crud),
    ("login-token.js", (), 0, login_token),
    ("correlation.js", (), 0, correlation),
    ("groups-thresholds.js", (), 0, groups_thresholds),
    ("load-profiles.js", ("-e", "PROFILE=smoke"), 0, checks(2, 2)),
    ("load-profiles.js", ("-e", "PROFILE=ramp"), 0, profile(4, 4)),
    ("load-profiles.js", ("-e", "PROFILE=spike"), 0, profile(12, 12)),
    ("load-profiles.js", ("-e", "PROFILE=soak"), 0, profile(4, 2)),
    ("arrival-rates.js", (), 0, arrival_rates),
    ("mixed-scenarios.js", (), 0, mixed_scenarios),
    ("csv-users.js", (), 0, csv_users),
    ("json-data.js", (), 0, json_data),
    ("summary-files.js", (), 0, summary_files),
    ("custom-metrics.js", (), 0, custom_metrics),
    ("typescript.ts", (), 0, checks(6, 4)),
    ("page-objects.js", (), 0, checks(8, 16)),
    ("batch-assets.js", (), 0, checks(6, 12)),
    ("cookies-and-forms.js", (), 0, cookies_and_forms),
    ("html-parsing.js", (), 0, checks(12, 4)),
    ("upload.js", (), 0, upload),
    ("graphql.js", (), 0, checks(8, 6)),
    ("hmac-signing.js", (), 0, checks(9, 6)),
    ("async-requests.js", (), 0, checks(8, 10)),
    ("retries.js", (), 0, checks(2, 6)),
    ("pagination.js", (), 0, checks(4, 6)),
    ("ws-chat.js", (), 0, ws_chat),
    ("ws-event-loop.js", (), 0, checks(18)),
    ("seeding.js", (), 0, seeding),
    ("soap.js", (), 0, checks(4, 2)),
    ("commonjs.js", (), 0, checks(2, 2)),
    ("httpx-session.js", (), 0, checks(8, 12)),
    ("stage-tags.js", (), 0, stage_tags),
    ("converted-har.js", (), 0, converted_har),
    ("abort-and-fail.js", (), 108, abort_and_fail),
]


def title(case: tuple) -> str:
    """Returns the name of a script, with the value of its last flag."""
    return "-".join([case[0], *(flag.split("=")[-1] for flag in case[1][-1:])])


@pytest.mark.parametrize(("name", "flags", "code", "verify"), CASES, ids=map(title, CASES))
def test_script_does_what_it_is_about(run, name, flags, code, verify):
    verify(run(name, *flags, code=code))
