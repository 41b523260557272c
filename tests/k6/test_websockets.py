"""`loadline k6 run`: scripts with `k6/ws` and `k6/websockets`, against the lab `chat` and hostile servers."""

from __future__ import annotations

import csv
import json
import re
import struct
import threading

import fake_websocket as fake
import pytest
from certificates import serve
from fake_servers import FakeServer, closed_port, never_answer
from fake_websocket import WebSocketServer

OPEN = """
import ws from 'k6/ws';
import { WebSocket } from 'k6/websockets';
import http from 'k6/http';
import { check, sleep } from 'k6';
"""


@pytest.fixture
def k6(loadline):
    """Runs a script with the URL of a server in `__ENV.URL`."""

    def run(script: str, url: str, *flags: str, code: int = 0):
        loadline.write("script.js", OPEN + script)
        url = url.replace("http", "ws", 1)
        done = loadline("k6", "run", "-e", f"URL={url}", *flags, "script.js")
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}{done.stderr}"
        assert "panicked" not in done.stderr
        return done

    return run


def values(done, name: str) -> str:
    """Returns what the summary shows of a metric."""
    return re.search(rf"^    {name}\.+: (.*)$", done.stdout, re.MULTILINE)[1].strip()


def messages(done) -> list[str]:
    """Returns what the script wrote to the console."""
    return re.findall(r'level=\w+ msg="?(.*?)"? source=console', done.stderr)


BLOCKING = """
export const options = { vus: 5, iterations: 10, thresholds: {
  ws_sessions: ['count==10'], ws_msgs_sent: ['count==30'], 'ws_msgs_received{kind:echo}': ['count==30'],
  ws_session_duration: ['max<60000'], 'ws_connecting{status:101}': ['max<60000'], checks: ['rate==1'] } };
export default function () {
  const res = ws.connect(`${__ENV.URL}/echo`, { tags: { kind: 'echo', name: 'echo' } }, (socket) => {
    let left = 3;
    socket.on('open', () => socket.send(`message ${left}`));
    socket.on('message', (text) => {
      check(text, { echo: (t) => t === `message ${left}` });
      left -= 1;
      if (left > 0) socket.send(`message ${left}`);
      else socket.close();
    });
  });
  check(res, { upgraded: (r) => r.status === 101 });
}
"""

EVENT_LOOP = (
    BLOCKING.split("export default")[0]
    + """
export default function () {
  const socket = new WebSocket(`${__ENV.URL}/echo`, null, { tags: { kind: 'echo', name: 'echo' } });
  let left = 3;
  socket.addEventListener('open', () => socket.send(`message ${left}`));
  socket.addEventListener('message', (e) => {
    check(e.data, { echo: (t) => t === `message ${left}` });
    left -= 1;
    if (left > 0) socket.send(`message ${left}`);
    else socket.close();
  });
  socket.addEventListener('close', (e) => check(e.code, { closed: (c) => c === 1000 }));
}
"""
)


@pytest.mark.parametrize("script", [BLOCKING, EVENT_LOOP], ids=["ws", "websockets"])
def test_messages_are_counted_by_the_script_the_record_and_the_server(k6, loadline, start_lab, script):
    lab = start_lab("chat")
    done = k6(script, lab.url, "--out", "json=samples.json", "--out", "csv=samples.csv")
    assert "    WEBSOCKET\n" in done.stdout
    assert values(done, "ws_sessions").startswith("10 ")
    assert values(done, "ws_msgs_received").startswith("30 ")
    assert values(done, "checks_succeeded").startswith("100.00% 40 out of 40")
    assert not values(done, "data_sent").startswith("0 B")
    summary = loadline.summary()
    websocket = summary["websocket"]
    assert (websocket["opened"], websocket["sent"], websocket["received"]) == (10, 30, 30), websocket
    assert (websocket["closed_here"], websocket["lost"]) == (10, 0), websocket
    # The handshakes are the requests of the run.
    assert (summary["requests"]["issued"], summary["requests"]["ok"]) == (10, 10)
    assert re.search(r"^GET echo +10 ", loadline("report").stdout, re.MULTILINE)
    echo = lab.stats()["chat"]["paths"]["/echo"]
    assert (echo["messages_in"], echo["messages_out"]) == (30, 30), echo
    with (loadline.folder / "samples.json").open() as file:
        points = [line for line in map(json.loads, file) if line["type"] == "Point"]
    sent = [point["data"]["tags"] for point in points if point["metric"] == "ws_msgs_sent"]
    assert len(sent) == 30
    assert sent[0] == {"kind": "echo", "name": "echo", "scenario": "default", "status": "101", "url": "echo"}
    with (loadline.folder / "samples.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric_name"] == "ws_connecting"]
    assert {row["status"] for row in rows} == {"101"}


