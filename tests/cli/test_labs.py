"""Labs as targets: the run's counts agree with theirs."""

import json
import urllib.error
import urllib.request

import pytest
from conftest import Loadline

SHORTEN = """
config:
  target: {target}
  plugins: {{ expect: {{}} }}
  phases: [ {{ duration: 1, arrivalCount: {users} }} ]
scenarios:
  - flow:
      - post:
          url: /actions/short-urls
          headers: {{ Authorization: "Bearer {token}" }}
          json: {{ expires: "2030-01-01T00:00:00-07:00", url: "https://example.test/?id={{{{ $uuid }}}}" }}
          capture: {{ json: $.shortUrl, as: short }}
          expect: [ {{ statusCode: 201 }} ]
      - get:
          url: "{{{{ short }}}}"
          followRedirect: false
          expect: [ {{ statusCode: 302 }}, {{ headerEquals: [ location, "https://example.test/?id={{{{ $uuid }}}}" ] }} ]
"""


def test_shortener_lab_redirects_to_the_original_urls(loadline: Loadline, start_lab):
    lab = start_lab("shortener", "--token", "s3cret", "latency=20ms")
    token = loadline("lab", "shortener", "--token", "s3cret", "--print-token").stdout.strip()
    script = loadline.write("s.yml", SHORTEN.format(target=lab.url, users=20, token=token))
    run = loadline("run", script)
    assert run.returncode == 0, run.stderr
    summary, counted = loadline.summary(), lab.stats()
    assert summary["requests"]["ok"] == summary["requests"]["issued"] == counted["answered"]["total"] == 40
    assert counted["answered"]["by_code"] == {"201": 20, "302": 20}
    assert counted["shortener"]["stored"] == 20
    assert counted["shortener"]["id_collisions"] == 0
    strangers = loadline.write("w.yml", SHORTEN.format(target=lab.url, users=3, token=token[:-2]))
    loadline("run", strangers)
    assert loadline.summary()["requests"]["ok"] == 0
    assert lab.stats()["answered"]["by_code"]["401"] == 3


def test_pepeunit_lab_answers_graphql_queries(start_lab):
    lab = start_lab("pepeunit", "latency=5ms")

    def ask(query: str) -> dict:
        body = json.dumps({"query": query}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{lab.url}/pepeunit/graphql", body), timeout=5) as answer:
            return json.load(answer)

    with urllib.request.urlopen(f"{lab.url}/pepeunit/api/v1/metrics/", timeout=5) as answer:
        counts = json.load(answer)
    data = ask("{ getBaseMetrics { users: userCount } }")["data"]
    assert data == {"getBaseMetrics": {"users": counts["user_count"]}}
    assert "data" not in ask("{ getBaseMetrics { nobody } }")
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(urllib.request.Request(f"{lab.url}/pepeunit/graphql", b"no"), timeout=5)


def test_lab_with_invalid_options_is_refused(loadline: Loadline):
    for lab, option in [("shortener", "latency=soon"), ("pepeunit", "secret-fetch=1s")]:
        refused = loadline("lab", lab, option)
        assert refused.returncode == 2
        assert option.split("=")[0] in refused.stderr
        assert len(refused.stderr.splitlines()) == 1, refused.stderr
