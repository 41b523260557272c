"""The engine `ws` where it differs from Artillery's, and together with the HTTP engine."""

from __future__ import annotations

import json

import fake_servers
import fake_websocket

SCRIPT = "config: {{ target: '{url}', phases: [ {{ duration: 1, arrivalCount: {count} }} ]{more} }}\nscenarios: [ {scenarios} ]\n"


def run(loadline, url: str, scenarios: str, *, count: int = 1, more: str = "") -> dict[str, int]:
    script = loadline.write("s.yml", SCRIPT.format(url=url, count=count, more=more, scenarios=scenarios))
    done = loadline("artillery", "run", script, "-o", "out.json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((loadline.folder / "out.json").read_text())["aggregate"]["counters"]


def close_after_message(peer: fake_websocket.Peer) -> None:
    peer.receive()
    peer.send(fake_websocket.close(1011))


def test_close_while_a_step_waits_ends_the_user(loadline):
    steps = "{ send: { payload: a, capture: { json: $.b, as: b } } }, { send: never }"
    with fake_websocket.WebSocketServer(close_after_message) as peer:
        counters = run(loadline, peer.url, f"{{ engine: ws, flow: [ {steps} ] }}")
    assert counters["errors.WebSocket is not open: readyState 3 (CLOSED)"] == 1
    assert (counters["websocket.messages_sent"], counters["vusers.failed"]) == (1, 1)


def test_upgrade_without_an_answer_fails(loadline):
    with fake_servers.FakeServer(fake_servers.never_answer) as peer:
        counters = run(loadline, peer.url, "{ engine: ws, flow: [ { send: a } ] }", more=", timeout: 1")
    assert counters["errors.Opening handshake has timed out"] == 1
    assert "websocket.messages_sent" not in counters


def test_host_of_a_variable_is_named_by_its_code(loadline):
    with fake_servers.closed_port() as port:
        flow = "[ { connect: 'ws://{{ host }}/' }, { send: a } ]"
        more = f", variables: {{ host: '127.0.0.1:{port}' }}"
        counters = run(loadline, "ws://127.0.0.1:1", f"{{ engine: ws, flow: {flow} }}", more=more)
    assert counters["errors.ECONNREFUSED"] == 1


def test_scenarios_of_both_engines_share_a_script(loadline):
    with fake_servers.RecordingServer() as http, fake_websocket.WebSocketServer(fake_websocket.echo) as socket:
        chat = f"{{ name: chat, engine: ws, flow: [ {{ connect: '{socket.url}' }}, {{ send: a }} ] }}"
        scenarios = f"{{ name: api, flow: [ {{ get: {{ url: / }} }} ] }}, {chat}"
        counters = run(loadline, http.url, scenarios, count=20)
    assert counters["websocket.messages_sent"] == counters["vusers.created_by_name.chat"] == len(socket.requests)
    assert counters["http.requests"] == counters["vusers.created_by_name.api"] == len(http.requests)
    assert counters["vusers.completed"] == 20