ECHO = """
export default function () {
  ws.connect(`${__ENV.URL}/echo`, PARAMS, (socket) => {
    socket.on('open', () => { socket.send('x'.repeat(100000)); socket.sendBinary(new Uint8Array([1, 2, 3]).buffer); });
    socket.on('message', (text) => check(text, { text: (t) => t === 'x'.repeat(100000) }));
    socket.on('binaryMessage', (data) => {
      check(data, { binary: (d) => d.byteLength === 3 });
      socket.ping();
    });
    socket.on('pong', () => { check(1, { pong: () => true }); socket.close(); });
  });
}
"""


def test_messages_are_compressed_if_the_script_asks_for_it(k6, loadline, start_lab):
    lab = start_lab("chat", "deflate=on")
    done = k6(ECHO.replace("PARAMS", "{ compression: 'deflate' }"), lab.url)
    assert values(done, "checks_succeeded").startswith("100.00% 3 out of 3")
    assert values(done, "ws_ping").startswith("avg=")
    assert loadline.summary()["websocket"]["bytes_sent"] < 10_000
    done = k6(ECHO.replace("PARAMS", "null"), lab.url)
    assert values(done, "checks_succeeded").startswith("100.00% 3 out of 3")
    assert loadline.summary()["websocket"]["bytes_sent"] > 100_000


def test_connections_over_tls_carry_headers_cookies_and_subprotocols(k6, certificates):
    context = serve(certificates, "server")

    class SecureServer(WebSocketServer):
        def _upgrade(self, connection) -> None:
            super()._upgrade(context.wrap_socket(connection, server_side=True))

    def upgrade(key: str) -> str:
        extra = "Sec-WebSocket-Protocol: v2\r\nSet-Cookie: session=s1"
        return f"101 Switching\r\n{fake.UPGRADE}Sec-WebSocket-Accept: {fake.accept(key)}\r\n{extra}"

    script = """
export const options = { insecureSkipTLSVerify: true, thresholds: { 'ws_sessions{subproto:v2}': ['count==2'] } };
export default function () {
  http.cookieJar().set(__ENV.URL.replace('wss', 'https'), 'token', 't1');
  const params = { headers: { 'X-Room': 'blue', 'Sec-WebSocket-Protocol': 'v1, v2' } };
  const res = ws.connect(`${__ENV.URL}/a?b=1`, params, (socket) => {
    socket.on('open', () => socket.send('hi'));
    socket.on('message', () => socket.close(1000));
  });
  check(res, { response: (r) => r.status === 101 && r.headers['Sec-Websocket-Protocol'] === 'v2' && r.error === '' });
  const socket = new WebSocket(`${__ENV.URL}/b`, ['v1', 'v2']);
  socket.onopen = () => { check(socket, { protocol: (s) => s.protocol === 'v2' }); socket.close(4000, 'done'); };
}
"""
    closes = []

    def serve_peer(peer: fake.Peer) -> None:
        while (received := peer.receive()) is not None:
            opcode, payload = received
            if opcode == fake.CLOSE:
                closes.append(payload)
                peer.send(fake.frame(fake.CLOSE, payload[:2]))
                return
            peer.send(fake.frame(opcode, payload))

    with SecureServer(serve_peer, upgrade) as server:
        done = k6(script, server.url.replace("http", "https"))
        server.wait_until_served()
    assert values(done, "checks_succeeded").startswith("100.00% 2 out of 2")
    first, second = server.requests
    assert (first[":path"], first["x-room"], first["cookie"]) == ("/a?b=1", "blue", "token=t1")
    assert (first["sec-websocket-protocol"], first["user-agent"]) == ("v1, v2", "Grafana k6/2.2.0")
    assert second["cookie"] == "token=t1; session=s1"
    assert closes == [struct.pack(">H", 1000), struct.pack(">H", 4000) + b"done"]


