"""`loadline k6 archive` and `inspect`, and runs of archives."""

from __future__ import annotations

import json
import tarfile

import fake_servers
import pytest

SCRIPT = """
import http from 'k6/http';
import { path } from './lib.ts';
const names = JSON.parse(open('./names.json'));
export const options = { vus: 2, iterations: 4 };
export default function () { http.get(`${__ENV.BASE}/${__ENV.WHO}${path(names[0])}`); }
"""


@pytest.fixture
def server():
    with fake_servers.RecordingServer() as server:
        yield server


@pytest.fixture
def script(loadline):
    loadline.write("lib.ts", "export function path(name: string): string { return `/${name}`; }\n")
    loadline.write("names.json", '["anna"]')
    return loadline.write("script.js", SCRIPT)


def test_an_archive_runs_without_the_files(loadline, server, script):
    done = loadline("k6", "archive", "-e", "WHO=a", "--tag", "team=x", script)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    with tarfile.open(script.parent / "archive.tar") as archive:
        names = archive.getnames()
        metadata = json.load(archive.extractfile("metadata.json"))
    assert names[:2] == ["metadata.json", "data"]
    assert f"file{script.parent}/lib.ts" in names
    assert f"file{script.parent}/names.json" in names
    assert (metadata["env"], metadata["options"]["tags"]) == ({"WHO": "a"}, {"team": "x"})
    assert metadata["filename"] == f"file://{script}"
    for file in ("script.js", "lib.ts", "names.json"):
        (script.parent / file).unlink()
    done = loadline("k6", "run", "-e", f"BASE={server.url}", "archive.tar")
    assert done.returncode == 0, done.stderr
    assert server.lines == ["GET /a/anna"] * 4
    # Flags and variables of the command line replace those of the archive.
    done = loadline("k6", "run", "-e", f"BASE={server.url}", "-e", "WHO=b", "-i", "1", "-u", "1", "archive.tar")
    assert done.returncode == 0, done.stderr
    assert server.lines[4:] == ["GET /b/anna"]


def test_an_archive_does_not_read_files_that_it_lacks(loadline, server, script):
    extended = SCRIPT.replace("default function () {", "default function () { const more = __ENV.MORE;")
    script.write_text(extended.replace("const names", "if (__ENV.MORE) open('./more.json');\nconst names"))
    loadline.write("more.json", "1")
    assert loadline("k6", "archive", "-O", "out.tar", script).returncode == 0
    done = loadline("k6", "run", "-e", "MORE=1", "out.tar")
    assert done.returncode == 107
    assert "more.json: it is not in the archive" in done.stderr


def test_a_damaged_archive_is_refused(loadline, script):
    assert loadline("k6", "archive", script).returncode == 0
    archive = script.parent / "archive.tar"
    archive.write_bytes(archive.read_bytes()[:700])
    done = loadline("k6", "run", "archive.tar")
    assert done.returncode == 255
    assert "archive.tar: " in done.stderr
    assert "Traceback" not in done.stderr
    done = loadline("k6", "archive", "-O", "no/such/folder.tar", script)
    assert (done.returncode, "no/such/folder.tar: " in done.stderr) == (255, True)


def test_inspect_prints_the_options(loadline, script):
    options = json.loads(loadline("k6", "inspect", script).stdout)
    assert (options["vus"], options["iterations"], options["duration"]) == (2, 4, None)
    assert "maxVUs" not in options
    required = json.loads(loadline("k6", "inspect", "--execution-requirements", "-u", "3", script).stdout)
    assert (required["maxVUs"], required["totalDuration"]) == (3, "10m30s")
    # Variables of the system are not passed, unless asked for.
    script.write_text("export const options = { vus: __ENV.USERS };\nexport default function () {}\n")
    for flags, users in [((), None), (("--include-system-env-vars",), 5)]:
        done = loadline("k6", "inspect", *flags, script, env={"USERS": "5"})
        assert json.loads(done.stdout)["vus"] == users


def test_an_archive_of_a_script_with_packages_is_refused(loadline, script):
    package = script.parent / "node_modules" / "names"
    package.mkdir(parents=True)
    (package / "index.js").write_text("export const name = 'anna';\n")
    script.write_text("import { name } from 'names';\nexport default function () { console.log(name); }\n")
    done = loadline("k6", "archive", script)
    assert (done.returncode, "node_modules/names/index.js: an archive cannot have" in done.stderr) == (104, True)
