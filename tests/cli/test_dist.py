"""The release archive and its contents."""

import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path

from conftest import LOADLINE

ROOT = Path(__file__).parent.parent.parent


def test_archive_contains_everything_for_the_binary(tmp_path):
    pack = [sys.executable, ROOT / "packaging/dist.py", LOADLINE, "--out", tmp_path]
    packed = subprocess.run(pack, capture_output=True, text=True, timeout=120, check=False)
    assert packed.returncode == 0, packed.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert Path(f"{archive}.sha256").read_text() == f"{digest}  {archive.name}\n"
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "there", filter="data")
    (folder,) = (tmp_path / "there").iterdir()
    shown = subprocess.run([folder / "loadline", "--version"], capture_output=True, text=True, timeout=30, check=True)
    assert shown.stdout.split()[1] in folder.name
    assert {path.name for path in (folder / "completions").iterdir()} == {"loadline.bash", "_loadline", "loadline.fish"}
    assert (folder / "man/loadline-run.1").read_text().startswith(".ie")
    assert (folder / "docs/reference/plan.md").read_text() == (ROOT / "docs/reference/plan.md").read_text()
    others = (folder / "THIRD-PARTY.md").read_text()
    for name in ("tokio", "rustls", "mlua-sys", "rusqlite", "uplot"):
        assert f"- {name} " in others
    assert "Permission is hereby granted" in others
    assert str(ROOT) not in others
    # Every dependency states its licence.
    named = others.split("\n## ")[0]
    assert "None" not in {line.rsplit(": ", 1)[1] for line in named.splitlines() if line.startswith("- ")}
