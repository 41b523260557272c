"""`--once` traces one iteration: every step with its outcome, captures and checks, without
statistics.
"""

import re

from fake_servers import closed_port

STEPS = """loadline: 1
name: Shop
target: lab:shortener
variables: { key: s3cr3t-of-mine, token: TOKEN }
secrets: [ key ]
http: { headers: { authorization: 'Bearer {{ token }}' } }
load: { rate: 5/s, duration: 5s }
criteria: [ errors < 1%, p95 < 1s, service max < 10s, max < 10s ]
steps:
  - think: 20ms
  - post:
      url: /actions/short-urls?api_key={{ key }}
      name: Create
      json: { expires: '2099-01-01T00:00:00-07:00', url: 'https://www.example.org/x' }
      capture: { short: $.shortUrl }
      check: { status: 201, header: { content-type: application/json } }
  - get: { url: '{{ short }}', redirects: false, check: { status: 302 } }
  - get:
      url: '/short-urls/none-{{ key }}'
      check: { status: 302, body: nothing, json: { $.error: gone } }
      capture: { more: $.more }
  - get: /never
"""
TOKEN = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJzaG9ydGVuZXIifQ.hWd5e270NJUcHqXJCy0BKP8k7ISozh_y8tQsbsWpHgs"
TIME = r" +[\d.]+ (µs|ms|s)  "


def nonblank_lines(text):
    return [line for line in text.splitlines() if line.strip()]


def test_once_shows_every_step_with_captures_and_checks(loadline):
    run = loadline("run", loadline.write("p.yml", STEPS.replace("TOKEN", TOKEN)), "--once")
    think, create, *below = nonblank_lines(run.stdout)
    assert re.fullmatch(r"   -  +20 ms  think", think)
    assert re.match(rf" 201 {TIME}POST Create  http://127\.0\.0\.1:\d+/actions/short-urls\?api_key=‹redacted", create), create
    short = re.fullmatch(r' +✓ short = ("http://[^"]+")', below[0])[1].strip('"')
    assert [line.strip() for line in below[1:3]] == ["✓ status is 201", '✓ header content-type is "application/json"']
    assert re.fullmatch(rf" 302 {TIME}GET {short}", below[3]), below[3]
    assert below[4].strip() == "✓ status is 302"
    assert re.match(rf" 404 {TIME}GET http://127\.0\.0\.1:\d+/short-urls/none-‹redacted", below[5]), below[5]
    details = [line.strip() for line in below[6:11]]
    assert details == [
        "✗ more: $.more finds nothing",
        "✗ status is 404, expected 302",
        '✗ body does not hold "nothing"',
        '✗ $.error is "there is no such short URL", expected "gone"',
        '{"error":"there is no such short URL"}',
    ]
    # The iteration ends here. Only criteria that one iteration can decide are judged.
    assert below[11].startswith("One iteration of Shop failed: 1 of 3 requests failed, in ")
    assert "/never" not in run.stdout
    judged = [line.split("measured")[0].split() for line in below[12:14]]
    assert judged == [["FAIL", "errors", "<", "1%"], ["PASS", "service", "max", "<", "10s"]]
    assert "so they are not judged: p95 < 1s, max < 10s" in " ".join(run.stdout.split())
    assert "not judged" not in run.stderr
    assert "s3cr3t" not in run.stdout + run.stderr
    for statistics in ("p99", "Lateness", "rps", "measurement"):
        assert statistics not in run.stdout
    assert run.returncode == 1


def test_once_successful_iteration_exits_with_0(loadline):
    steps = STEPS[: STEPS.index("  - get:\n")].replace("TOKEN", TOKEN)
    run = loadline("run", loadline.write("p.yml", steps), "--once")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "One iteration of Shop passed: 2 requests in " in run.stdout
    assert "✗" not in run.stdout


def test_once_failed_iteration_exits_with_1_without_criteria(loadline):
    steps = STEPS.replace("TOKEN", TOKEN).replace("criteria:", "# criteria:")
    run = loadline("run", loadline.write("p.yml", steps), "--once")
    assert run.returncode == 1, run.stdout + run.stderr


def test_once_unreachable_server_is_one_line(loadline):
    with closed_port() as port:
        run = loadline("run", f"http://127.0.0.1:{port}/x", "--once")
    first, why, *_ = nonblank_lines(run.stdout)
    assert re.fullmatch(rf"   - {TIME}GET http://127\.0\.0\.1:{port}/x", first), first
    assert why.strip() == "✗ connection refused"
    assert run.returncode != 0


def test_once_secret_capture_is_redacted(loadline):
    steps = """loadline: 1
target: lab:shortener
variables: { token: TOKEN }
secrets: [ short ]
http: { headers: { authorization: 'Bearer {{ token }}' } }
load: { rate: 5/s, duration: 5s }
steps:
  - post:
      url: /actions/short-urls
      json: { expires: '2099-01-01T00:00:00-07:00', url: 'https://www.example.org/x' }
      capture: { short: $.shortUrl }
  - get: { url: '{{ short }}', redirects: false, check: { status: 410 } }
"""
    run = loadline("run", loadline.write("p.yml", steps.replace("TOKEN", TOKEN)), "--once")
    assert "✓ short = ‹redacted" in run.stdout
    assert "/short-urls/" not in run.stdout.replace("/actions/short-urls", "")
    assert "✗ status is 302, expected 410" in run.stdout
