"""Shell integration:

URLs like curl's, JSON on standard output, completions, man pages, opening reports.
"""

import json
import os
import re
import subprocess
import threading

import pytest
from fake_servers import RecordingServer


@pytest.fixture
def echo():
    """Records its requests."""
    with RecordingServer() as server:
        yield server.url.removeprefix("http://"), server.requests


def test_url_flags_work_as_in_curl(loadline, echo):
    host, asked = echo
    url = f"http://{host}/orders"
    (loadline.folder / "body.json").write_text('{"n": 2}')
    for flags, method, kind, body in [
        (["-d", '{"n": 1}'], "POST", "application/json", '{"n": 1}'),
        (["-d", "n=1&m=2"], "POST", "application/x-www-form-urlencoded", "n=1&m=2"),
        (["-X", "put", "--data", "@body.json"], "PUT", "application/json", '{"n": 2}'),
        (["-X", "PATCH", "-d", "{x", "-H", "Content-Type: text/plain"], "PATCH", "text/plain", "{x"),
        (["--request", "DELETE"], "DELETE", None, ""),
    ]:
        ran = loadline("run", url, "--once", *flags)
        assert ran.returncode == 0, ran.stderr
        sent = asked.pop()
        assert (sent.method, sent.path, sent.headers.get("content-type")) == (method, "/orders", kind), flags
        assert sent.body.decode() == body
        assert f"{method} /orders" in {label["text"] for label in loadline.summary()["labels"]}


def test_user_flag_is_basic_authentication_and_not_recorded(loadline, echo):
    host, asked = echo
    assert loadline("run", f"http://{host}/", "--once", "-u", "me:s3cr3t-of-mine").returncode == 0
    assert asked.pop().headers["authorization"] == "Basic bWU6czNjcjN0LW9mLW1pbmU="
    records = loadline.folder / ".loadline"
    for path in records.rglob("*"):
        if path.is_file():
            assert b"s3cr3t-of-mine" not in path.read_bytes(), path


def test_host_without_scheme_is_a_url(loadline, echo):
    host, asked = echo
    ran = loadline("run", f"{host}/a?b=c", "--once")
    assert ran.returncode == 0, ran.stderr
    assert "loadline: the URL has no scheme: using http://" in ran.stderr
    secret = loadline("run", f"me:s3cr3t-of-mine@{host}/", "--once")
    assert secret.returncode == 0
    assert asked.pop().headers["authorization"].startswith("Basic ")
    assert "s3cr3t" not in secret.stderr + secret.stdout
    assert asked.pop().path == "/a?b=c"


def test_users_flag_sets_concurrent_users(loadline, echo):
    host, asked = echo
    ran = loadline("run", f"http://{host}/", "--users", "3", "--duration", "1s")
    assert ran.returncode == 0, ran.stderr
    summary = loadline.summary()
    assert summary["run"]["model"] == "closed"
    assert summary["users"]["max"] == 3
    assert summary["connections_opened"] == 3
    plan = loadline.write(
        "plan.yml", f"loadline: 1\ntarget: http://{host}\nload: {{ rate: 1/s, duration: 1s }}\nsteps: [ {{ get: / }} ]\n"
    )
    assert loadline("run", plan, "--users", "2", "--duration", "1s").returncode == 0
    assert loadline.summary()["users"]["max"] == 2


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--users", "0"], "--users 0: use at least 1"),
        (["-X", "a b"], "--method `a b` is not a method: use, for example, PUT"),
        (["-X", "CONNECT"], "--method CONNECT only opens tunnels"),
        (["-u", "me"], "--user needs a password too"),
        (["-d", "@nowhere.json"], "--data @nowhere.json: "),
    ],
)
def test_url_flag_error_is_one_line(loadline, echo, flags, said):
    host, asked = echo
    ran = loadline("run", f"http://{host}/", *flags)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1, ran.stderr
    assert asked == []


def test_url_flags_are_refused_for_a_plan_file(loadline):
    loadline.write("plan.yml", "loadline: 1\ntarget: http://127.0.0.1:1\nload: { rate: 1/s, duration: 1s }\nsteps: [ { get: / } ]\n")
    ran = loadline("run", "plan.yml", "-X", "PUT")
    assert ran.returncode == 2
    assert "--method is only for URLs" in ran.stderr


def test_json_on_standard_output_is_alone(loadline, echo):
    host, _ = echo
    ran = loadline("run", f"http://{host}/", "--once", "--json", "-")
    assert json.loads(ran.stdout)["requests"]["issued"] == 1, ran.stderr
    assert "Report: " in ran.stderr
    again = loadline("report", "last", "--json", "-")
    assert json.loads(again.stdout) == json.loads(ran.stdout)
    plan = loadline.write(
        "plan.yml", f"loadline: 1\ntarget: http://{host}\nload: {{ rate: 1/s, duration: 1s }}\nsteps: [ {{ get: / }} ]\n"
    )
    assert json.loads(loadline("plan", plan, "--json", "-").stdout)["profile"]["requests_per_second"] == [1.0]
    assert not (loadline.folder / "-").exists()


def test_open_starts_the_default_opener(loadline, echo, tmp_path):
    host, _ = echo
    opener = tmp_path / "bin/xdg-open"
    opener.parent.mkdir()
    os.mkfifo(tmp_path / "opened")
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    opener.chmod(0o755)
    heard = []
    reader = threading.Thread(target=lambda: heard.append((tmp_path / "opened").read_text().strip()), daemon=True)
    reader.start()
    path = f"{opener.parent}:{os.environ['PATH']}"
    ran = loadline("run", f"http://{host}/", "--once", "--open", env={"PATH": path})
    assert ran.returncode == 0, ran.stderr
    reader.join(timeout=30)
    assert [line.endswith("report.html") for line in heard] == [True]
    without_opener = loadline("run", f"http://{host}/", "--once", "--open", env={"PATH": str(tmp_path / "nothing")})
    assert without_opener.returncode == 0
    assert "--open: cannot start xdg-open: " in without_opener.stderr


def test_run_without_arguments_suggests_commands(loadline):
    ran = loadline("run")
    assert ran.returncode == 2
    assert "loadline demo" in ran.stderr
    assert max(map(len, ran.stderr.splitlines())) <= 80


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_list_the_commands(loadline, tmp_path, shell):
    text = loadline("completions", shell).stdout
    for word in ("campaign", "artillery", "selftest"):
        assert word in text
    if shell == "bash":
        # A shell with bash completion offers the commands.
        script = tmp_path / "loadline.bash"
        script.write_text(
            text + '\nCOMP_WORDS=(loadline camp); COMP_CWORD=1; _loadline loadline camp loadline; echo "${COMPREPLY[@]}"\n'
        )
        shown = subprocess.run(["bash", "--norc", script], capture_output=True, text=True, check=True, timeout=30)
        assert shown.stdout.split() == ["campaign"]


def test_every_command_has_a_man_page(loadline):
    assert loadline("man", "--out", "man").returncode == 0
    pages = {path.name for path in (loadline.folder / "man").iterdir()}
    assert {"loadline.1", "loadline-run.1", "loadline-campaign.1", "loadline-artillery.1"} <= pages
    first = loadline("man").stdout
    assert first == (loadline.folder / "man/loadline.1").read_text()
    run = (loadline.folder / "man/loadline-run.1").read_text()
    helped = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", loadline("run", "--help").stdout, re.M)) - {"--help", "--version"}
    plain = run.replace("\\-", "-")
    assert helped
    assert {flag for flag in helped if flag not in plain} == set()
