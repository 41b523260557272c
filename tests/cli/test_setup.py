"""`setup` and `teardown`: once before the load and once behind it, in no figure; what `setup` captures is every virtual user's."""

from peers import Recorder

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


def saying(body):
    return lambda request: (200, {"content-type": "application/json"}, body)


def asked(server):
    return [(request.method, request.path, request.headers.get("authorization")) for request in server.requests]


def test_a_login_is_sent_once_and_its_token_is_everybodys(loadline):
    with Recorder(saying(b'{"token": "t0k3n-of-mine"}')) as server:
        run = loadline("run", loadline.write("p.yml", PLAN.replace("TARGET", server.url)))
        assert run.returncode == 0, run.stderr
        first, *middle, last = asked(server)
    # Before anybody has it, there is no such header.
    assert first == ("POST", "/login", None)
    assert middle == [("GET", "/orders", "Bearer t0k3n-of-mine")] * 20
    assert last == ("POST", "/logout", "Bearer t0k3n-of-mine")
    assert [label["text"] for label in loadline.summary()["labels"]] == ["GET /orders"]
    assert loadline.summary()["requests"]["issued"] == 20
    kept = b"".join(path.read_bytes() for path in (loadline.folder / ".loadline").rglob("*") if path.is_file())
    assert b"t0k3n-of-mine" not in kept


def test_one_iteration_shows_the_steps_of_all_three(loadline):
    with Recorder(saying(b'{"token": "t0k3n-of-mine"}')) as server:
        plan = PLAN.replace("TARGET", server.url).replace("status: 200", "status: 204")
        run = loadline("run", loadline.write("p.yml", plan), "--once")
        told = [line.split("http://")[0].split()[-1] for line in run.stdout.splitlines() if " http://" in line]
    assert told == ["POST", "GET", "POST"]
    # Whose steps they are is said before and behind them.
    lines = [" ".join(line.split()) for line in run.stdout.splitlines()]
    marks = ["- setup: once, in no figure", "- setup: over", "- teardown: once, in no figure", "- teardown: over"]
    assert [line for line in lines if line in marks] == marks
    assert "t0k3n" not in run.stdout + run.stderr
    assert "✗ status is 200, expected 204" in run.stdout
    assert "`teardown` failed" in run.stderr
    assert run.returncode == 1


def test_without_its_setup_nothing_is_sent(loadline):
    with Recorder(saying(b"{}")) as server:
        run = loadline("run", loadline.write("p.yml", PLAN.replace("TARGET", server.url)))
        assert [path for _, path, _ in asked(server)] == ["/login"]
    assert run.returncode == 3
    assert "`setup` failed: Failed capture or match (--once shows its steps)" in run.stderr
    assert not (loadline.folder / ".loadline" / "runs").exists()


def test_what_only_virtual_users_know_is_refused_with_its_place(loadline):
    plan = PLAN.replace("TARGET", "http://127.0.0.1:1").replace("get: /orders", "get: { url: /orders, capture: { order: $.id } }")
    wrong = plan.replace("url: /logout", "url: '/logout/{{ order }}'")
    run = loadline("run", loadline.write("p.yml", wrong))
    assert run.returncode == 2
    assert "p.yml:10:30: `teardown` does not know `order`: what steps capture is their virtual user's alone" in run.stderr
    nobody = loadline("run", loadline.write("p.yml", plan.replace("url: /login", "url: '/login/{{ nobody }}'")))
    assert nobody.returncode == 2
    assert nobody.stderr.count("nothing ever sets `nobody`") == 1


def test_a_login_of_every_virtual_user_is_sent_without_the_header_it_is_for(loadline):
    plan = (
        PLAN[: PLAN.index("setup:")]
        + """steps:
  - post: { url: /login, json: { user: me }, capture: { token: $.token } }
  - get: /orders
"""
    )
    with Recorder(saying(b'{"token": "t0k3n-of-mine"}')) as server:
        run = loadline("run", loadline.write("p.yml", plan.replace("TARGET", server.url)), "--once")
        assert run.returncode == 0, run.stdout
        assert asked(server) == [("POST", "/login", None), ("GET", "/orders", "Bearer t0k3n-of-mine")]
