"""`loadline init` turns a URL, a curl command or a recording into a plan that sends the same
requests.
"""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import LOADLINE
from fake_servers import RecordingServer, Request


@pytest.fixture
def echo():
    with RecordingServer() as server:
        yield server


def init(loadline, *words, env=None):
    made = loadline("init", *words, env=env)
    assert made.returncode == 0, made.stderr
    return made


def test_init_url_becomes_a_plan_that_runs(loadline, echo):
    made = init(loadline, f"127.0.0.1:{echo.port}/cart?page=2")
    assert "loadline: 127.0.0.1.yml: 1 request to http://127.0.0.1" in made.stderr
    assert "Next: loadline run 127.0.0.1.yml --once, then loadline run 127.0.0.1.yml" in made.stderr
    ran = loadline("run", "127.0.0.1.yml", "--once")
    assert ran.returncode == 0, ran.stderr
    assert echo.lines == ["GET /cart?page=2"]


def test_init_curl_command_sends_the_same_request(loadline, echo):
    body = '{"sku": "B\'7", "note": "{{gift}}", "n": 1.50}'
    words = ["curl", "-sS", "-X", "PATCH", f"{echo.url}/items/7?a=b%20c", "-H", "Content-Type: application/merge-patch+json"]
    words += ["-H", "X-Trace: {{x}}", "-u", "me:s3cr3t-of-mine", "--data-raw", body]
    made = init(loadline, "-o", "patch.yml", *words)
    plan = (loadline.folder / "patch.yml").read_text()
    assert "s3cr3t-of-mine" not in plan + made.stderr + made.stdout
    assert "export PASSWORD=" in made.stderr
    refused = loadline("run", "patch.yml", "--once", env={"PASSWORD": ""} | {"HOME": str(loadline.folder)})
    assert "s3cr3t" not in refused.stderr
    echo.requests.clear()
    ran = loadline("run", "patch.yml", "--once", env={"PASSWORD": "s3cr3t-of-mine"})
    assert ran.returncode == 0, ran.stderr
    (sent,) = echo.requests
    assert (sent.method, sent.path, sent.body.decode()) == ("PATCH", "/items/7?a=b%20c", body)
    assert sent.headers["content-type"] == "application/merge-patch+json"
    assert sent.headers["x-trace"] == "{{x}}"
    assert sent.headers["authorization"] == "Basic bWU6czNjcjN0LW9mLW1pbmU="


def test_init_pasted_curl_lines_are_parsed_like_a_shell(loadline, echo):
    lines = f"""# from the browser
curl '{echo.url}/login' \\
  -H 'content-type: application/json' \\
  --data-raw $'{{"name":"it\\'s"}}' --compressed --insecure
curl "{echo.url}/orders" -b 'session=abc; theme=dark' -G --data-urlencode 'q=a b' | jq .
"""
    (loadline.folder / "requests.txt").write_text(lines)
    made = init(loadline, "requests.txt")
    assert "requests.yml: 2 requests to" in made.stderr
    assert "abc" not in (loadline.folder / "requests.yml").read_text()
    unset = loadline("run", "requests.yml", "--once")
    assert unset.returncode == 2
    assert unset.stderr.endswith("the environment variable COOKIE is not set\n")
    assert unset.stderr.count("\n") == 1
    ran = loadline("run", "requests.yml", "--once", env={"COOKIE": "session=abc; theme=dark"})
    assert ran.returncode == 0, ran.stderr
    login, orders = echo.requests
    assert (login.method, login.path, login.body) == ("POST", "/login", b'{"name":"it\'s"}')
    assert login.headers["accept-encoding"] == "gzip, deflate, br"
    assert (orders.method, orders.path, orders.headers["cookie"]) == ("GET", "/orders?q=a%20b", "session=abc; theme=dark")


