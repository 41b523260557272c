"""The release archive, its contents, and the script that installs it."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from conftest import LOADLINE

ROOT = Path(__file__).parent.parent.parent
INSTALL = ROOT / "packaging/install.sh"


def _pack(binary: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "packaging/dist.py", binary, "--out", out, *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    packed = _pack(LOADLINE, out)
    assert packed.returncode == 0, packed.stderr
    (archive,) = out.glob("*.tar.gz")
    return archive


def _install(*arguments: object, home: Path, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    command = [INSTALL, *map(str, arguments)]
    return subprocess.run(command, env={"HOME": str(home), "PATH": path}, capture_output=True, text=True, timeout=60, check=False)


def test_archive_contains_everything_for_the_binary(archive, tmp_path):
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


def test_binary_that_needs_a_later_c_library_is_refused(tmp_path):
    packed = _pack(LOADLINE, tmp_path, "--glibc", "2.2")
    assert packed.returncode == 1
    assert "needs glibc 2." in packed.stderr
    assert packed.stderr.endswith(", later than 2.2\n")
    assert not list(tmp_path.iterdir())


def test_install_puts_everything_below_the_prefix_twice(archive, tmp_path):
    prefix = tmp_path / "prefix"
    for _ in range(2):
        installed = _install(archive, prefix, home=tmp_path, path=f"{prefix}/bin:/usr/bin:/bin")
        assert (installed.returncode, installed.stderr) == (0, "")
        assert installed.stdout.endswith(f" is installed at {prefix}/bin/loadline\n")
    shown = subprocess.run([prefix / "bin/loadline", "--version"], capture_output=True, text=True, timeout=30, check=True)
    assert shown.stdout.startswith("loadline ")
    share = prefix / "share"
    for file in (
        "bash-completion/completions/loadline",
        "zsh/site-functions/_loadline",
        "fish/vendor_completions.d/loadline.fish",
        "man/man1/loadline-run.1",
        "doc/loadline/docs/reference/plan.md",
        "doc/loadline/THIRD-PARTY.md",
    ):
        assert (share / file).stat().st_size > 100, file
    assert [path.name for path in (prefix / "bin").iterdir()] == ["loadline"]


def test_install_without_a_prefix_names_the_path(archive, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root installs to /usr/local")
    installed = _install(archive, home=tmp_path)
    assert installed.returncode == 0, installed.stderr
    assert "is not on your PATH" in installed.stdout
    assert (tmp_path / ".local/bin/loadline").is_file()


def test_install_refuses_what_it_cannot_install(archive, tmp_path):
    def refusal(*arguments: object) -> str:
        refused = _install(*arguments, home=tmp_path)
        assert refused.returncode in (1, 2)
        assert not (tmp_path / "prefix").exists()
        return refused.stderr

    prefix = tmp_path / "prefix"
    assert refusal() == "usage: install.sh ARCHIVE [PREFIX]\n"
    assert "is not a file" in refusal(tmp_path / "missing.tar.gz", prefix)
    text = tmp_path / "text.tar.gz"
    text.write_text("text")
    assert refusal(text, prefix) == f"install.sh: {text} is not a release archive\n"
    changed = tmp_path / archive.name
    changed.write_bytes(archive.read_bytes() + b"\0")
    shutil.copy(f"{archive}.sha256", f"{changed}.sha256")
    assert refusal(changed, prefix) == f"install.sh: {changed} does not match its checksum: download it again\n"
    foreign = tmp_path / "foreign.tar.gz"
    (tmp_path / "loadline").write_text("#!/bin/sh\necho no such version of GLIBC >&2\nexit 1\n")
    (tmp_path / "loadline").chmod(0o755)
    with tarfile.open(foreign, "w:gz") as tar:
        tar.add(tmp_path / "loadline", "loadline-9/loadline")
    assert "does not run on this machine: no such version of GLIBC" in refusal(foreign, prefix)
    (tmp_path / "taken").write_text("")
    assert "name another folder, or run as root" in refusal(archive, tmp_path / "taken")
