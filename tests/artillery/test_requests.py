"""Requests and counts for unusual scripts and broken servers are the same as in Artillery."""

import json
import re

import fake_servers
import pytest

ONE = "config: {{ target: '{url}', phases: [ {{ duration: 1, arrivalCount: 1 }} ]{more} }}\n{rest}"
ENDPOINTS = ", plugins: { metrics-by-endpoint: {} }"


def run(loadline, url: str, rest: str, more: str = "", code: int = 0):
    done = loadline("artillery", "run", loadline.write("s.yml", ONE.format(url=url, rest=rest, more=more)), "-o", "out.json")
    assert done.returncode == code, done.stdout + done.stderr
    file = loadline.folder / "out.json"
    return done, json.loads(file.read_text())["aggregate"]["counters"] if file.exists() else {}


def test_step_cookies_belong_to_their_path(loadline):
    def reply(request):
        return 200, {"set-cookie": "srv=1; Path=/"} if request.path == "/set" else {}, b"{}"

    steps = [("/a/b/c", "a"), ("/a/b/d", "b"), ("/x/y", "x"), ("/a/b/plain", ""), ("/set", ""), ("/a/b/plain", ""), ("/q", "")]
    flow = ", ".join(f"{{ get: {{ url: {url}{f', cookie: {{ {name}: 1 }}' if name else ''} }} }}" for url, name in steps)
    with fake_servers.RecordingServer(reply) as peer:
        run(loadline, peer.url, f"scenarios: [ {{ flow: [ {flow} ] }} ]")
    sent = [request.headers.get("cookie") for request in peer.requests]
    assert sent == ["a=1", "a=1; b=1", "x=1", None, None, "a=1; b=1; srv=1", "srv=1"]


def test_header_values_are_latin_1(loadline):
    raw = []

    def serve(connection):
        while data := connection.recv(65536):
            raw.append(data)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        connection.close()

    flow = "scenarios: [ { flow: [ { post: { url: /, headers: { x-a: 'ü{{ v }}' }, cookie: { c: 'n{{ v }}' }, body: 'ü' } } ] } ]"
    with fake_servers.FakeServer(serve) as peer:
        _, counters = run(loadline, peer.url, flow, more=", variables: { v: é }")
    assert b"x-a: \xfc\xe9\r\n" in raw[0]
    assert b"cookie: c=n\xe9\r\n" in raw[0]
    assert "ü".encode() in b"".join(raw)
    # Zero downloaded bytes are reported.
    assert counters["http.downloaded_bytes"] == 0


def test_undefined_and_null_values_in_queries_and_forms(loadline):
    values = "a: '{{ nope }}', b: x, n: '{{ null_value }}', t: 'x{{ nope }}'"
    flow = f"""scenarios: [ {{ flow: [ {{ get: {{ url: /, capture: {{ json: $.n, as: null_value }} }} }},
        {{ get: {{ url: /, qs: {{ {values} }} }} }}, {{ post: {{ url: /, form: {{ {values} }} }} }} ] }} ]"""
    with fake_servers.RecordingServer(lambda _: (200, {"content-type": "application/json"}, b'{"n": null}')) as peer:
        run(loadline, peer.url, flow)
    assert peer.lines[1] == "GET /?a=&b=x&n=&t=xundefined"
    assert peer.requests[2].body == b"a=undefined&b=x&n=null&t=xundefined"


def test_lists_and_mappings_in_queries_and_forms_are_encoded_as_in_node(loadline):
    """Recorded from artillery 2.0.21: `String(value)` in a form, `querystring` in a query."""
    data = b'{"list": ["a b", null, 3, true, {"x": 1}, [1, 2]], "map": {"k": "v"}, "empty": []}'
    captures = ", ".join(f"{{ json: $.{name}, as: {name} }}" for name in ("list", "map", "empty"))
    values = "a: '{{ list }}', m: '{{ map }}', e: '{{ empty }}'"
    flow = f"""scenarios: [ {{ flow: [ {{ get: {{ url: /, capture: [ {captures} ] }} }},
        {{ get: {{ url: /, qs: {{ {values} }} }} }}, {{ post: {{ url: /, form: {{ {values} }} }} }} ] }} ]"""
    with fake_servers.RecordingServer(lambda _: (200, {"content-type": "application/json"}, data)) as peer:
        run(loadline, peer.url, flow)
    assert peer.lines[1] == "GET /?a=a+b&a=&a=3&a=true&a=&a=&m="
    assert peer.requests[2].body == b"a=a+b%2C%2C3%2Ctrue%2C%5Bobject+Object%5D%2C1%2C2&m=%5Bobject+Object%5D&e="


