"""Steps beyond plain requests: conditions, probability, parallel steps, uploads, `before` and
`after`.
"""

import json
import signal
import threading
import time

import fake_servers
import pytest

ONE = "config: {{ target: {url}, phases: [ {{ duration: 1, arrivalCount: {count} }} ]{more} }}\n{rest}"


def run(loadline, rest: str, *flags: str, reply=None, count: int = 1, more: str = "", code: int = 0, env=None):
    with fake_servers.RecordingServer(reply) as peer:
        script = loadline.write("s.yml", ONE.format(url=peer.url, rest=rest, count=count, more=more))
        done = loadline("artillery", "run", script, "-o", "out.json", *flags, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return peer, done


def counters(loadline) -> dict:
    return json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]


def test_condition_skips_steps(loadline):
    flow = """scenarios: [ { flow: [
        { get: { url: /a, capture: { json: $.id, as: id } } },
        { get: { url: /yes, ifTrue: 'id == "p7" and not missing' } },
        { get: { url: /no, ifTrue: 'id == "p8"' } },
        { get: { url: /broken, ifTrue: 'id ===' } },
        { loop: [ { get: { url: '/n{{ $loopCount }}', ifTrue: '$loopCount in (1, 3)' } } ], count: 4 } ] } ]"""
    peer, done = run(loadline, flow)
    assert peer.lines == ["GET /a", "GET /yes", "GET /broken", "GET /n1", "GET /n3"]
    assert counters(loadline)["http.requests"] == 5
    assert "the request is always sent, as in Artillery" in done.stderr


def test_probability_skips_steps(loadline):
    flow = """scenarios: [ { flow: [
        { get: { url: /always, probability: 100 } }, { get: { url: /never, probability: 0 } },
        { get: { url: /half, probability: 50 } } ] } ]"""
    peer, _ = run(loadline, flow, count=200, env={"LOADLINE_SEED": "1"})
    assert peer.lines.count("GET /always") == 200
    assert peer.lines.count("GET /never") == 0
    assert 70 < peer.lines.count("GET /half") < 130


def answer_after_500_ms(request):
    """Answers after a delay, so that parallel requests overlap."""
    if request.path.startswith("/p"):
        time.sleep(0.5)
    return fake_servers.echo(request)


PARALLEL = """scenarios: [ { flow: [ { parallel: [
    { get: { url: /p1, capture: { json: $.path, as: one } } }, { get: { url: /p2, capture: { json: $.path, as: two } } },
    { loop: [ { get: { url: /p3 } } ], count: 2 } ], limit: 3 },
    { get: { url: '/after{{ one }}{{ two }}' } } ] } ]"""


def test_parallel_steps_overlap_with_a_connection_pool(loadline):
    peer, _ = run(loadline, PARALLEL, reply=answer_after_500_ms, more=", http: { pool: 5 }")
    assert peer.peak == 3
    assert sorted(peer.lines[:4]) == ["GET /p1", "GET /p2", "GET /p3", "GET /p3"]
    assert peer.lines[4] == "GET /after/p1/p2"


def test_parallel_steps_are_sequential_on_one_connection(loadline):
    peer, done = run(loadline, PARALLEL, reply=answer_after_500_ms)
    assert peer.peak == 1
    assert peer.lines == ["GET /p1", "GET /p2", "GET /p3", "GET /p3", "GET /after/p1/p2"]
    assert "set `config.http.pool`" in done.stderr


def test_error_in_a_branch_ends_the_user_after_all_branches(loadline):
    flow = """scenarios: [ { flow: [ { parallel: [
        { get: { url: /a, capture: { json: $.nothing, as: x } } }, { get: { url: /p } } ] }, { get: { url: /never } } ] } ]"""
    peer, _ = run(loadline, flow, reply=answer_after_500_ms, more=", http: { pool: 5 }")
    assert sorted(peer.lines) == ["GET /a", "GET /p"]
    found = counters(loadline)
    assert (found["vusers.failed"], found["http.responses"], found["errors.Failed capture or match"]) == (1, 2, 1)


