"""Bytes from servers, test files and records are printed, and never interpreted by the terminal."""

import json
import os
import pty
import re

import fake_servers

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\rPASS"
PLAN = """
loadline: 1
target: "{}"
load: {{rate: 10/s, duration: 300ms}}
scenarios:
  - name: "two\\nlines \\e[31m"
    steps:
      - get: {{url: "/a", name: "name\\e[31m\\nPASS  p99 < 1ms", capture: {{v: $.v}}}}
      - log: "got {{{{ v }}}}"
"""


def control_characters(text: str) -> list[str]:
    return re.findall(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", text)


def test_printed_text_does_not_control_the_terminal(loadline) -> None:
    body = json.dumps({"v": EVIL}).encode()
    answer = b"HTTP/1.1 200 OK\r\nX-Evil: \xc2\x9b2J\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with fake_servers.FakeServer(fake_servers.answer_with(answer)) as peer:
        plan = loadline.write("plan.yml", PLAN.format(peer.url))
        for more in ([], ["--trace", "--once"]):
            ended = loadline("run", plan, *more)
            assert "got" in ended.stdout, ended.stderr
            assert control_characters(ended.stdout) == []
            assert control_characters(ended.stderr) == []
            assert "\\x1b[31m\\nPASS" in ended.stdout
            assert not any(line.startswith("PASS  p99") for line in ended.stdout.splitlines())
        again = loadline("report")
    assert control_characters(again.stdout) == []


def test_live_screen_text_does_not_control_the_terminal(loadline) -> None:
    answer = b"HTTP/1.1 200 OK\r\nX-Evil: ]\r\nContent-Length: 0\r\n\r\n"
    ours, theirs = pty.openpty()
    with fake_servers.FakeServer(fake_servers.answer_with(answer)) as peer:
        plan = loadline.write("plan.yml", PLAN.format(peer.url))
        run = loadline.start("run", plan, env={**os.environ, "TERM": "xterm"}, stderr=theirs)
        out, _ = run.communicate(timeout=30)
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError:
        # The other side is closed, so everything has been read.
        pass
    os.close(ours)
    assert b"\x1b[31m\\n" not in shown
    assert b"name\x1b" not in shown
    assert control_characters(out) == []
