"""Measures the language of the tree: idiom, comment widths, type names and commit subjects.

The rules are in docs/style.md, the limits in tests/docs/test_language.py. Run as a script it prints
the figures and the files with most idiom.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

#: Words that docs/style.md replaces. ripgrep has 12 of them per 10,000 lines, hyper 14.
IDIOM = re.compile(
    r"\b(behind|beside|whoever|nobody|somebody|anybody|told|tells?|so many|so much|so long|so far|under way|"
    r"carried out|carries out|carry out|stands?|anew|is no|are no|knows? no|hangs? on|bears?|at once|"
    r"all the same|by then)\b",
    re.IGNORECASE,
)
#: Texts of others, the rules themselves, and this list.
EXCLUDED = ("vendor/", "tests/artillery/golden", "tests/wrk/golden", "docs/style.md", "tests/language.py")
LANGUAGES = ("rs", "py", "ts", "md", "pyi")
MAX_COLUMNS = 100
MAX_SUBJECT = 72
TYPE = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?(?:struct|enum|trait|type) (\w+)", re.MULTILINE)
FN_OF = re.compile(r"\bfn of\b")
DOC_OWNERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def git(*arguments: str) -> str | None:
    """Returns the output of git, or None if it fails."""
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else None


def source_files() -> list[str]:
    """Returns the source files of the tree, or fails without git."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard")
    assert listed is not None, "git is required to list the files of the tree"
    return sorted(
        path
        for path in set(listed.splitlines())
        if path.rsplit(".", 1)[-1] in LANGUAGES and not path.startswith(EXCLUDED) and (ROOT / path).is_file()
    )


@dataclass
class Idiom:
    """The number of idiom words, per file and per 10,000 lines."""

    by_file: Counter[str]
    lines: int

    @property
    def per_10_000_lines(self) -> float:
        return self.by_file.total() * 10_000 / self.lines


def count_idiom(files: dict[str, str]) -> Idiom:
    found = Counter({path: len(IDIOM.findall(text)) for path, text in files.items()})
    return Idiom(+found, sum(text.count("\n") + 1 for text in files.values()))


def comment_lines(path: str, text: str) -> Iterator[int]:
    """Yields the line numbers of comments and docstrings, from 1."""
    if path.endswith(".py"):
        yield from python_comment_lines(text)
        return
    is_in_block = False
    for number, line in enumerate(text.splitlines(), 1):
        start = line.lstrip()
        if is_in_block or start.startswith(("//", "/*")):
            yield number
        if start.startswith("/*"):
            is_in_block = True
        if "*/" in line:
            is_in_block = False


def python_comment_lines(text: str) -> Iterator[int]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip() == "":
            yield token.start[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOC_OWNERS) and ast.get_docstring(node, clean=False) is not None:
            yield from range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)


def wide_comments(files: dict[str, str]) -> list[str]:
    """Returns the places of comments wider than MAX_COLUMNS. Lines without blanks, such as URLs, may be."""
    wide = []
    for path, text in files.items():
        if not path.endswith((".rs", ".py", ".ts")):
            continue
        lines = text.splitlines()
        for number in sorted(set(comment_lines(path, text))):
            line = lines[number - 1]
            if len(line) > MAX_COLUMNS and " " in line.strip().lstrip("/*# !"):
                wide.append(f"{path}:{number}")
    return wide


def repeated_types(files: dict[str, str]) -> dict[str, int]:
    """Returns the Rust type names, outside of tests, with more than three definitions."""
    sources = (text for path, text in files.items() if path.endswith(".rs") and "/tests/" not in path)
    names = Counter(name for text in sources for name in TYPE.findall(text))
    return {name: count for name, count in names.items() if count > 3}


def functions_called_of(files: dict[str, str]) -> int:
    return sum(len(FN_OF.findall(text)) for path, text in files.items() if path.endswith(".rs") and "/tests/" not in path)


def long_subjects(since: str) -> list[str] | None:
    """Returns commit subjects longer than MAX_SUBJECT since a commit, or None without that history."""
    if git("merge-base", "--is-ancestor", since, "HEAD") is None:
        return None
    subjects = git("log", "--no-merges", "--format=%s", f"{since}..HEAD") or ""
    return [subject for subject in subjects.splitlines() if len(subject) > MAX_SUBJECT]


def read_files() -> dict[str, str]:
    """Returns the text of every source file."""
    return {path: (ROOT / path).read_text(errors="replace") for path in source_files()}


def main() -> None:
    files = read_files()
    idiom = count_idiom(files)
    print(f"{idiom.by_file.total()} words of idiom, {idiom.per_10_000_lines:.0f} per 10,000 lines")
    for path, count in idiom.by_file.most_common(20):
        print(f"{count:6} {path}")
    print(f"{len(wide_comments(files))} comment lines over {MAX_COLUMNS} columns")
    print(f"{len(repeated_types(files))} type names used for more than three things")
    print(f"{functions_called_of(files)} functions called `of`")


if __name__ == "__main__":
    main()