def test_load_all_with_an_order_gives_each_user_a_row(loadline):
    (loadline.folder / "rows.csv").write_text("a,1\nb,2\n")
    more = ", payload: { path: rows.csv, fields: [u, v], loadAll: true, name: row, order: sequence }"
    with fake_servers.RecordingServer() as peer:
        run(loadline, peer.url, "scenarios: [ { flow: [ { get: { url: '/{{ u }}/{{ row[0] }}/{{ row[1] }}' } } ] } ]", more=more)
    assert peer.lines == ["GET /undefined/a/1"]


def test_loop_with_unknown_while_true_function_uses_its_count(loadline):
    loop = "{ loop: [ { get: { url: / } } ], count: 2, whileTrue: nope }"
    with fake_servers.RecordingServer() as peer:
        done, _ = run(loadline, peer.url, f"scenarios: [ {{ flow: [ {loop} ] }} ]")
        assert len(peer.requests) == 2
        assert "`nope` is undefined: set `config.processor`" in done.stderr
        loadline.write("hooks.js", "")
        run(loadline, peer.url, f"scenarios: [ {{ flow: [ {loop} ] }} ]", more=", processor: ./hooks.js")
    assert len(peer.requests) == 4


def test_unreadable_capture_path_fails_the_capture(loadline):
    for source in ("xpath: '//'", "json: '$['"):
        flow = f"scenarios: [ {{ flow: [ {{ get: {{ url: /, capture: {{ {source}, as: z }} }} }}, {{ get: {{ url: /next }} }} ] }} ]"
        with fake_servers.RecordingServer() as peer:
            _, counters = run(loadline, peer.url, flow)
        assert len(peer.requests) == 1
        assert counters["errors.Failed capture or match"] == 1


def test_steps_queued_in_parallel_are_sent(loadline):
    flow = """scenarios: [ { flow: [ { parallel: [
        { get: { url: /one, capture: { json: $.none, as: x } } }, { loop: [ { get: { url: '/two{{ $loopCount }}' } } ], count: 2 },
        { get: { url: /three } } ] }, { get: { url: /never } } ] } ]"""
    with fake_servers.RecordingServer() as peer:
        _, counters = run(loadline, peer.url, flow)
    assert peer.lines == ["GET /one", "GET /two0", "GET /three", "GET /two1"]
    assert peer.peak == 1
    assert (counters["vusers.failed"], counters["http.responses"]) == (1, 4)


def test_file_names_from_variables_are_resolved(loadline):
    (loadline.folder / "up.txt").write_text("hello")
    (loadline.folder / "rows.csv").write_text("up\n")
    part = "{ post: { url: /, formData: { f: { fromFile: './{{ file }}.txt' } } } }"
    more = ", payload: { path: rows.csv, fields: [ file ] }"
    with fake_servers.RecordingServer() as peer:
        run(loadline, peer.url, f"scenarios: [ {{ flow: [ {part} ] }} ]", more=more)
        named = b'name="f"; filename="up.txt"\r\nContent-Type: text/plain\r\n\r\nhello\r\n'
        assert named in peer.requests[0].body
        (loadline.folder / "rows.csv").write_text("none\n")
        _, counters = run(loadline, peer.url, f"scenarios: [ {{ flow: [ {part} ] }} ]", more=more)
        assert (counters["errors.ENOENT"], len(peer.requests)) == (1, 1)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("{{ v }}", "Invalid URL - no/such"),
        ("http://exa mple:99999/", "ERR_INVALID_URL"),
        ("httpx://127.0.0.1/", "ERR_UNSUPPORTED_PROTOCOL"),
    ],
)
def test_invalid_url_is_an_error(loadline, url, error):
    flow = f"scenarios: [ {{ flow: [ {{ get: {{ url: '{url}' }} }} ] }} ]"
    _, counters = run(loadline, "http://127.0.0.1:1", flow, more=", variables: { v: no/such }")
    assert counters[f"errors.{error}"] == 1


