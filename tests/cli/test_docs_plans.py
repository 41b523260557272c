"""Every plan in the documents is valid: complete plans as they are, fragments with the missing
keys added.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```ya?ml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEY = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
# Keys added to fragments, and steps in place of an ellipsis.
REST = {
    "target": "target: http://127.0.0.1:9",
    "load": "load: { rate: 1/s, duration: 10s }",
    "steps": "steps: [ { get: / }, { post: /sessions } ]",
}
LEFT_OUT = {"steps: [ ... ]": "steps: [ { get: / } ]"}
# Files that plans in the documents refer to.
FILES = {
    "questions.md": "Why?\n",
    "update.md": "Fixed.\n",
    "patients.csv": "family,city\nSmith,Bern\n",
    "scan.png": "png",
    "helpers.js": "module.exports = { logIn() {}, sign() {}, readId() {}, hasMore() {} };\n",
    "lengths.csv": "input_tokens,output_tokens\n20,12\n",
    "prompts.js": "exports.makePrompt = (context, events, done) => done();\n",
    "healthcheck.yml": "config: { phases: [ { duration: 1, arrivalRate: 1 } ] }\n",
}
NOTHING_TO_SHOW = "no stage in this campaign has an arrival rate"
ENVIRONMENT = {"TOKEN": "t-1", "PASSWORD": "p-1"}


def find_plans() -> list:
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("**/*.md"))]
    found = []
    for document in documents:
        text = document.read_text()
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 2
            found.append(pytest.param(block[1], id=f"{document.relative_to(ROOT)}:{line}"))
    return found


def complete_plan(text: str) -> str:
    """Returns the block as a plan. Adds missing keys to a fragment."""
    for part, instead in LEFT_OUT.items():
        text = text.replace(part, instead)
    said = set(KEY.findall(text))
    if "workloads" in said:
        said.add("load")
    if "scenarios" in said:
        said.add("steps")
    if said & {"tested", "target-service", "sections"} and "stages" not in said:
        text += "stages: [ { name: peak, load: { rate: 1/s, duration: 10s } } ]\n"
        said.add("stages")
    if "stages" in said:
        said.add("load")
    before = [] if "loadline" in said else ["loadline: 1"]
    rest = [line for key, line in REST.items() if key not in said]
    return "\n".join([*before, text.rstrip(), *rest]) + "\n"


def test_documents_contain_plans() -> None:
    assert len(find_plans()) >= 12


@pytest.mark.parametrize("text", find_plans())
def test_documented_plan_is_valid(loadline, text) -> None:
    for name, content in FILES.items():
        loadline.write(name, content)
    shown = loadline("plan", loadline.write("plan.yml", complete_plan(text)), env=ENVIRONMENT)
    # A plan with stages of other tools only is accepted but has no profile.
    is_others = NOTHING_TO_SHOW in shown.stderr and "run:" in text
    assert shown.returncode == 0 or is_others, shown.stderr
    assert "Nothing was sent." in shown.stdout or is_others, shown.stdout