REFUSED = """
export default function () {
  const params = { tags: { name: 'room' } };
  const res = ws.connect(__ENV.URL, params, () => console.log('never'));
  console.log(res.status, res.error, res.body.trim());
  const socket = new WebSocket(__ENV.URL, [], params);
  socket.onerror = (e) => console.log('error', e.error);
  socket.onclose = (e) => console.log('close', e.code, socket.readyState);
}
"""


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [("/refuse/401", 401, "websocket: bad handshake"), ("/wrong-accept", 101, "websocket: bad handshake")],
)
def test_failed_handshakes_are_responses(k6, loadline, start_lab, path, status, reason):
    lab = start_lab("chat")
    done = k6(REFUSED, lab.url + path)
    lines = messages(done)
    assert lines[0].startswith(f"{status} {reason}"), lines
    assert lines[1:] == [f"error {reason}", "close 1006 3"]
    assert done.stderr.count(f'msg="WebSocket connection failed" error="{reason}" url=room') == 2
    assert "ws_sessions" not in done.stdout
    summary = loadline.summary()
    assert (summary["requests"]["issued"], summary["requests"]["ok"]) == (2, 0)
    assert summary["websocket"]["refused"] == 2
    done = k6(REFUSED, lab.url + path, "--throw")
    assert f"GoError: {reason}" in done.stderr


def test_unreachable_servers_are_responses(k6):
    with closed_port() as port:
        done = k6(REFUSED, f"http://127.0.0.1:{port}")
    assert messages(done) == [
        "0 dial: connection refused ",
        "error dial: connection refused",
        "close 1006 3",
    ]


ENDS = """
export default function () {
  ws.connect(__ENV.URL, (socket) => {
    socket.on('open', () => socket.send('go'));
    socket.on('error', (e) => console.log('error', e.error()));
    socket.on('close', (code) => console.log('close', code));
  });
  const socket = new WebSocket(__ENV.URL);
  socket.onopen = () => socket.send('go');
  socket.onerror = (e) => console.log('error', e.error);
  socket.onclose = (e) => console.log('close', e.code, e.reason);
}
"""
ABRUPT = "websocket: close 1006 (abnormal closure): unexpected EOF"


@pytest.mark.parametrize(
    ("frames", "code", "reason", "errors"),
    [
        ([fake.close(1000, "bye")], 1000, "bye", []),
        ([fake.close(1011, "oops")], 1011, "oops", ["websocket: close 1011 (internal server error): oops"]),
        ([fake.close(4001)], 4001, "", ["websocket: close 4001"]),
        ([], 1006, "", [ABRUPT]),
        ([fake.frame(fake.TEXT, "x", masked=True)], 1006, "", ["WebSocket: invalid frame"]),
        ([fake.frame(fake.TEXT, b"\xff")], 1006, "", ["WebSocket: text is not UTF-8"]),
    ],
    ids=["normal", "error", "own", "abrupt", "masked", "utf8"],
)
def test_ends_by_the_server_are_events(k6, frames, code, reason, errors):
    def serve_peer(peer: fake.Peer) -> None:
        peer.receive()
        peer.send(*frames)
        if frames:
            peer.receive()

    with WebSocketServer(serve_peer) as server:
        done = k6(ENDS, server.url)
    of_errors = [f"error {error}" for error in errors]
    expected = [*of_errors, f"close {code}", *of_errors, f"close {code} {reason}".strip()]
    assert [line.strip() for line in messages(done)] == expected
    assert values(done, "ws_session_duration").startswith("avg=")


