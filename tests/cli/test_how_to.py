"""The complete plans of the how-to guides run, and their commands are accepted."""

import json
import re
import shlex
from pathlib import Path

import fake_servers
import pytest

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = DOCS / "how-to"
LONGEST = 65
PLAN = re.compile(r"^```yaml\n(loadline: 1\n.*?)^```$", re.MULTILINE | re.DOTALL)
# Commands with files of certificates or a proxy need those of the reader.
COMMAND = re.compile(r"^\$ loadline (run http\S+ (?!.*(?:--cacert|-x )).*)$", re.MULTILINE)
ANSWER = {"token": "t-1", "id": 7, "name": "Ada"}
FILES = {
    "patients.csv": "family,city\nCurie,Paris\nNoether,Erlangen\n",
    "scan.png": "png",
    "scan.json": "{}",
    "lengths.csv": "input_tokens,output_tokens\n20,12\n",
    "prompts.js": "exports.makePrompt = (context, events, done) => done();\n",
}
STREAM = b'data: {"choices":[{"delta":{"content":"Hello"}}]}\n\ndata: [DONE]\n\n'


def guides(pattern: re.Pattern) -> list:
    found = []
    for path in sorted(GUIDES.glob("*.md")):
        for number, text in enumerate(pattern.findall(path.read_text()), 1):
            found.append(pytest.param(text, id=f"{path.stem}-{number}"))
    return found


def answer(request: fake_servers.Request) -> tuple[int, dict[str, str], bytes]:
    if request.path.endswith("/chat/completions"):
        return 200, {"content-type": "text/event-stream"}, STREAM
    return 200, {"content-type": "application/json"}, json.dumps(ANSWER).encode()


@pytest.mark.parametrize("plan", guides(PLAN))
def test_plan_of_a_guide_runs(loadline, plan) -> None:
    for name, content in FILES.items():
        loadline.write(name, content)
    if "websocket:" in plan or "socketio:" in plan:
        path = loadline.write("plan.yml", plan)
        run = loadline("run", path, "--target", "lab:chat", "--once")
        assert run.returncode == 0, run.stdout + run.stderr
        return
    with fake_servers.RecordingServer(answer) as peer:
        path = loadline.write("plan.yml", plan)
        run = loadline("run", path, "--target", peer.url, "--once", env={"PASSWORD": "p-1", "TOKEN": "t-1"})
    assert run.returncode == 0, run.stdout + run.stderr
    assert peer.requests


@pytest.mark.parametrize("command", guides(COMMAND))
def test_command_of_a_guide_is_accepted(loadline, command) -> None:
    for name, content in FILES.items():
        loadline.write(name, content)
    words = shlex.split(command)
    assert words.pop(0) == "run"
    with fake_servers.RecordingServer(answer) as peer:
        target = re.sub(r"^https?://[^/]+", peer.url, words.pop(0))
        # As short as possible: the flags are what is tested.
        short = ["2" if before == "--duration" else word for before, word in zip([None, *words], words, strict=False)]
        rate = ["50/s" if before == "--rate" else word for before, word in zip([None, *short], short, strict=False)]
        run = loadline("run", target, *rate)
    # So few requests may be too few for the guide's criterion.
    assert run.returncode in (0, 5), run.stdout + run.stderr
    assert peer.requests


def test_guides_are_short() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in GUIDES.glob("*.md")}
    del lengths["extend-loadline.md"]
    assert max(lengths.values()) <= LONGEST, lengths


# On a busy machine, the queue of the peak grows unevenly, and the criterion is not decided.
@pytest.mark.long(seconds=30)
@pytest.mark.alone
@pytest.mark.paced
def test_tutorial_on_reports_shows_what_it_says(loadline, start_lab) -> None:
    text = (DOCS / "tutorials/read-a-report.md").read_text()
    command = re.search(r"^\$ loadline lab (\S+) (.*) --port", text, re.MULTILINE)
    lab = start_lab(command[1], *command[2].split())
    plan = loadline.write("climb.yml", PLAN.search(text)[1])
    run = loadline("run", plan, "--target", lab.url, "--json", "summary.json", timeout=120)
    assert run.returncode == 1, run.stdout + run.stderr
    summary = json.loads((loadline.folder / "summary.json").read_text())
    assert [judged["judgement"] for judged in summary["criteria"]] == ["PASS", "FAIL", "PASS"]
    morning, _, peak = summary["phases"]
    # The capacity is 160/s; a peak's rate counts to its last response.
    assert 55 < morning["per_second"] < 65
    assert peak["per_second"] < 180
    assert peak["p95"]["ns"] > 5 * morning["p95"]["ns"]
    assert "kept up" not in " ".join(conclusion["text"] for conclusion in summary["conclusions"])