def test_uploads_are_multipart_forms(loadline):
    loadline.write("up.txt", "hello")
    flow = """scenarios: [ { flow: [ { post: { url: /up, setContentLengthHeader: true, formData: {
        file: { fromFile: ./up.txt }, image: { fromFile: up.txt, contentType: image/png },
        n: { value: 5, contentType: text/x }, id: '{{ v }}' } } } ] } ]"""
    peer, _ = run(loadline, flow, more=", variables: { v: seven }")
    (request,) = peer.requests
    boundary = request.headers["content-type"].split("boundary=")[1]
    parts = request.body.decode().split(f"--{boundary}")
    assert [part.strip() for part in parts[1:-1]] == [
        'Content-Disposition: form-data; name="file"; filename="up.txt"\r\nContent-Type: text/plain\r\n\r\nhello',
        'Content-Disposition: form-data; name="image"; filename="up.txt"\r\nContent-Type: image/png\r\n\r\nhello',
        'Content-Disposition: form-data; name="n"\r\nContent-Type: text/x\r\n\r\n5',
        'Content-Disposition: form-data; name="id"\r\n\r\nseven',
    ]
    assert parts[-1] == "--\r\n"


def test_missing_upload_file_fails_its_request(loadline):
    flow = "scenarios: [ { flow: [ { post: { url: /, formData: { f: { fromFile: none.txt } } } } ] } ]"
    peer, done = run(loadline, flow)
    assert peer.lines == []
    assert counters(loadline)["errors.ENOENT"] == 1
    assert "none.txt" in done.stderr


AROUND = """before: { flow: [
    { post: { url: /login, json: { user: '{{ u }}' }, capture: { json: $.id, as: token } } }, { log: 'before {{ token }}' } ] }
after: { flow: [ { delete: { url: '/session/{{ token }}' } }, { log: 'after {{ token }}' } ] }
scenarios: [ { flow: [ { get: { url: /a, headers: { authorization: 'Bearer {{ token }}' } } } ] } ]"""


def test_before_and_after_run_once_and_are_not_counted(loadline):
    peer, done = run(loadline, AROUND, count=3, more=", variables: { u: ada }")
    assert peer.lines == ["POST /login", "GET /a", "GET /a", "GET /a", "DELETE /session/p7"]
    assert peer.requests[0].body == b'{"user":"ada"}'
    assert {request.headers["authorization"] for request in peer.requests[1:4]} == {"Bearer p7"}
    assert counters(loadline)["http.requests"] == 3
    assert (
        done.stdout.index("before p7")
        < done.stdout.index("Phase started")
        < done.stdout.index("Summary report")
        < done.stdout.index("after p7")
    )


