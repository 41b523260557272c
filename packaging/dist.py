#!/usr/bin/env python3
"""Puts what is given to others into one archive: the binary, completions, man pages, documents, the licences of all in it, a checksum.

`make dist` builds the binary and calls this. Needs cargo, for who is in the binary; sends nothing anywhere. Of what the lock file
names, cargo fetches what this machine's build did without: only then does it tell of any of it.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: What a file is called that holds terms, in any case and with any ending.
TERMS = ("license", "licence", "copying", "unlicense", "notice", "copyright")
SHELLS = {"bash": "loadline.bash", "zsh": "_loadline", "fish": "loadline.fish"}


def crates() -> list[dict]:
    """Every crate of others that is part of the binary, with its folder."""
    asked = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host()]
    told = json.loads(subprocess.run(asked, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout)
    packages = {package["id"]: package for package in told["packages"]}
    nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
    (ours,) = [package["id"] for package in told["packages"] if package["name"] == "loadline"]
    found, waiting = set(), [ours]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        # What tests is not in the binary; what builds may bring sources along that are (those of Lua).
        for dependency in nodes[one]["deps"]:
            if any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    ours = ROOT / "crates"
    others = [packages[one] for one in found if ours not in Path(packages[one]["manifest_path"]).parents]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def host() -> str:
    told = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return next(line.split(": ")[1] for line in told.splitlines() if line.startswith("host: "))


def terms(folder: Path) -> list[str]:
    """The texts in a folder that say under which terms it may be used, and in the sources that it brings along."""
    names = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name.lower().startswith(TERMS)]
    near = [path for path in names if len(path.relative_to(folder).parts) <= 2 and path.suffix not in (".rs", ".json")]
    return [path.read_text(errors="replace").strip() for path in near]


def on_the_page() -> list[str]:
    """The packages that the report page is made of: those that its sources import."""
    sources = [path.read_text() for path in (ROOT / "web/src").rglob("*.ts")]
    named = {name for text in sources for name in re.findall(r"""(?:from|import) ["']([a-z@][^"'.]*)["'/]""", text)}
    return sorted({name.split("/")[0] for name in named if not name.startswith("node:")})


def third_parties() -> str:
    """Who else is in the binary, and under which terms; a text that several have stands there once."""
    rows, texts, bare = [], {}, []
    for package in crates():
        name = f"{package['name']} {package['version']}"
        rows.append(f"- {name}: {package['license'] or 'see its text below'}")
        found = terms(Path(package["manifest_path"]).parent)
        bare += [] if found else [name]
        for text in found:
            texts.setdefault(text, []).append(name)
    for name in on_the_page():
        folder = ROOT / "web/node_modules" / name
        package = json.loads((folder / "package.json").read_text())
        rows.append(f"- {name} {package['version']}: {package['license']} (the report page)")
        for text in terms(folder):
            texts.setdefault(text, []).append(f"{name} {package['version']}")
    parts = ["# What Loadline contains of others", "\n".join(rows)]
    if bare:
        parts.append(f"The packages of these bring no text of their licences along, which are named above: {', '.join(bare)}.")
    parts += [f"## {', '.join(names)}\n\n```\n{text}\n```" for text, names in texts.items()]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    asked = parser.parse_args()
    binary = asked.binary.resolve()
    if not binary.is_file():
        sys.exit(f"{asked.binary} is no file: `make dist` builds it")

    def said(*words: str) -> str:
        return subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout

    version = said("--version").split()[1]
    name = f"loadline-{version}-{platform.system().lower()}-{platform.machine()}"
    folder = asked.out / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "completions").mkdir(parents=True)
    shutil.copy2(binary, folder / "loadline")
    for shell, file in SHELLS.items():
        (folder / "completions" / file).write_text(said("completions", shell))
    said("man", "--out", str(folder / "man"))
    for file in ("README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"):
        shutil.copy2(ROOT / file, folder / file)
    # What messages and the README point to, without what only those who change the code read.
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("decisions", "extend-loadline.md"))
    (folder / "THIRD-PARTY.md").write_text(third_parties())
    archive = asked.out / f"{name}.tar.gz"

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        # The same content is the same archive, whoever packs it and when.
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for path in [folder, *sorted(folder.rglob("*"))]:
            tar.add(path, Path(name) / path.relative_to(folder), recursive=False, filter=plain)
    archive.write_bytes(gzip.compress(whole.getvalue(), mtime=0))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    Path(f"{archive}.sha256").write_text(f"{digest}  {archive.name}\n")
    print(f"{archive}\n{digest}")


if __name__ == "__main__":
    main()
