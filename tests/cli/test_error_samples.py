"""The first sample of every error: expected and actual values and the response body, without
secrets.
"""

import json

from fake_servers import RecordingServer, Request

PLAN = """loadline: 1
name: Pay
target: {url}
load: {{ rate: 10/s, duration: 3s }}
variables: {{ card: "4111-s3cr3t-0001" }}
secrets: [ card ]
criteria: [ errors < 1% ]
scenarios:
  - steps:
      - get: /broken
  - steps:
      - post:
          url: /pay
          json: {{ card: '{{{{ card }}}}' }}
          capture: {{ receipt: $.receipt, reason: $.error }}
          check: {{ json: {{ $.state: paid }} }}
  - steps:
      - get: {{ url: /stock, check: {{ json: {{ $.left: 7 }} }} }}
"""
LONG = "the pool is exhausted " + "x" * 3000


def shop(request: Request) -> tuple[int, dict[str, str], bytes]:
    said = {
        "/broken": (503, LONG.encode()),
        "/pay": (
            200,
            json.dumps(
                {"state": "refused", "error": 'pool "a" is full', "why": "db deadlock", "card": "4111-s3cr3t-0001"}, indent=1
            ).encode(),
        ),
        "/stock": (200, b'{"left": 3, "token": "abcdefgh-12345678"}'),
    }
    status, body = said[request.path]
    return status, {"content-type": "application/json"}, body


def test_error_sample_shows_expected_and_actual_values(loadline, browser) -> None:
    with RecordingServer(shop) as target:
        run = loadline("run", loadline.write("pay.yml", PLAN.format(url=target.url)), env={"COLUMNS": "100"})
    assert run.returncode in (1, 5), run.stderr
    folder = next(path for path in (loadline.folder / ".loadline/runs").iterdir() if path.is_dir() and not path.is_symlink())
    errors = {row["reason"]: row for row in json.loads((folder / "summary.json").read_text())["errors"]}
    pay = errors["capture or match"]["first"]
    assert pay["mismatches"] == ["receipt: $.receipt finds nothing", '$.state is "refused", expected "paid"']
    assert "db deadlock" in pay["body"]
    # The record does not contain values of variables.
    assert '"error": "‹reason›"' in pay["body"]
    assert errors["check json"]["first"]["mismatches"] == ["$.left is 3, expected 7"]
    # No check reads this body. Its truncated last word could be a secret, so it is omitted.
    assert errors["status 503"]["first"]["body"] == "the pool is exhausted … 3000 more bytes"
    labels = {row["id"]: row["text"] for row in json.loads((folder / "summary.json").read_text())["labels"]}
    for row in errors.values():
        assert sum(part["count"] for part in row["by_label"]) == row["count"]
        assert [labels[part["label"]] for part in row["by_label"]] == [labels[row["first"]["label"]]]

    for output in (run.stdout + run.stderr, (folder / "report.md").read_text()):
        assert "db deadlock" in output
        assert "pool is exhausted" in output
        assert "$.left is 3, expected 7" in output
    written = [path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()]
    for text in [run.stdout, run.stderr, *written]:
        assert "s3cr3t" not in text
        assert "abcdefgh" not in text

    page = browser.new_page()
    page.goto((folder / "report.html").as_uri())
    page.get_by_role("button", name="POST /pay").click()
    detail = page.locator("#endpoints .detail")
    assert detail.locator("svg.small-chart").count() == 2
    assert detail.locator("pre").inner_text().count("db deadlock") == 1
    assert [item.strip() for item in detail.locator(".causes code").all_inner_texts()] == pay["mismatches"]
    page.close()
