"""The Locust examples, a URL shortener and Pepeunit, against their labs."""

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def _token(loadline) -> str:
    return loadline("lab", "shortener", "--print-token").stdout.strip()


def _rows(loadline) -> dict:
    return {row["text"]: row for row in loadline.summary()["labels"]}


def test_shortener_links_redirect_to_their_targets(loadline, start_lab):
    lab = start_lab("shortener")
    file = EXAMPLES / "url-shortener/locustfile.py"
    env = {"SHORTENER_TOKEN": _token(loadline), "LOCUST_HOST": lab.url}
    run = loadline("locust", "-f", file, "--headless", "-u", 5, "-r", 10, "-t", 2, "--only-summary", env=env)
    assert run.returncode == 0, run.stderr
    rows, stats = _rows(loadline), lab.stats()
    created, followed = rows["POST /actions/short-urls"], rows["GET /short-urls/{id}"]
    assert created["errors"] - created["none"].get("unfinished", 0) == 0
    assert followed["count"] >= created["count"] // 10 - 10 > 0
    assert stats["shortener"]["id_collisions"] == 0
    requests = loadline.summary()["requests"]
    assert 0 <= requests["issued"] - stats["received"]["total"] <= requests["none_by_class"].get("unfinished", 0)


def test_shortener_wrong_token_fails_every_creation(loadline, start_lab):
    lab = start_lab("shortener")
    file = EXAMPLES / "url-shortener/locustfile.py"
    env = {"SHORTENER_TOKEN": "wrong", "LOCUST_HOST": lab.url}
    run = loadline("locust", "-f", file, "--headless", "-t", 1, "--only-summary", env=env)
    assert run.returncode == 1
    assert "status 401" in run.stderr


def test_shortener_concurrency_limit_is_found(loadline, start_lab):
    lab = start_lab("shortener", "latency=100ms", "concurrency=5")
    file = EXAMPLES / "url-shortener/locustfile.py"
    env = {"SHORTENER_TOKEN": _token(loadline), "LOCUST_HOST": lab.url}
    run = loadline("locust", "-f", file, "--headless", "-u", 20, "-r", 100, "-t", 2, "--only-summary", env=env)
    assert run.returncode == 1
    codes = _rows(loadline)["POST /actions/short-urls"]["codes"]
    answered = lab.stats()["answered"]["by_code"]
    assert 0 <= answered["500"] - codes["500"] <= 20
    assert codes["500"] > 20


@pytest.mark.parametrize("users", [9])
def test_pepeunit_rest_graphql_and_metrics_are_answered(loadline, start_lab, users):
    lab = start_lab("pepeunit", "latency=5ms")
    env = {
        "LOCUST_HOST": lab.url,
        "LOCUST_HEADLESS": "True",
        "LOCUST_USERS": str(users),
        "LOCUST_SPAWN_RATE": "10",
        "LOCUST_RUN_TIME": "3",
    }
    run = loadline("locust", "-f", EXAMPLES / "pepeunit/locustfile.py", env=env)
    assert run.returncode == 0, run.stderr
    rows = _rows(loadline)
    assert set(rows) == {"GET /pepeunit", "GET /pepeunit/api/v1/metrics/", "POST /pepeunit/graphql"}
    assert sum(row["errors"] for row in rows.values()) == loadline.summary()["requests"]["none_by_class"].get("unfinished", 0)
    head = next(line for line in run.stderr.splitlines() if "50%" in line)
    assert head.split()[2:] == ["50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "99.9%", "99.99%", "100%", "#", "reqs"]
    assert json.dumps(lab.stats()["answered"]["by_code"]) == json.dumps({"200": lab.stats()["received"]["total"]})
