#!/usr/bin/env python3
"""Builds the release archive: binary, completions, man pages, documents, all licences, and a
checksum.

`make dist` builds the binary and calls this. Needs cargo to list the crates of the binary. Sends no
data; cargo may download crates of the lock file that this machine's build did not need.
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
#: Names of files with licence terms, in any case and with any ending.
TERMS = ("license", "licence", "copying", "unlicense", "notice", "copyright")
SHELLS = {"bash": "loadline.bash", "zsh": "_loadline", "fish": "loadline.fish"}


def crates() -> list[dict]:
    """Returns every third-party crate of the binary, with its folder."""
    asked = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host()]
    metadata = json.loads(subprocess.run(asked, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    (ours,) = [package["id"] for package in metadata["packages"] if package["name"] == "loadline"]
    found, waiting = set(), [ours]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        # Test dependencies are not in the binary. Build dependencies may contain sources that are,
        # such as Lua's.
        for dependency in nodes[one]["deps"]:
            if any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    ours = ROOT / "crates"
    others = [packages[one] for one in found if ours not in Path(packages[one]["manifest_path"]).parents]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def host() -> str:
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return next(line.split(": ")[1] for line in version.splitlines() if line.startswith("host: "))


def terms(folder: Path) -> list[str]:
    """Returns the licence texts in a folder and in the sources that it bundles."""
    names = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name.lower().startswith(TERMS)]
    near = [path for path in names if len(path.relative_to(folder).parts) <= 2 and path.suffix not in (".rs", ".json")]
    return [path.read_text(errors="replace").strip() for path in near]


def page_packages() -> list[str]:
    """Returns the packages that the report page imports."""
    sources = [path.read_text() for path in (ROOT / "web/src").rglob("*.ts")]
    named = {name for text in sources for name in re.findall(r"""(?:from|import) ["']([a-z@][^"'.]*)["'/]""", text)}
    return sorted({name.split("/")[0] for name in named if not name.startswith("node:")})


def third_parties() -> str:
    """Returns all third parties of the binary and their terms.

    A text shared by several is listed once.
    """
    rows, texts, bare = [], {}, []
    for package in crates():
        name = f"{package['name']} {package['version']}"
        rows.append(f"- {name}: {package['license'] or 'see its text below'}")
        found = terms(Path(package["manifest_path"]).parent)
        bare += [] if found else [name]
        for text in found:
            texts.setdefault(text, []).append(name)
    for name in page_packages():
        folder = ROOT / "web/node_modules" / name
        package = json.loads((folder / "package.json").read_text())
        rows.append(f"- {name} {package['version']}: {package['license']} (the report page)")
        for text in terms(folder):
            texts.setdefault(text, []).append(f"{name} {package['version']}")
    parts = ["# Third-party software in Loadline", "\n".join(rows)]
    if bare:
        parts.append(f"These packages contain no licence text; their licences are named above: {', '.join(bare)}.")
    parts += [f"## {', '.join(names)}\n\n```\n{text}\n```" for text, names in texts.items()]
    return "\n\n".join(parts) + "\n"


def needed_glibc(binary: Path) -> str:
    """Returns the latest version of glibc among the binary's symbols."""
    symbols = subprocess.run(["readelf", "--version-info", "--wide", binary], check=True, capture_output=True, text=True).stdout
    return max(re.findall(r"Name: GLIBC_([\d.]+)", symbols), key=numbers, default="0")


def numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--glibc", help="refuse a binary that needs a later version of glibc")
    asked = parser.parse_args()
    binary = asked.binary.resolve()
    if not binary.is_file():
        sys.exit(f"{asked.binary} is not a file: `make dist` builds it")

    if asked.glibc and numbers(needed := needed_glibc(binary)) > numbers(asked.glibc):
        sys.exit(f"{asked.binary} needs glibc {needed}, later than {asked.glibc}")

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
    # The documents that messages and the README refer to, without those for contributors.
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("decisions", "extend-loadline.md"))
    (folder / "THIRD-PARTY.md").write_text(third_parties())
    archive = asked.out / f"{name}.tar.gz"

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        # Equal content gives an equal archive, independent of user and time.
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
