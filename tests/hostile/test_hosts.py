"""Load goes only to hosts that the user named.

Other hosts need permission and are always reported.
"""

import socket

import fake_servers
import pytest
from wire_recorder import WireRecorder

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def redirect(where: str) -> bytes:
    return b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % where.encode()


class Elsewhere(WireRecorder):
    """This machine under another name."""

    def __init__(self) -> None:
        super().__init__(OK)
        self.url = self.url.replace("127.0.0.1", "localhost")


SCRIPT = """
config: {{target: "{}", phases: [{{duration: 1, arrivalCount: 2}}]}}
scenarios: [{{flow: [{{get: {{url: /}}}}]}}]
"""
RATE = ("--rate", "20/s", "--duration", "200ms")


def test_redirect_to_another_host_is_not_followed(loadline) -> None:
    with Elsewhere() as other, fake_servers.FakeServer(fake_servers.answer_with(redirect(other.url))) as peer:
        ended = loadline("run", peer.url, *RATE)
        assert ended.stderr.splitlines()[0] == "loadline: load goes to 127.0.0.1 (this machine)"
        assert other.total() == 0
        summary = loadline.summary()
        assert summary["requests"]["failed"] == 4
        assert summary["errors"][0]["reason"] == "status 302"
        for text in (ended.stdout, (loadline.folder / ".loadline/runs/last/report.md").read_text()):
            assert "localhost" in text.replace(other.url, "")
        assert any("host not allowed" in note for note in summary["notes"])

        loadline("run", peer.url, *RATE, "--allow-host", "LocalHost")
        assert other.total() == 4
        assert loadline.summary()["requests"]["ok"] == 4


def test_url_from_a_response_to_another_host_is_unanswered(loadline) -> None:
    plan = """
loadline: 1
target: {target}
allow-hosts: {allowed}
load: {{rate: 20/s, duration: 200ms}}
steps: [{{get: {{url: /, capture: {{next: $.next}}}}}}, {{get: "{{{{ next }}}}"}}]
"""
    with Elsewhere() as other:
        body = b'{"next": "%s/x"}' % other.url.encode()
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        with fake_servers.FakeServer(fake_servers.answer_with(answer)) as peer:
            text = plan.format(target=peer.url, allowed="[example.test]")
            ended = loadline("run", loadline.write("plan.yml", text))
            assert other.total() == 0
            summary = loadline.summary()
            assert summary["requests"]["none_by_class"] == {"generator": 4}
            assert summary["errors"][0]["reason"] == "host not allowed"
            assert "`localhost`" in ended.stdout

            loadline("run", loadline.write("plan.yml", plan.format(target=peer.url, allowed="localhost")))
            assert other.total() == 4


def test_hosts_named_in_the_plan_are_loaded(loadline) -> None:
    plan = """
loadline: 1
target: {}
variables: {{base: "{}"}}
load: {{rate: 20/s, duration: 100ms}}
steps: [{{get: "{{{{ base }}}}/a"}}, {{get: "{}/b"}}]
"""
    with Elsewhere() as other, fake_servers.FakeServer(fake_servers.answer_with(OK)) as peer:
        ended = loadline("run", loadline.write("plan.yml", plan.format(peer.url, other.url, other.url)))
        assert ", and to localhost" in ended.stderr.splitlines()[0]
        assert other.total() == 4


def test_fixed_host_list_applies_to_every_command_before_the_first_request(loadline) -> None:
    fixed = {"LOADLINE_ALLOW_HOSTS": "127.0.0.2, *.example.test"}
    with WireRecorder(OK) as peer:
        script = loadline.write("test.yml", SCRIPT.format(peer.url))
        for code, command in ((2, ("run", peer.url)), (1, ("artillery", "run", script)), (1, ("wrk", "-c1", "-t1", "-d1s", peer.url))):
            ended = loadline(*command, env=fixed)
            assert ended.returncode == code, command
            assert "host not allowed: `127.0.0.1` is not in LOADLINE_ALLOW_HOSTS (127.0.0.2, *.example.test)" in ended.stderr
        ended = loadline("run", peer.url, "--allow-host", "other.test", env={"LOADLINE_ALLOW_HOSTS": "127.0.0.1"})
        assert ended.returncode == 2
        assert "`other.test`" in ended.stderr
        assert peer.total() == 0


def test_artillery_command_follows_redirects_and_reports_them(loadline) -> None:
    with Elsewhere() as other, fake_servers.FakeServer(fake_servers.answer_with(redirect(other.url))) as peer:
        path = loadline.write("test.yml", SCRIPT.format(peer.url))
        ended = loadline("artillery", "run", path)
        assert ended.returncode == 0, ended.stderr
        assert other.total() == 2
        assert any("load was sent to `localhost`" in note for note in loadline.summary()["notes"])

        # An explicit list of hosts also applies here.
        loadline("artillery", "run", path, env={"LOADLINE_ALLOW_HOSTS": "127.0.0.1"})
        assert other.total() == 2


def test_ipv6_host_is_accepted_in_plan_and_flag(loadline) -> None:
    plan = "loadline: 1\ntarget: {}\nallow-hosts: {}\nload: {{rate: 10/s, duration: 100ms}}\nsteps: [{{get: /}}]\n"
    with fake_servers.FakeServer(fake_servers.answer_with(OK)) as peer:
        for name in ('"::1"', '["[::1]", example.test]'):
            ended = loadline("run", loadline.write("plan.yml", plan.format(peer.url, name)))
            assert "allow-hosts" not in ended.stderr
            assert loadline.summary()["requests"]["ok"] == 1
        refused = loadline("run", loadline.write("plan.yml", plan.format(peer.url, '"::1:80/x"')))
        assert refused.returncode == 2
        assert "write only the host, without scheme, port or path" in refused.stderr


@pytest.mark.parametrize("zone", ["%25lo", "%lo"])
def test_ipv6_zone_is_used_to_connect_and_not_sent(loadline, zone) -> None:
    heads: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heads.append(connection.recv(1 << 16))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        connection.close()

    with fake_servers.FakeServer(serve, host="::1") as peer:
        ended = loadline("run", f"http://[::1{zone}]:{peer.port}/", "--rate", "5/s", "--duration", "1s")
        assert ended.returncode == 0, ended.stderr
        assert loadline.summary()["requests"]["ok"] == 5
        assert f"Host: [::1]:{peer.port}\r\n".encode() in heads[0]
        # The interface must exist.
        missing = loadline("run", f"http://[fe80::1%25nosuch0]:{peer.port}/", "--rate", "5/s", "--duration", "1s")
    assert missing.returncode == 3, missing.stderr
    assert loadline.summary()["requests"]["none_by_class"] == {"dns": 5}