BROKEN = {
    "version": (b"HTTP/3.7 200 OK", "HPE_INVALID_VERSION"),
    "status": (b"HTTP/1.1 abc OK", "HPE_INVALID_STATUS"),
    "constant": (b"220 mail.example.test", "HPE_INVALID_CONSTANT"),
    "lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3", "HPE_UNEXPECTED_CONTENT_LENGTH"),
    "chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabXX", "HPE_STRICT"),
}


def test_broken_answer_has_nodes_error_name(loadline):
    def serve(connection):
        path = connection.recv(65536).split()[1].decode()
        connection.sendall(BROKEN[path[1:]][0] + b"\r\n\r\n")
        connection.close()

    scenarios = ", ".join(f"{{ name: {name}, flow: [ {{ get: {{ url: /{name} }} }} ] }}" for name in BROKEN)
    with fake_servers.FakeServer(serve) as peer:
        loadline.write(
            "s.yml", ONE.format(url=peer.url, rest=f"scenarios: [ {scenarios} ]", more=ENDPOINTS).replace("Count: 1", "Count: 60")
        )
        loadline("artillery", "run", "s.yml", "-o", "out.json", env={"LOADLINE_SEED": "1"})
    counters = json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]
    found = {name: error for key in counters for name, error in re.findall(r"by-endpoint\./(\w+)\.errors\.(\w+)", key)}
    assert found == {name: error for name, (_, error) in BROKEN.items()}


def test_long_names_are_shortened_on_the_console(loadline):
    with fake_servers.RecordingServer() as peer:
        done, _ = run(loadline, peer.url, f"scenarios: [ {{ flow: [ {{ get: {{ url: /{'a' * 90} }} }} ] }} ]", more=ENDPOINTS)
    # Only names with a figure on the same line are shortened.
    assert f"\nplugins.metrics-by-endpoint./{'a' * 47}...  1\n" in done.stdout
    assert f"\nplugins.metrics-by-endpoint.response_time./{'a' * 90}:\n" in done.stdout


def test_processor_is_loaded_even_if_unused(loadline):
    flow = "scenarios: [ { flow: [ { get: { url: / } } ] } ]"
    with fake_servers.RecordingServer() as peer:
        done, _ = run(loadline, peer.url, flow, more=", processor: ./hooks.js", code=11)
        assert re.search(r"\nworker error, id: 1 Error: Cannot find module '/.*/hooks.js'\n$", done.stdout)
        assert not peer.requests
        loadline.write("hooks.js", "throw 1")
        done, _ = run(loadline, peer.url, flow, more=", processor: ./hooks.js", code=11)
        assert "the processor cannot be loaded: 1\n" in done.stderr
        assert not peer.requests
        loadline.write("hooks.js", "exports.unused = () => {};")
        run(loadline, peer.url, flow, more=", processor: ./hooks.js")
        assert len(peer.requests) == 1


def test_warnings_are_printed_on_artillerys_stream(loadline):
    with fake_servers.RecordingServer() as peer:
        done, _ = run(
            loadline, peer.url, "scenarios: [ { flow: [ { get: { url: / } } ] } ]", more=", plugins: { no-such: {}, slack: {} }"
        )
    warnings = [
        "WARNING: Could not load plugin: no-such warn",
        "WARNING: Plugin no-such specified but module artillery-plugin-no-such could not be found (MODULE_NOT_FOUND) warn",
    ]
    assert done.stdout.splitlines()[1:3] == warnings
    assert "WARNING" not in done.stderr
    assert "the plugin `slack` has no effect: results are not sent to other services" in done.stderr


def test_refused_engine_suggests_scenario_name(loadline):
    scenarios = "scenarios: [ { name: sock, engine: kafka, flow: [ ] }, { name: web page, flow: [ { get: { url: / } } ] } ]"
    with fake_servers.RecordingServer() as peer:
        done, _ = run(loadline, peer.url, scenarios, code=1)
        assert "run only another scenario with `--scenario-name 'web page'`" in done.stderr
        assert loadline("artillery", "run", "-q", "s.yml", "--scenario-name", "web page").returncode == 0
    assert peer.lines == ["GET /"]
