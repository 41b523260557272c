"""The example of a model API."""

from pathlib import Path

EXAMPLE = Path(__file__).parent.parent.parent / "examples/model-api"


def test_prompts_and_answers_have_the_lengths_of_the_file(loadline):
    done = loadline("run", EXAMPLE / "chat.yml", "--rate", "20/s", "--duration", "2s")
    assert done.returncode in (0, 5), done.stdout + done.stderr
    summary = loadline.summary()
    (row,) = summary["labels"]
    stream = row["stream"]
    assert stream["complete"] == stream["reporting"] == summary["requests"]["ok"] > 20
    # The answers of the file have 12 to 90 tokens.
    assert 12 <= stream["tokens"] / stream["complete"] <= 90
    assert stream["tokens"] == stream["chunks"]
