"""The plugin expect: every check, its output, its counters, and the exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import fake_servers
import pytest
from artillery_transcripts import assert_same_json, mask_numbers, split_blocks
from conftest import Loadline

GOLDEN = Path(__file__).parent / "golden"
PATIENT = b'{"id":"p1","resourceType":"Patient","name":[{"family":"abc"}]}'

# Status, headers and body for each path.
ANSWERS = {
    "/json": (200, "Content-Type: application/json; charset=utf-8", b'{"id":7,"nested":{"a":[1,{"b":null}]},"flag":false,"none":""}'),
    "/text": (200, "Content-Type: text/html; charset=utf-8", b"hello world"),
    "/list": (200, "Content-Type: application/problem+json", b"[1,2]"),
    "/broken": (200, "Content-Type: application/ld+json", b"{not json"),
    "/untyped": (200, "X-A: b", b'{"id":7}'),
    "/hit": (200, "X-Cache: HIT from here", b""),
    "/miss": (200, "CF-Cache-Status: Miss", b""),
    "/stale": (200, "X-Vercel-Cache: stale", b""),
    "/missing": (404, "X-A: b", b""),
}


def serve(connection):
    while request := connection.recv(65536).decode():
        path = request.split(" ")[1].split("?")[0]
        status, headers, body = ANSWERS.get(path, ANSWERS["/json"])
        connection.sendall(f"HTTP/1.1 {status} X\r\n{headers}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    connection.close()


def run(loadline: Loadline, options: str, steps: str, *flags: str, command: str = "artillery run", config: str = ""):
    with fake_servers.FakeServer(serve) as peer:
        script = loadline.write(
            "s.yml",
            f"config: {{ target: '{peer.url}', plugins: {{ expect: {options} }},\n"
            f"  {config} variables: {{ v: 7, name: id, o: {{ a: 1 }} }} }}\n"
            f"scenarios:\n  - name: s\n    flow:\n{steps}",
        )
        ended = loadline(*command.split(), script, *flags)
        ended.url = peer.url
        return ended


def counters(loadline: Loadline) -> dict[str, int]:
    return json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]


def test_expect_output_equals_artillerys_transcript(loadline):
    """Compares with the golden transcript; numbers, times and the port are masked."""

    def nginx(connection):
        while request := connection.recv(65536):
            body = PATIENT if b" /fhir/" in request.split(b"\r\n")[0] else b'{"result":3}'
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Fri, 20 Nov 2026 12:32:37 GMT\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\nConnection: keep-alive\r\n\r\n%s" % (len(body), body)
            )
        connection.close()

    text = (GOLDEN / "ensure-expect.yml").read_text()
    wide = text.replace("http.response_time.p95: 200", "http.response_time.p95: 5000").replace("threshold: 100", "threshold: 5000")
    with fake_servers.FakeServer(nginx) as peer:
        script = loadline.write("ensure-expect.yml", wide.replace("http://127.0.0.1:8088", peer.url))
        ours = loadline("artillery", "run", "ensure-expect.yml", "-o", "ensure-expect.json")
        printed = ours.stdout.replace(peer.url, "http://127.0.0.1:8088").replace(str(script), "ensure-expect.yml")
    *theirs, last = (GOLDEN / "ensure-expect.out.txt").read_text().replace("p95 < 200", "p95 < 5000").splitlines()
    assert f"[exit {ours.returncode}]" == last

    def mask(lines: str) -> list[str]:
        lines = re.sub(r"date: .*", "date", lines)
        return mask_numbers(re.sub(r"(\$uuid: ).*", r"\1U", lines))

    ours_lines, their_lines = mask(printed), mask("\n".join(theirs) + "\n")
    # Users that start 0.2 s apart print in the order of their answers.
    assert sorted(expect_blocks(ours_lines)) == sorted(expect_blocks(their_lines))
    ours_blocks, their_blocks = split_blocks(ours_lines), split_blocks(their_lines)
    assert ours_blocks["phases"] == their_blocks["phases"]
    assert ours_blocks["summary"] == their_blocks["summary"]
    assert_same_json(loadline.folder / "ensure-expect.json", GOLDEN / "ensure-expect.json")


def expect_blocks(lines: list[str]) -> list[list[str]]:
    """Returns every block that expect printed, in order.

    Ends of phases and periods between them are random.
    """
    found: list[list[str]] = []
    inside = False
    for line in lines:
        if line.startswith("* "):
            found.append([])
            inside = True
        elif line.startswith(("Phase ", "-----", "All VUs")):
            inside = False
        if inside:
            found[-1].append(line)
    return found


CHECKS = [
    ("/json", "statusCode: 200", True, "statusCode 200"),
    ("/json", "statusCode: [404, '200']", True, "statusCode 200"),
    ("/json", "statusCode: '{{ v }}'", False, "statusCode 200 "),
    ("/json", "notStatusCode: 404", True, "notStatusCode 200"),
    ("/json", "notStatusCode: [200, 404]", False, "notStatusCode 200"),
    ("/json", "contentType: json", True, "contentType json"),
    ("/list", "contentType: json", True, "contentType json"),
    ("/text", "contentType: json", False, "contentType content-type is text/html; charset=utf-8"),
    ("/broken", "contentType: json", False, "contentType could not parse response body as JSON"),
    ("/untyped", "contentType: json", False, "contentType content-type is undefined"),
    ("/text", "contentType: 'Text/HTML; charset=utf-8'", True, "contentType text/html; charset=utf-8"),
    ("/text", "contentType: text/html", False, "contentType text/html; charset=utf-8"),
    ("/untyped", "contentType: text/html", False, "contentType content-type header not set"),
    ("/json", "hasProperty: 'nested.a[1].b'", True, "hasProperty nested.a[1].b"),
    ("/json", "hasProperty: '{{ name }}'", True, "hasProperty id"),
    ("/json", "hasProperty: nope", False, "hasProperty response body has no nope property"),
    ("/text", "hasProperty: length", False, "hasProperty response body is not an object"),
    ("/list", "hasProperty: '[1]'", True, "hasProperty [1]"),
    ("/json", "notHasProperty: nope", True, "notHasProperty nope"),
    ("/json", "notHasProperty: id", False, "notHasProperty response body has id property"),
    ("/text", "notHasProperty: id", False, "notHasProperty response body is not an object"),
    ("/json", "hasHeader: content-type", True, "hasHeader content-type"),
    ("/json", "hasHeader: Content-Type", False, "hasHeader response has no Content-Type header"),
    ("/untyped", "headerEquals: [x-a, b]", True, "header x-a values equals b"),
    ("/untyped", "headerEquals: [x-a, '{{ v }}']", False, "header x-a values equals b"),
    ("/untyped", "headerEquals: [x-b, b]", False, "header x-b values equals response has no x-b header"),
    ("/json", "equals: ['{{ v }}', 7, '7']", True, "equals 7, 7, 7"),
    ("/json", "equals: ['{{ v }}', '{{ o }}']", False, "equals 7, [object Object]"),
    ("/text", "matchesRegexp: '^hel+o'", True, "matchesRegexp true"),
    ("/json", "matchesRegexp: '\"id\":7'", True, "matchesRegexp true"),
    ("/text", "matchesRegexp: '^world'", False, "matchesRegexp false"),
    ("/hit", "cdnHit: true", True, "cdnHit x-cache is HIT from here"),
    ("/stale", "cdnHit: true", True, "cdnHit x-vercel-cache is stale"),
    ("/miss", "cdnHit: false", True, "cdnHit cf-cache-status is Miss"),
    ("/miss", "cdnHit: true", False, "cdnHit cache status header not found"),
    ("/json", "jmespath: 'id > `5`'", True, "jmespath id > `5`"),
    ("/json", "jmespath: flag", False, "jmespath flag"),
    ("/json", "jpath: nested.a", True, "jpath undefined"),
    ("/text", "jmespath: id", False, "jmespath response body is not an object"),
]


@pytest.fixture(scope="module")
def every_check(tmp_path_factory) -> tuple[dict[int, list[str]], dict, int]:
    """One run with a request for each check."""
    loadline = Loadline(tmp_path_factory.mktemp("checks"))
    steps = "".join(
        f'      - get: {{ url: "{path}?{i}", expect: [ {{ {check} }} ] }}\n' for i, (path, check, _, _) in enumerate(CHECKS)
    )
    ended = run(loadline, "{}", steps, "-o", "out.json")
    found = re.findall(r"^\* GET /\w+\?(\d+) \n\n((?:  (?:ok|not ok) .*\n)+)", ended.stdout, re.M)
    return {int(i): text.splitlines() for i, text in found}, counters(loadline), ended.returncode


@pytest.mark.parametrize("index", range(len(CHECKS)), ids=[f"{path} {check}" for path, check, _, _ in CHECKS])
def test_expect_check_prints_its_result(every_check, index):
    _, _, holds, text = CHECKS[index]
    word = "ok" if holds else "not ok"
    assert [line.rstrip() for line in every_check[0][index]] == [f"  {word} {text}".rstrip()]


def test_expect_counts_checks_and_exits_with_21(every_check):
    _, found, code = every_check
    assert code == 21
    held = [check for _, check, holds, _ in CHECKS if holds]
    failed = [check for _, check, holds, _ in CHECKS if not holds]
    assert (found["plugins.expect.ok"], found["plugins.expect.failed"]) == (len(held), len(failed))
    for kind in ("statusCode", "contentType", "hasProperty", "cdnHit", "jmespath"):
        of = [check for check in held if check.startswith(f"{kind}:")]
        assert found[f"plugins.expect.ok.{kind}"] == len(of), kind
    assert found["plugins.expect.failed.header x-b values equals"] == 1
    # A failed expectation does not fail the user.
    assert (found["vusers.failed"], found["vusers.completed"]) == (0, 1)


def test_expect_failure_shows_the_exchange(loadline):
    steps = """
      - post: { url: "/json?q={{ v }}", name: named, json: { a: "{{ v }}", b: [] }, capture: { json: $.id, as: got },
                expect: { statusCode: [404, 500] } }
