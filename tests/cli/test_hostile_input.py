"""Input that cannot become a request: invalid UTF-8, false lengths, unwritable files."""

from __future__ import annotations

import os
import subprocess

import fake_servers
import pytest
from conftest import LOADLINE

PLAN = "loadline: 1\ntarget: TARGET\nload: {rate: 2/s, duration: 1s}\n"


@pytest.fixture
def server():
    """A server that counts connections."""
    with fake_servers.FakeServer(fake_servers.ok_with(b"{}")) as peer:
        yield peer


def refuse(loadline, server, text: str | bytes, *flags: object, name: str = "p.yml") -> str:
    text = text if isinstance(text, bytes) else text.encode()
    path = loadline.folder / name
    path.write_bytes(text.replace(b"TARGET", server.url.encode()))
    run = loadline("run", path, *flags)
    assert run.returncode == 2, run.stdout + run.stderr
    assert not server.open, "something was sent"
    assert "panicked" not in run.stderr
    return run.stderr


def test_file_with_invalid_utf8_is_refused_at_its_place(loadline, server):
    said = refuse(loadline, server, PLAN.encode() + b"steps:\n  - get: /caf\xe9\n")
    assert "p.yml:5:14: byte 0xe9 is not valid UTF-8" in said
    said = refuse(loadline, server, b"config: {target: 'TARGET'}\nscenarios: [{flow: [{get: {url: /\xff}}]}]\n")
    assert "p.yml:2:34: byte 0xff is not valid UTF-8" in said
    (loadline.folder / "t.csv").write_bytes(b"name\n\xc3\xa9t\xc3\xa9,\n\xe9t\xe9\n")
    said = refuse(loadline, server, PLAN + "csv: {file: t.csv}\nsteps: [{get: '/{{ name }}'}]\n")
    assert "t.csv:3:1: byte 0xe9 is not valid UTF-8" in said


@pytest.mark.parametrize(
    ("more", "flags", "word"),
    [
        ("steps: [{post: {url: /, body: abcdefg, headers: {Content-Length: '2'}}}]", [], "is not the length of the body, 7 bytes"),
        ("steps: [{post: {url: '/{{ $uuid }}', body: abcdefg, headers: {content-length: '2'}}}]", [], "length of the body, 7 bytes"),
        ("steps: [{post: {url: /, body: abcdefg, headers: {Transfer-Encoding: chunked}}}]", [], "`Transfer-Encoding` cannot be set"),
        ("steps: [{post: {url: /, body: '{{ $uuid }}', headers: {Content-Length: '2'}}}]", [], "can vary"),
        ("steps: [{get: '/{{ $randomNumber(nan,1e400) }}'}]", [], "`nan`"),
        ("criteria: ['errors < 101%']\nsteps: [{get: /}]", [], "use a share of at most 100%"),
        ("csv: {file: twice.csv}\nsteps: [{get: '/{{ a }}'}]", [], "two columns `a`"),
        ("steps: [{get: /}]", ["-e", "staging"], "a native plan has none"),
    ],
)
def test_invalid_input_is_refused_before_the_first_request(loadline, server, more, flags, word):
    loadline.write("twice.csv", "a,b,a\n1,2,3\n")
    assert word in refuse(loadline, server, PLAN + more + "\n", *flags)


def test_correct_content_length_is_sent(loadline, server):
    path = loadline.write(
        "p.yml", PLAN.replace("TARGET", server.url) + "steps: [{post: {url: /, body: abc, headers: {Content-Length: '3'}}}]\n"
    )
    run = loadline("run", path, "--once", "--trace")
    assert run.returncode == 0, run.stderr
    assert "< 200" in run.stdout


def test_json_escapes_are_decoded(loadline, server):
    text = '{"loadline": 1, "target": "TARGET", "load": {"rate": "1/s", "duration": "1s"}, '
    text += '"steps": [{"post": {"url": "/", "body": "\\ud83d\\ude00 \\u00e9"}}]}'
    run = loadline("run", loadline.write("p.json", text.replace("TARGET", server.url)), "--once", "--trace")
    assert run.returncode == 0, run.stderr
    assert "> 😀 é" in run.stdout
    said = error_of(loadline, '{"loadline": 1, "name": "\\ud83d\\ude00", "nonsense": 1}')
    assert "p.json:1:41:" in said, said


def error_of(loadline, text: str) -> str:
    return loadline("run", loadline.write("p.json", text)).stderr


def test_argument_with_invalid_utf8_is_refused(loadline):
    for arguments in (["run", b"http://127.0.0.1:1/\xff"], ["report", b"\xff"], [b"\xff"]):
        run = subprocess.run([LOADLINE, *arguments], cwd=loadline.folder, capture_output=True, timeout=30)
        assert run.returncode == 2
        assert run.stderr.count(b"\n") == 1
        assert b"is not valid UTF-8" in run.stderr


@pytest.mark.parametrize("flags", [["--json", "no/such/out.json"], ["--json", "."], ["--export", "csv=no/such/out.csv"]])
def test_unwritable_file_is_reported_before_the_run(loadline, server, flags):
    run = loadline("run", server.url, "--duration", "1s", *flags)
    assert run.returncode != 0
    assert "cannot write" in run.stderr
    assert not server.open
    assert not os.path.exists(loadline.folder / "no")


def test_unwritable_export_of_a_compatibility_command_is_reported_before_the_run(loadline, server):
    run = loadline("wrk", "-d1", "-c1", "-t1", server.url, env={"LOADLINE_EXPORT": "csv=no/such/out.csv"})
    assert run.returncode != 0
    assert "cannot write no/such/out.csv" in run.stderr
    assert not server.open


def test_existing_file_is_untouched_if_the_run_is_refused(loadline, server):
    loadline.write("old.json", "old")
    run = loadline("run", server.url, "--once", "--json", "old.json", "--rate", "1/s")
    assert run.returncode == 2
    assert (loadline.folder / "old.json").read_text() == "old"


def test_dangling_link_is_written_through(loadline, server):
    folder = loadline.folder
    (folder / "out.json").symlink_to("real.json")
    (folder / "out.csv").symlink_to("real.csv")
    refuse = loadline("run", server.url, "--rate", "10/s", "--once", "--json", "out.json")
    assert refuse.returncode == 2
    assert (folder / "out.json").is_symlink()
    assert not (folder / "real.json").exists()
    wanted = ["--json", "out.json", "--export", "csv=out.csv"]
    run = loadline("run", server.url, "--rate", "10/s", "--duration", "100ms", *wanted)
    assert "cannot write" not in run.stderr
    assert all((folder / name).stat().st_size > 0 for name in ("real.json", "real.csv"))
    (folder / "loop.json").symlink_to("loop.json")
    assert "cannot write loop.json" in loadline("run", server.url, "--json", "loop.json").stderr


def test_very_long_name_is_accepted(loadline, server):
    plan = PLAN.replace("TARGET", server.url) + "steps: [{get: {url: /, name: NAME}}]\n"
    run = loadline("run", loadline.write("p.yml", plan.replace("NAME", "n" * 65536)))
    assert run.returncode == 0, run.stderr[-2000:]
    again = loadline("report", "last")
    assert again.returncode == 0, again.stderr[-2000:]
    assert (loadline.folder / ".loadline/runs/last/report.md").exists()
