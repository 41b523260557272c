"""The command line of `loadline artillery`: flags, other commands, file suffixes, exit codes, and
signals.
"""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import fake_servers
import pytest
from conftest import ROOT, Loadline, wait_until

GOLDEN = Path(__file__).parent / "golden"


class Server(fake_servers.FakeServer):
    """Answers 200 to every request and records the request lines."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(self._answer)

    def _answer(self, connection) -> None:
        while request := connection.recv(65536).decode():
            self.asked.append(request.split(" HTTP/")[0])
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        connection.close()


@pytest.fixture
def server():
    with Server() as server:
        yield server


def write(loadline: Loadline, server: Server, name: str = "s.yml", url: str = "/", more: str = "") -> Path:
    return loadline.write(
        name, f"config: {{ target: '{server.url}', {more} }}\nscenarios: [ {{ flow: [ {{ get: {{ url: '{url}' }} }} ] }} ]\n"
    )


def test_dotenv_file_sets_variables(loadline, server):
    script = write(loadline, server, url="/{{ $env.A }}/{{ $processEnvironment.B }}/{{ $env.C }}")
    loadline.write("my.env", "# comment\nexport A='from file'\nB=file\nC=\"x#y\"  # why\n")
    for flag in ("--dotenv", "--env-file"):
        assert loadline("artillery", "run", "-q", script, flag, "my.env", env={"B": "from-process"}).returncode == 0
    assert server.asked == ["GET /from%20file/from-process/x#y".replace("#y", "")] * 2
    missing = loadline("artillery", "run", "-q", script, "--dotenv", "none.env")
    assert missing.returncode == 0
    assert missing.stdout.startswith("WARNING: could not read dotenv file: none.env\nTest run id: t")


def test_files_are_merged_in_order(loadline, server):
    script = write(loadline, server, url="/{{ a }}{{ b }}{{ c }}{{ d }}", more="variables: { a: 1, b: 1, c: 1, d: 1 }")
    for name, values in {"two.yml": "b: 2, c: 2, d: 2", "three.json": "c: 3, d: 3", "conf.yaml": "d: 4"}.items():
        text = f"{{ config: {{ variables: {{ {values} }} }} }}"
        loadline.write(name, re.sub(r"(\w+):", r'"\1":', text) if name.endswith("json") else text)
    run = loadline("artillery", "run", "-q", script, "two.yml", "-i", "three.json", "--config", "conf.yaml")
    assert (run.returncode, server.asked) == (0, ["GET /1234"])


def test_payload_flag_sets_the_csv_file(loadline, server):
    loadline.write("rows.csv", "red\n")
    script = write(loadline, server, url="/{{ color }}", more="payload: { fields: [ color ] }")
    assert loadline("artillery", "run", "-q", script, "-p", "rows.csv").returncode == 0
    assert server.asked == ["GET /red"]


@pytest.mark.parametrize(
    ("flags", "code", "out", "err"),
    [
        (["--platform", "local", "--count", "3"], 0, "", "--count has no effect"),
        (["--platform", "aws:lambda"], 1, None, "--platform aws:lambda is not supported"),
        (["--platform", "az:aci"], 1, None, "--platform az:aci is not supported"),
        (["--platform", "moon"], 1, None, "invalid value 'moon'"),
        (["--platform-opt", "a=b"], 0, "", "--platform-opt has no effect"),
        (["--tags", "team:a,stray"], 0, "WARNING: could not parse some tags: stray\n", "tags: team:a,stray"),
        (["--tags", ",".join(f"t:{i}" for i in range(11))], 1, "A maximum of 10 tags is supported\n", ""),
        (["--name", "n", "--note", "why not"], 0, "", "note: why not"),
        (["--record"], 7, None, "Error: API key is required to record test results to Artillery Cloud\n"),
        (["--record", "--key", "a-key"], 0, "", "--record has no effect: results are not uploaded, but stay in Loadline's record"),
        (["--overrides", "{bad"], 1, "", "--overrides:1:2: this is not JSON"),
        (["--variables", "5"], 1, "", "--variables:1:1: `5` is not a JSON object"),
        (["-e", "nowhere"], 0, "WARNING: environment nowhere is set but is not defined in the script\n", ""),
        (["--scenario-name", "none"], 11, None, "Scenario none not found in script."),
        (["--nope"], 1, None, "unexpected argument '--nope'"),
        (["-d", "5"], 1, None, "unexpected argument '-d'"),
    ],
)
def test_flag_is_accepted_or_refused_as_in_artillery(loadline, server, flags, code, out, err):
    run = loadline("artillery", "run", "-q", write(loadline, server), *flags)
    assert run.returncode == code, run.stderr
    assert err in run.stderr
    if out is not None:
        assert re.sub(r"Test run id: t\S+\n", "", run.stdout) == out
    assert bool(server.asked) == (code == 0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("s.js", "s.js: scripts written in JavaScript are not supported yet"),
        ("s.ts", "s.ts: scripts written in JavaScript are not supported yet"),
        ("none.yml", "none.yml: No such file"),
    ],
)
def test_file_suffix_is_checked(loadline, server, name, words):
    if name != "none.yml":
        write(loadline, server, name)
    run = loadline("artillery", "run", name)
    assert (run.returncode, words in run.stderr) == (1, True), run.stderr
    for name in ("s.YML", "s.Yaml", "s.JSON", "s.txt", "s.conf", "s"):
        assert loadline("artillery", "run", "-q", write_json(loadline, server, name)).returncode == 0


def write_json(loadline: Loadline, server: Server, name: str) -> Path:
    return loadline.write(name, json.dumps({"config": {"target": server.url}, "scenarios": [{"flow": [{"get": {"url": "/"}}]}]}))


def test_validation_error_has_its_place(loadline):
    script = loadline.write(
        "s.yml", "config: { target: 'http://x' }\nscenarios:\n  - flow: [ { get: { url: / }, post: { url: / } } ]\n"
    )
    run = loadline("artillery", "run", script)
    assert run.stdout.endswith('Scenario validation error: "scenarios[0].flow[0]" must have 1 key\n')
    assert f'{script}:3:13: "scenarios[0].flow[0]" must have 1 key (a step can have only one action' in run.stderr


def test_environment_sets_plugins_and_disables_checks(loadline, server):
    script = write(loadline, server, more="plugins: { ensure: {} }, ensure: { max: 0 }")
    assert loadline("artillery", "run", "-q", script).returncode == 1
    disabled = loadline("artillery", "run", script, env={"ARTILLERY_DISABLE_ENSURE": "1"})
    assert (disabled.returncode, "Checks:" in disabled.stdout) == (0, False)
    plugins = '{"expect": {"expectDefault200": true}}'
    more = loadline("artillery", "run", "-q", script, env={"ARTILLERY_PLUGINS": plugins, "ARTILLERY_DISABLE_ENSURE": "1"})
    assert "  ok statusCode 200 \n" in more.stdout
    broken = loadline("artillery", "run", "-q", script, env={"ARTILLERY_PLUGINS": "{"})
    assert (broken.returncode, "ARTILLERY_PLUGINS:1:1: this is not JSON" in broken.stderr) == (1, True)


def test_quick_sends_requests_of_each_user(loadline, server):
    run = loadline("artillery", "quick", f"{server.url}/a?b=c", "-c", "2", "-n", "3", "-o", "q.json")
    assert run.returncode == 0, run.stderr
    assert server.asked == ["GET /a?b=c"] * 6
    counters = json.loads((loadline.folder / "q.json").read_text())["aggregate"]["counters"]
    assert (counters["vusers.created"], counters["http.requests"]) == (2, 6)
    assert counters["plugins.metrics-by-endpoint./a.codes.200"] == 6
    assert "Phase started: unnamed (index: 0, duration: 1s)" in run.stdout
    assert "Log file: q.json\n" in run.stdout
    server.asked.clear()
    # With zero requests Artillery sends one, because a loop without a count would never end.
    assert loadline("artillery", "quick", server.url, "-c", "2", "-n", "0").returncode == 0
    assert len(server.asked) == 2
    quiet = loadline("artillery", "quick", server.url, "-q", "-c", "1", "--num", "1")
    assert re.fullmatch(r"Test run id: t\S+\n", quiet.stdout)


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["ftp://x/"], 1, "Unknown protocol in target: ftp://x/\nSupported protocols: HTTP(S) and WS(S)\n"),
        (["localhost:80"], 1, "Unknown protocol in target: localhost:80\n"),
        (["ws://x/"], 1, "ws://x/: the engine ws is not supported yet"),
        ([], 1, "TARGET"),
        (["http://x/", "-c", "many"], 1, "invalid value 'many'"),
        (["http://x/", "-d", "5"], 1, "-d was a flag of Artillery 1"),
        (["http://x/", "--rate", "5"], 1, "-r was a flag of Artillery 1"),
    ],
)
def test_quick_refuses_bad_arguments(loadline, args, code, words):
    run = loadline("artillery", "quick", *args)
    assert (run.returncode, words in run.stderr) == (code, True), run.stderr


@pytest.mark.parametrize("how", ["--version", "-V", "version"])
def test_version_names_the_measured_artillery(loadline, how):
    run = loadline("artillery", how)
    assert run.returncode == 0
    pinned = re.search(r"artillery@(\S+)", (ROOT / "Makefile").read_text())[1]
    assert f"Measured against artillery {pinned}." in (ROOT / "docs/reference/artillery.md").read_text()
    assert re.search(rf"VERSION INFO:\n\nArtillery: {re.escape(pinned)} .*Loadline \d.*\nNode.js: .*\nOS:        linux\n", run.stdout)


def test_dino_prints_a_message(loadline):
    run = loadline("artillery", "dino", "-m", "hi")
    assert run.stdout.startswith(" ----\n< hi >\n ----\n")


@pytest.mark.parametrize("name", ["loop-capture", "ensure-expect", "refused"])
def test_report_file_is_summarised_again(loadline, name):
    """The summary of Artillery's own file equals the one Artillery printed, with hidden figures
    shown.
    """
    run = loadline("artillery", "report", GOLDEN / f"{name}.json", "-o", "page.html")
    assert (run.returncode, run.stdout) == (0, "Report generated: page.html\n"), run.stderr
    page = (loadline.folder / "page.html").read_text()
    assert "artillery" in page
    assert f"{name}.json" in page
    printed = (GOLDEN / f"{name}.out.txt").read_text().split("Summary report @ ")[1]
    wanted = printed[printed.index("\n\n") + 2 :].split("Log file: ")[0].splitlines()
    ours = run.stderr[run.stderr.index("\n\n") + 2 :].splitlines()
    assert re.match(r"-{32}\nSummary report @ \d\d:\d\d:\d\d\([+-]\d{4}\)\n-{32}\n\n", run.stderr)
    if name == "ensure-expect":
        assert ours == wanted
    else:
        missing = [line for line in wanted if line not in ours]
        assert missing == []
        assert all("metrics-by-endpoint" in line or line.startswith("  ") for line in ours if line not in wanted)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "r.json: No such file"),
        ("", "r.json:1:0: this is not JSON"),
        ('{"aggregate": {', "r.json:1:15: this is not JSON: EOF while parsing an object"),
        ("[1]", "r.json: this is not an Artillery report: the file is not a JSON object"),
        ('{"a": 1}', "r.json: this is not an Artillery report: `aggregate` is missing"),
        ('{"aggregate": {}}', "`aggregate` has neither `counters` nor `scenariosCreated`"),
    ],
)
def test_file_that_is_not_a_report_is_refused(loadline, text, words):
    if text is not None:
        loadline.write("r.json", text)
    run = loadline("artillery", "report", "r.json")
    assert (run.returncode, run.stdout) == (1, "")
    assert words in run.stderr


def test_unwritable_report_page_is_refused(loadline):
    own = loadline.write("own.json", (GOLDEN / "refused.json").read_text())
    over = loadline("artillery", "report", "own.json", "-o", "./own.json")
    assert (over.returncode, "choose another file" in over.stderr) == (1, True), over.stderr
    assert own.read_text() == (GOLDEN / "refused.json").read_text()
    run = loadline("artillery", "report", GOLDEN / "refused.json", "-o", "none/page.html")
    assert (run.returncode, run.stdout) == (1, "")
    assert "cannot write none/page.html: No such file" in run.stderr


def test_unwritable_output_is_reported_before_the_first_request(loadline):
    with fake_servers.RecordingServer() as server:
        script = {"config": {"target": server.url, "phases": [{"duration": 1, "arrivalCount": 1}]}}
        loadline.write("test.json", json.dumps({**script, "scenarios": [{"flow": [{"get": {"url": "/"}}]}]}))
        run = loadline("artillery", "run", "test.json", "-o", "/proc/none.json")
        assert run.returncode == 1
        assert "cannot write /proc/none.json" in run.stderr
        assert not server.requests


def test_report_of_artillery_1_is_read(loadline):
    aggregate = {
        "timestamp": "2020-01-01T10:00:00.000Z",
        "scenariosCreated": 20,
        "scenariosCompleted": 19,
        "requestsCompleted": 200,
        "latency": {"min": 1.2, "max": 48, "median": 5, "p95": 13.9, "p99": 37.7},
        "rps": {"count": 200, "mean": 19.98},
        "scenarioDuration": {"min": 100, "max": 200, "median": 150, "p95": 190, "p99": 199},
        "scenarioCounts": {"checkout": 20},
        "errors": {"ETIMEDOUT": 1},
        "codes": {"200": 199},
    }
    loadline.write("old.json", json.dumps({"aggregate": aggregate, "intermediate": []}))
    run = loadline("artillery", "report", "old.json")
    assert (run.returncode, run.stdout) == (0, "Report generated: old.json.html\n"), run.stderr
    assert "200" in (loadline.folder / "old.json.html").read_text()
    figures = dict(re.findall(r"^(\S.*?): \.+ (.*)$", run.stderr, re.M))
    assert figures == {
        "errors.ETIMEDOUT": "1",
        "http.codes.200": "199",
        "http.request_rate": "20/sec",
        "http.responses": "200",
        "vusers.completed": "19",
        "vusers.created": "20",
        "vusers.created_by_name.checkout": "20",
    }
    assert "http.response_time:\n  min: ......................................................................... 1.2\n" in run.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_keeps_summary_and_output_file(loadline, server, number, code):
    script = write(loadline, server, more="phases: [ { duration: 60, arrivalRate: 20 } ]")
    process = loadline.start("artillery", "run", script, "-o", "out.json")
    wait_until(lambda: server.asked, "a request")
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == code, err
    assert "All VUs finished." in out
    assert "Summary report @ " in out
    assert "Log file: out.json\n" in out
    counters = json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]
    assert counters["http.requests"] == len(server.asked)