"""
    ended = run(loadline, "{ outputFormat: prettyError }", steps, "-e", "nowhere")
    assert ended.returncode == 21
    block = ended.stdout[ended.stdout.index("* POST") :].split("-----")[0]
    block = re.sub(r"(\$testId|\$uuid|\$scenarioFile): .*", r"\1: X", block.replace(ended.url, "URL"))
    assert (
        block
        == f"""* POST /json?q=7 - named

  not ok statusCode 200 
  expected: 404,500
       got: 200
  Request params:
    URL/json?q=7
    {{
      "a": 7,
      "b": []
    }}
  Headers:
  content-type: application/json; charset=utf-8
  content-length: {len(ANSWERS["/json"][2])}
  Body:
{ANSWERS["/json"][2].decode()}
  User variables:
    target: URL
    $environment: nowhere
    $testId: X
    $dirname: {loadline.folder}
    $scenarioFile: X
    v: 7
    name: id
    o: [object Object]
    $uuid: X
    got: 7
"""
    )  # noqa: W291


def test_expect_prints_json_lines(loadline):
    steps = """
      - get: { url: "/json?q=1", name: nm,
               expect: [ { statusCode: [201, 404] }, { hasProperty: id }, { jpath: id, description: an id } ] }
      - get: { url: /text }
      - get: { url: http://127.0.0.1:1/ }
"""
    ended = run(loadline, "{ formatter: json, outputFormat: pretty }", steps, "-q")
    lines = [json.loads(line) for line in ended.stdout.splitlines()[1:]]
    assert lines == [
        {
            "name": "nm",
            "url": "/json?q=1",
            "results": [
                {"ok": False, "expected": [201, 404], "type": "statusCode", "got": 200},
                {"ok": True, "expected": "id", "type": "hasProperty", "got": "id"},
                {"ok": True, "expected": "an id", "type": "jpath"},
            ],
        },
        {"url": "/text", "results": []},
        {"ok": False, "error": "ECONNREFUSED"},
    ]


def test_expect_prints_failures_only(loadline):
    steps = '      - get: { url: "/json", expect: { statusCode: 200 } }\n      - get: { url: "/text", expect: { statusCode: 404 } }\n'
    ended = run(loadline, "{ outputFormat: prettyError }", steps)
    assert "* GET /json" not in ended.stdout
    assert "* GET /text" in ended.stdout
    silent = run(loadline, "{ outputFormat: silent }", steps)
    assert "* GET" not in silent.stdout
    assert silent.returncode == 21


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("{ reportFailuresAsErrors: true }", "Failed expectations for request URL/missing?{{ v }}"),
        ("{ reportFailuresAsErrors: true, useOnlyRequestNames: true }", "Failed expectations for request named"),
    ],
)
def test_expect_failures_can_be_errors(loadline, options, error):
    steps = """
      - get: { url: "/missing?{{ v }}", name: named, capture: { json: $.none.such, as: x }, expect: { statusCode: 200 } }
      - get: { url: /json }
"""
    ended = run(loadline, options, steps, "-o", "out.json")
    found = counters(loadline)
    assert ended.returncode == 21
    assert found[f"errors.{error}".replace("URL", ended.url)] == 1
    assert (found["vusers.failed"], found["http.requests"]) == (1, 1)


def test_expect_default_200_applies_to_steps_without_checks(loadline):
    steps = """
      - get: { url: /missing }
      - get: { url: /missing, expect: { statusCode: 404 } }
      - get: { url: /json, expect: [] }
"""
    run(loadline, "{ expectDefault200: true, outputFormat: silent }", steps, "-o", "out.json")
    found = counters(loadline)
    assert (found["plugins.expect.failed.statusCode"], found["plugins.expect.ok.statusCode"]) == (1, 2)


def test_expect_unknown_check_is_reported_and_ignored(loadline):
    steps = "      - get: { url: /json, expect: [ { statuscode: 200 }, { hasProperty: id } ] }\n"
    ended = run(loadline, "{}", steps)
    assert ended.returncode == 0
    assert "Expect Plugin: Expectation 'statuscode' is not supported\n* GET /json \n\n  ok hasProperty id \n" in ended.stdout
    assert "s.yml:6:40: Expect Plugin: Expectation 'statuscode' is not supported (did you mean `statusCode`?)" in ended.stderr


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ('{ jmespath: "id[" }', "`id[` is not a JMESPath"),
        ("{ headerEquals: x-a }", "`headerEquals` must be a list of a header name and its value"),
        ("{ equals: 5 }", "`equals` must be a list of values"),
        ('{ matchesRegexp: "(" }', "`(` is not a valid regular expression"),
    ],
)
def test_expect_impossible_check_is_refused(loadline, check, words):
    ended = run(loadline, "{}", f"      - get: {{ url: /json, expect: [ {check} ] }}\n")
    assert ended.returncode == 1
    assert words in ended.stderr
    assert "s.yml:6:" in ended.stderr


def test_expect_ensure_determines_the_exit_code_first(loadline):
    steps = "      - get: { url: /json, expect: { statusCode: 404 } }\n"
    config = "ensure: { thresholds: [ { http.requests: 0 } ] },"
    ended = run(loadline, "{ outputFormat: silent }, ensure: {}", steps, config=config)
    assert ended.returncode == 1
    assert "fail: http.requests < 0\n" in ended.stdout
    config = "ensure: { thresholds: [ { http.requests: 9 } ] },"
    assert run(loadline, "{}, ensure: {}", steps, "-q", config=config).returncode == 21


def test_expect_becomes_a_check_in_a_native_run(loadline):
    steps = "      - get: { url: /json, expect: { statusCode: 404 } }\n      - get: { url: /json }\n"
    ended = run(loadline, "{}", steps, command="run")
    requests = loadline.summary()["requests"]
    assert (requests["failed"], requests["ok"]) == (1, 1)
    assert "* GET" not in ended.stdout
    assert "GET /json: statusCode: expected 404, got 200" in ended.stdout


def test_expect_record_contains_no_secret(loadline):
    steps = '      - get: { url: "/json?token=s3cr3t-t0ken", expect: { statusCode: 404 } }\n'
    ended = run(loadline, "{ reportFailuresAsErrors: true }", steps)
    assert "s3cr3t-t0ken" in ended.stdout
    record = (loadline.folder / ".loadline/runs/last").resolve()
    for file in filter(Path.is_file, record.rglob("*")):
        assert b"s3cr3t-t0ken" not in file.read_bytes(), file


@pytest.mark.parametrize(
    ("check", "kind"),
    [
        ('equals: ["{{ found }}", "x"]', "equals"),
        ('headerEquals: [content-type, "{{ found }}"]', "header content-type values equals"),
        ('matchesRegexp: "{{ found }}("', "matchesRegexp"),
    ],
)
def test_expect_record_contains_no_variable_values(loadline, check, kind):
    capture = "capture: { regexp: 'hello .*', as: found }"
    steps = f"      - get: {{ url: /text, {capture}, expect: [ {{ {check} }} ] }}\n"
    ended = run(loadline, "{ outputFormat: silent, reportFailuresAsErrors: true }", steps)
    assert ended.returncode == 21, ended.stderr
    record = (loadline.folder / ".loadline/runs/last").resolve()
    assert f"{kind}: not as expected" in (record / "summary.json").read_text()
    for file in filter(Path.is_file, record.rglob("*")):
        assert b"hello world" not in file.read_bytes(), file