def test_before_and_after_in_a_native_run(loadline):
    with fake_servers.RecordingServer() as peer:
        script = loadline.write("s.yml", ONE.format(url=peer.url, rest=AROUND, count=2, more=", variables: { u: ada }"))
        done = loadline("run", script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert peer.lines == ["POST /login", "GET /a", "GET /a", "DELETE /session/p7"]
    assert loadline.summary()["requests"]["issued"] == 2


def test_failed_before_prevents_the_load(loadline):
    around = AROUND.replace("json: $.id", "json: $.nothing")
    peer, done = run(loadline, around, code=1)
    assert peer.lines == ["POST /login"]
    assert "loadline: `before` failed: Failed capture or match" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("command", [["artillery", "run"], ["run"]])
def test_signal_during_before_ends_the_test(loadline, command, number, code):
    asked = threading.Event()

    def serve(connection):
        connection.recv(65536)
        asked.set()
        fake_servers.never_answer(connection)

    with fake_servers.FakeServer(serve) as peer:
        flows = "before: { flow: [ { get: { url: /b } } ] }\nscenarios: [ { flow: [ { get: { url: / } } ] } ]"
        script = loadline.write("s.yml", ONE.format(url=peer.url, rest=flows, count=1, more=""))
        process = loadline.start(*command, script)
        assert asked.wait(20)
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    assert process.returncode == code, err
    assert "loadline: the run ended during `before`, before the load started" in err


def redirect_n_times(request):
    n = int(request.path.removeprefix("/r") or 0)
    return (302, {"location": f"/r{n - 1}"}, b"") if n else (200, {}, b"end")


@pytest.mark.parametrize(("most", "lines", "errors"), [("1", ["GET /r2", "GET /r1"], 1), ("2", ["GET /r2", "GET /r1", "GET /r0"], 0)])
def test_max_redirects_limits_redirects(loadline, most, lines, errors):
    peer, _ = run(loadline, f"scenarios: [ {{ flow: [ {{ get: {{ url: /r2, maxRedirects: {most} }} }} ] }} ]", reply=redirect_n_times)
    assert peer.lines == lines
    assert counters(loadline).get("errors.ERR_TOO_MANY_REDIRECTS", 0) == errors


def sets_cookies(request):
    return 200, {"set-cookie": "nameless" if request.path == "/a" else "__Secure-x=1"}, b"{}"


def test_cookie_options_are_applied(loadline):
    flow = "scenarios: [ { flow: [ { get: { url: /a } }, { get: { url: /b } }, { get: { url: /c } } ] } ]"
    options = ", http: { cookieJarOptions: { looseMode: true, prefixSecurity: unsafe-disabled, rejectPublicSuffixes: false } }"
    peer, _ = run(loadline, flow, reply=sets_cookies, more=options)
    assert [request.headers.get("cookie") for request in peer.requests] == [None, "nameless", "nameless; __Secure-x=1"]
    peer, _ = run(loadline, flow, reply=sets_cookies)
    assert [request.headers.get("cookie") for request in peer.requests] == [None, None, None]
    assert counters(loadline)["errors.cookie_parse_error_invalid_cookie"] == 1


def test_extended_metrics_are_printed(loadline):
    flow = "scenarios: [ { flow: [ { get: { url: /a } }, { get: { url: /b } } ] } ]"
    _, done = run(loadline, flow, more=", http: { extendedMetrics: true }")
    found = json.loads((loadline.folder / "out.json").read_text())["aggregate"]["summaries"]
    assert [found[f"http.{part}"]["count"] for part in ("dns", "tcp", "total")] == [2, 2, 2]
    assert "http.tls" not in found
    assert "\nhttp.total:\n" in done.stdout
    _, done = run(loadline, flow)
    assert "http.total" not in done.stdout


def test_unread_large_body_is_not_an_error(loadline):
    _, _ = run(loadline, "scenarios: [ { flow: [ { get: { url: /a } } ] } ]", reply=lambda _: (200, {}, b"x" * (65 << 20)))
    assert counters(loadline)["vusers.completed"] == 1
    flow = "scenarios: [ { flow: [ { get: { url: /a, capture: { json: $.id, as: id } } } ] } ]"
    _, done = run(loadline, flow, reply=lambda _: (200, {}, b"x" * (65 << 20)))
    assert counters(loadline)["errors.EMSGSIZE"] == 1
    assert "body that must be read is larger than 64 MiB" in loadline("report", "last").stdout or "EMSGSIZE" in done.stdout


PAGE = b"""<ul><li class=a data-x=1>A<li class="a b" data-x=2>B</ul><input type=hidden name=csrf value="t&amp;k">"""
FEED = b"""<?xml version="1.0"?><feed><entry id="e1"><title>One</title></entry><entry id="e2"><title>Two</title></entry></feed>"""


def test_captures_from_html_and_xml(loadline):
    flow = """scenarios: [ { flow: [
        { get: { url: /page, capture: [
            { selector: 'input[name=csrf]', attr: value, as: csrf }, { selector: li.a, attr: data-x, index: last, as: last },
            { selector: '{{ which }}', attr: data-x, index: 1, as: second }, { selector: li.none, attr: x, as: none, strict: false } ],
          match: { selector: li, attr: class, value: a } } },
        { get: { url: /feed, capture: [ { xpath: '//entry[2]/title/text()', as: title }, { xpath: 'count(//entry)', as: count },
            { xpath: //entry/@id, multiple: false, as: ids } ],
            match: { xpath: //entry/@id, multiple: false, value: [e1, e2] } } },
        { post: { url: /end, json: { a: ['{{ csrf }}', '{{ last }}', '{{ second }}', '{{ title }}', '{{ count }}', '{{ ids }}'] } } },
        { get: { url: /page, capture: { selector: li.none, attr: x, as: none } } } ] } ]"""
    pages = {"/page": (200, {"content-type": "text/html"}, PAGE), "/feed": (200, {"content-type": "text/xml"}, FEED)}
    reply = lambda request: pages.get(request.path) or fake_servers.echo(request)  # noqa: E731
    peer, done = run(loadline, flow, reply=reply, more=", variables: { which: li }")
    assert json.loads(peer.requests[2].body) == {"a": ["t&k", "2", "2", "Two", 2, ["e1", "e2"]]}
    assert counters(loadline)["errors.Failed capture or match"] == 1
    bad = loadline.write("bad.yml", ONE.format(url="http://127.0.0.1:1", more="", count=1, rest=flow.replace("li.a,", "li:hover,")))
    refused = loadline("artillery", "run", bad)
    assert refused.returncode == 1
    assert "bad.yml:4:" in refused.stderr
    assert "`:hover` is not supported" in refused.stderr
