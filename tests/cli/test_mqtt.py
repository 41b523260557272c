"""`loadline mqtt` against the lab's broker, which has its own counters and configurable faults,
and against mosquitto.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time

import ports
import pytest
import required_tools


def assert_completed(ran) -> None:
    """Asserts that the run completed.

    A late machine exits with 4 and changes no count.
    """
    assert ran.returncode == 0, ran.stderr


def port_of(lab) -> str:
    return lab.url.rsplit(":", 1)[1]


@pytest.fixture
def publish(loadline):
    """Publishes for a second: 500 messages of five clients by default."""

    def run(port, *more, timeout=60):
        common = ["-h", "127.0.0.1", "-p", port, "-R", 1000, "-t", "load/%i", "--json", "out.json"]
        many = ["-c", 5, "-I", 10, "-s", 64, "-L", 500]
        ran = loadline("mqtt", "pub", *common, *many, *more, timeout=timeout)
        file = loadline.folder / "out.json"
        return ran, json.loads(file.read_text()) if file.exists() else None

    return run


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_mqtt_messages_are_counted_equally_by_both_sides(start_lab, publish, version, qos):
    lab = start_lab("mqtt")
    ran, out = publish(port_of(lab), "-V", version, "-q", qos, "-F", 20, "--subscribers", 2)
    assert_completed(ran)
    ledger, broker = out["mqtt"], lab.stats()
    assert (ledger["due"], ledger["sent"], ledger["confirmed"], ledger["unknown"]) == (500, 500, 500, 0)
    assert (broker["received"], broker["delivered"]) == (500, 1000)
    assert (ledger["expected"], ledger["received"], ledger["again"], ledger["late"]) == (1000, 1000, 0, 0)
    # A late machine is reported instead.
    assert "load: sustained" in ran.stdout or ran.returncode == 4
    assert "contradiction" not in ran.stdout
    rows = {row["text"]: row["count"] for row in out["labels"]}
    assert rows == {"CONNECT": 7, "SUBSCRIBE": 2, "DELIVERY": 1000, f"PUBLISH QoS {qos}": 500}
    assert out["requests"]["issued"] == 509


@pytest.mark.parametrize("qos", [0, 1])
def test_mqtt_faults_of_the_broker_are_counted_exactly(start_lab, publish, qos):
    lab = start_lab("mqtt", "drop=50", "duplicate=35", "reorder=23")
    # Dropped messages are waited for until the drain ends.
    _, out = publish(port_of(lab), "-q", qos, "-F", 50, "--subscribers", 2, "--drain", "1s")
    ledger, broker = out["mqtt"], lab.stats()
    assert broker["dropped"] == 10
    assert broker["duplicated"] > 5
    assert broker["reordered"] > 5
    assert ledger["expected"] - ledger["received"] == 2 * broker["dropped"]
    assert ledger["again"] == 2 * broker["duplicated"]
    assert ledger["late"] == 2 * broker["reordered"]


def test_mqtt_shared_subscription_receives_each_message_once(start_lab, publish):
    lab = start_lab("mqtt")
    _, out = publish(port_of(lab), "--subscribers", 3, "--filter", "$share/g/load/+")
    ledger = out["mqtt"]
    assert (ledger["expected"], ledger["received"], ledger["again"]) == (500, 500, 0)
    assert lab.stats()["delivered"] == 500


def test_mqtt_throttled_load_is_not_reported_as_sustained(start_lab, publish):
    """The sockets accept everything immediately: only the server's answers show what it has not
    read.
    """
    lab = start_lab("mqtt", "throttle=3")
    ran, out = publish(port_of(lab), "--drain", "2s")
    assert "load: throttled by the target" in ran.stdout
    assert "sustained" not in ran.stdout
    assert out["mqtt"]["sent"] == 500
    assert out["mqtt"]["unconfirmed"] > 0
    assert lab.stats()["received"] < 500


def test_mqtt_sink_receives_every_sequence_number(start_lab, loadline):
    lab = start_lab("mqtt", "mode=sink")
    common = ["-h", "127.0.0.1", "-p", port_of(lab), "-R", 1000, "-c", 2]
    ran = loadline("mqtt", "pub", *common, "-I", 0, "-t", "a", "-s", 64, "--duration", "100ms", "--json", "out.json")
    assert_completed(ran)
    ledger = json.loads((loadline.folder / "out.json").read_text())["mqtt"]
    sink = lab.stats()
    assert (sink["out_of_sequence"], sink["unstamped"], sink["publishers"]) == (0, 0, 2)
    assert ledger["sent"] == ledger["confirmed"] == sink["received"] > 1000


def test_mqtt_connections_are_arrivals(start_lab, loadline):
    lab = start_lab("mqtt", "refuse=10")
    common = ["-h", "127.0.0.1", "-p", port_of(lab), "-R", 500, "-c", 50, "--duration", "1s"]
    ran = loadline("mqtt", "conn", *common, "--json", "out.json")
    assert_completed(ran)
    out, broker = json.loads((loadline.folder / "out.json").read_text()), lab.stats()
    assert out["arrivals"]["planned"] == out["arrivals"]["started"] == 50
    # Answers at the very end may come after the client has closed.
    assert 0 <= broker["refused"] - out["mqtt"]["refused"] <= 5
    assert out["mqtt"]["refused"] > 0
    assert 0 <= broker["connected"] - out["mqtt"]["connected"] <= 5
    assert "the server refused a connection: Server busy (0x89)" in ran.stdout


def test_mqtt_subscribers_receive_messages_of_other_publishers(start_lab, loadline, publish):
    lab = start_lab("mqtt")
    common = ["-h", "127.0.0.1", "-p", port_of(lab)]
    sub = loadline.start(
        "mqtt", "sub", *common, "-c", 3, "-R", 1000, "-t", "load/#", "--duration", "4s", "--json", "sub.json", "--drain", "1s"
    )
    end = time.monotonic() + 20
    while lab.stats()["subscribed"] < 3:
        assert time.monotonic() < end
    publish(port_of(lab))
    sub.communicate(timeout=30)
    ledger = json.loads((loadline.folder / "sub.json").read_text())["mqtt"]
    # Message headers of another run are not counted in order.
    assert ledger["foreign"] == 1500


def test_mqtt_bad_input_is_one_line(start_lab, publish, loadline):
    lab = start_lab("mqtt", "user=me:secret")
    # Every client is refused, so nothing is waited for.
    began = time.monotonic()
    ran, out = publish(port_of(lab), "--drain", "100s")
    assert time.monotonic() - began < 50
    assert ran.returncode == 3
    assert "Bad User Name or Password" in ran.stdout
    assert ran.stderr.splitlines()[-1].endswith("the server accepted no connections, so nothing was measured")
    ran, out = publish(port_of(lab), "-u", "me", "-P", "secret")
    assert_completed(ran)
    assert out["mqtt"]["confirmed"] == 500
    assert "secret" not in ran.stdout
    for arguments, line in [
        (["pub", "-t", "a/+"], "contain + or #"),
        (["sub", "-t", "a#"], "# must be the only character of the last level"),
        (["pub"], "--topic"),
        (["pub", "-t", "a", "-q", "3"], "-q"),
        (["pub", "-t", "a", "--phase", "x:5s"], "--phase 'x:5s'"),
        (["pub", "-t", "a", "-x", "5", "-V", "4"], "-x"),
        (["pub", "-t", "a", "--ws"], "--ws (emqtt-bench) is not supported"),
        (["pub", "-t", "a", "--content-type", "text", "-V", "4"], "MQTT 3.1.1 messages have no properties"),
        (["pub", "-t", "a", "--user-property", "x"], "use NAME=VALUE"),
        (["conn", "--credentials", "none.csv"], "--credentials none.csv"),
        (["conn", "--will-topic", "a", "--will-delay", "1", "-V", "4"], "--will-delay"),
    ]:
        ran = loadline("mqtt", *arguments)
        assert ran.returncode == 2, arguments
        assert line in ran.stderr
        assert len(ran.stderr.splitlines()) == 1, ran.stderr


def test_mqtt_credentials_are_read_from_a_file(start_lab, publish, loadline):
    lab = start_lab("mqtt", "user=me:pa,ss word")
    rows = loadline.folder / "who.csv"
    rows.write_text("password,username,client_id\n" + "".join(f'"pa,ss word",me,unit-{n}\n' for n in range(5)))
    ran, out = publish(port_of(lab), "--credentials", "who.csv", "--subscribers", 1)
    assert_completed(ran)
    assert (out["mqtt"]["confirmed"], out["mqtt"]["received"]) == (500, 500)
    record = [path.read_bytes() for path in (loadline.folder / ".loadline").rglob("*.json*")]
    assert not any(b"pa,ss word" in text for text in record)
    rows.write_text("username,colour\nme,red\n")
    assert "`colour` is not a valid column" in loadline("mqtt", "conn", "--credentials", "who.csv").stderr
    rows.write_text("username\nme\n")
    assert "1 rows for 2 clients" in loadline("mqtt", "conn", "-c", 2, "--credentials", "who.csv").stderr


def test_mqtt_refusals_are_counted_by_reason(start_lab, publish):
    lab = start_lab("mqtt", "user=me:secret")
    ran, out = publish(port_of(lab), "--drain", "100ms")
    assert ran.returncode == 3
    assert {error["reason"] for error in out["errors"]} >= {"refused: Bad User Name or Password"}


def test_mqtt_tls_certificates_are_verified(tmp_path, loadline, certificates):
    """Uses mosquitto with a certificate of the test authority."""
    binary = required_tools.tool_path("mosquitto")
    port = ports.free()
    config = tmp_path / "tls.conf"
    own = [f"cafile {certificates}/authority.pem", f"certfile {certificates}/chain.pem", f"keyfile {certificates}/chain.key"]
    config.write_text("\n".join([f"listener {port} 127.0.0.1", "user root", "allow_anonymous true", "require_certificate true", *own]))
    process = subprocess.Popen([binary, "-c", config], stderr=subprocess.DEVNULL, cwd=certificates)
    try:
        wait_for_port(port)
        common = ["-h", "127.0.0.1", "-p", port, "-c", 3, "-R", 1000, "-t", "a/%i", "-L", 30, "-I", 10, "-q", 1, "-S"]
        client = ["--certfile", certificates / "client.pem", "--keyfile", certificates / "client.key"]
        trusting = ["--cacertfile", certificates / "authority.pem"]
        ran = loadline("mqtt", "pub", *common, *client, *trusting, "--subscribers", 1, "--json", "out.json")
        assert_completed(ran)
        ledger = json.loads((loadline.folder / "out.json").read_text())["mqtt"]
        assert (ledger["confirmed"], ledger["received"]) == (30, 30)
        ran = loadline("mqtt", "pub", *common, *client, "--drain", "100ms")
        assert ran.returncode == 3
        assert "TLS: " in ran.stdout
    finally:
        process.kill()
        process.wait(timeout=10)


def test_mqtt_criterion_on_deliveries_is_judged(start_lab, publish):
    lab = start_lab("mqtt", "delay=200ms")
    ran, _ = publish(port_of(lab), "--subscribers", 1, "--check", 'p50 of "DELIVERY" < 20ms')
    assert ran.returncode == 1, ran.stdout
    assert "DELIVERY" in ran.stdout
    ran, _ = publish(port_of(lab), "--subscribers", 1, "--check", 'p50 of "DELIVERY" < 20s')
    assert ran.returncode == 0, ran.stdout
    assert "FAIL" not in ran.stdout, ran.stdout


def wait_for_port(port: int) -> None:
    """Waits until a server listens on the port."""
    end = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < end, "mosquitto does not listen"


@pytest.fixture
def mosquitto_at(tmp_path):
    """Yields a port and a function that starts mosquitto there.

    Stops every broker after the test.
    """
    binary = required_tools.tool_path("mosquitto")
    port = ports.free()
    config = tmp_path / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nmax_queued_messages 100000\n")
    running = []

    def start() -> subprocess.Popen:
        process = subprocess.Popen([binary, "-c", config], stderr=subprocess.DEVNULL)
        running.append(process)
        wait_for_port(port)
        return process

    yield port, start
    for process in running:
        process.kill()
        process.wait(timeout=10)


@pytest.fixture
def mosquitto(mosquitto_at):
    port, start = mosquitto_at
    start()
    return port


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_mqtt_mosquitto_delivers_every_message(mosquitto, publish, version, qos):
    ran, out = publish(mosquitto, "-V", version, "-q", qos, "-F", 20, "--subscribers", 2)
    assert_completed(ran)
    ledger = out["mqtt"]
    assert (ledger["confirmed"], ledger["expected"], ledger["received"]) == (500, 1000, 1000)
    assert (ledger["again"], ledger["late"], ledger["stray"]) == (0, 0, 0)


@pytest.mark.parametrize("qos", [0, 1])
def test_mqtt_killed_broker_is_reconnected(tmp_path, loadline, mosquitto_at, qos):
    """In-memory sessions are lost with the broker: messages in flight are unknown, all others add
    up.
    """
    port, start = mosquitto_at
    first = start()
    common = ["-h", "127.0.0.1", "-p", port, "-R", 1000, "-C", "false", "-x", 600, "--drain", "5s"]
    load = ["-c", 4, "-I", 10, "-s", 64, "-t", "load/%i", "-q", qos, "-F", 10, "--duration", "4s"]
    run = loadline.start("mqtt", "pub", *common, *load, "--json", "out.json")
    for line in run.stdout:
        if "PUBLISH" in line:
            break
    first.kill()
    first.wait(timeout=10)
    second = start()
    run.communicate(timeout=60)
    ledger = json.loads((loadline.folder / "out.json").read_text())["mqtt"]
    assert (ledger["connected"], ledger["reconnected"]) == (8, 4)
    assert ledger["broken"] >= 4
    assert ledger["due"] == 1600
    assert ledger["sent"] + ledger["unsent"] == 1600
    assert ledger["confirmed"] + ledger["unknown"] == ledger["sent"]
    assert ledger["confirmed"] > 0
    second.terminate()
    second.wait(timeout=10)


def start_listener(port: int, *filters: str, count: int) -> subprocess.Popen:
    """Starts a subscriber of another tool, which prints what it receives."""
    client = required_tools.tool_path("mosquitto_sub")
    topics = [word for filter in filters for word in ("-t", filter)]
    shown = "%t %q %r %C %E %P %p"
    # Without stdbuf its output would stay in a buffer.
    command = [
        "stdbuf",
        "-oL",
        client,
        "-h",
        "127.0.0.1",
        "-p",
        port,
        "-V",
        "5",
        "-q",
        "2",
        "-d",
        "-C",
        count,
        "-W",
        30,
        "-F",
        shown,
        *topics,
    ]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if "Subscribed" in line:
            break
    return process


def received_lines(process: subprocess.Popen) -> list[str]:
    # Not communicate(): lines that followed the awaited one are already in the stream's buffer.
    out = process.stdout.read()
    process.wait(timeout=60)
    noise = ("Client ", "Subscribed")
    return [line for line in out.splitlines() if line and not line.startswith(noise)]


def test_mqtt_properties_template_and_retained_flag_arrive(mosquitto, loadline):
    """Another client receives the properties, a custom payload and the retained flag."""
    listener = start_listener(mosquitto, "load/+", count=2)
    (loadline.folder / "says.txt").write_text("I am %i")
    common = ["-h", "127.0.0.1", "-p", mosquitto, "-c", 2, "-R", 1000, "-t", "load/%i", "-L", 2, "-I", 10, "-q", 1, "-r"]
    more = ["--content-type", "text/plain", "--user-property", "unit=7", "--message-expiry", 600]
    assert_completed(loadline("mqtt", "pub", *common, *more, "-m", "template://says.txt"))
    assert sorted(received_lines(listener)) == [f"load/{n} 1 0 text/plain 600 unit:7 I am {n}" for n in (0, 1)]
    # A later subscriber receives the retained message.
    (later,) = received_lines(start_listener(mosquitto, "load/0", count=1))
    assert later.startswith("load/0 1 1 text/plain ")


def test_mqtt_wills_are_published_after_clients_disappear(mosquitto, loadline):
    listener = start_listener(mosquitto, "gone/+", count=3)
    common = ["-h", "127.0.0.1", "-p", mosquitto, "-c", 3, "-R", 1000, "--duration", "60s"]
    will = ["--will-topic", "gone/%i", "--will-payload", "bye", "--will-qos", 1, "--will-retain"]
    run = loadline.start("mqtt", "conn", *common, *will)
    for line in run.stdout:
        if "connections=3" in line:
            break
    run.kill()
    run.communicate(timeout=20)
    assert sorted(line.split(" ")[0] for line in received_lines(listener)) == ["gone/0", "gone/1", "gone/2"]
    later = received_lines(start_listener(mosquitto, "gone/+", count=3))
    assert [line.split(" ")[1:3] for line in later] == [["1", "1"]] * 3


def test_mqtt_mosquitto_shares_a_subscription(mosquitto, publish):
    ran, out = publish(mosquitto, "-q", 1, "-F", 20, "--subscribers", 3, "--filter", "$share/g/load/+")
    assert_completed(ran)
    ledger = out["mqtt"]
    assert (ledger["confirmed"], ledger["expected"], ledger["received"], ledger["again"]) == (500, 500, 500, 0)


@pytest.mark.long
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_mqtt_stopped_broker_loses_no_message(loadline, mosquitto_at, qos):
    """The broker is stopped for three seconds; no message is lost or duplicated."""
    port, start = mosquitto_at
    server = start()
    common = ["-h", "127.0.0.1", "-p", port, "-R", 1000, "--drain", "20s", "--subscribers", 2]
    load = ["-c", 4, "-I", 10, "-s", 64, "-t", "load/%i", "-q", qos, "-F", 10, "--duration", "6s"]
    run = loadline.start("mqtt", "pub", *common, *load, "--json", "out.json")
    for line in run.stdout:
        if "PUBLISH" in line:
            break
    server.send_signal(signal.SIGSTOP)
    time.sleep(3)
    server.send_signal(signal.SIGCONT)
    run.communicate(timeout=60)
    ledger = json.loads((loadline.folder / "out.json").read_text())["mqtt"]
    assert (ledger["due"], ledger["sent"], ledger["confirmed"], ledger["unknown"]) == (2400, 2400, 2400, 0)
    assert (ledger["expected"], ledger["received"], ledger["again"], ledger["late"]) == (4800, 4800, 0, 0)
