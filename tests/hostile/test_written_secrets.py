"""No secret reaches a campaign's files, a plan that `init` writes, or the terminal."""

import json

import pytest
from wire_recorder import WireRecorder

SECRET = "S3cr3tW0rd"


def assert_no_secret(loadline, *texts: str) -> None:
    for text in texts:
        assert SECRET not in text
    for path in loadline.folder.rglob(".loadline/**/*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_campaign_keeps_no_secret_in_any_file(loadline, start_lab) -> None:
    host = start_lab("truth").url.removeprefix("http://")
    plan = f"""
loadline: 1
name: secrets
target: "http://me:{SECRET}@{host}"
stages:
  - {{ name: one, load: {{ rate: 5/s, duration: 1s }} }}
  - {{ name: two, target: "http://you:{SECRET}@{host}", load: {{ rate: 5/s, duration: 1s }} }}
steps: [ {{ get: "/a?api_key={SECRET}" }} ]
"""
    ended = loadline("campaign", loadline.write("campaign.yml", plan))
    assert ended.returncode == 0, ended.stderr
    assert_no_secret(loadline, ended.stdout, ended.stderr)


@pytest.mark.parametrize(
    "command",
    [
        ("run", f"ftp://me:{SECRET}@h/"),
        ("run", f"http://me:{SECRET}@h:99999/"),
        ("run", "plan.yml", "--target", f"htp://me:{SECRET}@h"),
        ("run", "plan.yml", "--check", f'p99 of "GET /?api_key={SECRET}" < 1s'),
        ("plan", "plan.yml"),
        ("wrk", f"http://me:{SECRET}@h:99999/"),
    ],
)
def test_terminal_shows_no_secret_of_urls(loadline, command) -> None:
    loadline.write(
        "plan.yml",
        f'loadline: 1\ntarget: "http://me:{SECRET}@127.0.0.1:1"\nload: {{ rate: 1/s, duration: 1s }}\n'
        f'steps: [ {{ get: "/a?api_key={SECRET}" }} ]\n',
    )
    ended = loadline(*command)
    assert ended.stdout + ended.stderr
    assert_no_secret(loadline, ended.stdout, ended.stderr)


def test_init_removes_secrets_from_forms_with_the_type_in_the_body(loadline) -> None:
    part = f'--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n{SECRET}\r\n--b--\r\n'
    bodies = [
        {"mimeType": "application/x-www-form-urlencoded", "text": f"user=me&password={SECRET}"},
        {"mimeType": "multipart/form-data; boundary=b", "text": part},
    ]
    entries = [
        {
            "startedDateTime": "2026-01-01T00:00:00Z",
            "time": 1,
            "request": {"method": "POST", "url": f"http://h.test/{number}", "headers": [], "postData": body},
            "response": {"status": 200, "headers": [], "content": {"mimeType": "text/html"}},
        }
        for number, body in enumerate(bodies)
    ]
    loadline.write("a.har", json.dumps({"log": {"entries": entries}}))
    ended = loadline("init", "a.har")
    assert ended.returncode == 0, ended.stderr
    written = (loadline.folder / "a.yml").read_text()
    assert "{{ password }}" in written
    assert_no_secret(loadline, written, ended.stdout, ended.stderr)


def test_number_under_secret_name_is_sent_as_number(loadline) -> None:
    with WireRecorder() as peer:
        command = f"curl {peer.url}/pin -H 'Content-Type: application/json' -d '{{\"api_key\": 1234}}'\n"
        made = loadline("init", loadline.write("pin.txt", command), "--output", "pin.yml")
        assert made.returncode == 0, made.stderr
        assert "1234" not in (loadline.folder / "pin.yml").read_text()
        ended = loadline("run", "pin.yml", "--once", env={"API_KEY": "42"})
    bodies = [body for _, _, body in peer.seen]
    assert [json.loads(body) for body in bodies] == [{"api_key": 42}], ended.stdout + ended.stderr
