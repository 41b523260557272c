"""Builds the wheel: the Python package, the extension module and the binary (a PEP 517 backend).

The binary and the module come from one cargo build. Settings, from the environment:
  LOADLINE_WHEEL_PROFILE   the cargo profile, `dist` by default
  LOADLINE_WHEEL_PREBUILT  a folder that holds both files already; then cargo is not called
  LOADLINE_WHEEL_GLIBC     the glibc version both files were linked against, this machine's by default
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from packaging.tags import platform_tags
from pyproject_metadata import StandardMetadata
from wheel._commands.pack import pack

import dist

ROOT = Path(__file__).parent.parent
#: The largest binary and wheel that are shipped, in bytes.
BINARY_LIMIT, WHEEL_LIMIT = 30_000_000, 25 * 1024 * 1024


def build_wheel(wheel_directory: str, config_settings: dict | None = None, metadata_directory: str | None = None) -> str:
    prebuilt = os.environ.get("LOADLINE_WHEEL_PREBUILT")
    built = Path(prebuilt).resolve() if prebuilt else cargo_build(os.environ.get("LOADLINE_WHEEL_PROFILE", "dist"))
    metadata = read_metadata()
    name = f"loadline-{metadata.version}"
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary) / name
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / "python/loadline", tree / "loadline", ignore=ignored)
        install(built / "lib_native.so", tree / "loadline/_native.abi3.so")
        install(built / "loadline", tree / f"{name}.data/scripts/loadline")
        info = tree / f"{name}.dist-info"
        (info / "licenses").mkdir(parents=True)
        for licence in sorted(ROOT.glob("LICENSE-*")):
            shutil.copy(licence, info / "licenses")
        (info / "licenses/THIRD-PARTY.md").write_text(dist.third_parties())
        (info / "METADATA").write_bytes(bytes(metadata.as_rfc822()))
        tag = f"cp311-abi3-{platform_tag()}"
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: loadline\nRoot-Is-Purelib: false\nTag: {tag}\n")
        pack(str(tree), str(Path(wheel_directory).resolve()), None)
    wheel = Path(wheel_directory) / f"{name}-{tag}.whl"
    compress(wheel)
    if not prebuilt:
        refuse_over(built / "loadline", BINARY_LIMIT)
        refuse_over(wheel, WHEEL_LIMIT)
    return wheel.name


def platform_tag() -> str:
    glibc = os.environ.get("LOADLINE_WHEEL_GLIBC")
    return f"manylinux_{glibc.replace('.', '_')}_{platform.machine()}" if glibc else next(iter(platform_tags()))


def cargo_build(profile: str) -> Path:
    command = ["cargo", "build", "--profile", profile, "--locked", "-p", "loadline", "-p", "loadline-python"]
    subprocess.run(command, cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / profile


def read_metadata() -> StandardMetadata:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project["project"]["dynamic"].remove("version")
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    project["project"]["version"] = workspace["package"]["version"]
    return StandardMetadata.from_pyproject(project, ROOT)


def install(source: Path, target: Path) -> None:
    """Copies a built file without its symbols, executable."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    subprocess.run(["strip", "--strip-unneeded", target], check=True)
    target.chmod(0o755)


def compress(path: Path) -> None:
    """Writes an archive again, as small as its format allows."""
    with zipfile.ZipFile(path) as archive:
        files = [(file, archive.read(file)) for file in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in files:
            archive.writestr(file, content, zipfile.ZIP_DEFLATED, compresslevel=9)


def refuse_over(path: Path, limit: int) -> None:
    size = path.stat().st_size
    if size > limit:
        sys.exit(f"{path} has {size:,} bytes, more than {limit:,}")