def test_init_plan_on_standard_output_is_alone(loadline, echo):
    ran = subprocess.run(
        [LOADLINE, "init", "-", "-o", "-"],
        input=f"curl {echo.url}/a -d x=1",
        capture_output=True,
        text=True,
        timeout=60,
        cwd=loadline.folder,
        env=os.environ,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("# Created by `loadline init` from 1 curl command in standard input.\n")
    assert ran.stderr == "loadline: 1 request to " + echo.url + "\n"
    loadline.write("a.yml", ran.stdout)
    assert loadline("run", "a.yml", "--once").returncode == 0
    assert [(sent.method, sent.body) for sent in echo.requests] == [("POST", b"x=1")]
    profile = loadline("plan", "a.yml", "--json", "-")
    assert json.loads(profile.stdout)["profile"]


def test_init_existing_file_is_kept(loadline):
    loadline.write("shop.yml", "mine")
    refused = loadline("init", "https://shop.example/")
    assert refused.returncode == 2
    assert refused.stderr == "loadline: shop.yml already exists: use --force to overwrite it, or -o FILE for another file\n"
    assert (loadline.folder / "shop.yml").read_text() == "mine"
    init(loadline, "https://shop.example/", "--force")
    assert "target: https://shop.example\n" in (loadline.folder / "shop.yml").read_text()


def test_init_unreadable_input_is_reported_in_one_line(loadline):
    loadline.write("a.txt", "curl -s \\\n  --frobnicate http://localhost/\n")
    loadline.write("b.txt", "hello\n")
    loadline.write("k.js", "import http from 'k6/http';\n")
    for words, line in [
        (["a.txt"], "a.txt:2:3: curl's option --frobnicate is not supported: remove it"),
        (["curl", "http://localhost/", "-F", "a"], "curl, argument 3: this is not a form part: use 'name=value'"),
        (["k.js"], "k.js is a k6 script, which needs no plan: use `loadline k6 run k.js`"),
        (["b.txt"], "b.txt: `loadline init` reads URLs"),
        (["none.har"], "none.har: no such file; for a URL, add https:// at the start"),
        (["https://"], "`https://` is not a URL"),
    ]:
        refused = loadline("init", *words)
        assert refused.returncode == 2, words
        assert refused.stderr.startswith(f"loadline: {line}"), refused.stderr
        assert refused.stderr.count("\n") == 1
    assert not list(loadline.folder.glob("*.yml"))


def har_entry(at: int, method: str, url: str, status: int, answer: object, sent: object = None, headers: dict | None = None) -> dict:
    """Returns a HAR entry that started `at` milliseconds after the recording."""
    request = {"method": method, "url": url, "headers": [{"name": name, "value": value} for name, value in (headers or {}).items()]}
    if sent is not None:
        request["postData"] = {"mimeType": "application/json", "text": json.dumps(sent, separators=(",", ":"))}
        request["headers"].append({"name": "Content-Type", "value": "application/json"})
    content = {"mimeType": "application/json", "text": json.dumps(answer)}
    return {
        "startedDateTime": f"2026-05-04T10:00:{at // 1000:02}.{at % 1000:03}Z",
        "time": 5,
        "request": request,
        "response": {"status": status, "headers": [], "content": content, "redirectURL": ""},
    }


def har(*entries: dict) -> str:
    return json.dumps({"log": {"version": "1.2", "entries": entries}})


def test_init_recorded_id_is_captured_from_the_new_response(loadline, start_lab):
    """The recorded id does not exist on the server: the plan passes only with the id that the
    server returns.
    """
    lab = start_lab("fhir")
    patient = {"resourceType": "Patient", "name": [{"family": "Chalmers"}]}
    bearer = {"Authorization": "Bearer demo"}
    at = f"{lab.url}/fhir/R4/Patient"
    recorded_id = "0f4d4b1c-77aa-4ad0-9c1e-5b8f2ad9a001"
    text = har(
        har_entry(0, "POST", at, 201, {"resourceType": "Patient", "id": recorded_id}, patient, bearer),
        har_entry(20, "GET", f"{at}/{recorded_id}", 200, patient, None, bearer),
        har_entry(40, "PUT", f"{at}/{recorded_id}", 200, patient, {**patient, "id": recorded_id}, bearer),
    )
    loadline.write("clinic.har", text)
    made = init(loadline, "clinic.har")
    assert "export TOKEN=…" in made.stderr
    plan = (loadline.folder / "clinic.yml").read_text()
    assert "demo" not in plan
    assert recorded_id not in plan
    ran = loadline("run", "clinic.yml", "--once", env={"TOKEN": "demo"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # A PUT is sent only on request.
    assert "1 of 3 requests is commented out" in plan
    assert lab.stats()["answered"]["by_code"] == {"201": 1, "200": 1}
    before, steps = plan.split("\nsteps:\n")
    wanted = steps.replace("\n  # ", "\n  ")
    assert "  - put:" in wanted
    loadline.write("clinic.yml", f"{before}\nsteps:\n{wanted}")
    ran = loadline("run", "clinic.yml", "--once", env={"TOKEN": "demo"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert lab.stats()["answered"]["by_code"] == {"201": 2, "200": 3}
    summary = loadline.summary()
    assert {label["text"] for label in summary["labels"]} >= {"GET /fhir/R4/Patient/{{ patient_id }}"}


def test_init_recorded_link_is_captured_from_the_new_response(loadline, start_lab):
    lab = start_lab("shortener")
    token = subprocess.run([LOADLINE, "lab", "shortener", "--print-token"], capture_output=True, text=True, timeout=30).stdout.strip()
    bearer = {"Authorization": f"Bearer {token}"}
    asked = {"expires": "2030-01-01T00:00:00-07:00", "url": f"{lab.url}/__lab/stats"}
    text = har(
        har_entry(
            0,
            "POST",
            f"{lab.url}/actions/short-urls",
            201,
            {"shortUrl": f"{lab.url}/short-urls/Zz0"},
            asked,
            bearer,
        ),
        har_entry(900, "GET", f"{lab.url}/short-urls/Zz0", 302, {}),
    )
    loadline.write("short.har", text)
    init(loadline, "short.har")
    plan = (loadline.folder / "short.yml").read_text()
    for line in ["capture: { shortUrl: $.shortUrl }", "- get: '{{ shortUrl }}'", "- think: 0.9s"]:
        assert line in plan
    ran = loadline("run", "short.yml", "--once", env={"TOKEN": token})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert lab.stats()["shortener"]["stored"] == 1


def test_init_malformed_recording_is_reported_with_its_place(loadline):
    loadline.write("a.har", '{"log": {\n  "entries": [}')
    refused = loadline("init", "a.har")
    assert (refused.returncode, refused.stderr) == (2, "loadline: a.har:2:15: this is not JSON: expected value\n")


SOURCES = Path(__file__).parents[2] / "crates/init/tests/init/sources"


def shop_answer(request: Request) -> tuple[int, dict[str, str], bytes]:
    """A shop whose orders need the token of the login."""
    kind = {"content-type": "application/json"}
    if request.path.endswith("/login"):
        return 200, kind, b'{"access_token": "t-1"}'
    if request.headers.get("authorization") != "Bearer t-1" and not request.path.endswith("/report"):
        return 401, kind, b"{}"
    if request.method == "POST":
        return 201, kind, b'{"id": 41}'
    return 200, kind, b'{"items": [{"id": 42}], "total": 2}'


def test_init_postman_collection_logs_in_and_uses_the_token(loadline):
    with RecordingServer(shop_answer) as server:
        loadline.write("shop.json", (SOURCES / "shop.postman_collection.json").read_text())
        environment = (SOURCES / "shop.postman_environment.json").read_text()
        loadline.write("staging.json", environment.replace("http://127.0.0.1:9", server.url))
        made = init(loadline, "shop.json", "--environment", "staging.json")
        assert f"shop.yml: 5 requests to {server.url}, 1 commented out" in made.stderr
        secrets = {"PASSWORD": "hunter2", "PASSWORD_2": "s3cret"}
        ran = loadline("run", "shop.yml", "--once", env=secrets)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert server.lines == [
            "POST /api/login",
            "GET /api/orders?size=20&sort=created%20at",
            "POST /api/orders",
            "GET /api/orders/41",
            "GET /api/report",
        ]
        assert json.loads(server.requests[0].body)["password"] == "hunter2"
        assert server.requests[2].body == b"book=7"
        assert server.requests[4].headers["authorization"] == "Basic YWRtaW46czNjcmV0"
        server.requests.clear()
        run = loadline("run", "shop.yml", "--rate", "5/s", "--duration", "1s", env=secrets)
        assert run.returncode == 0, run.stdout + run.stderr
        assert len(server.requests) == 25


def test_init_jmeter_plan_sends_what_jmeter_sends(loadline):
    with RecordingServer(shop_answer) as server:
        plan = (SOURCES / "shop.jmx").read_text()
        loadline.write("shop.jmx", plan.replace("${__P(port,9)}", f"${{__P(port,{server.port})}}"))
        loadline.write("users.csv", "user,password\nada,s3cret\n")
        made = init(loadline, "shop.jmx")
        assert f"shop.yml: 3 requests to {server.url}" in made.stderr
        ran = loadline("run", "shop.yml", "--once")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert server.lines == ["POST /login", "GET /orders?size=20", "GET /orders/42", "GET /orders/42"]
        assert server.requests[0].body == b'{"user": "ada", "password": "s3cret"}'
        assert {request.headers["accept"] for request in server.requests} == {"application/json"}
        server.requests.clear()
        run = loadline("run", "shop.yml", "--duration", "3s")
        assert run.returncode == 0, run.stdout + run.stderr
        assert len(server.requests) > 20


def test_init_jmeter_iteration_goes_on_without_a_match(loadline):
    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        status, headers, body = shop_answer(request)
        return status, headers, b'{"items": []}' if request.path.startswith("/orders") else body

    with RecordingServer(answer) as server:
        plan = (SOURCES / "shop.jmx").read_text()
        loadline.write("shop.jmx", plan.replace("${__P(port,9)}", str(server.port)))
        loadline.write("users.csv", "user,password\nada,s3cret\n")
        init(loadline, "shop.jmx")
        ran = loadline("run", "shop.yml", "--once")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert server.lines == ["POST /login", "GET /orders?size=20"]


GUIDES = Path(__file__).parents[2] / "docs/how-to"
COMMAND = re.compile(r"^(loadline (?:init|run) [^#\n]*?) *(?:#.*)?$", re.MULTILINE)


@pytest.mark.parametrize("guide", ["come-from-jmeter.md", "come-from-postman.md"])
def test_init_commands_of_the_guides_run(loadline, guide):
    with RecordingServer(shop_answer) as server:
        plan = (SOURCES / "shop.jmx").read_text().replace("${__P(port,9)}", str(server.port))
        loadline.write("shop.jmx", plan.replace(">60<", ">2<").replace(">10<", ">1<"))
        loadline.write("users.csv", "user,password\nada,s3cret\n")
        loadline.write("shop.postman_collection.json", (SOURCES / "shop.postman_collection.json").read_text())
        environment = (SOURCES / "shop.postman_environment.json").read_text()
        loadline.write("staging.postman_environment.json", environment.replace("http://127.0.0.1:9", server.url))
        text = (GUIDES / guide).read_text()
        commands = [shlex.split(command)[1:] for command in COMMAND.findall(text)]
        assert [words[0] for words in commands] == ["init", "run", "run"]
        if guide == "come-from-postman.md":
            # Its load lasts half a minute.
            commands[2] += ["--rate", "5/s", "--duration", "2s"]
        for words in commands:
            ran = loadline(*words, env={"PASSWORD": "p", "PASSWORD_2": "q"})
            assert ran.returncode == 0, ran.stdout + ran.stderr
        assert server.requests


def test_init_environment_needs_a_collection(loadline):
    loadline.write("e.json", '{"name": "e", "values": []}')
    loadline.write("a.har", har())
    for words, line in [
        (
            ["a.har", "--environment", "e.json"],
            "--environment e.json: only Postman collections have environments, and a.har is not one",
        ),
        (["http://localhost/", "--environment", "e.json"], "--environment needs a Postman collection as the source: remove it"),
        (["e.json"], "e.json is a Postman environment: use loadline init COLLECTION --environment e.json"),
    ]:
        refused = loadline("init", *words)
        assert (refused.returncode, refused.stderr) == (2, f"loadline: {line}\n")


OPENAPI = """openapi: 3.0.3
info: { title: Clinic }
servers: [ { url: %s/fhir/R4 } ]
security: [ { bearer: [] } ]
paths:
  /Patient:
    post:
      summary: Registers a patient
      requestBody: { content: { application/json: { example: { resourceType: Patient, name: [ { family: Chalmers } ] } } } }
      responses: { '201': { content: { application/json: { schema: { properties: { id: { type: string } } } } } } }
  /Patient/{id}:
    parameters: [ { name: id, in: path, required: true } ]
    get: { summary: Reads a patient }
    delete: { summary: Removes a patient }
components: { securitySchemes: { bearer: { type: http, scheme: bearer } } }
"""


def test_init_openapi_description_becomes_a_plan_without_deletes(loadline, start_lab):
    lab = start_lab("fhir")
    loadline.write("openapi.yml", OPENAPI % lab.url)
    made = init(loadline, "openapi.yml")
    assert f"clinic.yml: 2 requests to {lab.url}/fhir/R4, 1 commented out. Next: loadline run clinic.yml --once" in made.stderr
    assert "  # - delete:" in (loadline.folder / "clinic.yml").read_text()
    ran = loadline("run", "clinic.yml", "--once", env={"TOKEN": "demo"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert lab.stats()["answered"]["by_route"] == {"POST /fhir/R4/Patient": {"201": 1}, "GET /fhir/R4/Patient/{id}": {"200": 1}}
