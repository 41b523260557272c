"""`setup` and `teardown` run once before and after the load, appear in no figure, and share
captures with all users.
"""

from fake_servers import RecordingServer

PLAN = """loadline: 1
target: TARGET
http: { headers: { authorization: 'Bearer {{ token }}' } }
load: { rate: 20/s, duration: 1s }
setup:
  - post: { url: /login, json: { user: me }, capture: { token: $.token } }
steps:
  - get: /orders
teardown:
  - post: { url: /logout, check: { status: 200 } }
"""


def reply_with(body):
    return lambda request: (200, {"content-type": "application/json"}, body)


def received(server):
    return [(request.method, request.path, request.headers.get("authorization")) for request in server.requests]


def test_setup_login_is_sent_once_and_its_token_is_shared(loadline):
    with RecordingServer(reply_with(b'{"token": "t0k3n-of-mine"}')) as server:
        run = loadline("run", loadline.write("p.yml", PLAN.replace("TARGET", server.url)))
        assert run.returncode == 0, run.stderr
        first, *middle, last = received(server)
    # Before the login, the header is not sent.
    assert first == ("POST", "/login", None)
    assert middle == [("GET", "/orders", "Bearer t0k3n-of-mine")] * 20
    assert last == ("POST", "/logout", "Bearer t0k3n-of-mine")
    assert [label["text"] for label in loadline.summary()["labels"]] == ["GET /orders"]
    assert loadline.summary()["requests"]["issued"] == 20
    written = b"".join(path.read_bytes() for path in (loadline.folder / ".loadline").rglob("*") if path.is_file())
    assert b"t0k3n-of-mine" not in written


def test_once_shows_steps_of_setup_scenario_and_teardown(loadline):
    with RecordingServer(reply_with(b'{"token": "t0k3n-of-mine"}')) as server:
        plan = PLAN.replace("TARGET", server.url).replace("status: 200", "status: 204")
        run = loadline("run", loadline.write("p.yml", plan), "--once")
        methods = [line.split("http://")[0].split()[-1] for line in run.stdout.splitlines() if " http://" in line]
    assert methods == ["POST", "GET", "POST"]
    # A heading precedes each group of steps.
    lines = [" ".join(line.split()) for line in run.stdout.splitlines()]
    marks = [
        "- setup: runs once and is not measured",
        "- setup: finished",
        "- teardown: runs once and is not measured",
        "- teardown: finished",
    ]
    assert [line for line in lines if line in marks] == marks
    assert "t0k3n" not in run.stdout + run.stderr
    assert "✗ status is 200, expected 204" in run.stdout
    assert "`teardown` failed" in run.stderr
    assert run.returncode == 1


def test_failed_setup_prevents_the_load(loadline):
    with RecordingServer(reply_with(b"{}")) as server:
        run = loadline("run", loadline.write("p.yml", PLAN.replace("TARGET", server.url)))
        assert [path for _, path, _ in received(server)] == ["/login"]
    assert run.returncode == 3
    assert "`setup` failed: Failed capture or match (--once shows its steps)" in run.stderr
    assert not (loadline.folder / ".loadline" / "runs").exists()


def test_variable_of_a_virtual_user_in_teardown_is_refused(loadline):
    plan = PLAN.replace("TARGET", "http://127.0.0.1:1").replace("get: /orders", "get: { url: /orders, capture: { order: $.id } }")
    wrong = plan.replace("url: /logout", "url: '/logout/{{ order }}'")
    run = loadline("run", loadline.write("p.yml", wrong))
    assert run.returncode == 2
    assert "p.yml:10:30: `teardown` cannot use `order`: captured values are only available to one virtual user" in run.stderr
    unknown = loadline("run", loadline.write("p.yml", plan.replace("url: /login", "url: '/login/{{ nobody }}'")))
    assert unknown.returncode == 2
    assert unknown.stderr.count("`nobody` is never set") == 1


def test_login_of_each_user_is_sent_without_its_own_header(loadline):
    plan = (
        PLAN[: PLAN.index("setup:")]
        + """steps:
  - post: { url: /login, json: { user: me }, capture: { token: $.token } }
  - get: /orders
"""
    )
    with RecordingServer(reply_with(b'{"token": "t0k3n-of-mine"}')) as server:
        run = loadline("run", loadline.write("p.yml", plan.replace("TARGET", server.url)), "--once")
        assert run.returncode == 0, run.stdout
        assert received(server) == [("POST", "/login", None), ("GET", "/orders", "Bearer t0k3n-of-mine")]