def test_endless_pings_do_not_keep_a_run_from_ending(k6, loadline):
    script = """
export const options = { scenarios: {
  blocked: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s' },
  waiting: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s', exec: 'listen' },
  other: { executor: 'per-vu-iterations', vus: 1, iterations: 1, exec: 'timer' } } };
export default function () { ws.connect(__ENV.URL, (s) => s.on('ping', () => {})); }
export function listen() { new WebSocket(__ENV.URL).onping = () => {}; }
export function timer() {
  ws.connect(__ENV.URL, (socket) => {
    let pings = 0;
    socket.on('ping', () => {
      pings += 1;
      if (pings === 2) { console.log('two pings'); socket.close(); }
    });
    socket.setTimeout(() => socket.close(), 20000);
  });
}
"""
    flood = fake.frame(fake.PING, "now") * 4000

    def serve_peer(peer: fake.Peer) -> None:
        while True:
            peer.send(flood)
            # The client's pongs must be read, or it would stop to read too.
            peer.connection.recv(1 << 16)

    with WebSocketServer(serve_peer) as server:
        done = k6(script, server.url)
    assert messages(done) == ["two pings"]
    assert "1 complete and 2 interrupted iterations" in done.stdout
    assert loadline.summary()["websocket"]["pings"] > 100


def test_servers_that_never_stop_sending_do_not_delay_the_end_of_a_connection(k6, loadline):
    script = """
export const options = { vus: 2, iterations: 4 };
export default function () {
  const socket = new WebSocket(__ENV.URL);
  socket.onmessage = () => socket.close(1000);
  socket.onclose = (e) => console.log('close', e.code);
  ws.connect(__ENV.URL, (blocking) => blocking.on('message', () => blocking.close()));
}
"""
    flood = fake.frame(fake.TEXT, "never mind") * 4000

    def serve_peer(peer: fake.Peer) -> None:
        while True:
            peer.send(flood)

    with WebSocketServer(serve_peer) as server:
        done = k6(script, server.url)
    assert messages(done) == ["close 1006"] * 4
    assert values(done, "ws_sessions").startswith("8 ")
    # Each connection is closed by its first message. The script cannot receive the others.
    assert values(done, "ws_msgs_received").startswith("8 ")
    websocket = loadline.summary()["websocket"]
    assert websocket["received"] - websocket["unclaimed"] == 8, websocket


@pytest.mark.parametrize("kind", ["ws", "websockets"])
def test_graceful_stop_closes_connections_and_records_sessions(k6, loadline, kind):
    opened = {
        "ws": "ws.connect(__ENV.URL, (s) => s.on('open', () => s.send('hi')));",
        "websockets": "const s = new WebSocket(__ENV.URL); s.onopen = () => s.send('hi');",
    }
    script = f"""
export const options = {{ scenarios: {{ listen: {{ executor: 'constant-vus', vus: 2, duration: '3s', gracefulStop: '0s' }} }},
  thresholds: {{ ws_session_duration: ['min>0'], ws_sessions: ['count==2'] }} }};
export default function () {{ {opened[kind]} }}
"""
    closes = []

    def serve_peer(peer: fake.Peer) -> None:
        while (received := peer.receive()) is not None:
            if received[0] == fake.CLOSE:
                closes.append(struct.unpack(">H", received[1])[0])
                peer.send(fake.frame(fake.CLOSE, received[1]))
                return

    with WebSocketServer(serve_peer) as server:
        done = k6(script, server.url)
        server.wait_until_served()
    assert "0 complete and 2 interrupted iterations" in done.stdout
    assert closes == [1001, 1001]
    websocket = loadline.summary()["websocket"]
    assert (websocket["opened"], websocket["closed_here"], websocket["lost"]) == (2, 2, 0), websocket


