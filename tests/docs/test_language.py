"""The tree is written in plain English, as docs/style.md describes. The limits may only go down."""

import language
import pytest

MAX_IDIOM_PER_10_000_LINES = 30
MAX_WIDE_COMMENTS = 100
MAX_REPEATED_TYPES = 20
MAX_FUNCTIONS_CALLED_OF = 10
#: Commits after this one follow the rule for subjects.
SUBJECTS_SINCE = "b46b02765b6407a9c4b9146d8f0cdf318496272e"


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return language.read_files()


def test_source_files_are_found(files):
    assert {"README.md", "tests/conftest.py", "web/src/main.ts", "crates/cli/src/main.rs"} <= set(files)


def test_idiom_is_rare(files):
    idiom = language.count_idiom(files)
    assert idiom.per_10_000_lines <= MAX_IDIOM_PER_10_000_LINES, idiom.by_file.most_common(10)


def test_comments_are_at_most_100_columns_wide(files):
    wide = language.wide_comments(files)
    assert len(wide) <= MAX_WIDE_COMMENTS, f"{len(wide)}: {wide[:10]}"


def test_type_names_are_not_reused(files):
    repeated = language.repeated_types(files)
    assert len(repeated) <= MAX_REPEATED_TYPES, repeated


def test_functions_are_not_called_of(files):
    assert language.functions_called_of(files) <= MAX_FUNCTIONS_CALLED_OF


def test_commit_subjects_are_short():
    subjects = language.long_subjects(SUBJECTS_SINCE)
    if subjects is None:
        pytest.skip("this checkout has no history")
    assert subjects == []


def test_violations_are_counted():
    files = {
        "a.py": '"""Told by nobody."""\n\n# ' + "x " * 50 + "\n",
        "b.rs": "struct A;\nenum A {}\ntrait A {}\ntype A = u8;\nfn of() {}\n/// " + "y " * 50 + "\n// " + "z" * 100 + "\n",
    }
    assert language.count_idiom(files).by_file == {"a.py": 2}
    assert language.wide_comments(files) == ["a.py:3", "b.rs:6"]
    assert language.repeated_types(files) == {"A": 4}
    assert language.functions_called_of(files) == 1
