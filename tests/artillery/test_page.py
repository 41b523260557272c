"""docs/reference/artillery.md is correct: one script per table row uses every key of the row and
runs.
"""

import re
import subprocess
from pathlib import Path

import fake_servers
import fake_websocket
import pytest
from required_tools import tool_path

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = Path(__file__).parent / "scripts"

# The rows of the page, each with its script.
ROWS = {
    "The script": "script",
    "`config`": "config",
    "`config.http`": "http",
    "`config.http.defaults`, and the older `config.defaults`": "defaults",
    "`config.http.cookieJarOptions`": "cookie-jar",
    "`config.http.distributedTracing`": "tracing",
    "`config.tls`": "tls",
    "`config.ws`": "websocket",
    "Items of `config.phases`": "phases",
    "`config.payload`": "payload",
    "`options` of a payload": "payload",
    "`config.plugins`": "plugins",
    "Items of `scenarios`, `before` and `after`": "scenarios",
    "Steps (in addition to every HTTP method of IANA's registry)": "steps",
    "Steps with `engine: ws`": "websocket",
    "`connect`": "websocket",
    "`send` and `wait` with `capture` or `match`": "websocket",
    "`config.socketio`, and `socketio` of a scenario": "socketio",
    "Steps with `engine: socketio` (in addition to every HTTP method)": "socketio",
    "`emit`": "socketio",
    "`response`": "socketio",
    "`acknowledge`": "socketio",
    "With `loop`": "loop",
    "With `parallel`": "parallel",
    "With `think`": "think",
    "Requests": "requests",
    "Parts of `formData`": "form-data",
    "`capture`": "capture",
    "`match`": "match",
}


def rows() -> dict[str, list[str]]:
    page = (ROOT / "docs/reference/artillery.md").read_text()
    table = page.split("<!-- keys -->\n")[1].split("<!-- /keys -->")[0]
    cells = (line.split(" | ") for line in table.splitlines()[2:])
    return {row[0].removeprefix("| "): re.findall(r"`([^`]+)`", row[1]) for row in cells}


def test_every_row_of_the_page_has_a_script():
    assert list(rows()) == list(ROWS)
    assert {path.stem for path in SCRIPTS.glob("*.yml")} == set(ROWS.values())


@pytest.mark.parametrize(("row", "name"), ROWS.items())
def test_script_uses_every_key_of_its_row(row, name):
    text = (SCRIPTS / f"{name}.yml").read_text()
    for key in rows()[row]:
        assert re.search(rf"(^|[\s{{\[]){re.escape(key)}: ", text, re.M) or re.search(rf"^\s*-? ?{re.escape(key)}:$", text, re.M), key


PAGES = {
    "/page": ({"content-type": "text/html"}, b"<ul><li class=a>A<li class=b>B</ul>"),
    "/feed": ({"content-type": "text/xml"}, b'<feed><entry id="e1"/></feed>'),
    "/cookie": ({"set-cookie": "sid=1; Path=/"}, b"{}"),
}


def reply(request):
    if request.path in PAGES:
        return (200, *PAGES[request.path])
    return fake_servers.echo(request)


@pytest.fixture(scope="module")
def identity(tmp_path_factory):
    """A key and its certificate, for the script that refers to them."""
    folder = tmp_path_factory.mktemp("identity")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "pem.key"]
    command = [tool_path("openssl"), "req", "-x509", *key, "-out", "pem.pem", "-subj", "/CN=some.test"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return {name: (folder / name).read_text() for name in ("pem.key", "pem.pem")}


HELPERS = """module.exports = {
  step: (context, events, done) => done(),
  before: (request, context, events, done) => done(),
  after: (request, response, context, events, done) => done(),
  failed: (error, request, context, events, done) => done(),
  again: (context, next) => next(context.vars.$loopCount < 1),
};
"""


@pytest.mark.parametrize("name", sorted(set(ROWS.values())))
def test_script_of_a_row_runs(loadline, start_lab, identity, name):
    loadline.write("users.csv", "user\nada\ngrace\n")
    loadline.write("helpers.js", HELPERS)
    for file, text in identity.items():
        loadline.write(file, text)
    with fake_servers.RecordingServer(reply) as peer, fake_websocket.WebSocketServer(fake_websocket.echo) as socket:
        text = (SCRIPTS / f"{name}.yml").read_text().replace("TARGET", peer.url).replace("SOCKET", socket.url)
        if name == "socketio":
            text = text.replace("CHAT", start_lab("chat").url)
        script = loadline.write("s.yml", text)
        flags = ["-e", "here"] if name == "config" else []
        done = loadline("artillery", "run", script, *flags)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = done.stdout.split("Summary report")[1]
    assert "errors." not in summary, done.stdout
    assert "has no effect" not in done.stderr.replace("`value`", ""), done.stderr
    created, completed = (re.search(rf"^vusers.{word}: \.+ (\d+)$", summary, re.M)[1] for word in ("created", "completed"))
    assert created == completed
    if name == "capture":
        assert peer.lines[-1] == "GET /end/2/h7/p/b/e1"
    if name == "websocket":
        [asked] = socket.requests
        assert (asked["x-id"], asked["sec-websocket-protocol"]) == ("h7", "soap")
        assert asked[":path"].startswith("/chat?room=t")
