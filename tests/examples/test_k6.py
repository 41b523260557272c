"""The example script for k6."""

import json
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent.parent / "examples/k6/short-links.js"


def test_thresholds_of_the_example_hold(loadline, start_lab):
    lab = start_lab("shortener")
    flags = ["-e", f"BASE_URL={lab.url}", "-e", "DURATION=2s", "--summary-export", "summary.json"]
    done = loadline("k6", "run", *flags, EXAMPLE)
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = json.loads((loadline.folder / "summary.json").read_text())["metrics"]
    # 50 readers per second for 2 s. `setup` creates three links, and each editor at least one.
    assert metrics["iterations"]["count"] >= 100
    created = metrics["links_created"]["count"]
    assert created > 0
    assert lab.stats()["shortener"]["stored"] == created + 3


def test_users_of_the_chat_example_hear_each_other(loadline, start_lab):
    lab = start_lab("chat")
    url = lab.url.replace("http", "ws")
    variables = [f"BASE_URL={url}", "DURATION=1s", "ROUND_TRIP_MS=20000", "CONNECTING_MS=20000"]
    flags = [flag for variable in variables for flag in ("-e", variable)]
    done = loadline("k6", "run", *flags, "--summary-export", "summary.json", EXAMPLE.parent / "chat.js")
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = json.loads((loadline.folder / "summary.json").read_text())["metrics"]
    assert metrics["ws_msgs_sent"]["count"] == 5 * metrics["ws_sessions"]["count"]
    assert metrics["ws_sessions"]["count"] >= 5
    assert metrics["chat_messages_of_others"]["count"] > 0