def test_connections_of_setup_are_not_part_of_the_load(k6, loadline, start_lab):
    script = """
export function setup() {
  let greeting = null;
  ws.connect(`${__ENV.URL}/echo`, (socket) => {
    socket.on('open', () => socket.send('token'));
    socket.on('message', (text) => { greeting = text; socket.close(); });
  });
  return greeting;
}
export default function (greeting) { check(greeting, { token: (g) => g === 'token' }); }
"""
    done = k6(script, start_lab("chat").url)
    assert values(done, "checks_succeeded").startswith("100.00% 1 out of 1")
    assert values(done, "ws_sessions").startswith("1 ")
    summary = loadline.summary()
    assert summary["requests"]["issued"] == 0
    assert summary.get("websocket") is None


def test_large_messages_wait_for_a_slow_server(k6, start_lab):
    lab = start_lab("chat")
    script = """
export default function () {
  const size = 3000000;
  ws.connect(`${__ENV.URL}/echo?delay=50ms`, (socket) => {
    let left = 3;
    socket.on('open', () => { for (let i = 0; i < 3; i++) socket.send('y'.repeat(size)); });
    socket.on('message', (text) => { check(text, { whole: (t) => t.length === size }); if (--left === 0) socket.close(); });
  });
}
"""
    done = k6(script, lab.url)
    assert values(done, "checks_succeeded").startswith("100.00% 3 out of 3")


def test_blocking_send_reads_what_a_server_writes_before_it_reads(k6):
    script = """
export default function () {
  ws.connect(__ENV.URL, (socket) => {
    let left = 2;
    socket.on('open', () => { socket.send('y'.repeat(15000000)); console.log('sent'); });
    socket.on('message', (text) => { console.log(text.length); if (--left === 0) socket.close(); });
  });
}
"""

    def serve_peer(peer: fake.Peer) -> None:
        peer.send(fake.frame(fake.TEXT, b"x" * 15_000_000) * 2)
        while peer.connection.recv(1 << 20):
            pass

    with WebSocketServer(serve_peer) as server:
        done = k6(script, server.url)
    assert messages(done) == ["sent", "15000000", "15000000"]


def test_messages_arrive_while_those_of_the_script_wait_for_the_server(k6, loadline):
    script = """
export default function () {
  const socket = new WebSocket(__ENV.URL);
  const text = 'x'.repeat(1000000);
  socket.onopen = () => { for (let i = 0; i < 60; i++) socket.send(text); };
  socket.onmessage = (e) => { console.log(e.data, socket.bufferedAmount > 1000000); socket.close(); };
  socket.onclose = (e) => console.log('close', e.code);
}
"""
    has_ended = threading.Event()

    def serve_peer(peer: fake.Peer) -> None:
        # The server reads one message, so the operating system does not accept all others.
        peer.receive()
        peer.send(fake.frame(fake.TEXT, "hello"))
        has_ended.wait(60)

    with WebSocketServer(serve_peer) as server:
        done = k6(script, server.url)
        has_ended.set()
    assert messages(done) == ["hello true", "close 1006"]
    # Messages that were not written are not sent.
    sent = loadline.summary()["websocket"]["sent"]
    assert 1 <= sent < 60
    assert values(done, "ws_msgs_sent").startswith(f"{sent} ")


def test_blocked_hosts_get_no_connections(k6, start_lab):
    lab = start_lab("chat")
    done = k6(REFUSED, lab.url.replace("127.0.0.1", "localhost") + "/echo", "--block-hostnames", "localhost")
    assert messages(done)[0].startswith("0 hostname (localhost) is in a blocked pattern")
    assert lab.stats()["chat"]["paths"] == {}


def test_handshakes_of_interrupted_iterations_are_recorded(k6, loadline):
    script = """
export const options = { scenarios: {
  blocked: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s' },
  waiting: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s', exec: 'listen' } } };
export default function () { ws.connect(__ENV.URL, () => console.log('never')); }
export function listen() { new WebSocket(__ENV.URL).onclose = () => console.log('never'); }
"""
    with FakeServer(never_answer) as server:
        done = k6(script, server.url)
    assert messages(done) == []
    requests = loadline.summary()["requests"]
    assert (requests["issued"], requests["ok"], requests["adds_up"]) == (2, 0, True), requests
